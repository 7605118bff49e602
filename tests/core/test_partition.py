"""Sums over partitions against the model that holds all rows."""

from dataclasses import replace

import numpy as np
import pytest

from anml.core.evidence.classes import NOISES, Annotators, Labels
from anml.core.evidence.side import Side
from anml.core.partition import Posterior, accused, learn, one_pass, p_correct, start

CLASSES, PEOPLE = 4, 30


def crowd(seed=0, n=3_000):
    """Predictions that are mostly right, honest contributors, liars and some who always say 0."""
    rng = np.random.default_rng(seed)
    truth, who = rng.integers(0, CLASSES, n), rng.integers(0, PEOPLE, n)
    logits = 2.0 * np.eye(CLASSES)[truth] + rng.normal(size=(n, CLASSES))
    log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    y = np.where(rng.uniform(size=n) < 0.07, rng.integers(0, CLASSES, n), truth)
    y = np.where(who < 4, (truth + 1) % CLASSES, y)
    y = np.where((who >= 4) & (who < 7), 0, y)
    return log_p, y, who, truth


def fitted(log_p, y, who, noise, class_prior, monkeypatch, steps=15):
    """The model of all rows, with its temperature and class prior held fast."""
    monkeypatch.setattr(Annotators, "_tune", lambda self, *_: None)
    fit = Annotators(Labels(log_p, y, Side(who)), noise, 1.0, 2.5)
    fit.class_prior = class_prior
    return fit


def in_parts(fit, log_p, y, who, parts, steps, tune=False):
    size = np.bincount(who, minlength=PEOPLE).astype(float)
    given = np.zeros((PEOPLE, CLASSES))
    np.add.at(given, (who, y), 1.0)
    seen = np.exp(log_p).mean(axis=0) + 1e-6
    beliefs = replace(start(fit, size, given, seen / seen.sum(), 2.5), tune=tune)
    cuts = np.array_split(np.arange(len(y)), parts)
    state: list[Posterior | None] = [None] * parts
    for step in range(steps):
        total = None
        for at, rows in enumerate(cuts):
            found, sums = one_pass(log_p[rows], y[rows], who[rows], state[at], beliefs)
            state[at] = found
            total = sums if total is None else total.plus(sums)
        beliefs = learn(beliefs, total)
        if step == 0:
            # The model of all rows looks once before it counts its steps.
            beliefs = beliefs.__class__(**{**beliefs.__dict__, "steps": 0})
    posterior = [p_correct(log_p[rows], state[at], who[rows], beliefs) for at, rows in enumerate(cuts)]
    return np.concatenate(posterior), beliefs, total


@pytest.mark.parametrize("noise", [noise for noise in NOISES if noise != "all honest"])
@pytest.mark.parametrize("class_prior", [None, 30.0])
def test_sums_are_the_model_of_all_rows(noise, class_prior, monkeypatch):
    log_p, y, who, _ = crowd()
    fit = fitted(log_p, y, who, noise, class_prior, monkeypatch)
    whole = in_parts(fit, log_p, y, who, 1, 1)[1]
    assert whole.base == pytest.approx(fit.base, abs=1e-9)
    steps = 14
    before = -1.0
    for _ in range(steps):
        given = fit._emissions()
        fit.expect(given)
        if fit.steps >= 6:
            fit.judge()
        before = fit.posterior()
        fit._maximise()
        fit.steps += 1
    found, beliefs, _ = in_parts(fit, log_p, y, who, 7, steps + 1)
    np.testing.assert_allclose(beliefs.types, fit.types, atol=1e-6)
    np.testing.assert_allclose(found, before, atol=1e-6)


def test_any_number_of_parts_is_the_same(monkeypatch):
    log_p, y, who, truth = crowd()
    fit = fitted(log_p, y, who, "classes", 30.0, monkeypatch)
    one, _, _ = in_parts(fit, log_p, y, who, 1, 15)
    many, beliefs, sums = in_parts(fit, log_p, y, who, 13, 15)
    np.testing.assert_allclose(many, one, atol=1e-9)
    table = np.zeros((PEOPLE, CLASSES, CLASSES))
    np.add.at(table, (who, y), many)
    said = accused(beliefs, table, sums.squares, doubtful=False)
    assert said.verdict[:7] == ["contradicts the others"] * 4 + ["answers without looking"] * 3
    assert set(said.verdict[7:]) == {"trusted"}
    wrong = y != truth
    p = many[np.arange(len(y)), y]
    assert p[wrong].mean() < 0.25
    assert p[~wrong].mean() > 0.95


def test_honest_contributors_are_never_accused_at_random():
    rng = np.random.default_rng(1)
    for seed in range(5):
        log_p, _, who, truth = crowd(seed)
        y = np.where(rng.uniform(size=len(truth)) < 0.1, rng.integers(0, CLASSES, len(truth)), truth)
        fit = Annotators(Labels(log_p, y, Side(who)), "classes", 1.0, 2.5)
        posterior, beliefs, sums = in_parts(fit, log_p, y, who, 3, 15)
        table = np.zeros((PEOPLE, CLASSES, CLASSES))
        np.add.at(table, (who, y), posterior)
        verdicts = accused(beliefs, table, sums.squares, doubtful=False).verdict
        assert not {"contradicts the others", "answers without looking"} & set(verdicts)


def test_predictions_that_are_too_flat_are_sharpened_and_honest_contributors_trusted():
    rng = np.random.default_rng(0)
    n = 20_000
    truth, who = rng.integers(0, CLASSES, n), rng.integers(0, PEOPLE, n)
    logits = 1.2 * np.eye(CLASSES)[truth] + 0.3 * rng.normal(size=(n, CLASSES))
    log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    y = np.where(rng.uniform(size=n) < 0.02, rng.integers(0, CLASSES, n), truth)
    y = np.where((who < 3) & (rng.uniform(size=n) < 0.9), (truth + rng.integers(1, CLASSES, n)) % CLASSES, y)
    fit = Annotators(Labels(log_p[:500], y[:500], Side(who[:500])), "classes", 1.0, 2.5)
    _, beliefs, _ = in_parts(fit, log_p, y, who, 2, 20, tune=True)
    assert beliefs.temperature < 0.6
    assert (beliefs.types[3:, 0] > 0.9).all()
    assert (beliefs.types[:3, 0] < 0.1).all()
