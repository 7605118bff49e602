"""What a run found out about its contributors, as frames."""

import polars as pl

from anml.assess.assess import Assessment

# What columns of a reputation learned from one run are called.
LEARNED = "r_learned"


def contributor_frame(found: Assessment) -> pl.DataFrame | None:
    """One row per contributor, with the reputation learned from this run; None where none are known."""
    if found.contributors is None or found.signals.contributor is None:
        return None
    frame = pl.DataFrame(found.contributors._asdict()).rename({"names": "contributor"})
    people = found.belief.contributors
    assert people is not None
    learned = people.reputation()
    return frame.with_columns(
        verdict=pl.Series(people.verdict, dtype=pl.String),
        p_honest=people.types[:, 0],
        log_bayes_factor=people.log_bayes_factor,
        **{f"{LEARNED}{'' if name == 'r' else f'_{name}'}": values for name, values in learned.items()},
    )


def learned_frame(contributors: pl.DataFrame) -> pl.DataFrame:
    """The learned reputation alone: contributor, r, low, high, good, bad."""
    columns = [name for name in contributors.columns if name.startswith(LEARNED)]
    short = {name: name.removeprefix(f"{LEARNED}_") if name != LEARNED else "r" for name in columns}
    return contributors.select("contributor", *columns).rename(short)
