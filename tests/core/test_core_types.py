"""Signals and recipes: what they hold, and what they refuse."""

import json
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import InputError, UnknownNameError
from anml.core.types import SIGNALS, Gate, Recipe, Signals, Weighting
from anml.weighting.weigh import COMBINERS, weigh


class TestSignals:
    def test_external_signal_is_the_product(self):
        np.testing.assert_allclose(Signals.of([1, 1], v=[0.5, 1], r=[0.5, 0.2]).s, [0.25, 0.2])

    def test_one_number_for_all(self):
        np.testing.assert_array_equal(Signals.of([0.1, 0.2], v=0.5).v, [0.5, 0.5])

    def test_remembers_what_was_given(self):
        signals = Signals.of([1.0], v=[1.0])
        assert signals.given == {"q", "v"}
        assert signals.only(("q",)).given == {"q"}

    @pytest.mark.parametrize(
        ("bad", "message"),
        [
            ({"q": [0.5, 1.5]}, r"q must lie in \[0, 1\], got 1.5 at position 1"),
            ({"q": [0.5, np.nan]}, "q has 1 missing"),
            ({"q": []}, "empty"),
            ({"q": [0.5, 0.5], "v": [0.5]}, "v has 1 values for 2 samples"),
            ({"q": [0.5], "r": ["x"]}, "r must be numbers"),
            ({"q": [[0.5]]}, "one value per sample"),
            ({"q": [0.5, 0.5], "contributor": ["a"]}, "contributor has shape"),
        ],
    )
    def test_bad_input_is_named(self, bad, message):
        with pytest.raises(InputError, match=message):
            Signals.of(**bad)


class TestBadRecipes:
    @pytest.mark.parametrize(
        "knob",
        [
            {"alpha": 1.1},
            {"tau_s": 0.0},
            {"tau_h": -0.1},
            {"tau_c": 2},
            {"keep": 0.0},
            {"keep": 1.5},
            {"tau_n": 2},
        ],
    )
    def test_knobs_out_of_range_name_what_is_allowed(self, knob):
        (name,) = knob
        with pytest.raises(InputError, match=rf"{name} must lie in"):
            Recipe(**knob)

    def test_unknown_names(self):
        with pytest.raises(UnknownNameError, match="recipe 'krumm'"):
            weigh([0.5], recipe="krumm")
        with pytest.raises(UnknownNameError, match="combiner"):
            weigh([0.5], recipe=Recipe("nonsense"))
        with pytest.raises(UnknownNameError, match="signal 'x'"):
            Recipe(use=("q", "x"))
        with pytest.raises(UnknownNameError, match="recipe setting 'kep'"):
            weigh([0.5], recipe={"kep": 0.5})
        with pytest.raises(InputError, match="recipe must be"):
            weigh([0.5], recipe=3)


unit = st.floats(0, 1)
recipes = st.builds(
    Recipe,
    combine=st.sampled_from(sorted(COMBINERS)),
    use=st.lists(st.sampled_from(SIGNALS), unique=True).map(tuple),
    level=st.sampled_from(["sample", "contributor"]),
    alpha=unit,
    tau_s=st.floats(0.01, 10),
    tau_h=unit,
    tau_c=st.floats(-1, 1),
    tau_n=unit,
    keep=st.none() | st.floats(0.01, 1),
    select=st.sampled_from(["top", "draw", "weight"]),
)


