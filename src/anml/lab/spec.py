"""Experiments as data: a TOML file holds what differs from the defaults; unknown keys are an error."""

import itertools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any

from anml.core.checks import one_of
from anml.core.domain import Recipe
from anml.core.errors import InputError, UnknownNameError
from anml.core.weigh import RECIPES, recipe_of

Key = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Setting:
    """Everything that decides what one trial looks like before a method is chosen.

    Parameters
    ----------
    dataset, size, fraction, best
        A name in `anml.lab.data.DATASETS`; rows drawn from it (0: all); share of the training part used;
        share of the selected samples trained on, those with the highest weights.
    bad, attack, pull, subtle, often, seldom
        Share of bad samples (or contributors); a name in `anml.lab.cases.ATTACKS`; how far aligned poison
        is pulled to its target; share of look-alike flips in the attack `mixed`; how often, in the attack
        `confused`, bad contributors and all others take a class for its look-alike.
    scenario, correlation, faked
        Credentials: a name in `anml.lab.cases.CREDENTIALS`; the correlation of `correlated`; the share of
        bad contributors who fake theirs on top.
    contributors, sybils, honest_first
        How many contributors hold the samples (0 makes every sample its own); over how many identities
        each attacker is split; share of its samples that an attacker labels honestly before it turns.
    labels, scatter
        How many labels each thing has, of as many contributors; for numbers, by how many standard deviations
        labels of one thing scatter.
    periods, oldest, decay, drift, drift_rate
        Time periods (1: no time), the age of the oldest, lambda_T per unit of age; `none`, `label` or
        `feature` drift, and its rate.
    profile
        How the scoring model behind q is trained: a name in `anml.gradients.scoring.PROFILES`.
    epochs, batch, hidden
        Training of the final model.
    """

    dataset: str = "wine"
    size: int = 0
    fraction: float = 1.0
    best: float = 1.0
    bad: float = 0.3
    attack: str = "flip"
    pull: float = 0.5
    subtle: float = 0.0
    often: float = 0.6
    seldom: float = 0.1
    scenario: str = "moderate"
    correlation: float = 0.0
    faked: float = 0.0
    contributors: int = 0
    sybils: int = 1
    honest_first: float = 0.0
    labels: int = 1
    scatter: float = 0.0
    periods: int = 1
    oldest: float = 1.0
    decay: float = 0.1
    drift: str = "none"
    drift_rate: float = 0.0
    profile: str = "paper"
    epochs: int = 500
    batch: int = 200
    hidden: tuple[int, ...] = (64, 32)


@dataclass(frozen=True)
class Experiment:
    """One table: settings, what varies, the methods compared, the paper's numbers and its claims.

    `vary` maps an axis to its values: plain values for an axis that is a field of `Setting`, tables with a
    `label` and several fields for any other. `derived` and `claims` are expressions as data (see
    `anml.lab.expressions`). `closeness` names the metric that must lie within three points of the paper's,
    `judge` a function in `anml.lab.judges` that makes claims of its own from the rows. `kind` names what
    makes the rows, in `anml.lab.runner.KINDS`; `peers` are methods beside the recipes, in `anml.lab.peers`.
    `tabled` experiments print a table of each metric when they are run.
    """

    name: str
    title: str
    about: str = ""
    trials: int = 30
    chunk: int = 10
    seed: int = 0
    timed: bool = False
    samples: bool = False
    setting: Setting = field(default_factory=Setting)
    vary: Mapping[str, list[Any]] = field(default_factory=dict)
    methods: Mapping[str, Recipe] = field(default_factory=dict)
    metrics: tuple[str, ...] = ("error",)
    derived: Mapping[str, Any] = field(default_factory=dict)
    paper: tuple[Mapping[str, Any], ...] = ()
    claims: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    closeness: str = ""
    judge: str = ""
    kind: str = "simulated"
    peers: tuple[str, ...] = ()
    tabled: bool = False

    @property
    def compared(self) -> list[str]:
        """Names of all methods, recipes first."""
        return [*self.methods, *self.peers]

    @property
    def axes(self) -> list[str]:
        """Names of what varies."""
        return list(self.vary)

    def conditions(self) -> Iterator[tuple[Key, Setting]]:
        """Every combination of the axes: its labels, and its setting."""
        for combination in itertools.product(*self.vary.values()):
            setting, key = self.setting, []
            for axis, value in zip(self.vary, combination, strict=True):
                table = value if isinstance(value, dict) else {axis: value}
                setting = replace(setting, **{k: v for k, v in table.items() if k != "label"})
                key.append((axis, label_of(value)))
            yield tuple(key), setting


