"""The data governance sheet has the figures of the run."""

import pytest

from anml.pipeline.read import read_run
from anml.report.export import write_export

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")


def test_the_sheet_has_the_figures_of_the_run_under_the_headings_of_article_10(exported_run, tmp_path):
    write_export(exported_run, "datasheet", tmp_path / "sheet.md")
    text, info = (tmp_path / "sheet.md").read_text(), read_run(exported_run).info
    assert text.startswith("# Data governance sheet: data\\|x.csv\n")
    for point in ("2a", "2b", "2c", "2d", "2e", "2f", "2g", "2h", "(3)", "(5)"):
        assert point in text
    rate = info["label_error_rate"]
    assert f"{rate['mean']:.1%} (95% interval {rate['low']:.1%} to {rate['high']:.1%})" in text
    assert f"Excluded from training: {info['rows'] - info['kept']} rows" in text
    assert "Licence: CC0" in text
    assert text.count("| contributor-") == 4
    assert "To be stated by the provider" in text
