"""A review in progress: the item that each reviewer sees, and the answers, written to a file as they come."""

import json
import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from anml.core.errors import ConflictError, InputError, os_error_message
from anml.io.images import Images, picture_column
from anml.io.plain import as_text
from anml.io.source import Source
from anml.io.tasks.regions import REGIONS
from anml.io.tasks.types import PREFERENCE
from anml.pipeline.read import read_run
from anml.pipeline.review_queue import QueueInput, build_queue, queue_input_from_run
from anml.pipeline.rounds import NewLabel, source_of
from anml.pipeline.sources import folder_of
from anml.pipeline.write import REVIEW_FILE
from anml.review.answers import Entry, read_log
from anml.review.apply import known_labels, validate_answers
from anml.review.assign import parse_number
from anml.review.files import shown_columns

# An item that a reviewer opened is offered to no other reviewer for this many seconds.
RESERVED_S = 600.0
# Roles of columns that are shown elsewhere on the page, or that would lead the reviewer.
HIDDEN_ROLES = ("label", "contributor", "item", "verification", "reputation", "true_label", "test_label")
# Columns of spans, boxes and pairs, which are drawn and not listed.
DRAWN = ("candidate", "near", "start", "end", "x", "y", "width", "height", "first", "second")


class ReviewSession:
    """The queue of a run and the answers so far; `clock` returns seconds.

    `names` false hides the names of contributors, `new_labels` true accepts labels that the data do not have.
    """

    def __init__(
        self, folder: Path, clock: Callable[[], float], *, data: Path | None = None, top: int | None = None,
        names: bool = True, new_labels: bool = False,
    ) -> None:  # fmt: skip
        self.folder, self.clock, self.names, self.new_labels = folder, clock, names, new_labels
        run = read_run(folder)
        self.inputs = queue_input_from_run(folder, run)
        self.source = source_of(self.inputs, folder, data)
        queue = build_queue(self.inputs, top)
        self.rows = {row["row"]: row for row in queue.rows.iter_rows(named=True)}
        self.order, self.expected = list(self.rows), queue.expected
        self.numeric = run.task == "regression"
        self.choices = [] if self.numeric else _choices(self.inputs, self.source)
        roles = {name for role in HIDDEN_ROLES if (name := (run.info.get("schema") or {}).get(role))}
        self._fields = [name for name in shown_columns(self.source) if name not in roles]
        self._unit = "item" if "item" in self.inputs.samples.columns else "row"
        self._images = _images(self.source, folder_of(self.source.path))
        self.file = folder / REVIEW_FILE
        self._seconds = 0.0
        self._last: dict[int, Entry] = {}
        for entry in read_log(self.file):
            self._seconds += entry["seconds"]
            self._last |= {entry["row"]: entry} if entry["row"] in self.rows else {}
        self._done: dict[str, list[int]] = defaultdict(list)
        for entry in self._last.values():
            self._done[entry["by"]].append(entry["row"])
        self._reserved: dict[int, tuple[str, float]] = {}
        self._first = 0

    def next_item(self, by: str) -> dict[str, Any] | None:
        """Return the item for a reviewer: the one they opened, or the first that is free, or None."""
        now = self.clock()
        self._reserved = {row: each for row, each in self._reserved.items() if each[1] > now}
        mine = next((row for row, each in self._reserved.items() if each[0] == by), None)
        while self._first < len(self.order) and self._decided(self.order[self._first]):
            self._first += 1
        free = (row for row in self.order[self._first :] if not self._decided(row))
        row = next((row for row in free if row not in self._reserved), None) if mine is None else mine
        if row is None:
            return None
        self._reserved[row] = by, now + RESERVED_S
        return self.item(row)

    def answer(self, by: str, row: int, label: str | None, seconds: float = 0.0, comment: str = "") -> None:
        """Write an answer, or that the reviewer skipped the item (`label` None)."""
        if row not in self.rows:
            raise InputError(f"row {row} is not in the review queue")
        before = self._last.get(row)
        if before is not None and before["label"] is not None and before["by"] != by:
            raise ConflictError(f"{before['by']} answered this item in the meantime")
        if label is not None:
            task = "regression" if self.numeric else "classification"
            given = {row: NewLabel(label.strip(), by)}
            label = validate_answers(given, self.inputs, task, self.new_labels)[row].label
        self._write(by, row, label, seconds, comment)
        self._done[by].append(row)

    def undo(self, by: str) -> None:
        """Take back the last answer of a reviewer, who sees that item again."""
        if not self._done[by]:
            raise InputError("there is no answer to undo")
        row = self._done[by].pop()
        self._write(by, row, None, 0.0, "", undone=True)
        self._reserved = {other: each for other, each in self._reserved.items() if each[0] != by}
        self._reserved[row] = by, self.clock() + RESERVED_S

    def offer_skipped(self, by: str) -> None:
        """Offer the items again that were skipped."""
        for row in [row for row, entry in self._last.items() if entry["label"] is None]:
            self._write(by, row, None, 0.0, "", undone=True)

    def progress(self) -> dict[str, Any]:
        """Return the numbers of answers and skipped items, the time, and the expected wrong labels left."""
        answered = {row: entry for row, entry in self._last.items() if entry["label"] is not None}
        left = self.expected - sum(self.rows[row]["p_label_wrong"] for row in answered)
        now = {row: self.rows[row]["consensus_label"] or str(self.rows[row]["label"]) for row in answered}
        return {
            "answered": len(answered), "items": len(self.order), "expected_wrong_left": max(left, 0.0),
            "changed": sum(now[row] != entry["label"] for row, entry in answered.items()),
            "skipped": sum(self._decided(row) and row not in answered for row in self._last),
            "seconds": self._seconds,
        }  # fmt: skip

    def item(self, row: int) -> dict[str, Any]:
        """Return all that the page shows of an item."""
        about, shape = self.rows[row], self.source.shape
        cells = self.source.table.frame.row(row, named=True)
        fields = {name: _cell(cells[name]) for name in self._fields if cells[name] is not None}
        if not self.names:
            fields = {name: text for name, text in fields.items() if about["contributor"] not in text}
        shown: dict[str, Any] = {"row": row, "name": str(about["item"] or f"row {row}")}
        if shape is not None:
            shown |= _places(cells, shape.frames)
            if shape.kind == PREFERENCE:
                shown["pair"] = [cells["first"], cells["second"]]
            drawn = DRAWN if shape.kind in (*REGIONS, PREFERENCE) else ()
            fields = {name: text for name, text in fields.items() if name not in drawn}
        if self.image(row) is not None:
            shown["image"] = f"image/{row}"
        samples = self.inputs.samples.filter(pl.col(self._unit) == (about[self._unit]))
        given = samples.select("contributor", as_text(samples["label"]))
        labels = [{"by": name if self.names else f"annotator {number}", "label": label}
                  for number, (name, label) in enumerate(given.iter_rows(), start=1)]  # fmt: skip
        suggested = about["suggested_label"]
        return shown | {
            "fields": fields, "labels": labels, "choices": self._keys(about, labels),
            "p": about["p_suggested_label"],
            "suggested": None if suggested is None else _cell(suggested),
            "reason": about["reason"] if self.names else "",
            "entry": self._last.get(row),
        }  # fmt: skip

    def image(self, row: int) -> tuple[bytes, str] | None:
        """Return the image of a row and the ending of its file; None if the row has none on this disk."""
        path = None if self._images is None else Path(self._images.paths[row] or "")
        if self._images is None or path is None or not (self._images.folder / path).is_file():
            return None
        return self._images.bytes_of(row), path.suffix.lower()

    def _keys(self, about: dict[str, Any], labels: list[dict[str, str]]) -> list[str]:
        """The labels for the keys 1 to 9: all, or of many those that are given or suggested."""
        if len(self.choices) <= 9:
            return self.choices
        likely = dict.fromkeys([about["suggested_label"], *(each["label"] for each in labels)])
        return [label for label in likely if label is not None][:9]

    def _decided(self, row: int) -> bool:
        entry = self._last.get(row)
        return entry is not None and not entry.get("undone")

    def _write(self, by: str, row: int, label: str | None, seconds: float, comment: str, **more: Any) -> None:
        entry = {
            "row": row,
            "label": label,
            "by": by,
            "seconds": round(seconds, 1),
            "comment": comment,
            **more,
        }
        line = (json.dumps(entry, ensure_ascii=False) + "\n").encode()
        with os_error_message(f"{self.file} cannot be written"), self.file.open("a+b") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - 1, 0))
            # A line of a killed process may have no end.
            file.write(line if file.read(1) in (b"", b"\n") else b"\n" + line)
            file.flush()
            os.fsync(file.fileno())
        self._seconds += seconds
        self._last[row] = entry
        self._reserved.pop(row, None)
        if more:
            self._first = min(self._first, self.order.index(row))


