"""Names of cells: what decides a row is in its name, and nothing else is."""

from dataclasses import fields, replace

import pytest

from anml.weighting.weigh import RECIPES
from experiments import cells
from experiments.cells import VERSIONS, cell_name, cells_of, missing_cells
from experiments.kinds import KINDS
from experiments.spec import Setting, list_experiments, parse

pytestmark = pytest.mark.slow

EVERY = {**list_experiments(), **list_experiments("beyond"), **list_experiments("field")}
# A value of each field that is not the default.
OTHER = {
    "obvious": "uniform", "scoring_epochs": 20, "scoring_batch": 50,
    "dataset": "digits", "size": 10, "fraction": 0.5, "best": 0.5, "bad": 0.1, "attack": "mixed", "pull": 0.1,
    "subtle": 0.1, "often": 0.1, "seldom": 0.2, "scenario": "high", "correlation": 0.1, "faked": 0.1,
    "contributors": 3, "sybils": 2, "honest_first": 0.1, "labels": 2, "scatter": 0.1, "periods": 2,
    "oldest": 2.0, "decay": 0.2, "drift": "label", "drift_rate": 0.1, "profile": "default", "epochs": 1,
    "batch": 1, "hidden": (1,),
}  # fmt: skip


def experiment(**table):
    return parse("x", {"title": "x", "methods": ["uniform", "krum"], **table})


@pytest.mark.parametrize("name", EVERY)
def test_every_cell_of_ours_has_a_name_of_its_own(name):
    """Two cells of one name would share rows: allowed only where they are one setting under two labels."""
    result: dict[str, tuple] = {}
    for cell, _, setting, method in cells_of(EVERY[name]):
        decides = (setting, EVERY[name].methods.get(method, method))
        assert result.setdefault(cell, decides) == decides


@pytest.mark.parametrize("name", EVERY)
def test_cells_are_conditions_times_methods(name):
    conditions = list(EVERY[name].conditions())
    assert len(list(cells_of(EVERY[name]))) == len(conditions) * len(EVERY[name].compared)


@pytest.mark.parametrize("name", EVERY)
def test_cells_of_all_data_sets_together_are_all_cells(name):
    sets = dict.fromkeys(setting.dataset for _, setting in EVERY[name].conditions())
    apart = [cell for dataset in sets for cell, *_ in cells_of(EVERY[name], dataset)]
    assert sorted(apart) == sorted(cell for cell, *_ in cells_of(EVERY[name]))


@pytest.mark.parametrize("field", [field.name for field in fields(Setting)])
def test_every_field_of_a_setting_is_in_the_name(field):
    plain = experiment()
    changed = replace(Setting(), **{field: OTHER[field]})
    assert cell_name(plain, Setting(), "krum") != cell_name(plain, changed, "krum")


def test_the_table_above_has_every_field():
    assert set(OTHER) == {field.name for field in fields(Setting)}


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_is_named_by_what_it_does(recipe):
    one = parse("x", {"title": "x", "methods": {"mine": {"like": recipe}}})
    two = parse("x", {"title": "x", "methods": {"yours": {"like": recipe}}})
    assert cell_name(one, Setting(), "mine") == cell_name(two, Setting(), "yours")


def test_no_two_recipes_have_one_name():
    names = {
        recipe: cell_name(parse("x", {"title": "x", "methods": [recipe]}), Setting(), recipe)
        for recipe in RECIPES
    }
    same = {a for a in RECIPES for b in RECIPES if a != b and RECIPES[a] == RECIPES[b]}
    assert len({names[recipe] for recipe in RECIPES if recipe not in same}) == len(RECIPES) - len(same)


@pytest.mark.parametrize("kind", KINDS)
def test_the_kind_is_in_the_name(kind):
    peer = next(iter(KINDS[kind].peers or ("nobody",)))
    mine = experiment(kind=kind, peers=[peer])
    plain = experiment(peers=[peer])
    for method in ("krum", peer):
        same = cell_name(mine, Setting(), method) == cell_name(plain, Setting(), method)
        assert same == (kind == "simulated")


@pytest.mark.parametrize("part", VERSIONS)
def test_a_raised_version_gives_new_names_to_what_it_is_about_and_to_nothing_else(part, monkeypatch):
    mine = experiment(kind="real", peers=["truth"])
    about = {"combine": RECIPES["krum"].combine, "profile": "paper", "kind": "real", "peer": "truth"}[part]
    before = {method: cell_name(mine, Setting(), method) for method in mine.compared}
    monkeypatch.setitem(cells.VERSIONS[part], about, 99)
    changed = {m for m in mine.compared if cell_name(mine, Setting(), m) != before[m]}
    every = set(mine.compared)
    krum = {m for m in every if m in mine.methods and mine.methods[m].combine == RECIPES["krum"].combine}
    assert changed == {"combine": krum, "profile": every, "kind": every, "peer": {"truth"}}[part]


@pytest.mark.parametrize(
    "changes", [{"title": "y"}, {"about": "z"}, {"trials": 3}, {"chunk": 2}, {"claims": []}]
)
def test_what_decides_no_row_is_not_in_the_name(changes):
    one, two = experiment(), experiment(**changes)
    assert cell_name(one, Setting(), "krum") == cell_name(two, Setting(), "krum")


def test_wanted_are_all_methods_or_those_of_some_cells():
    mine = experiment(vary={"bad": [0.1, 0.2]})
    everything = missing_cells(mine, "wine", None)
    assert [methods for _, methods in everything.values()] == [["uniform", "krum"]] * 2
    chosen = next(cell for cell, key, _, method in cells_of(mine) if method == "krum" and key[0][1] == "0.2")
    assert [(key, methods) for key, (_, methods) in missing_cells(mine, "wine", [chosen]).items()] == [
        ((("bad", "0.2"),), ["krum"])
    ]
    assert missing_cells(mine, "digits", None) == missing_cells(mine, "wine", []) == {}
