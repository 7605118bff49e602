"""The page and the rows behind it."""

import json
from pathlib import Path

from experiments.crowds_table.page import render_page

ROOT = Path(__file__).parents[3]


def test_the_page_is_that_of_the_committed_rows():
    rows = json.loads((ROOT / "results" / "crowds" / "rows.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "crowds.md").read_text(encoding="utf-8")
    command = "python -m experiments crowds-table results/crowds/rows.json --out docs/crowds.md"
    assert page == render_page(rows), f"run `{command}`"
