"""The door of the lab: names, and what fits together, are checked before anything runs."""

from anml.core.checks import one_of
from anml.core.errors import InputError
from anml.core.profile import PROFILES
from experiments.cases import ATTACKS, CREDENTIALS
from experiments.data import load_dataset
from experiments.fields import error_context, require_unique
from experiments.kinds import KINDS, metrics_of
from experiments.spec import Experiment, Setting
from experiments.statements import check_statements

# Data sets whose labels are numbers, and the attacks on such labels.
NUMERIC = ("diabetes", "friedman")
ON_NUMBERS = ("shift", "bias", "noisy", "unit", "random")
# Columns of the rows that are no metric, and words that mean something else beside an axis.
RESERVED = ("trial", "seed", "method", "cell", "absent", "label", "implied")


def check_experiment(experiment: Experiment) -> None:
    """Say in one sentence what is wrong with an experiment, or with what it says about its rows."""
    check_runnable(experiment)
    with error_context(f"experiment {experiment.name!r}"):
        check_statements(experiment, metrics_of(experiment))


def check_runnable(experiment: Experiment) -> None:
    """Can it be run? Also part of an experiment can, whose claims are about more than that part."""
    with error_context(f"experiment {experiment.name!r}"):
        _kind(experiment)
        _methods(experiment)
        _axes(experiment)
        for key, setting in experiment.conditions():
            where = ", ".join(f"{axis} {label}" for axis, label in key)
            with error_context(f"at {where}" if where else "setting"):
                _setting(experiment, setting)


def _kind(experiment: Experiment) -> None:
    one_of("kind", experiment.kind, KINDS)
    every = dict.fromkeys(peer for kind in KINDS.values() for peer in kind.peers)
    known = KINDS[experiment.kind].peers
    for peer in experiment.peers:
        one_of("peer", peer, known or every)
    if experiment.peers and not known:
        kinds = " and ".join(repr(name) for name, kind in KINDS.items() if kind.peers)
        raise InputError(
            f"it has peers, which the kind {experiment.kind!r} does not run; the kinds {kinds} do"
        )


def _methods(experiment: Experiment) -> None:
    if not experiment.compared:
        raise InputError("there is no method; name one or more under methods")
    require_unique("methods and peers", tuple(experiment.compared))
    for name in experiment.compared:
        # A reference is written method.metric@axis=value, with * for any method.
        if not name or name != name.strip() or set(".@*") & set(name):
            raise InputError(f"a method must have a name without '.', '@' and '*', got {name!r}")
    if experiment.kind == "calibration" and not any(
        recipe.combine == "evidence" for recipe in experiment.methods.values()
    ):
        raise InputError("the kind 'calibration' needs a method like 'evidence': others do not say p_correct")


def _axes(experiment: Experiment) -> None:
    taken = {*RESERVED, *metrics_of(experiment), *experiment.derived}
    for axis in experiment.axes:
        if axis in taken or not axis or set(",@=") & set(axis):
            raise InputError(
                f"an axis must have a name without ',', '@' and '=' that is no metric, no derived figure and "
                f"none of {', '.join(RESERVED)}, got {axis!r}"
            )


def _setting(experiment: Experiment, setting: Setting) -> None:
    kind = KINDS[experiment.kind]
    one_of("data set", setting.dataset, kind.data)
    one_of("attack", setting.attack, kind.attacks)
    one_of("scenario", setting.scenario, CREDENTIALS)
    one_of("profile", setting.profile, PROFILES)
    if kind.load is not load_dataset:  # real contributors and the bank's conditions are as they are
        return
    for unfit, message in _incompatible(setting, setting.dataset in NUMERIC):
        if unfit:
            raise InputError(message)
    if experiment.kind == "cited" and not setting.contributors:
        raise InputError("the kind 'cited' is about contributors, got 0")
    for name, recipe in experiment.methods.items():
        if recipe.level == "contributor" and not setting.contributors:
            raise InputError(f"the method {name!r} is at contributor level and needs contributors, got 0")


def _incompatible(made: Setting, numeric: bool) -> list[tuple[bool, str]]:
    """Return the conditions of an invalid setting with their messages."""
    on_classes = [name for name in ATTACKS if name not in ON_NUMBERS]
    of_numbers, allowed = made.attack in ON_NUMBERS, ", ".join(ON_NUMBERS if numeric else on_classes)
    given, has = ("numbers", "classes") if of_numbers else ("classes", "numbers")
    return [
        (0 < made.contributors < made.labels,
         f"{made.labels} labels of one thing need as many contributors, got {made.contributors}"),
        (of_numbers != numeric and (numeric or made.bad > 0),
         f"the attack {made.attack!r} is on {given}, and {made.dataset} has {has}; allowed: {allowed}"),
        (numeric and made.drift == "label", f"label drift needs classes, and {made.dataset} has numbers"),
        (numeric and made.scenario == "tiers",
         f"the scenario 'tiers' needs classes, and {made.dataset} has numbers"),
        (not numeric and made.scatter > 0,
         f"classes cannot scatter, only numbers can; got scatter = {made.scatter:g} on {made.dataset}"),
        (made.drift == "label" and made.drift_rate > 1,
         f"the drift_rate of label drift must lie in [0, 1], got {made.drift_rate:g}"),
    ]  # fmt: skip
