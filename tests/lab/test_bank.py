"""The bank: methods that are not told the truth, measures by hand, and a small run to the end of the page."""

from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from anml import AnmlClassifier, AnmlRegressor
from anml.core.verdicts import ACCUSED
from anml.core.weigh import RECIPES
from anml.lab import cells, data
from anml.lab.bank import peers
from anml.lab.bank.conditions import CONDITIONS, Condition, Seen, Trigger, Truth, make_condition
from anml.lab.bank.measures import MEASURES, measures
from anml.lab.bank.recipes import assessed, believed, weighed
from anml.lab.bank.run import decided, run_block
from anml.lab.report import write_report
from anml.lab.runner import run
from anml.lab.spec import catalogue, load
from anml.lab.summary import describe, load_results

BANK = catalogue("beyond")["bank"]
OTHERS = ["uniform", "krum", "multiplicative", "softmax", "adaptive", "cleanlab", "zdrop"]


def part(condition, rows):
    """The same condition with some of its rows."""
    seen, truth = condition.seen, condition.truth
    named = ("x", "label", "contributor", "item", "verification", "reputation")
    arrays = {name: value[rows] for name in named if (value := getattr(seen, name)) is not None}
    kept = None if truth.clean is None else (truth.clean[0][rows], truth.clean[1][rows])
    return replace(
        condition,
        seen=replace(seen, **arrays),
        truth=replace(truth, label=truth.label[rows], clean=kept),
    )


@pytest.fixture
def flips():
    """200 rows of moons, of which three of fifteen contributors turn theirs round."""
    return part(make_condition("moons_20flip", 0), np.arange(200))


def test_the_file_names_every_condition_and_every_other_method():
    assert BANK.vary["dataset"] == list(CONDITIONS)
    assert BANK.compared == [*OTHERS[:5], "evidence", *OTHERS[5:], "oracle"]
    assert tuple(BANK.peers) == peers.PEERS
    for model in ("lr", "rf"):
        chosen = BANK.derived[f"best_other_{model}"]["least"]
        assert chosen == [f"{method}.error_{model}" for method in OTHERS]


def test_the_conditions_said_to_be_clean_are_those_without_wrong_labels():
    [claim] = [claim for claim in BANK.claims if "right_dropped" in str(claim)]
    named = [name for name, entry in CONDITIONS.items() if "nothing wrong" in entry.about]
    assert claim["over"]["dataset"] == named
    summed = BANK.derived["right_dropped_clean"]["ratio"]
    assert summed[0]["plus"] == [f"evidence.right_dropped@dataset={name}" for name in named]
    assert summed[1] == len(named)


def test_methods_are_not_told_what_is_true():
    told = {field.name for field in fields(Seen)}
    assert not told & {field.name for field in fields(Truth)} - {"label"}
    assert list(peers.TOLD) == ["oracle"]


@pytest.mark.parametrize("method", BANK.compared)
@pytest.mark.parametrize("name", ["moons_20flip", "num_hetero_bad"])
def test_truth_changes_nothing_but_the_oracle(method, name):
    condition = part(make_condition(name, 0), np.arange(200))
    mixed = np.random.default_rng(0).permutation(200)
    truth = Truth(condition.truth.label[mixed], np.array([9, 10]))
    lied = replace(condition, truth=truth, y_test=condition.y_test[::-1])
    one, two = (decided(BANK, method, each, 0) for each in (condition, lied))
    if one is None:
        assert (method, two) == ("cleanlab", None)
        return
    if method == "oracle":
        seen_x, given = trained_on(two)
        np.testing.assert_array_equal(seen_x, condition.seen.x)
        np.testing.assert_array_equal(given, truth.label)
        return
    for a, b in ((one.kept, two.kept), (one.score, two.score), (one.p_correct, two.p_correct)):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(one.convicted, two.convicted)
    for a, b in zip(trained_on(one), trained_on(two), strict=True):
        np.testing.assert_array_equal(a, b)


class Recorder(ClassifierMixin, BaseEstimator):
    """An estimator that gives back what it is trained on."""

    def fit(self, X, y):
        return X, y


