"""The trial body: what is simulated, what is shared, and what must not leak."""

from dataclasses import replace

import numpy as np
import pytest

from anml.core.errors import InputError
from anml.weighting.weigh import RECIPES
from experiments.cases import make_case
from experiments.door import check_runnable
from experiments.kinds import run_block
from experiments.spec import Experiment, Setting, list_experiments, parse
from experiments.trial import Clock, Job, train_in_batches

pytestmark = pytest.mark.slow


def test_scenarios_of_a_trial_share_split_and_flips():
    cases = [make_case(Setting(scenario=name), 3, 0) for name in ("high", "adversarial")]
    assert (cases[0].seen.x == cases[1].seen.x).all()
    assert (cases[0].seen.y == cases[1].seen.y).all()
    assert (cases[0].seen.v != cases[1].seen.v).any()
    other = make_case(Setting(), 4, 0)
    assert (other.truth.bad != cases[0].truth.bad).any()


def test_thirty_percent_of_the_training_labels_are_wrong_and_no_test_label():
    case = make_case(Setting(), 0, 0)
    assert len(case.seen.y) == 124
    assert len(case.truth.y_test) == 54
    assert case.truth.wrong.sum() == case.truth.bad.sum() == round(0.3 * 124)
    clean = make_case(Setting(bad=0.0), 0, 0)
    assert ((clean.seen.y != case.seen.y) == case.truth.bad).all()
    assert (clean.truth.y_test == case.truth.y_test).all()


def test_features_are_scaled_on_the_training_part():
    case = make_case(Setting(), 0, 0)
    assert np.allclose(case.seen.x.mean(axis=0), 0)
    assert np.allclose(case.seen.x.std(axis=0), 1)
    assert not np.allclose(case.truth.x_test.mean(axis=0), 0)


def test_federated_workers_are_wholly_honest_or_wholly_not():
    case = make_case(Setting(dataset="digits", contributors=10, bad=0.4, attack="mixed"), 0, 0)
    shares = [case.truth.bad[case.seen.contributor == worker].mean() for worker in range(10)]
    assert sorted(shares) == [0.0] * 6 + [1.0] * 4


def test_obvious_flips_add_five_and_subtle_ones_do_not():
    obvious = make_case(Setting(dataset="digits", attack="mixed", subtle=0.0), 0, 0)
    subtle = make_case(Setting(dataset="digits", attack="mixed", subtle=1.0), 0, 0)
    truth = make_case(Setting(dataset="digits", bad=0.0), 0, 0).seen.y
    assert (obvious.seen.y[obvious.truth.bad] == (truth[obvious.truth.bad] + 5) % 10).all()
    assert (subtle.seen.y[subtle.truth.bad] != truth[subtle.truth.bad]).all()
    assert (subtle.seen.y[subtle.truth.bad] != (truth[subtle.truth.bad] + 5) % 10).mean() > 0.8


def test_obvious_flips_may_be_uniform_over_wrong_classes():
    case = make_case(Setting(dataset="digits", attack="mixed", obvious="uniform"), 0, 0)
    truth = make_case(Setting(dataset="digits", bad=0.0), 0, 0).seen.y
    offset = (case.seen.y - truth)[case.truth.bad] % 10
    assert set(offset) == set(range(1, 10))


def test_the_scoring_model_may_stop_earlier_and_sees_larger_batches():
    """On Breast Cancer 20 epochs leave q of flipped labels lower than 200 do, and batches change q."""
    settings = [{}, {"scoring_epochs": 20}, {"scoring_batch": 398}]
    table = {"title": "s", "setting": {"dataset": "breast-cancer", "epochs": 0}, "methods": ["krum"]}
    precision = []
    for setting in settings:
        experiment = parse("s", {**table, "setting": {**table["setting"], **setting}})
        rows = run_block(experiment, range(4), "breast-cancer")
        precision.append(np.mean([row["precision"] for row in rows]))
    assert precision[1] > precision[0] + 2
    assert precision[2] != precision[0]


def test_sybils_and_turncoats():
    plain = make_case(Setting(contributors=10), 0, 0)
    sybils = make_case(Setting(contributors=10, sybils=10), 0, 0)
    assert (sybils.seen.y == plain.seen.y).all()
    assert (sybils.seen.contributor[~plain.truth.bad] == plain.seen.contributor[~plain.truth.bad]).all()
    assert (
        len(set(sybils.seen.contributor[plain.truth.bad]))
        > 3
        == len(set(plain.seen.contributor[plain.truth.bad]))
    )
    turned = make_case(Setting(contributors=10, honest_first=0.5), 0, 0)
    truth = make_case(Setting(contributors=10, bad=0.0), 0, 0).seen.y
    assert (turned.truth.bad == plain.truth.bad).all()
    assert (turned.truth.wrong == (turned.seen.y != truth)).all()
    assert 0.4 < turned.truth.wrong.sum() / plain.truth.wrong.sum() < 0.6
    for attacker in set(turned.seen.contributor[turned.truth.bad]):
        wrong = turned.truth.wrong[turned.seen.contributor == attacker]
        assert (np.diff(wrong.astype(int)) >= 0).all()  # never honest again


