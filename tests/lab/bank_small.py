"""Some of the rows of a condition, and some of the conditions and methods of the bank."""

from dataclasses import replace

from anml.lab.spec import catalogue

BANK = catalogue("beyond")["bank"]


def part(condition, rows):
    """The same condition with some of its rows."""
    seen, truth = condition.seen, condition.truth
    named = ("x", "label", "contributor", "item", "verification", "reputation", "time")
    arrays = {name: value[rows] for name in named if (value := getattr(seen, name)) is not None}
    kept = None if truth.clean is None else (truth.clean[0][rows], truth.clean[1][rows])
    return replace(
        condition,
        seen=replace(seen, **arrays),
        truth=replace(truth, label=truth.label[rows], clean=kept),
    )


def small(names, methods, **parts):
    chosen = {name: BANK.methods[name] for name in methods if name in BANK.methods}
    some = tuple(name for name in BANK.peers if name in methods)
    return replace(BANK, trials=1, vary={"dataset": names}, methods=chosen, peers=some, **parts)