def trained_on(outcome):
    """Features and labels that a method hands to an estimator."""
    return outcome.train(Recorder())


@pytest.mark.parametrize("recipe", ["krum", "evidence"])
def test_recipes_are_weighed_as_by_the_estimators(recipe, flips):
    numbers = part(make_condition("num_hetero_bad", 0), np.arange(200))
    for condition, estimator in ((flips, AnmlClassifier), (numbers, AnmlRegressor)):
        seen = condition.seen
        model = estimator(recipe=recipe, random_state=5).fit(
            seen.x, seen.label, contributor=seen.contributor, item=seen.item,
            verification=seen.verification, reputation=seen.reputation,
        )  # fmt: skip
        seed = int(np.random.RandomState(5).randint(2**31 - 1))
        np.testing.assert_array_equal(weighed(seen, RECIPES[recipe], seed).kept, model.kept_)


def test_what_is_read_of_an_assessment(flips):
    verdict = np.array(["trusted", "cannot tell", *ACCUSED])
    people = SimpleNamespace(verdict=verdict)
    stated = SimpleNamespace(belief=SimpleNamespace(p_correct=np.array([0.9, 0.2]), contributors=people))
    p_correct, convicted = believed(stated)
    assert p_correct.tolist() == [0.9, 0.2]
    assert convicted.tolist() == [False, False, True, True]
    found = assessed(flips.seen, RECIPES["evidence"], 0)
    p_correct, convicted = believed(found)
    assert p_correct.shape == flips.seen.label.shape
    assert [found.contributors.names[code] for code in np.flatnonzero(convicted)] == ["0", "1", "2"]


def test_zdrop_by_hand(monkeypatch):
    # a agrees on 60 of 100, b on 98, c on 100: the mean is 0.86, its standard error for 100 rows 0.0347.
    agrees = np.r_[np.arange(100) < 60, np.arange(100) < 98, np.ones(100, dtype=bool)]
    seen = Seen(np.zeros((300, 1)), agrees.astype(int), np.repeat([7, 8, 10], 100))
    monkeypatch.setattr(peers, "held_out", lambda seen, seed: np.tile([0.0, 1.0], (300, 1)))
    outcome = peers.zdrop(seen, 0)
    # In the order of names as texts: 10, 7, 8.
    assert outcome.convicted.tolist() == [False, True, False]
    assert outcome.kept.tolist() == [False] * 100 + [True] * 200
    assert sorted(set(outcome.score)) == pytest.approx([0, 0.95, 1])
    numbers = replace(seen, label=np.where(agrees, 0.0, 1.0), numeric=True)
    monkeypatch.setattr(peers, "held_out", lambda seen, seed: np.zeros(300))
    assert peers.zdrop(numbers, 0).convicted.tolist() == [False, True, False]


def test_nobody_is_dropped_where_all_agree_alike(monkeypatch):
    seen = Seen(np.zeros((4, 1)), np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]))
    monkeypatch.setattr(peers, "held_out", lambda seen, seed: np.eye(2)[[0, 1, 0, 1]])
    outcome = peers.zdrop(seen, 0)
    assert outcome.kept.all()
    assert outcome.score.tolist() == [0.5] * 4


def test_cleanlab_drops_what_a_forest_contradicts(flips):
    outcome = peers.cleanlab(flips.seen, 0)
    wrong = flips.seen.label != flips.truth.label
    assert (~outcome.kept)[wrong].mean() > 0.7
    assert (~outcome.kept)[~wrong].mean() < 0.2


def test_no_label_is_predicted_by_another_of_its_thing():
    rng = np.random.default_rng(0)
    item = np.repeat(np.arange(60), 3)
    # Features tell things apart and nothing else; labels of a thing agree, by chance.
    seen = Seen(rng.normal(size=(60, 4))[item], rng.integers(0, 2, 60)[item], np.tile([0, 1, 2], 60), item)
    right = peers.held_out(seen, 0).argmax(axis=1) == seen.label
    assert right.mean() < 0.7
    assert (peers.held_out(replace(seen, item=None), 0).argmax(axis=1) == seen.label).mean() > 0.9


