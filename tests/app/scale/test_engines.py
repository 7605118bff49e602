"""The engine of one process: results in order, one slice at a time."""

from anml.app.scale.engines import Local
from anml.app.scale.slices import Piece, Slice

SLICES = [Slice(number, (Piece("x", 0, 1),)) for number in range(3)]


def test_results_come_in_order_with_what_is_shared():
    assert list(Local().map(lambda each, shared: (each.number, shared), SLICES, "s")) == [
        (0, "s"), (1, "s"), (2, "s"),
    ]  # fmt: skip


def test_a_slice_is_worked_on_when_its_result_is_asked_for():
    """Memory is that of one slice: nothing is done ahead."""
    begun = []
    results = Local().map(lambda each, _: begun.append(each.number), SLICES, None)
    assert begun == []
    next(results)
    assert begun == [0]
    Local().close()
