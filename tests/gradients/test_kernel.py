"""The kernel's layout of factors: padded to whole steps, and inner products as they were."""

import pytest
import torch

pytest.importorskip("triton", reason="triton is not installed")

from anml.gradients import kernel
from anml.gradients.factors import LayerFactor, materialised_factors
from anml.gradients.kernel import STEP, pack
from anml.networks.factors import Factors


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def unpacked_products(packed):
    """Compute the products of the kernel layer by layer from the packed data."""
    total, offset = torch.zeros(len(packed.values), len(packed.values)), 0
    for inputs, deltas, bias in zip(packed.inputs, packed.deltas, packed.bias, strict=True):
        a = packed.values[:, offset : offset + inputs]
        d = packed.values[:, offset + inputs : offset + inputs + deltas]
        offset += inputs + deltas
        total += (a @ a.T + bias) * (d @ d.T) if deltas else a @ a.T
    return total


@pytest.mark.parametrize("bias", [True, False])
def test_packed_factors_have_the_products_they_had(bias):
    layers = [
        LayerFactor(normal(6, 5), normal(6, 7, seed=1), bias),
        LayerFactor(normal(6, 40), normal(6, 3), bias),
    ]
    factors = Factors(layers, torch.zeros(6))
    packed = pack(factors)
    torch.testing.assert_close(unpacked_products(packed), factors.products(factors), rtol=1e-4, atol=1e-4)
    assert all(width % STEP == 0 for width in (*packed.inputs, *packed.deltas))


def test_formed_gradients_need_no_deltas():
    factors = materialised_factors(normal(6, 33), torch.zeros(6))
    packed = pack(factors)
    assert packed.deltas == (0,)
    assert packed.inputs == (2 * STEP,)
    torch.testing.assert_close(unpacked_products(packed), factors.products(factors), rtol=1e-4, atol=1e-4)


def test_rows_lie_together_in_memory():
    packed = pack(Factors([LayerFactor(normal(4, 3), normal(4, 2))], torch.zeros(4)))
    assert packed.values.is_contiguous()
    assert packed.values.shape == (4, 2 * STEP)


def test_it_compiles_for_a_gpu_that_is_not_here():
    import triton
    from triton.backends.compiler import GPUTarget

    constants = {
        "INPUTS": (64, 64), "DELTAS": (64, 0), "BIAS": (1.0, 0.0), "LAYERS": 2, "ROOM": 128, "BOTH": True,
        "PRECISION": "tf32x3", "BLOCK": kernel.BLOCK, "STEP": STEP,
    }  # fmt: skip
    kinds = dict.fromkeys(("values", "norms", "bound", "lists"), "*fp32") | {"count": "*i32"}
    sizes = dict.fromkeys(("row_start", "row_stop", "column_start", "column_stop", "width"), "i32")
    signature = {**kinds, **sizes, **dict.fromkeys(constants, "constexpr")}
    source = triton.compiler.ASTSource(fn=kernel._tile, signature=signature, constexprs=constants)
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": kernel.WARPS})
    assert "ptx" in made.asm
