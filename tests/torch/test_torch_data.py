"""Samples in any form, in the order of their rows: the same batches from every one."""

from collections import UserDict
from itertools import islice

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    TensorDataset,
    default_collate,
    get_worker_info,
)

from anml.core.errors import InputError
from anml.torch.data import OrderCheckingCollator, in_row_order, samples_of

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


class Sharded(IterableDataset):
    """A stream that workers share; without care each of them gives all of it."""

    def __iter__(self):
        worker = get_worker_info()
        each = zip(X, Y, strict=True)
        return each if worker is None else islice(each, worker.id, None, worker.num_workers)


class OwnBatches(DataLoader):
    def __iter__(self):
        return iter([])


class HuggingFace:
    """Stand-in for `datasets.Dataset`: lists by name, one of them with text."""

    column_names = ("x", "text", "label")

    def __len__(self):
        return 7

    def __getitem__(self, at):
        return {"x": X[at].tolist(), "text": "word", "label": int(Y[at])}


class HuggingFaceStream:
    column_names = ("x", "text", "label")

    def __iter__(self):
        return (HuggingFace()[at] for at in range(7))


class Encoding(UserDict):
    """A batch as tokenisers give it."""


def encoded(examples):
    inner = default_collate(examples)
    return Encoding({"x": inner[0], "labels": inner[1]})


def frame():
    return pl.DataFrame({"a": X[:, 0].numpy(), "b": X[:, 1].numpy(), "label": Y.numpy()})


FORMS = {
    "tensors": lambda: samples_of(X, Y, 3),
    "arrays": lambda: samples_of(X.numpy(), Y.numpy(), 3),
    "lists": lambda: samples_of(np.array(X.tolist()), Y.tolist(), 3),
    "polars": lambda: samples_of(frame().drop("label"), frame()["label"], 3),
    "pandas": lambda: samples_of(frame().drop("label").to_pandas(), frame()["label"].to_pandas(), 3),
    "dataset": lambda: samples_of(TensorDataset(X, Y), batch=3),
    "loader": lambda: samples_of(DataLoader(TensorDataset(X, Y), batch_size=3)),
    "stream": lambda: samples_of(Stream(), batch=3),
    "dicts": lambda: samples_of(Named(), batch=3),
    "shuffled loader": lambda: samples_of(DataLoader(TensorDataset(X, Y), batch_size=3, shuffle=True)),
    "shuffled batches": lambda: samples_of(
        DataLoader(TensorDataset(X, Y), batch_sampler=BatchSampler(RandomSampler(range(7)), 3, True))
    ),
    "drawn loader": lambda: samples_of(
        DataLoader(TensorDataset(X, Y), batch_size=3, drop_last=True, sampler=RandomSampler(range(7)))
    ),
    "two workers": lambda: samples_of(DataLoader(TensorDataset(X, Y), batch_size=3, num_workers=2)),
    "stream of two workers": lambda: samples_of(DataLoader(Stream(), batch_size=3, num_workers=2)),
    "shared stream": lambda: samples_of(DataLoader(Sharded(), batch_size=3, num_workers=2)),
    "batch encoding": lambda: samples_of(DataLoader(TensorDataset(X, Y), batch_size=3, collate_fn=encoded)),
    "encoding and labels": lambda: samples_of(Encoding({"x": X.tolist()}), Y, 3),
    "encoding with labels": lambda: samples_of(Encoding({"x": X, "labels": Y}), batch=3),
    "hugging face": lambda: samples_of(HuggingFace(), batch=3),
    "hugging face loader": lambda: samples_of(DataLoader(HuggingFace(), batch_size=3)),
    "hugging face stream": lambda: samples_of(HuggingFaceStream(), batch=3),
    "examples": lambda: samples_of([HuggingFace()[at] for at in range(7)], batch=3),
}


@pytest.mark.parametrize("form", FORMS)
class TestEveryForm:
    def test_batches_come_in_order(self, form):
        results = list(FORMS[form]().batches(CPU))
        assert [len(batch) for batch in results] == [3, 3, 1]
        inputs = [batch.inputs["x"] if isinstance(batch.inputs, dict) else batch.inputs for batch in results]
        torch.testing.assert_close(torch.cat(inputs).float(), X)
        assert torch.cat([batch.target for batch in results]).tolist() == Y.tolist()

    def test_can_be_gone_through_again(self, form):
        samples = FORMS[form]()
        one, two = ([batch.target.tolist() for batch in samples.batches(CPU)] for _ in range(2))
        assert one == two

    def test_how_many_there_are_is_known_but_of_a_stream(self, form):
        assert FORMS[form]().count == (None if "stream" in form else 7)


def test_a_dataset_that_gives_fewer_rows_than_it_says_is_an_error():
    class Short(Dataset):
        def __len__(self):
            return 7

        def __getitems__(self, rows):
            return [(X[at], Y[at]) for at in rows if at != 3]

    with pytest.raises(InputError, match="6 samples came from a dataset of 7 rows"):
        list(samples_of(Short(), batch=3).batches(CPU))


