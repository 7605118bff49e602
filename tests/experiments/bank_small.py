"""Some of the conditions and methods of the bank."""

from dataclasses import replace

from experiments.spec import list_experiments

BANK = list_experiments("beyond")["bank"]


def small(names, methods, **parts):
    chosen = {name: BANK.methods[name] for name in methods if name in BANK.methods}
    subset = tuple(name for name in BANK.peers if name in methods)
    return replace(BANK, trials=1, vary={"dataset": names}, methods=chosen, peers=subset, **parts)
