"""When a module in training has earned a say."""

import numpy as np
import pytest

from anml.adapters.torch.held_out import hardly_predicted, rows_held_out, standing


def right(count, of=200):
    return np.arange(of) < count


@pytest.mark.parametrize(
    ("before", "then", "now", "common", "missing", "after", "says"),
    [
        ("waits", None, 160, 0.5, 0.0, "waits", "still rises"),
        ("waits", 120, 160, 0.5, 0.0, "waits", "still rises"),
        ("waits", 159, 160, 0.5, 0.0, "leads", "no longer rises"),
        ("waits", 170, 160, 0.5, 0.0, "leads", "no longer rises"),
        ("waits", 160, 160, 0.5, 0.25, "waits", "classes of 25% of the rows are hardly predicted"),
        ("waits", 160, 160, 0.5, 0.05, "leads", "no longer rises"),
        ("waits", 86, 86, 0.4, 0.0, "waits", "that of the commonest class is 0.40"),
        ("leads", 160, 165, 0.5, 0.0, "leads", "weights are followed"),
        ("leads", 160, 158, 0.5, 0.0, "leads", "weights are followed"),
        ("leads", 160, 140, 0.5, 0.0, "gave back", "less than before weights were followed"),
    ],
)
def test_accuracy_on_rows_held_out_decides(before, then, now, common, missing, after, says):
    rise = None if then is None else right(now).astype(float) - right(then)
    found, why = standing(before, right(now), rise, common, missing)
    assert found == after
    assert says in why


def test_a_class_that_is_hardly_predicted_has_not_been_learned():
    labels = np.repeat([0, 1, 2], [60, 30, 10])
    assert hardly_predicted(labels, labels, 3) == 0.0
    assert hardly_predicted(labels, np.zeros(100, dtype=int), 3) == pytest.approx(0.4)
    assert hardly_predicted(labels, np.where(labels == 2, 1, labels), 3) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("n", "share", "count"), [(1_000, 0.1, 100), (60, 0.1, 15), (50_000, 0.1, 1_000), (9, 0.0, 0)]
)
def test_rows_held_out_are_few_but_enough(n, share, count):
    held = rows_held_out(n, share, 0)
    assert held.sum() == count
    np.testing.assert_array_equal(held, rows_held_out(n, share, 0))


def test_every_row_is_held_out_once_before_any_is_again():
    turns = [rows_held_out(1_000, 0.1, 3, turn) for turn in range(11)]
    np.testing.assert_array_equal(np.sum(turns[:10], axis=0), np.ones(1_000))
    np.testing.assert_array_equal(turns[10], turns[0])
    assert {int(rows_held_out(70, 0.1, 3, turn).sum()) for turn in range(9)} == {17}
