"""Samples in any form, in order: the same batches from every one, and what cannot be in order."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, RandomSampler, TensorDataset

from anml.adapters.torch.data import samples_of
from anml.core.errors import InputError

CPU = torch.device("cpu")
X = torch.arange(14.0).reshape(7, 2)
Y = torch.tensor([0, 1, 0, 1, 0, 1, 0])


class Named(Dataset):
    def __len__(self):
        return 7

    def __getitem__(self, at):
        return {"x": X[at], "labels": Y[at], "weight": 3.0, "sample_index": at}


class Stream(IterableDataset):
    def __iter__(self):
        return iter(zip(X, Y, strict=True))


def frame():
    return pl.DataFrame({"a": X[:, 0].numpy(), "b": X[:, 1].numpy(), "label": Y.numpy()})


FORMS = {
    "tensors": lambda: samples_of(X, Y, 3),
    "arrays": lambda: samples_of(X.numpy(), Y.numpy(), 3),
    "lists": lambda: samples_of(np.array(X.tolist()), Y.tolist(), 3),
    "polars": lambda: samples_of(frame(), "label", 3),
    "pandas": lambda: samples_of(frame().to_pandas(), "label", 3),
    "arrow": lambda: samples_of(frame().to_arrow(), "label", 3),
    "dataset": lambda: samples_of(TensorDataset(X, Y), batch=3),
    "loader": lambda: samples_of(DataLoader(TensorDataset(X, Y), batch_size=3)),
    "stream": lambda: samples_of(Stream(), batch=3),
    "dicts": lambda: samples_of(Named(), batch=3),
}


@pytest.mark.parametrize("form", FORMS)
class TestEveryForm:
    def test_batches_come_in_order(self, form):
        found = list(FORMS[form]().batches(CPU))
        assert [len(batch) for batch in found] == [3, 3, 1]
        inputs = [batch.inputs["x"] if isinstance(batch.inputs, dict) else batch.inputs for batch in found]
        torch.testing.assert_close(torch.cat(inputs).float(), X)
        assert torch.cat([batch.target for batch in found]).tolist() == Y.tolist()

    def test_can_be_gone_through_again(self, form):
        samples = FORMS[form]()
        one, two = ([batch.target.tolist() for batch in samples.batches(CPU)] for _ in range(2))
        assert one == two

    def test_how_many_there_are_is_known_but_of_a_stream(self, form):
        assert FORMS[form]().count == (None if form == "stream" else 7)


def test_what_stands_beside_inputs_in_a_dict_is_no_input():
    [batch] = samples_of(Named(), batch=7).batches(CPU)
    assert set(batch.inputs) == {"x"}


@pytest.mark.parametrize("name", ["labels", "label", "y", "target"])
def test_labels_go_by_any_of_their_names(name):
    loader = DataLoader([{"x": X[0], name: Y[0]}] * 2, batch_size=2)
    [batch] = samples_of(loader).batches(CPU)
    assert batch.target.tolist() == [0, 0]


def test_several_inputs_stay_several():
    [batch] = samples_of((X, 2 * X), Y, 7).batches(CPU)
    assert len(batch.inputs) == 2
    [batch] = samples_of({"a": X, "b": 2 * X}, Y, 7).batches(CPU)
    assert set(batch.inputs) == {"a", "b"}
    [batch] = samples_of(TensorDataset(X, 2 * X, Y), batch=7).batches(CPU)
    torch.testing.assert_close(batch.inputs[1], 2 * X)


def test_doubles_become_floats_and_whole_numbers_stay():
    [batch] = samples_of(np.ones((2, 2)), np.array([0, 1]), 2).batches(CPU)
    assert (batch.inputs.dtype, batch.target.dtype) == (torch.float32, torch.int64)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            lambda: samples_of(DataLoader(TensorDataset(X, Y), shuffle=True)),
            "must neither shuffle, sample nor drop",
        ),
        (
            lambda: samples_of(DataLoader(TensorDataset(X, Y), batch_size=3, drop_last=True)),
            "must neither shuffle",
        ),
        (
            lambda: samples_of(DataLoader(TensorDataset(X, Y), sampler=RandomSampler(range(7)))),
            "must neither shuffle",
        ),
        (
            lambda: samples_of(DataLoader(TensorDataset(X, Y)), Y),
            "a DataLoader brings its own targets; leave y out",
        ),
        (lambda: samples_of(TensorDataset(X, Y), Y), "a Dataset brings its own targets"),
        (lambda: samples_of(X), "Tensor needs targets: give y"),
        (lambda: samples_of(X, Y[:3]), "same length, at least 1, got 7 and 3"),
        (lambda: samples_of(X[:0], Y[:0]), "at least 1, got 0 and 0"),
        (lambda: samples_of(np.array([["a"]]), [0]), "samples and targets must be numbers"),
        (lambda: samples_of(frame(), "class"), "the frame has no column 'class'; it has a, b, label"),
        (lambda: samples_of(X, "label"), "must be a pandas, polars or Arrow table, got Tensor"),
        (lambda: samples_of(pd.DataFrame({"t": ["x"], "y": [0]}), "y"), r"columns of numbers, got \['t'\]"),
        (lambda: samples_of(pd.DataFrame({"y": [0]}), "y"), "columns of numbers, got none"),
        (
            lambda: list(samples_of(DataLoader([{"x": X[0]}])).batches(CPU)),
            "a batch must hold labels, got 'x'",
        ),
        (
            lambda: list(samples_of(DataLoader(X)).batches(CPU)),
            "a batch must be inputs and targets, got Tensor",
        ),
    ],
)
def test_what_cannot_be_used_is_one_sentence(make, says):
    with pytest.raises(InputError, match=says):
        make()