def _choices(inputs: QueueInput, source: Source) -> list[str]:
    grades = None if source.shape is None else source.shape.frames.get("order")
    order = {} if grades is None else dict(grades.iter_rows())
    return sorted(
        known_labels(inputs), key=lambda name: (order.get(name, 0), parse_number(name) or 0.0, name)
    )


def _images(source: Source, folder: Path) -> Images | None:
    frame = source.table.frame
    if source.shape is not None:
        frame = frame.select(name for name in ("document",) if name in frame.columns)
    column = None if frame.is_empty() else picture_column(frame)
    try:
        return None if column is None else Images(frame[column].to_list(), folder, anywhere=False)
    except InputError:
        return None


def _places(cells: dict[str, Any], frames: dict[str, pl.DataFrame]) -> dict[str, Any]:
    """The text in three parts around a span, or the sides of a box beside those of its neighbours."""
    if "start" in cells and "texts" in frames:
        [text] = frames["texts"].filter(pl.col("document") == cells["document"])["text"].to_list() or [""]
        start, end = int(cells["start"]), int(cells["end"])
        return {"text": [text[:start], text[start:end], text[end:]]}
    if "width" in cells:
        sides = ("x", "y", "width", "height")
        near = frames["candidates"].filter(pl.col("document") == cells["document"])
        return {"box": [cells[side] for side in sides], "boxes": near.select(sides).rows()}
    return {}


def _cell(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
