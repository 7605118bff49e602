import pytest

from anml.core.errors import InputError, UnknownNameError
from experiments.cells import cells_of
from experiments.spec import find_experiments, load, parse

pytestmark = pytest.mark.slow


def test_an_experiment_is_a_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('title = "Mine"\nmethods = ["krum"]\n[vary]\nbad = [0.1, 0.2]\n')
    experiment = load(path)
    assert experiment.name == "mine"
    assert [key for key, _ in experiment.conditions()] == [(("bad", "0.1"),), (("bad", "0.2"),)]
    assert [setting.bad for _, setting in experiment.conditions()] == [0.1, 0.2]
    assert find_experiments([str(path)])[0] == experiment


def test_an_axis_may_set_several_things_at_once():
    table = {"title": "x", "vary": {"attack_kind": [{"label": "joint", "attack": "aligned", "faked": 0.6}]}}
    [(key, setting)] = parse("x", table).conditions()
    assert key == (("attack_kind", "joint"),)
    assert (setting.attack, setting.faked) == ("aligned", 0.6)


def test_methods_are_recipes_with_what_differs():
    table = {"title": "x", "methods": {"qv": {"use": ["q", "v"]}, "half": {"like": "krum", "keep": 0.5}}}
    methods = parse("x", table).methods
    assert methods["qv"].use == ("q", "v")
    assert methods["qv"].combine == "multiplicative"
    assert (methods["half"].use, methods["half"].keep) == (("q",), 0.5)


def names(table):
    return [cell for cell, _, _, _ in cells_of(parse("x", {"title": "x", **table}))]


def test_the_name_of_a_cell_follows_what_decides_its_rows():
    plain = names({})
    assert names({"title": "another title", "trials": 3, "claims": []}) == plain
    # What is written out and is the default anyway changes nothing.
    assert names({"setting": {"bad": 0.3}, "vary": {"dataset": ["wine"]}}) == plain
    assert not set(names({"seed": 1})) & set(plain)
    assert not set(names({"setting": {"bad": 0.2}})) & set(plain)
    assert not set(names({"timed": True})) & set(plain)


def test_the_name_of_a_cell_is_the_same_for_ever():
    """Committed rows are found by these names: a change here throws all of them away."""
    assert names({"methods": ["krum", "adaptive"], "setting": {"bad": 0.2}}) == [
        "a38dfa479689",
        "192af52aeaa5",
    ]


def test_kinds_and_peers_are_in_the_name_of_a_cell():
    table = {"methods": ["uniform"], "peers": ["majority vote", "truth"]}
    simulated, real = names(table), names({**table, "kind": "real"})
    assert simulated[0] == names({"methods": ["uniform"]})[0]
    assert len({*simulated, *real}) == 6
    assert names({**table, "kind": "real", "peers": ["truth", "majority vote"]}) == [real[0], *real[:0:-1]]


def test_only_the_changed_method_has_a_new_name():
    one = names({"methods": {"a": {"like": "krum"}, "b": {"like": "softmax"}}})
    two = names({"methods": {"a": {"like": "krum"}, "b": {"like": "softmax", "alpha": 0.4}}})
    assert (one[0] == two[0], one[1] == two[1]) == (True, False)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"title": "x", "trails": 3}, "did you mean 'trials'"),
        ({"title": "x", "setting": {"dataste": "wine"}}, "did you mean 'dataset'"),
        ({"title": "x", "vary": {"badd": [0.1]}}, "did you mean 'bad'"),
        ({"title": "x", "vary": {"a": [{"label": "b", "atack": "flip"}]}}, "did you mean 'attack'"),
        ({"title": "x", "vary": {"a": [{"attack": "flip"}]}}, "has no label"),
        ({"title": "x", "methods": ["krumm"]}, "did you mean 'krum'"),
        ({"title": "x", "methods": {"a": {"kep": 0.5}}}, "did you mean 'keep'"),
        ({"trials": 3}, "has no title"),
    ],
)
def test_what_is_not_known_is_an_error(table, says):
    with pytest.raises((InputError, UnknownNameError), match=says):
        parse("x", table)


def test_a_file_that_is_not_there_or_not_toml(tmp_path):
    with pytest.raises(InputError, match="there is no experiment file"):
        load(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("title = ")
    with pytest.raises(InputError, match="is not TOML"):
        load(tmp_path / "bad.toml")
    with pytest.raises(UnknownNameError, match="did you mean 'main-100'"):
        find_experiments(["main-10"])