class TestOnly:
    @pytest.mark.parametrize("name", SIGNALS)
    def test_each_signal_can_be_left_out(self, name):
        result = Signals.of([0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8])
        rest = result.only(tuple(other for other in SIGNALS if other != name))
        np.testing.assert_array_equal(getattr(rest, name), [1, 1])
        assert rest.given == set(SIGNALS) - {name}
        for other in rest.given:
            np.testing.assert_array_equal(getattr(rest, other), getattr(result, other))

    def test_what_is_known_beside_signals_stays(self):
        result = Signals.of([0.1], contributor=["ann"], label_error_rate=0.2, p_correct=[0.9]).only(("q",))
        assert (result.label_error_rate, result.p_correct.tolist(), result.contributor.tolist()) == (
            0.2,
            [0.9],
            ["ann"],
        )

    @given(st.lists(st.sampled_from(SIGNALS), unique=True).map(tuple))
    def test_leaving_out_twice_is_leaving_out_once(self, use):
        once = Signals.of([0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]).only(use)
        twice = once.only(use)
        for name in SIGNALS:
            np.testing.assert_array_equal(getattr(twice, name), getattr(once, name))
        assert twice.given == once.given

    def test_a_signal_that_is_one_but_given_differs_from_one_that_is_not(self):
        assert Signals.of([0.5], v=[1.0]).given != Signals.of([0.5]).given


class TestRecipe:
    @given(recipes)
    def test_reads_back_from_json(self, recipe):
        assert Recipe.from_dict(json.loads(json.dumps(recipe.to_dict()))) == recipe

    def test_every_knob_is_written(self):
        assert set(Recipe().to_dict()) == {f.name for f in fields(Recipe)}

    def test_settings_left_out_are_the_defaults(self):
        assert Recipe.from_dict({"alpha": 0.2}) == Recipe(alpha=0.2)

    @pytest.mark.parametrize("name", [f.name for f in fields(Recipe) if f.type == "float" or f.type is float])
    @pytest.mark.parametrize("value", [np.nan, np.inf, "0.5", None, True])
    def test_every_number_refuses_what_is_none(self, name, value):
        with pytest.raises(InputError, match=name):
            Recipe(**{name: value})

    @pytest.mark.parametrize(("knob", "value"), [("level", "row"), ("select", "best")])
    def test_every_choice_names_what_is_allowed(self, knob, value):
        with pytest.raises(UnknownNameError, match=f"unknown {knob} '{value}'.*allowed: "):
            Recipe(**{knob: value})

    def test_a_recipe_is_not_changed(self):
        with pytest.raises(FrozenInstanceError):
            Recipe().alpha = 0.1


class TestWeighting:
    def gate(self):
        return Gate("q_only", "only q")

    @given(
        st.lists(st.tuples(unit, st.booleans()), min_size=1, max_size=20), st.sampled_from(["top", "weight"])
    )
    def test_learners_weights_have_mean_one_over_what_is_kept(self, rows, select):
        w, kept = (np.array(part) for part in zip(*rows, strict=True))
        result = Weighting(w, kept, self.gate(), Recipe(select=select)).sample_weight()
        assert result.sum() == pytest.approx(kept.sum())
        assert (result[~kept] == 0).all()

    def test_equal_weights_unless_the_recipe_weighs(self):
        w, kept = np.array([0.1, 0.3, 0.6]), np.array([True, True, False])
        top = Weighting(w, kept, self.gate(), Recipe("guarded", select="top"))
        by_weight = Weighting(w, kept, self.gate(), Recipe("guarded", select="weight"))
        np.testing.assert_array_equal(top.sample_weight(), [1, 1, 0])
        # 0.1 and 0.3 scaled to sum to two.
        np.testing.assert_allclose(by_weight.sample_weight(), [0.5, 1.5, 0])

    def test_a_gate_is_plain_values(self):
        result = Gate("blend", "why", 0.5, 0.2, None).to_dict()
        plain = {"branch": "blend", "reason": "why", "rho_c": 0.5, "s_min": 0.2}
        assert result == plain | {"label_error_rate": None}

    def test_weights_of_very_old_samples_stay_in_proportion(self):
        """Freshness of 2^-1070 is a number still, and one over it is not."""
        result = Weighting(
            np.array([2.0, 6.0]) * 2.0**-1070, np.ones(2, bool), self.gate(), Recipe(select="weight")
        )
        np.testing.assert_allclose(result.sample_weight(), [0.5, 1.5])