def test_a_majority_that_colludes_tells_one_lie():
    case = make_case(Setting(contributors=10, bad=0.6, attack="collude"), 0, 0)
    truth = make_case(Setting(contributors=10, bad=0.0), 0, 0).seen.y
    assert (case.seen.y[case.truth.bad] == (truth[case.truth.bad] + 1) % 3).all()


def test_ages_run_from_new_to_oldest():
    case = make_case(Setting(periods=5, oldest=4.0, decay=0.1), 0, 0)
    assert sorted(set(case.seen.age)) == [0, 1, 2, 3, 4]
    assert make_case(Setting(), 0, 0).seen.age is None


def test_regression_errors_are_in_the_units_of_the_labels():
    experiment = parse(
        "r",
        {
            "title": "r",
            "setting": {"dataset": "diabetes", "attack": "shift", "bad": 0.0},
            "methods": ["uniform"],
        },
    )
    [row] = run_block(experiment, [0], "diabetes")
    # Labels run from 25 to 346 with a spread of 77: guessing their mean is off by about 65.
    assert 35 < row["error"] < 65


@pytest.mark.parametrize("field", ["attack", "scenario", "dataset"])
def test_unknown_names_are_errors(field):
    setting = replace(Setting(), **{field: "nonesuch"})
    with pytest.raises(InputError, match=r"unknown .* 'nonesuch'"):
        check_runnable(Experiment("x", "x", setting=setting, methods={"krum": RECIPES["krum"]}))


def test_a_network_depends_on_its_own_rows_alone():
    cases = [make_case(Setting(dataset="breast-cancer"), trial, 0) for trial in range(3)]
    jobs = [Job(case.seen, np.arange(250), 5, 100, (8,)) for case in cases]
    together = train_in_batches(jobs, "cpu", Clock(), "x")
    alone = train_in_batches(jobs[1:2], "cpu", Clock(), "x")[0]
    assert (together[1].flat == alone.flat).all()


def test_truth_is_for_scoring_only():
    """The kept samples do not change if the marks of malicious contributors are hidden afterwards."""
    experiment = list_experiments()["main-100"]
    rows = run_block(replace(experiment, setting=replace(experiment.setting, epochs=1)), [0], "wine")
    kept = {row["method"]: row["kept"] for row in rows if row["profile"] == "paper"}
    assert kept["uniform"] == 100
    assert kept["krum"] == pytest.approx(100 * 87 / 124)


def test_the_strongest_claims_hold_at_a_few_seeds():
    methods = {"uniform": {"like": "uniform"}, "krum": {"like": "krum"}, "softmax": {"like": "softmax"}}
    experiment = parse("s", {"title": "s", "methods": {**methods, "adaptive": {"like": "adaptive"}}})
    rows = run_block(experiment, range(6), "wine")
    error = {m: np.mean([r["error"] for r in rows if r["method"] == m]) for m in experiment.methods}
    assert error["softmax"] < error["krum"] < error["uniform"]
    assert error["adaptive"] < error["krum"]
    gamed = replace(experiment, setting=replace(experiment.setting, scenario="adversarial"))
    rows = run_block(gamed, range(6), "wine")
    by_method = {m: [r["error"] for r in rows if r["method"] == m] for m in experiment.methods}
    assert by_method["adaptive"] == by_method["krum"]


def test_stage_one_fires_where_nobody_attacks_and_all_signals_are_high():
    experiment = list_experiments()["zero-attack"]
    clean = replace(experiment, vary={"bad": [0.0]}, setting=replace(experiment.setting, epochs=60))
    rows = run_block(clean, range(3), "wine")
    adaptive = [row for row in rows if row["method"] == "adaptive"]
    uniform = [row for row in rows if row["method"] == "uniform"]
    assert [row["uniform_branch"] for row in adaptive] == [100.0] * 3
    assert [row["error"] for row in adaptive] == [row["error"] for row in uniform]


def test_contributor_level_finds_the_bad_workers_where_sample_level_cannot():
    experiment = list_experiments()["detectability"]
    setting = replace(experiment.setting, epochs=1, size=600)
    one = replace(experiment, setting=setting, vary={"profile": ["paper"], "subtle": [1.0]})
    rows = {row["method"]: row for row in run_block(one, [0], "digits")}
    assert rows["contributor"]["precision"] > 90 > rows["sample"]["precision"]


def test_everybody_confuses_the_same_classes_and_some_far_more():
    setting = Setting(dataset="digits", attack="confused", contributors=20, often=0.6, seldom=0.1)
    case = make_case(setting, 0, 0)
    truth = make_case(replace(setting, often=0.0, seldom=0.0), 0, 0).seen.y
    np.testing.assert_array_equal(case.truth.wrong, case.seen.y != truth)
    assert case.truth.wrong[case.truth.bad].mean() == pytest.approx(0.6, abs=0.06)
    assert case.truth.wrong[~case.truth.bad].mean() == pytest.approx(0.1, abs=0.03)
    pairs = {
        (int(a), int(b)) for a, b in zip(truth[case.truth.wrong], case.seen.y[case.truth.wrong], strict=True)
    }
    assert len(pairs) == 10  # each class has one look-alike
