"""Kinds of experiments: every table has every kind, and every metric is explained."""

import inspect

import pytest

from experiments.bank.conditions import CONDITIONS
from experiments.kinds import KINDS, MEANING, MEASURES, OF_EVIDENCE, OF_TIERS, OF_TIME, metrics_of
from experiments.spec import list_experiments, parse, report_texts

pytestmark = pytest.mark.slow

FIRST = report_texts("first")
EVERY = {**list_experiments(), **list_experiments("beyond"), **list_experiments("field")}


def test_every_kind_has_data_and_metrics():
    assert all(kind.data for kind in KINDS.values())
    assert set(MEASURES) == set(KINDS)
    assert set(FIRST) <= set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_runs_blocks_in_the_same_way(kind):
    run = KINDS[kind].run
    # Simulated data train the networks of all trials together; every other kind goes trial by trial.
    assert (run is None) == (kind == "simulated")
    assert run is None or list(inspect.signature(run).parameters) == ["at", "methods"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_used_by_an_experiment_of_ours(kind):
    assert any(experiment.kind == kind for experiment in EVERY.values())


@pytest.mark.parametrize("kind", KINDS)
def test_metrics_of_a_kind_are_named_once(kind):
    assert len(set(MEASURES[kind])) == len(MEASURES[kind])
    assert FIRST.get(kind, ("error",))[0] in MEASURES[kind]


@pytest.mark.parametrize("name", EVERY)
def test_every_metric_that_is_shown_is_explained(name):
    assert set(EVERY[name].metrics) <= set(MEANING)
    assert set(EVERY[name].metrics) <= set(metrics_of(EVERY[name]))


def test_no_explanation_is_of_something_that_nobody_measures():
    measured = {metric for metrics in MEASURES.values() for metric in metrics}
    measured |= {*OF_EVIDENCE, *OF_TIERS, *OF_TIME}
    assert set(MEANING) <= measured


@pytest.mark.parametrize("name", MEANING)
def test_an_explanation_is_one_line_in_plain_letters(name):
    message = MEANING[name]
    assert message
    assert "\n" not in message
    assert not message.endswith(".")


def test_metrics_follow_what_there_is_to_measure():
    def found(**table):
        return metrics_of(parse("x", {"title": "x", "methods": ["krum"], **table}))

    plain = found()
    assert not {*OF_TIERS, *OF_TIME, *OF_EVIDENCE} & set(plain)
    assert set(found(timed=True)) - set(plain) == set(OF_TIME)
    assert set(found(setting={"scenario": "tiers"})) - set(plain) == set(OF_TIERS)
    assert set(found(methods=["krum", "evidence"])) - set(plain) == set(OF_EVIDENCE)


def test_conditions_of_the_bank_are_its_data():
    assert list(KINDS["bank"].data) == list(CONDITIONS)
