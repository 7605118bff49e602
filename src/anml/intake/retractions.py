"""A Retraction Watch style CSV, matched to rows by DOI."""

from pathlib import Path

import polars as pl

from anml.core.checks import one_of
from anml.core.errors import InputError
from anml.intake.contributions import EVIDENCE, read_typed, utc_text

ISSUER = "retraction-watch"
# How a notice changes v; the comparison ignores case.
NATURES = {
    "retraction": "retracted",
    "retract and replace": "retracted",
    "expression of concern": "concern",
    "correction": "correction",
    "reinstatement": "reinstated",
}
_TIMES = ("%m/%d/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%m/%d/%Y")
_NEEDED = ("OriginalPaperDOI", "RetractionNature", "RetractionDate")


def normal_doi(text: str | None) -> str | None:
    """A DOI without its resolver and in lower case, so that two spellings meet."""
    if text is None:
        return None
    found = text.strip().lower()
    for start in ("https://", "http://", "dx.", "doi.org/", "doi:"):
        found = found.removeprefix(start)
    return found.strip() if found.strip().startswith("10.") else None


def read_retractions(path: Path) -> pl.DataFrame:
    """Notices with doi, kind and at; rows of an unknown nature are an error, not a guess."""
    found = []
    for row in read_typed(path, _NEEDED[:2], _NEEDED).iter_rows(named=True):
        if (doi := normal_doi(row["OriginalPaperDOI"])) is None:
            continue
        nature = one_of("RetractionNature", (row["RetractionNature"] or "").strip().lower(), NATURES)
        if (at := utc_text(row["RetractionDate"], _TIMES)) is None:
            raise InputError(f"the RetractionDate {row['RetractionDate']!r} cannot be read")
        found.append({"doi": doi, "kind": NATURES[nature], "at": at})
    return pl.DataFrame(found, schema=dict.fromkeys(("doi", "kind", "at"), pl.String))


def match_retractions(rows: pl.DataFrame, notices: pl.DataFrame) -> pl.DataFrame:
    """Evidence about the rows whose `doi` has a notice."""
    if "doi" not in rows.columns:
        raise InputError("matching retractions needs a column with DOIs in the table")
    keyed = rows.select("item", "contributor", pl.col("doi").map_elements(normal_doi, return_dtype=pl.String))
    matched = keyed.drop_nulls("doi").join(notices, on="doi").with_columns(pl.lit(ISSUER).alias("issuer"))
    return matched.select(*EVIDENCE).unique(maintain_order=True)
