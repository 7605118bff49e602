"""Experiments as data: a TOML file holds what differs from the defaults; unknown keys are an error."""

import itertools
import time
import tomllib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from math import inf
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from anml.core.checks import one_of, repr_short
from anml.core.errors import InputError
from anml.core.types import Recipe
from experiments import fields
from experiments.fields import checked, count, error_context, listed, number, table, text

Key = tuple[tuple[str, str], ...]
DRIFTS = ("none", "label", "feature")
OBVIOUS = ("offset", "uniform")


@dataclass(frozen=True)
class Setting:
    """Everything that decides what one trial looks like before a method is chosen.

    `size` rows are drawn (0: all), `fraction` of the training part is used, and `best` of what is selected.
    A share `bad` of samples or contributors makes an `attack` (`experiments.cases.ATTACKS`): `pull` is how
    far aligned poison goes, `subtle` the share of look-alikes in `mixed`, whose other flips are `obvious` by
    a fixed offset or uniform over the wrong classes, `often` and `seldom` how often bad
    and other contributors err in `confused`. Credentials are a `scenario` (`experiments.cases.CREDENTIALS`),
    of which a share of the bad is `faked`. `contributors` hold the samples (0 makes every sample its own),
    attackers under so many `sybils`, the first part of their samples honest (`honest_first`). Things have
    so many `labels`, numbers that `scatter` by so many deviations. There are `periods`, the first `oldest`
    units of age ago, with lambda_T `decay`. `profile` says how the scoring model is trained, unless it stops
    at `scoring_epochs` or has a `scoring_batch`; `epochs`, `batch` and `hidden` are those of the final one.
    """

    dataset: str = checked("wine", text)
    size: int = checked(0, count(0))
    fraction: float = checked(1.0, number(0, 1, open_low=True))
    best: float = checked(1.0, number(0, 1, open_low=True))
    bad: float = checked(0.3, number(0, 1))
    attack: str = checked("flip", text)
    pull: float = checked(0.5, number(0, 1))
    subtle: float = checked(0.0, number(0, 1))
    obvious: str = checked("offset", lambda name, value: one_of(name, text(name, value), OBVIOUS))
    often: float = checked(0.6, number(0, 1))
    seldom: float = checked(0.1, number(0, 1))
    scenario: str = checked("moderate", text)
    correlation: float = checked(0.0, number(-1, 1))
    faked: float = checked(0.0, number(0, 1))
    contributors: int = checked(0, count(0))
    sybils: int = checked(1, count(1))
    honest_first: float = checked(0.0, number(0, 1))
    labels: int = checked(1, count(1))
    scatter: float = checked(0.0, number(0, inf))
    periods: int = checked(1, count(1))
    oldest: float = checked(1.0, number(0, inf))
    decay: float = checked(0.1, number(0, inf))
    drift: str = checked("none", lambda name, value: one_of(name, text(name, value), DRIFTS))
    drift_rate: float = checked(0.0, number(0, inf))
    profile: str = checked("paper", text)
    scoring_epochs: int = checked(0, count(0))
    scoring_batch: int = checked(0, count(0))
    epochs: int = checked(500, count(0))
    batch: int = checked(200, count(1))
    hidden: tuple[int, ...] = checked((64, 32), listed(count(1), empty=False))


