"""What a run found out about its contributors, as frames."""

import polars as pl

from anml.core.checks import as_codes
from anml.core.signals.learned import learned_reputation
from anml.gradients.assess import Assessment

# What columns of a reputation learned from one run are called.
LEARNED = "r_learned"


def contributor_frame(found: Assessment) -> pl.DataFrame | None:
    """One row per contributor, with the reputation learned from this run; None where none are known."""
    if found.contributors is None or found.signals.contributor is None:
        return None
    frame = pl.DataFrame(found.contributors._asdict()).rename({"names": "contributor"})
    codes, _ = as_codes("contributor", found.signals.contributor, len(found.signals))
    learned = learned_reputation(found.evidence.model, codes)._asdict()
    return frame.with_columns(
        **{f"{LEARNED}{'' if name == 'r' else f'_{name}'}": values for name, values in learned.items()}
    )


def learned_frame(contributors: pl.DataFrame) -> pl.DataFrame:
    """The learned reputation alone: contributor, r, low, high, good, bad."""
    columns = [name for name in contributors.columns if name.startswith(LEARNED)]
    short = {name: name.removeprefix(f"{LEARNED}_") if name != LEARNED else "r" for name in columns}
    return contributors.select("contributor", *columns).rename(short)
