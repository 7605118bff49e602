"""Normalisation layers of transformers' language models: by their own rule, without torch.func."""

import pytest
import torch
from layer_checks import assert_reads, made, normal
from torch import nn

from anml.gradients.layers.rules import is_supported, transformers_rms_norm
from anml.gradients.record import unsupported_layers

NORMS = {
    "llama": "LlamaRMSNorm", "mistral": "MistralRMSNorm", "qwen3": "Qwen3RMSNorm", "gemma2": "Gemma2RMSNorm",
    "gemma3": "Gemma3RMSNorm",
}  # fmt: skip


def norm_of(family: str, width: int) -> nn.Module:
    module = pytest.importorskip(f"transformers.models.{family}.modeling_{family}")
    return getattr(module, NORMS[family])(width, eps=1e-5)


@pytest.mark.parametrize("family", NORMS)
def test_every_family_against_one_sample_at_a_time(family):
    layer = norm_of(family, 4)
    assert is_supported(layer)
    # These layers compute in single precision whatever they are given.
    d = normal(3, 5, 4, seed=7)
    read = transformers_rms_norm(layer, normal(3, 5, 4), d)
    a = normal(3, 5, 4)
    for at in range(3):
        result = torch.autograd.grad((layer(a[at : at + 1]) * d[at : at + 1]).sum(), layer.weight)[0]
        torch.testing.assert_close(read["weight",].formed()[at].float(), result, rtol=1e-4, atol=1e-5)


def test_a_whole_model_stays_on_the_fast_path():
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        hidden_size=8, num_hidden_layers=1, intermediate_size=8, num_attention_heads=2, vocab_size=11
    )
    assert unsupported_layers(transformers.LlamaForCausalLM(config)) == []


def test_a_layer_of_the_same_name_elsewhere_is_not_assumed_to_be_one():
    class LlamaRMSNorm(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(2))

    assert not is_supported(LlamaRMSNorm())


def test_the_rule_of_torch_agrees():
    assert_reads(transformers_rms_norm, made(nn.RMSNorm(5, eps=1e-6)), normal(4, 3, 5))