@dataclass(frozen=True)
class Experiment:
    """One table: settings, what varies, the methods compared, the paper's numbers and its claims.

    `trials` are run with the `seed`, or with each of several `seeds`; claims pool all of them.
    `vary` maps an axis to its values: plain values for an axis that is a field of `Setting`, tables with a
    `label` and several fields for any other. `derived` and `claims` are expressions as data (see
    `experiments.expressions`). `kind` names what makes the rows, in `experiments.kinds.KINDS`, and `peers`
    are methods beside the recipes, in its `PEERS`. `tabled` experiments print a table of each metric when
    they are run. `columns` names what the page shows, `metric` or `method.metric`; the first metric and what
    the paper prints where it is empty. Values of the axes `across` become columns there. The `headline` is
    the main figure beside the paper's, the text of the claim it stands for, and a short reason
    (`experiments.claims.evaluate_headline`); `effects` are figures of the paper's abstract; `findings`,
    written like `notes`, say what the paper does not. In these, and in `why` of a claim,
    `{method.metric@axis=value}` is a figure from the rows.
    """

    name: str
    title: str = checked("", text)
    about: str = checked("", lambda name, value: value if value == "" else text(name, value))
    trials: int = checked(30, count(1, fields.MAX_TRIALS))
    chunk: int = checked(10, count(1, fields.MAX_TRIALS))
    seed: int = checked(0, count(0, 2**63 - 1))
    seeds: tuple[int, ...] = checked((), listed(count(0, 2**63 - 1)))
    timed: bool = checked(False, fields.flag)
    setting: Setting = field(default_factory=Setting, metadata={"check": table})
    vary: Mapping[str, list[Any]] = checked(dict, table)
    methods: Mapping[str, Recipe] = checked(dict, lambda name, value: value)
    metrics: tuple[str, ...] = checked(("error",), listed(text, empty=False))
    derived: Mapping[str, Any] = checked(dict, table)
    paper: tuple[Mapping[str, Any], ...] = checked((), listed(table))
    claims: tuple[Mapping[str, Any], ...] = checked((), listed(table))
    headline: Mapping[str, Any] = checked(dict, table)
    effects: tuple[Mapping[str, Any], ...] = checked((), listed(table))
    findings: tuple[str, ...] = checked((), listed(text))
    notes: tuple[str, ...] = checked((), listed(text))
    kind: str = checked("simulated", text)
    peers: tuple[str, ...] = checked((), listed(text))
    tabled: bool = checked(False, fields.flag)
    columns: tuple[str, ...] = checked((), listed(text))
    across: tuple[str, ...] = checked(("method",), listed(text))

    @property
    def draws(self) -> list["Experiment"]:
        """The experiment with each of its seeds alone."""
        return [replace(self, seed=seed, seeds=()) for seed in self.seeds or (self.seed,)]

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


SETTING, EXPERIMENT = fields.checks(Setting), fields.checks(Experiment)


