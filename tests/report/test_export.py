"""`anml export`: formats and places."""

import json

import pytest

from anml.core.errors import AnmlError
from anml.report.export import write_export

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")


def test_other_formats_and_places_are_refused(exported_run, anml, tmp_path):
    with pytest.raises(AnmlError, match="unknown to 'csv'"):
        write_export(exported_run, "csv", tmp_path / "x")
    assert anml("export", exported_run, "--to", "prov", "--out", tmp_path).code == 2
    done = anml("export", exported_run, "--to", "datasheet", "--out", tmp_path / "a.md", "--json")
    assert json.loads(done.out)["files"] == [str(tmp_path / "a.md")]
