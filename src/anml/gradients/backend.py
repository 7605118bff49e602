"""Small networks trained by torch, on the processor or a GPU: a backend of `anml.networks`."""

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from anml.core.checks import Floats
from anml.gradients.factors import network_factors
from anml.gradients.krum import krum_scores
from anml.gradients.mlp import Data, as_data, initialise, losses, predict, train
from anml.gradients.threads import limit_threads
from anml.networks.backend import Backend


def torch_backend(device: str | torch.device = "cpu") -> Backend:
    """Return a backend that keeps data and networks on one device."""
    name = str(device)
    return Backend(
        f"torch on {name}", partial(as_data, device=name), partial(initialise, device=name), _shared_data,
        train, predict, losses, network_factors, krum_scores, limit_threads, to_numpy,
    )  # fmt: skip


def _shared_data(x: Tensor, y: Tensor, weight: np.ndarray[Any, Any]) -> Data:
    return Data.shared(x, y, torch.as_tensor(weight, device=x.device))


def to_numpy(tensor: Tensor) -> Floats:
    """Copy a tensor to the host in double precision."""
    return tensor.double().cpu().numpy()
