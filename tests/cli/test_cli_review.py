"""`anml review`: its options, and where the next round is written."""

import pytest

import anml as package
from anml.cli.review import next_folder
from made_up import consortium

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")


def test_a_host_needs_a_password(anml, tmp_path, monkeypatch):
    consortium(120).write_csv(tmp_path / "data.csv")
    package.audit(tmp_path / "data.csv", evaluate=False).save(tmp_path / "run")
    monkeypatch.setenv("ANML_REVIEW_PASSWORD", "short")
    refused = anml("review", tmp_path / "run", "--host", "127.0.0.1")
    assert refused.code == 2
    assert "--host needs a password of at least 8 characters in ANML_REVIEW_PASSWORD" in refused.err
    busy = anml("review", tmp_path / "run", "--port", "99999")
    assert (busy.code, "a port is a number from 0 to 65535, got 99999" in busy.err) == (2, True)


def test_the_next_folder_has_the_next_free_number(tmp_path):
    (tmp_path / "run-2").mkdir()
    assert next_folder(tmp_path / "run").name == "run-3"
    assert next_folder(tmp_path / "run-2").name == "run-3"
