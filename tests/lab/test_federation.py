"""Training in rounds: updates as they arrive, scores and weights as means over rounds."""

from dataclasses import replace

import numpy as np
import pytest

from anml.federated.clients import Clients
from anml.gradients.mlp import initialise
from anml.lab.cited import federation
from anml.lab.cited.federation import Answer, federate, sent, shape_of, training_of
from anml.lab.cited.trials import make_trial
from anml.lab.spec import Setting


@pytest.fixture(scope="module")
def told():
    return make_trial(Setting(dataset="wine", attack="made-up", contributors=5, bad=0.4), 0, 0)[0]


@pytest.fixture
def few_rounds(monkeypatch):
    monkeypatch.setattr(federation, "ROUNDS", 3)


def test_the_model_is_the_sum_of_the_updates(told, few_rounds):
    """A rule that answers with the same update every round moves the model by three of it."""
    start = initialise(shape_of(told), [told.seed]).flat[0]
    step = np.full(len(start), 0.25, dtype=np.float32)
    seen = []

    def rule(at):
        seen.append(at.number)
        return Answer(step, np.full(told.clients, float(at.number)), np.ones(told.clients))

    found = federate(told, rule, keep=True)
    assert seen == [0, 1, 2]
    assert found.model.numpy() == pytest.approx((start + 0.75).numpy(), abs=1e-5)
    # Means over rounds 0, 1, 2.
    assert found.scores.tolist() == [1.0] * 5
    assert [at.number for at in found.rounds] == [0, 1, 2]


def test_who_only_pretends_sends_noise_as_long_as_the_others(told):
    shape = shape_of(told)
    clients = Clients.of(told.x, told.y, told.contributor, shape)
    model = initialise(shape, [told.seed]).flat[0]
    updates = sent(told, clients, model, 0, training_of(told))
    honest = sent(replace(told, noise_updates=np.zeros(5, dtype=bool)), clients, model, 0, training_of(told))
    fake = told.noise_updates
    assert fake.sum() == 2
    assert np.array_equal(updates[~fake], honest[~fake])
    usual = np.median(np.linalg.norm(honest[~fake], axis=1))
    assert np.linalg.norm(updates[fake], axis=1) == pytest.approx(np.full(2, usual), rel=1e-4)
    again = sent(told, clients, model, 0, training_of(told))
    assert np.array_equal(again, updates)
    assert not np.array_equal(sent(told, clients, model, 1, training_of(told))[fake], updates[fake])


def test_steps_are_about_as_many_whatever_the_rows(told):
    """25 rows a client are one batch of 32: ten epochs are ten steps."""
    assert training_of(told).epochs == 10
    many = replace(told, contributor=np.zeros(320, dtype=np.int64))
    assert training_of(many).epochs == 1