def label_of(value: Any) -> str:
    """How a value of an axis is written in rows and claims.

    Examples
    --------
    >>> label_of(0.3), label_of(1.0), label_of({"label": "joint", "bad": 0.3})
    ('0.3', '1', 'joint')
    """
    if isinstance(value, dict):
        return str(value["label"])
    return f"{value:g}" if isinstance(value, float) else str(value)


def parse(name: str, table: Mapping[str, Any]) -> Experiment:
    """Build an experiment from the table of a TOML file."""
    values = dict(table)
    allowed = [f.name for f in fields(Experiment) if f.name != "name"]
    for key in values:
        one_of(f"key in experiment {name!r}", key, allowed)
    if "title" not in values:
        raise InputError(f"experiment {name!r} has no title")
    values["setting"] = _setting(name, values.get("setting", {}))
    values["methods"] = _methods(values.get("methods", ["uniform", "krum", "softmax"]))
    for key in ("metrics", "paper", "claims", "notes", "peers"):
        if key in values:
            values[key] = tuple(values[key])
    experiment = Experiment(name=name, **values)
    _check_axes(experiment)
    return experiment


def load(path: Path) -> Experiment:
    """Read one experiment from a file; its name is the file's."""
    try:
        return parse(path.stem, tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise InputError(f"there is no experiment file {path}") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}") from None


def catalogue(room: str = "paper") -> dict[str, Experiment]:
    """Experiments by name: the paper's in its own order, or those that go `beyond` it."""
    folder = resources.files("anml.lab") / room
    found = {Path(entry.name).stem: entry for entry in folder.iterdir() if entry.name.endswith(".toml")}
    order = tomllib.loads((folder / "order.toml").read_text(encoding="utf-8"))["order"]
    if set(order) != set(found) - {"order"}:
        raise InputError("order.toml must list every experiment once")
    return {name: parse(name, tomllib.loads(found[name].read_text(encoding="utf-8"))) for name in order}


def find(names: list[str]) -> list[Experiment]:
    """Look up experiments by name, or by the path of a TOML file of your own."""
    known = {**catalogue(), **catalogue("beyond")}
    chosen = []
    for name in names:
        if name.endswith(".toml"):
            chosen.append(load(Path(name)))
        elif name in known:
            chosen.append(known[name])
        else:
            raise UnknownNameError("experiment", name, known)
    return chosen


def _setting(name: str, table: Mapping[str, Any]) -> Setting:
    allowed = [f.name for f in fields(Setting)]
    for key in table:
        one_of(f"setting in experiment {name!r}", key, allowed)
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}
    return Setting(**values)


def _methods(listed: list[str] | Mapping[str, Any]) -> dict[str, Recipe]:
    """A list of recipe names, or a table of names with what differs from a recipe (`like`)."""
    if isinstance(listed, list):
        return {name: recipe_of(name) for name in listed}
    methods = {}
    for name, table in listed.items():
        changes = dict(table)
        like = changes.pop("like", "multiplicative")
        one_of("recipe", like, RECIPES)
        methods[name] = Recipe.from_dict({**RECIPES[like].to_dict(), **changes})
    return methods


def _check_axes(experiment: Experiment) -> None:
    allowed = [f.name for f in fields(Setting)]
    for axis, values in experiment.vary.items():
        for value in values:
            if isinstance(value, dict):
                if "label" not in value:
                    raise InputError(f"a value of axis {axis!r} in {experiment.name!r} has no label")
                for key in value.keys() - {"label"}:
                    one_of(f"setting in axis {axis!r}", key, allowed)
            else:
                one_of(f"axis in experiment {experiment.name!r}", axis, allowed)