def label_of(value: Any) -> str:
    """Return the text of an axis value in rows and claims.

    Examples
    --------
    >>> label_of(0.3), label_of(1.0), label_of({"label": "joint", "bad": 0.3}), label_of((64, 32))
    ('0.3', '1', 'joint', '64x32')
    """
    if isinstance(value, dict):
        return str(value["label"])
    if isinstance(value, list | tuple):
        return "x".join(str(each) for each in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def parse(name: str, table: Mapping[str, Any]) -> Experiment:
    """Build an experiment from the table of a TOML file; what is wrong in it is one sentence."""
    with error_context(f"experiment {name!r}"):
        for key in table:
            one_of("key", key, EXPERIMENT)
        if "title" not in table:
            raise InputError("it has no title")
        values = {key: EXPERIMENT[key](key, value) for key, value in table.items()}
        values["setting"] = Setting(**settings("setting", values.get("setting", {})))
        values["methods"] = fields.methods(values.get("methods", ["uniform", "krum", "softmax"]))
        if values.get("seeds"):
            fields.require_unique("seeds", tuple(map(str, values["seeds"])))
            values["seed"] = values["seeds"][0]
        values["vary"] = {axis: _axis(axis, given) for axis, given in values.get("vary", {}).items()}
        values.setdefault(
            "metrics", tuple(report_texts("first").get(values.get("kind", ""), Experiment.metrics))
        )
        return Experiment(name=name, **values)


def settings(where: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Read some settings of a table called `where`."""
    for key in given:
        one_of(f"key in {where}", key, SETTING)
    return {key: SETTING[key](f"{where}.{key}", value) for key, value in given.items()}


def load(path: Path) -> Experiment:
    """Read one experiment from a file; its name is the file's."""
    try:
        return parse(path.stem, tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise InputError(f"there is no experiment file {path}") from None
    except OSError as error:
        raise InputError(f"the experiment file {path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not TOML: it is not text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}") from None
    except RecursionError:
        raise InputError(f"{path} is nested too deeply to be read") from None


def list_experiments(room: str = "paper") -> dict[str, Experiment]:
    """Experiments by name: the paper's in its own order, or those that go `beyond` it."""
    folder = resources.files("experiments") / room
    result = {Path(entry.name).stem: entry for entry in folder.iterdir() if entry.name.endswith(".toml")}
    order = tomllib.loads((folder / "order.toml").read_text(encoding="utf-8"))["order"]
    if set(order) != set(result) - {"order"}:
        raise InputError("order.toml must list every experiment once")
    return {name: parse(name, tomllib.loads(result[name].read_text(encoding="utf-8"))) for name in order}


def find_experiments(names: list[str]) -> list[Experiment]:
    """Look up experiments by name, or by the path of a TOML file of your own."""
    known = {**list_experiments(), **list_experiments("beyond"), **list_experiments("field")}
    chosen: dict[str, Experiment] = {}
    for name in names:
        allowed = [*known, "or a file of your own that ends in .toml"]
        result = load(Path(name)) if name.endswith(".toml") else known[one_of("experiment", name, allowed)]
        # Rows lie under the name of the experiment: two of one name would take each other's place.
        if result.name in chosen:
            raise InputError(f"two experiments are called {result.name!r}; name each once, or rename a file")
        chosen[result.name] = result
    return list(chosen.values())


def _axis(axis: str, values: Any) -> list[Any]:
    """Values of an axis: of a setting, or tables of several settings with a label."""
    where = f"vary.{axis}"
    read = listed(lambda _, value: _value(axis, value), empty=False)(where, values)
    fields.require_unique(f"{where}: labels must differ, but it", tuple(label_of(value) for value in read))
    return list(read)


def _value(axis: str, value: Any) -> Any:
    where = f"vary.{axis}"
    if not isinstance(value, dict):
        one_of("axis", axis, [*SETTING, "or any name whose values are tables with a label"])
        return SETTING[axis](where, value)
    if "label" not in value:
        raise InputError(f"a value of {where} has no label: {repr_short(value)}")
    label = value["label"]
    if isinstance(label, bool) or not isinstance(label, int | float):
        text(f"label in {where}", label)
    changes = {key: each for key, each in value.items() if key != "label"}
    return {"label": label, **settings(where, changes)}


@cache
def report_texts(table: str) -> dict[str, Any]:
    """Texts for people, by name: what figures and methods are, and what pages say (`words.toml`)."""
    result = (resources.files("experiments") / "words.toml").read_text(encoding="utf-8")
    return dict(tomllib.loads(result)[table])


Found = Iterable[tuple[str, dict[str, Any]]]
T = TypeVar("T")


def random_stream(seed: int, trial: int, purpose: str, dataset: str) -> np.random.Generator:
    """Randomness for one purpose in one trial, whatever the condition."""
    return np.random.default_rng([seed, trial, zlib.crc32(purpose.encode()), zlib.crc32(dataset.encode())])


class TrialContext(NamedTuple):
    """Context of a trial: experiment, condition, and number."""

    experiment: Experiment
    setting: Setting
    trial: int

    @property
    def seed(self) -> int:
        """The experiment's, plus the trial's number."""
        return self.experiment.seed + self.trial

    def rng(self, purpose: str) -> np.random.Generator:
        """Randomness for one purpose, whatever the condition on the data set."""
        return random_stream(self.experiment.seed, self.trial, purpose, self.setting.dataset)


def timed(body: Callable[[], T]) -> tuple[T, float]:
    """Run a function; return its result and the processor time of this process."""
    start = time.process_time()
    result = body()
    return result, time.process_time() - start
