"""A small world for ledger tests: a clock that is set by hand, fixed identifiers, made-up runs."""

import itertools
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

from anml.app import settle
from anml.core.money import parse_amount
from anml.ledger import people
from anml.ledger.store import Ledger, create, open_ledger

START = datetime(2026, 1, 1, tzinfo=UTC)


class HandClock:
    """A clock that moves when told to."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def pass_days(self, days: float) -> None:
        self.now += timedelta(days=days)


class World:
    """A fresh ledger with a hand-set clock and identifiers c000…1, c000…2 and so on."""

    def __init__(self, url: str, keys: Path, folder: Path) -> None:
        self.url, self.keys, self.folder = url, keys, folder
        self.clock = HandClock()
        self._ids = itertools.count(1)
        self._runs = itertools.count(1)
        self.ledger: Ledger = create(url, keys, "test-ledger", self.clock)
        self.reopen()

    def reopen(self) -> Ledger:
        self.ledger.close()
        self.ledger = open_ledger(self.url, self.keys, self.clock, lambda: f"c{next(self._ids):032x}")
        return self.ledger

    def run(self, rows: pl.DataFrame | None = None, **columns: list) -> Path:
        """Write a run folder as `anml audit --out` does."""
        folder = self.folder / f"run{next(self._runs)}"
        write_run(folder, pl.DataFrame(columns) if rows is None else rows)
        return folder

    def draft(self, folder: Path, pool: str = "100", by: str = "ann", **terms) -> settle.Draft:
        return settle.draft(
            self.ledger, folder, settle.Terms(parse_amount(pool), terms.pop("currency", "EUR"), by, **terms)
        )

    def post(self, folder: Path, pool: str = "100", **terms) -> str:
        made = self.draft(folder, pool, **terms)
        settle.approve(self.ledger, made.id, "bob")
        return made.id

    def establish(self, *names: str) -> dict[str, str]:
        """Give these contributors ten settled contributions and an account of some age."""
        folder = self.run(simple_rows(dict.fromkeys(names, 10)))
        made = self.draft(folder, "0.000001")
        settle.approve(self.ledger, made.id, "bob")
        self.clock.pass_days(30)
        with self.ledger.read() as connection:
            return {name: people.lookup(connection, self.ledger.ring, "run", name) for name in names}


def simple_rows(rows: dict[str, int], q: float = 1.0, v: float = 0.5, r: float = 0.5) -> pl.DataFrame:
    """A run with this many kept rows for each contributor."""
    names = [name for name, count in rows.items() for _ in range(count)]
    n = len(names)
    return pl.DataFrame(
        {
            "row": list(range(n)),
            "contributor": names,
            "q": [q] * n,
            "v": [v] * n,
            "r": [r] * n,
            "t": [1.0] * n,
            "kept": [True] * n,
        }
    )


def judged_rows(labels: dict[str, list[float]]) -> pl.DataFrame:
    """A run by the evidence recipe: p_correct of each contributor's rows; below one half is not kept."""
    rows = [(who, p) for who, each in labels.items() for p in each]
    p_correct = [p for _, p in rows]
    return simple_rows({who: len(each) for who, each in labels.items()}).with_columns(
        p_correct=pl.Series(p_correct), kept=pl.Series([p >= 0.5 for p in p_correct])
    )


def write_run(
    folder: Path, rows: pl.DataFrame, recipe: dict | None = None, verdicts: dict[str, str] | None = None,
    doubtful: str | None = None,
) -> None:  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    rows.write_parquet(folder / "samples.parquet")
    info = {
        "anml": "0.1.0",
        "recipe": recipe or {"combine": "guarded"},
        "seed": 0,
        "versions": {},
        "data": {"name": "made-up", "sha256": "", "rows": rows.height},
        "columns": {},
        "gate": {"branch": "doubtful", "reason": doubtful} if doubtful else {"branch": "blend", "rho_c": 0.5},
        "rows": rows.height,
        "kept": int(rows["kept"].sum()),
        "warnings": [],
    }
    if verdicts is not None:
        table = pl.DataFrame({"contributor": list(verdicts), "verdict": list(verdicts.values())})
        table.write_csv(folder / "contributors.csv")
    (folder / "run.json").write_text(json.dumps(info))
