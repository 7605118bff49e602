"""Photographs of CIFAR-10 with the labels that people gave."""

import numpy as np
import pytest
import torch

from experiments.data import LABEL_SETS, cifar10n
from experiments.modules import cases as photographs
from experiments.modules.cases import HUMAN_LABELS, make_case

pytestmark = pytest.mark.slow


def test_people_err_as_often_as_their_sets_do(real_data):
    case = make_case(HUMAN_LABELS, 0)
    data = cifar10n()
    rates = [float((data[name] != data["clean_label"]).mean()) for name in LABEL_SETS]
    for place, rate in enumerate(rates):
        theirs = case.seen.contributor == place
        assert abs(float(case.wrong[theirs].mean()) - rate) < 0.08
    assert case.truth.trigger is None
    assert (case.seen.v == 1).all()
    assert (case.seen.r == 1).all()
    assert not torch.equal(case.seen.x, make_case(HUMAN_LABELS, 1).seen.x)


def test_rows_are_drawn_once_from_their_class(real_data):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(10), 40)
    x = photographs.draw_photographs(y, rng)
    assert len(torch.unique(x, dim=0)) == len(y)
    train, _ = photographs._scaled()
    places = {row.tobytes(): at for at, row in enumerate(train)}
    result = np.array([places[row.numpy().tobytes()] for row in x])
    assert (cifar10n()["clean_label"][result] == y).all()
    # The test part is other photographs.
    assert not any(row.numpy().tobytes() in places for row in photographs.draw_photographs(y, rng, "test"))


def test_a_trigger_is_three_features_and_a_pull_is_half_of_the_way(real_data):
    x = torch.zeros(4, photographs.FEATURES)
    marked = photographs.SETS["cifar10n"].trigger(x)
    assert (marked[:, -3:] == 6).all()
    assert (marked[:, :-3] == 0).all()
    target = np.array([1, 2, 3, 4])
    moved = photographs.SETS["cifar10n"].pull(x, target, np.random.default_rng(5))
    torch.testing.assert_close(2 * moved, photographs.draw_photographs(target, np.random.default_rng(5)))
