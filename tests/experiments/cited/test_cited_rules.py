"""Training in rounds: updates as they arrive, scores and weights as means over rounds."""

from dataclasses import replace

import numpy as np
import pytest

from anml.federated.updates import Aggregated
from anml.gradients.mlp import initialise
from experiments.cited import rules as federation
from experiments.cited.rules import federate, shape_of, simulate_updates, training_of
from experiments.cited.trials import make_trial
from experiments.federated_clients import Clients
from experiments.spec import Setting

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def inputs():
    return make_trial(Setting(dataset="wine", attack="made-up", contributors=5, bad=0.4), 0, 0).seen


@pytest.fixture
def few_rounds(monkeypatch):
    monkeypatch.setattr(federation, "N_ROUNDS", 3)


def test_the_model_is_the_sum_of_the_updates(inputs, few_rounds):
    """A rule that answers with the same update every round moves the model by three of it."""
    start = initialise(shape_of(inputs), [inputs.seed]).flat[0]
    step = np.full(len(start), 0.25, dtype=np.float32)
    rounds = []

    def rule(at):
        rounds.append(at.number)
        return Aggregated(step, np.full(inputs.clients, float(at.number)), np.ones(inputs.clients))

    result = federate(inputs, rule)
    assert rounds == [0, 1, 2]
    assert result.model.numpy() == pytest.approx((start + 0.75).numpy(), abs=1e-5)
    # Means over rounds 0, 1, 2.
    assert result.scores.tolist() == [1.0] * 5
    assert [at.number for at in result.rounds] == [0, 1, 2]


def test_who_only_pretends_sends_noise_as_long_as_the_others(inputs):
    shape = shape_of(inputs)
    clients = Clients.of(inputs.x, inputs.y, inputs.contributor, shape)
    model = initialise(shape, [inputs.seed]).flat[0]
    updates = simulate_updates(inputs, clients, model, 0, training_of(inputs))
    honest = simulate_updates(
        replace(inputs, noise_updates=np.zeros(5, dtype=bool)), clients, model, 0, training_of(inputs)
    )
    fake = inputs.noise_updates
    assert fake.sum() == 2
    assert np.array_equal(updates[~fake], honest[~fake])
    typical = np.median(np.linalg.norm(honest[~fake], axis=1))
    assert np.linalg.norm(updates[fake], axis=1) == pytest.approx(np.full(2, typical), rel=1e-4)
    again = simulate_updates(inputs, clients, model, 0, training_of(inputs))
    assert np.array_equal(again, updates)
    assert not np.array_equal(
        simulate_updates(inputs, clients, model, 1, training_of(inputs))[fake], updates[fake]
    )


def test_steps_are_about_as_many_whatever_the_rows(inputs):
    """25 rows a client are one batch of 32: ten epochs are ten steps."""
    assert training_of(inputs).epochs == 10
    large = replace(inputs, contributor=np.zeros(320, dtype=np.int64))
    assert training_of(large).epochs == 1
