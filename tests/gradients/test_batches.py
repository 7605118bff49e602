"""A module run on batches of any form, compiled or not."""

import pytest
import torch
from torch import nn

from anml.core.errors import InputError
from anml.gradients.batches import Batch, in_evaluation, run, run_module


def test_some_rows_of_a_batch_keep_what_is_the_same_for_all():
    batch = Batch({"x": torch.arange(6).reshape(3, 2), "shared": torch.ones(1, 2), "n": 4}, torch.arange(3))
    small = batch.some([2, 0])
    assert small.inputs["x"].tolist() == [[4, 5], [0, 1]]
    assert small.inputs["shared"].shape == (1, 2)
    assert small.target.tolist() == [2, 0]


def test_compiled_modules_are_run_as_they_are_written():
    calls = []

    class Looks(nn.Linear):
        def forward(self, x):
            calls.append(torch.compiler.is_compiling())
            return super().forward(x)

    module = torch.compile(Looks(2, 2), backend="eager")
    with in_evaluation(module):
        run(module, torch.ones(1, 2))
    assert calls == [False]


@pytest.mark.parametrize("inputs", [{"ids": (torch.ones(2),)}, torch.ones(2, 9)])
def test_what_a_module_cannot_be_run_on_is_one_sentence(inputs):
    class Sized(nn.Linear):
        def forward(self, ids):
            return super().forward(ids.reshape(ids.size()))

    with pytest.raises(InputError, match="Sized cannot be run on a batch of"):
        run_module(Sized(3, 2), inputs, None)
