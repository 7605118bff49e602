"""Figures of contributors: their words say the figures."""

import numpy as np
import pytest

from anml.surfaces.figures import confusion_figure


@pytest.mark.parametrize("people", [1, 2, 3, 4])
def test_matrices_of_a_few_contributors(people):
    matrix = np.array([[5, 1], [0, 7]])
    names = [f"person {n} <b>" for n in range(people)]
    svg = confusion_figure(names, [matrix] * people, ["cat", "dog"])
    assert svg.count("person 0 &lt;b&gt;") >= 1
    assert "<b>" not in svg
    assert ">7<" in svg