class TestRowsThatNameThemselves:
    def test_go_by_their_names(self):
        assert in_row_order([np.array([2, 0]), np.array([1])], 3).tolist() == [1, 2, 0]
        assert in_row_order([None, None], 3) is None

    @pytest.mark.parametrize(
        ("rows", "says"),
        [
            ([[0, 1], [1]], "must name each of the rows 0 to 2 once, row 1 comes 2 times"),
            ([[0, 1], [7]], "must name each of the rows 0 to 2 once, got 7"),
            ([[0, 1], None], "some batches name their rows under 'sample_index' and some do not"),
        ],
    )
    def test_or_are_refused(self, rows, says):
        with pytest.raises(InputError, match=says):
            in_row_order(rows, 3)


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
            lambda: samples_of(DataLoader(TensorDataset(X, Y)), Y),
            "a DataLoader brings its own targets; leave y out",
        ),
        (lambda: samples_of(TensorDataset(X, Y), Y), "a TensorDataset brings its own targets"),
        (lambda: samples_of(X), "Tensor needs targets: give y"),
        (lambda: samples_of(X, Y[:3]), "same length, at least 1, got 7 and 3"),
        (lambda: samples_of(X[:0], Y[:0]), "at least 1, got 0 and 0"),
        (lambda: samples_of(np.array([["a"]]), [0]), "samples and targets must be numbers"),
        (lambda: samples_of(X, "label"), "samples and targets must be numbers"),
        (lambda: samples_of([np.ones(2), np.ones(3)], [0, 1]), "samples differ in shape; give a DataLoader"),
        (lambda: samples_of(pd.DataFrame({"t": ["x"]}), [0]), "must be numbers, got object"),
        (
            lambda: list(samples_of(DataLoader([{"x": X[0]}])).batches(CPU)),
            "a batch must hold labels, got 'x'",
        ),
        (
            lambda: list(samples_of(DataLoader(X)).batches(CPU)),
            "a batch must be inputs and targets, got Tensor",
        ),
        (
            lambda: list(samples_of([{"x": X[:2], "y": 0}, {"x": X[:3], "y": 1}]).batches(CPU)),
            "'x' is 2 long in one example and 3 in another; give a DataLoader whose collate_fn pads",
        ),
        (lambda: samples_of(OwnBatches(TensorDataset(X, Y))), "a OwnBatches makes its own batches"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(make, says):
    with pytest.raises(InputError, match=says):
        make()


@pytest.mark.parametrize(
    ("examples", "says"),
    [
        ([(X[0], 1), (X[1], None)], "examples cannot be joined into a batch: "),
        ([(X[0], 1), (X[1, :1], 1)], "examples cannot be joined into a batch: "),
        ([{"x": X[0], "label": 1}, {"x": X[1], "label": None}], "'label' is missing in some of the examples"),
        ([{"x": None, "label": 1}, {"x": X[1], "label": 1}], "'x' is missing in some of the examples"),
        ([{"x": X[0], "label": 1}, {"label": 1}], "'x' is missing in some of the examples"),
    ],
)
def test_an_example_that_lacks_something_is_one_sentence(examples, says):
    with pytest.raises(InputError, match=says):
        list(samples_of(examples).batches(CPU))


class TestInOrder:
    """Examples of three lengths, of which two are equally long."""

    examples = tuple({"x": torch.arange(n) + n, "labels": at % 2} for at, n in enumerate((3, 5, 2, 5)))

    @staticmethod
    def padded(examples):
        ids = torch.nn.utils.rnn.pad_sequence([each["x"] for each in examples], batch_first=True)
        return {"x": ids, "labels": torch.tensor([each["labels"] for each in examples])}

    def longest_first(self, examples):
        return self.padded(sorted(examples, key=lambda each: -len(each["x"])))

    def shuffled(self, examples):
        return self.padded([examples[at] for at in torch.randperm(len(examples))])

    def masked(self, examples):
        batch = self.padded(examples)
        return {"x": batch["x"] * (torch.rand(batch["x"].shape) > 0.5), "labels": batch["labels"]}

    def numbered(self, examples):
        return {**self.padded(examples), "place": torch.arange(len(examples))}

    @pytest.mark.parametrize("collate", ["padded", "masked", "numbered"])
    def test_what_keeps_the_order_is_taken_and_draws_what_it_drew(self, collate):
        collate = getattr(self, collate)
        torch.manual_seed(0)
        plain = [collate(self.examples) for _ in range(2)]
        torch.manual_seed(0)
        checked = OrderCheckingCollator(collate)
        for one, other in zip(plain, [checked(self.examples) for _ in range(2)], strict=True):
            assert all(torch.equal(one[name], other[name]) for name in one)

    def test_what_sorts_or_shuffles_is_refused(self):
        torch.manual_seed(1)
        for collate in (self.longest_first, self.shuffled):
            with pytest.raises(InputError, match="changes the order of the examples of a batch"):
                OrderCheckingCollator(collate)(self.examples)
        loader = DataLoader(self.examples, batch_size=4, collate_fn=self.longest_first)
        with pytest.raises(InputError, match="rows cannot be told from batches"):
            list(samples_of(loader).batches(CPU))

    def test_examples_are_not_changed(self):
        def popped(examples):
            return {
                **self.padded(examples),
                "labels": torch.tensor([each.pop("labels") for each in examples]),
            }

        given = [dict(each) for each in self.examples]
        assert OrderCheckingCollator(popped)(given)["labels"].tolist() == [0, 1, 0, 1]