class Sure:
    """An outcome whose model answers by the first feature."""

    @staticmethod
    def predict(x):
        return x[:, 0].astype(int)


def outcome_of(**parts):
    return peers.Outcome(lambda learner: Sure(), **parts)


def four_labels(**parts):
    seen = Seen(np.zeros((4, 1)), np.array([0, 1, 1, 0]), np.array([0, 0, 1, 2]))
    truth = Truth(np.array([0, 1, 0, 1]), np.array([1, 2]))
    x_test = np.array([[0.0], [1.0], [1.0], [1.0]])
    return replace(Condition(seen, truth, x_test, np.array([0, 1, 1, 0])), **parts)


def test_measures_by_hand():
    trigger = Trigger(np.array([[1.0], [0.0]]), 1)
    found = measures(
        four_labels(trigger=trigger),
        outcome_of(
            kept=np.array([True, False, True, True]), score=np.array([0.9, 0.8, 0.1, 0.85]),
            p_correct=np.array([0.9, 0.7, 0.1, 0.2]), convicted=np.array([True, True, False]),
        ),
        0,
    )  # fmt: skip
    assert tuple(found) == MEASURES
    assert (found["error_lr"], found["error_rf"]) == (25, 25)
    assert (found["right_dropped"], found["wrong_kept"]) == (50, 100)
    assert (found["honest_convicted"], found["honest"]) == (1, 1)
    assert (found["liars_found"], found["liars"]) == (1, 2)
    assert found["calibration"] == pytest.approx((0.1 + 0.3 + 0.1 + 0.2) / 4)
    assert found["ranking"] == 0.75
    assert (found["attack_lr"], found["attack_rf"]) == (50, 50)


def test_what_is_not_defined_is_not_measured():
    found = measures(four_labels(), outcome_of(), 0)
    undefined = {name for name, value in found.items() if np.isnan(value)}
    assert undefined == {"right_dropped", "wrong_kept", "calibration", "ranking", "attack_lr", "attack_rf"}
    assert found["liars_found"] == 0


def test_where_one_class_is_left_it_is_predicted():
    outcome = weighed(four_labels().seen, RECIPES["uniform"], 0)._replace(kept=np.array([0, 1, 1, 0]) > 0)
    assert measures(four_labels(), outcome, 0)["error_lr"] == 50


def small(names, methods, **parts):
    chosen = {name: BANK.methods[name] for name in methods if name in BANK.methods}
    some = tuple(name for name in BANK.peers if name in methods)
    return replace(BANK, trials=1, vary={"dataset": names}, methods=chosen, peers=some, **parts)


def test_a_small_bank_end_to_end(tmp_path, monkeypatch):
    bank = small(["clean_xor", "num_hetero_bad"], ["uniform", "krum", "evidence", *BANK.peers])
    assert run([bank], tmp_path) == {}
    rows = load_results(bank, tmp_path).rows
    # cleanlab is for classes.
    assert len(rows) == 6 + 5
    clean = rows.filter(pl.col("dataset") == "clean_xor")
    assert clean["wrong_kept"].is_nan().all()
    assert clean.filter(pl.col("method") == "krum")["right_dropped"].to_list() == [30.0]
    assert clean["liars"].to_list() == [0.0] * 6
    found = rows.filter(pl.col("method") == "zdrop", pl.col("dataset") == "num_hetero_bad")
    assert found["liars_found"].to_list() == [3.0]
    page = tmp_path / "docs" / "beyond.md"
    write_report(tmp_path, page, [bank], "beyond")
    check_page(page.read_text(), rows)
    # Nothing is run twice, and a new version of one method runs alone.
    monkeypatch.setitem(cells.VERSIONS["peer"], "oracle", 2)
    ran = []
    whole = run_block
    monkeypatch.setattr("anml.lab.bank.run.run_block", lambda *a, **k: ran.append(whole(*a, **k)) or ran[-1])
    run([bank], tmp_path)
    assert {row["method"] for rows in ran for row in rows} == {"oracle"}
    again = load_results(bank, tmp_path).rows
    assert again.drop("seconds").equals(rows.drop("seconds"), null_equal=True)


