"""The request of an audit: columns by role, task, recipe and side inputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anml.core.checks import check_seed
from anml.core.errors import InputError
from anml.core.types import Recipe
from anml.io.times import parse_moment
from anml.schema import Encoder, Schema
from anml.signals.freshness import ContextDecay, Decay, decay_of
from anml.tasks import Task, task_of
from anml.weighting.weigh import recipe_name, recipe_of

if TYPE_CHECKING:
    from anml.assessment.assess import SamplePolicy

# Columns used by the readers of exports and of structured tasks.
READER_COLUMNS = ("label", "contributor", "item", "time", "true_label", "test_label")


@dataclass(frozen=True)
class Request:
    """Settings of an audit, without the data.

    `reviewed` is a column of reviews in an export. `predictions` and `embeddings` are arrays, frames
    or paths, aligned by position or by column `key`; `computed` names those made from the
    rows. `task` is the task type.
    """

    label: str | None = None
    contributor: str | None = None
    item: str | None = None
    verification: str | None = None
    reputation: str | None = None
    time: str | None = None
    derived_from: str | None = None
    test_label: str | None = None
    true_label: str | None = None
    reviewed: str | None = None
    retracted: str | None = None
    licence: str | None = None
    features: Sequence[str] | None = None
    ignore: Sequence[str] = ()
    key: str | None = None
    batch: str | None = None
    answers: str = "all"
    clean: bool | str = True
    missing: Sequence[str] | None = None
    task: str | Task = "auto"
    recipe: str | Recipe | Mapping[str, Any] = "evidence"
    seed: int = 0
    evaluate: bool = True
    n_jobs: int | None = None
    computed: tuple[str, ...] = ()
    predictions: Any = field(default=None, compare=False, repr=False)
    embeddings: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "task", task_of(self.task))
        for name in ("features", "ignore"):
            if isinstance(getattr(self, name), str):
                object.__setattr__(self, name, (getattr(self, name),))
        if self.embeddings is not None and self.features:
            raise InputError("embeddings replace feature columns; pass embeddings or features")

    @property
    def resolved_recipe(self) -> Recipe:
        """The recipe with all of its settings."""
        return recipe_of(self.recipe)

    @property
    def label_type(self) -> str:
        """The task type of labels: auto, classification or regression."""
        return self.task.name if isinstance(self.task, Task) else self.task

    @property
    def decay(self) -> Decay | ContextDecay:
        """Freshness by the half-life of the recipe."""
        return decay_of(self.resolved_recipe.half_life)

    @property
    def uses_freshness(self) -> bool:
        """True if the recipe has a half-life."""
        return self.resolved_recipe.half_life is not None

    @property
    def uses_times(self) -> bool:
        """True if the user named a time column, or the recipe has a half-life."""
        return self.time is not None or self.uses_freshness

    @property
    def reference_time(self) -> Any:
        """The moment from which ages are measured; None is the newest row."""
        return parse_moment(self.resolved_recipe.reference_time)

    @property
    def recipe_label(self) -> str:
        """The name of the recipe in the report: given by the user, or of its combiner."""
        if isinstance(self.recipe, str):
            return self.recipe
        if isinstance(self.recipe, Mapping) and "name" in self.recipe:
            return str(self.recipe["name"])
        return recipe_name(self.resolved_recipe) or self.resolved_recipe.combine

    def check(self) -> None:
        """Check the settings, so that errors are raised before heavy imports."""
        check_seed(self.seed)
        _ = self.decay, self.reference_time

    def policy(self) -> "SamplePolicy":
        """Settings of the assessment, checked."""
        from anml.assessment.assess import SamplePolicy

        return SamplePolicy.of(self.recipe, self.seed)

    def without_floor(self) -> "Request":
        """The same request without a floor on r for newcomers."""
        settings = {"name": self.recipe_label, **self.resolved_recipe.to_dict(), "newcomer_rows": 0}
        return replace(self, recipe=settings)


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """A request with the file format, encoder and test data."""

    request: Request
    format: str = "auto"
    encoder: Encoder | None = None
    test: Any = None

    @property
    def task(self) -> Task:
        """The task that the user named."""
        assert isinstance(self.request.task, Task)
        return self.request.task

    def reader_options(self) -> dict[str, Any]:
        """Columns and task options for the readers of files."""
        columns = {name: getattr(self.request, name) for name in READER_COLUMNS}
        return {**columns, **self.task.options(), "task": self.task.name}

    def to_config(self) -> dict[str, Any]:
        """Settings that differ from the defaults, in the form of `--config`."""
        request = self.request
        named = {name: getattr(request, name) for name in ("label", "contributor", "item", "features")}
        named |= {name: path_of(getattr(request, name)) for name in ("predictions", "embeddings")}
        schema = _changed(
            Schema(**{f.name: getattr(request, f.name) for f in fields(Schema) if f.name != "format"})
        )
        schema |= {} if self.format == "auto" else {"format": self.format}
        recipe = request.resolved_recipe.to_dict()
        name = recipe_name(request.resolved_recipe)
        sections = {
            "task": {"name": self.task.name, **_changed(self.task)},
            "schema": schema,
            "recipe": {"name": name} if name else recipe,
            "encoder": {} if self.encoder is None else _changed(self.encoder),
        }
        config = {name: value for name, value in named.items() if value is not None}
        config |= {name: values for name, values in sections.items() if values}
        if not request.evaluate:
            config["evaluate"] = False
        return config | {"random_state": request.seed}


def path_of(value: Any) -> str | None:
    """The path of a side input as text; None for an array or a frame."""
    return str(Path(value).expanduser().absolute()) if isinstance(value, str | Path) else None


def _changed(options: Any) -> dict[str, Any]:
    """Fields of a dataclass that differ from their defaults, as plain values."""
    changed = {}
    for each in fields(options):
        value = getattr(options, each.name)
        if value == each.default or value is None:
            continue
        plain = list(value) if isinstance(value, tuple | list) else value
        changed[each.name] = plain if isinstance(plain, bool | int | float | list) else str(plain)
    return changed
