"""Worth of coalitions on disk, so that a run that was stopped goes on."""

from pathlib import Path

import numpy as np
import polars as pl

from anml.core.checks import Bools, Floats
from anml.core.errors import InputError
from anml.core.progress import Progress
from anml.valuation.games import Utility, evaluate

CACHE = "coalitions.parquet"
# Coalitions that are evaluated before they are written down.
TOGETHER = 256


class CoalitionStore:
    """Worth of coalitions, kept in a folder so that a run that was stopped goes on where it was."""

    def __init__(self, folder: Path | None, fingerprint: str) -> None:
        self.path = None if folder is None else folder / CACHE
        self.fingerprint = fingerprint
        self.known: dict[bytes, float] = {}
        if self.path is not None and self.path.exists():
            self.known = self._read(self.path)

    def _read(self, path: Path) -> dict[bytes, float]:
        try:
            frame = pl.read_parquet(path)
            mine = frame.filter(pl.col("of") == self.fingerprint)
            return {bytes.fromhex(name): worth for name, worth in mine.select("coalition", "worth").rows()}
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError):
            raise InputError(f"{path} is damaged; remove it, and coalitions are evaluated anew") from None

    def wrap(self, utility: Utility, budget: int, progress: Progress | None) -> Utility:
        """The same utility, asked once for each coalition, and written down as it goes."""

        def known(coalitions: Bools) -> Floats:
            names = [np.packbits(members).tobytes() for members in coalitions]
            new = {name: place for place, name in enumerate(names) if name not in self.known}
            places = list(new.values())
            for start in range(0, len(places), TOGETHER):
                some = places[start : start + TOGETHER]
                worth = evaluate(utility, coalitions[some])
                self.known.update({names[p]: float(w) for p, w in zip(some, worth, strict=True)})
                if progress is not None:
                    progress("coalitions", min(len(self.known), budget), budget)
                self.keep()
            return np.array([self.known[name] for name in names])

        return known

    def keep(self) -> None:
        """Write down what is known so far, whole or not at all."""
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        frame = pl.DataFrame(
            {"of": [self.fingerprint] * len(self.known), "coalition": [n.hex() for n in self.known],
             "worth": list(self.known.values())},
            schema={"of": pl.String, "coalition": pl.String, "worth": pl.Float64},
        )  # fmt: skip
        half = self.path.with_suffix(".half")
        frame.write_parquet(half)
        half.replace(self.path)
