"""Progress callbacks of training loops."""

from anml.core.progress import ticker


def test_a_ticker_never_asks_to_stop():
    messages = []
    assert ticker(lambda *what: messages.append(what), "x", 9)(4) is False
    assert messages == [("x", 4, 9)]
    assert ticker(None, "x", 9)(4) is False
