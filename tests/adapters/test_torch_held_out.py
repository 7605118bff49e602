"""When a module in training has earned a say."""

import numpy as np
import pytest

from anml.adapters.torch.held_out import rows_held_out, standing


def right(count, of=200):
    return np.arange(of) < count


@pytest.mark.parametrize(
    ("before", "then", "now", "common", "after", "says"),
    [
        ("waits", None, 160, 0.5, "waits", "still rises"),
        ("waits", 120, 160, 0.5, "waits", "still rises"),
        ("waits", 159, 160, 0.5, "leads", "no longer rises"),
        ("waits", 170, 160, 0.5, "leads", "no longer rises"),
        ("waits", 86, 86, 0.4, "waits", "that of the commonest class is 0.40"),
        ("leads", 160, 165, 0.5, "leads", "weights are followed"),
        ("leads", 160, 158, 0.5, "leads", "weights are followed"),
        ("leads", 160, 140, 0.5, "gave back", "less than before weights were followed"),
        ("gave back", 160, 190, 0.5, "gave back", "fell while weights were followed"),
    ],
)
def test_accuracy_on_rows_held_out_decides(before, then, now, common, after, says):
    earlier = None if then is None else right(then)
    found, why = standing(before, earlier, right(now), common)
    assert found == after
    assert says in why


@pytest.mark.parametrize(
    ("n", "share", "count"), [(1_000, 0.1, 100), (60, 0.1, 15), (50_000, 0.1, 1_000), (9, 0.0, 0)]
)
def test_rows_held_out_are_few_but_enough(n, share, count):
    held = rows_held_out(n, share, 0)
    assert held.sum() == count
    np.testing.assert_array_equal(held, rows_held_out(n, share, 0))