def check_page(text, rows):
    [line] = [line for line in text.splitlines() if line.startswith("| num_hetero_bad")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    here = rows.filter(pl.col("dataset") == cells[0])
    means = {
        (method, model): here.filter(pl.col("method") == method)[f"error_{model}"]
        for method in [*OTHERS, "evidence", "oracle"]
        for model in ("lr", "rf")
    }
    for place, model in ((1, "lr"), (5, "rf")):
        assert cells[place] == f"{means['uniform', model].mean():.1f}"
        there = {method: m for method in OTHERS if (m := means[method, model].mean()) is not None}
        best = min(there, key=there.get)
        assert cells[place + 1] == f"{there[best]:.1f} {best}"
        assert cells[place + 2] == f"{means['evidence', model].mean():.1f}"
        assert cells[place + 3] == f"{means['oracle', model].mean():.1f}"
    assert cells[9:11] == ["3 of 3", "0 of 12"]
    assert "- clean_xor: do two signs agree, nothing wrong" in text
    assert "| mean regret lr " in text
    assert "mean regret of a linear model is at most -3 points" in text


def test_a_bank_of_one_method_has_a_page_too(tmp_path):
    bank = small(["clean_xor"], ["uniform"], derived={}, claims=())
    run([bank], tmp_path)
    write_report(tmp_path, tmp_path / "beyond.md", [bank], "beyond")
    assert "| clean_xor " in (tmp_path / "beyond.md").read_text()
    assert describe(load_results(bank, tmp_path))["claims"] == []


def test_parts_that_were_run_apart_are_joined(tmp_path):
    """By a file of one's own with other methods and conditions, in another folder."""
    names = ["clean_xor", "lazy_bal4"]
    for name in names:
        (tmp_path / f"{name}.toml").write_text(
            f'title = "x"\nkind = "bank"\ntrials = 1\nmethods = ["uniform"]\n[vary]\ndataset = ["{name}"]\n'
        )
        run([load(tmp_path / f"{name}.toml")], tmp_path / name)
    bank = small(names, ["uniform"], derived={}, claims=())
    parts = tmp_path / "whole" / ".parts" / "bank"
    parts.mkdir(parents=True)
    for name in names:
        (tmp_path / name / "rows" / f"{name}.parquet").rename(parts / f"{name}.parquet")
    seen = []
    run([bank], tmp_path / "whole", progress=lambda what, done, of: seen.append((done, of)))
    assert seen == [(2, 2)]
    assert load_results(bank, tmp_path / "whole").rows["dataset"].to_list() == names


def test_a_seed_of_its_own_gives_other_conditions():
    bank = small(["clean_xor"], ["uniform"])
    first, second = run_block(bank, [0, 1], "clean_xor")
    [other] = run_block(replace(bank, seed=1), [0], "clean_xor")
    assert other["error_rf"] == second["error_rf"] != first["error_rf"]


def test_conditions_without_their_data_are_left_out_and_named(tmp_path, monkeypatch):
    def absent():
        raise data.DataMissingError("not here")

    monkeypatch.setitem(data.DATASETS, "covertype", absent)
    data.load_dataset.cache_clear()
    bank = small(["clean_xor", "specclass_0"], ["uniform"], derived={}, claims=())
    assert run([bank], tmp_path) == {"bank": ["specclass_0"]}
    assert load_results(bank, tmp_path).axes["dataset"] == ["clean_xor"]
    data.load_dataset.cache_clear()


def test_a_class_that_nobody_names_any_more_is_no_matter(real_data):
    bank = small(["specclass_30"], ["uniform", "cleanlab", "zdrop"])
    seeds = [s for s in range(20) if len(np.unique(make_condition("specclass_30", s).seen.label)) < 7]
    rows = run_block(replace(bank, seed=seeds[0]), [0], "specclass_30")
    assert [row["method"] for row in rows] == ["uniform", "cleanlab", "zdrop"]
