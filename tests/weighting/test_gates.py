"""Gates: credentials are trusted above a threshold, and equal weights need evidence of few wrong labels."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from random_signals import signals, wide

from anml.core.types import Recipe, Signals
from anml.weighting.combine import correlation
from anml.weighting.weigh import COMBINERS


def test_the_guard_and_the_paper_agree_where_noise_is_known_to_be_high():
    result = Signals.of([0.9, 0.2, 0.4], v=[0.3, 0.9, 0.2], r=0.9, label_error_rate=0.3)
    one, two = (COMBINERS[name](result, Recipe(name)) for name in ("guarded", "adaptive"))
    np.testing.assert_array_equal(one[0], two[0])
    assert one[1] == two[1]


@given(signals(values=wide, min_size=3))
def test_the_guard_never_fires_without_evidence_from_the_data(result):
    assume(result.label_error_rate is None or result.label_error_rate > 0.05)
    _, gate = COMBINERS["guarded"](result, Recipe())
    assert gate.branch != "uniform"


@given(signals(min_size=2), st.floats(-1, 1))
def test_credentials_are_trusted_exactly_above_the_threshold(result, threshold):
    recipe = Recipe("adaptive", tau_h=1.0, tau_c=threshold)
    _, gate = COMBINERS["adaptive"](result, recipe)
    rho = correlation(result.q, result.s)
    assert gate.rho_c == rho
    assert (gate.branch == "blend") == (rho is not None and rho > threshold)


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_the_guard_fires_up_to_its_own_share_of_noise(noise):
    result = Signals.of([0.9, 0.1], v=0.9, r=0.9, label_error_rate=noise)
    assert COMBINERS["guarded"](result, Recipe())[1].branch == "uniform"
    above = Signals.of([0.9, 0.1], v=0.9, r=0.9, label_error_rate=0.051)
    assert COMBINERS["guarded"](above, Recipe())[1].branch != "uniform"


def test_reasons_name_the_figures_they_rest_on():
    falling = Signals.of([0.9, 0.1, 0.5], v=[0.1, 0.9, 0.4], r=1.0)
    _, gate = COMBINERS["adaptive"](falling, Recipe())
    assert f"{gate.rho_c:.3f}" in gate.reason
    assert "tau_c = 0.3" in gate.reason
