"""Small networks trained by torch, on the processor or a GPU: a backend of `anml.networks`."""

from functools import partial

import torch

from anml.gradients.mlp import as_data, initialise
from anml.gradients.sample_krum_torch import krum_scores
from anml.gradients.threads import limit_threads
from anml.networks.backend import Backend


def torch_backend(device: str | torch.device = "cpu") -> Backend:
    """Return a backend that keeps data and networks on one device."""
    data, networks = partial(as_data, device=str(device)), partial(initialise, device=str(device))
    return Backend(f"torch on {device}", data, networks, krum_scores, limit_threads)
