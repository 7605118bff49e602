"""What contributors' data are worth, in plain sentences."""

from anml.app.audit.result import Audited
from anml.surfaces.names import shortened

# Names in one sentence, and how long one may be.
MOST_NAMED, NAME = 4, 40


def worth(result: Audited) -> list[str]:
    """Whose data cost, whose help, and of how many it cannot be told; nothing where it was not measured."""
    people = result.contributors
    if "value" not in people.columns:
        return []
    rows = people.select("contributor", "value", "value_low", "value_high").drop_nulls().sort("value").rows()
    unit = "in percentage points" if result.task == "classification" else "in the labels' own unit"
    costs = [_named(who, -v, -high, -low) for who, v, low, high in rows if high < 0]
    helps = [_named(who, v, low, high) for who, v, low, high in reversed(rows) if low > 0]
    open_ = len(rows) - len(costs) - len(helps)
    said = []
    if costs:
        said.append(f"The error would be lower without the data of {_listed(costs)}, {unit}.")
    if helps:
        said.append(f"The error would be higher without the data of {_listed(helps)}, {unit}.")
    if open_:
        whose = "the others" if costs or helps else "anybody"
        said.append(f"Whether the data of {whose} help cannot be told from so few rows.")
    return said


def _named(who: str, value: float, low: float, high: float) -> str:
    return f"{shortened(who, NAME)} (by {value:.2g}, {low:.2g} to {high:.2g})"


def _listed(names: list[str]) -> str:
    if len(names) > MOST_NAMED:
        return f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED:,} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
