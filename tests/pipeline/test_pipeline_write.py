"""The output folder: all of a run's files appear, or none, and nothing of an older run stays."""

import polars as pl
import pytest

from anml.core.errors import InputError, IntegrityError
from anml.io.spreadsheets import safe_for_spreadsheets
from anml.pipeline.audit import audit_table
from anml.pipeline.request import Request
from anml.pipeline.write import check_folder, write_frame, write_run
from made_up import consortium

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")


@pytest.fixture(scope="module")
def audited():
    return audit_table(consortium(40), Request(evaluate=False))[0]


def nothing(folder):
    """Write no further files."""


def test_files_are_listed_with_those_in_folders(audited, tmp_path):
    def extra(folder):
        (folder / "model").mkdir()
        (folder / "model" / "model.json").write_text("{}")

    assert write_run(tmp_path / "deep" / "run", audited, "train", extra) == [
        "contributors.csv",
        "model/model.json",
        "run.json",
        "samples.parquet",
    ]


def test_replaced_folder_keeps_nothing_of_the_old_run(audited, tmp_path):
    def extra(folder):
        (folder / "old.html").write_text("old")
        (folder / "model").mkdir()
        (folder / "model" / "old.json").write_text("old")

    write_run(tmp_path / "run", audited, "audit", extra)
    files = write_run(tmp_path / "run", audited, "audit", nothing)
    assert files == ["contributors.csv", "run.json", "samples.parquet"]
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_folder_behind_a_link_is_replaced_and_the_link_stays(audited, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    write_run(tmp_path / "link", audited, "audit", nothing)
    write_run(tmp_path / "link", audited, "audit", nothing)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "run.json").is_file()
    assert {path.name for path in tmp_path.iterdir()} == {"real", "link"}


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("earlier", [False, True])
def test_error_half_way_leaves_everything_as_it_was(earlier, error, audited, tmp_path):
    if earlier:
        write_run(tmp_path / "run", audited, "audit", lambda folder: (folder / "mine").touch())
    before = sorted(tmp_path.rglob("*"))

    def fail(folder):
        (folder / "report.html").write_text("half")
        raise error

    with pytest.raises(error):
        write_run(tmp_path / "run", audited, "audit", fail)
    assert sorted(tmp_path.rglob("*")) == before


def test_error_while_moving_into_place_brings_the_old_run_back(audited, tmp_path, monkeypatch):
    write_run(tmp_path / "run", audited, "audit", lambda folder: (folder / "mine").touch())
    before = sorted(tmp_path.rglob("*"))

    def other(folder):
        (folder / "report.html").touch()
        # A name that is taken by a folder cannot be moved onto.
        monkeypatch.setattr("anml.pipeline.write._move_all", fail_once)

    from anml.pipeline import write as output

    moved = output._move_all

    def fail_once(source, target):
        if source.name.startswith(".run-") and not source.name.startswith(".run-old-"):
            monkeypatch.setattr("anml.pipeline.write._move_all", moved)
            raise OSError(5, "Input/output error")
        moved(source, target)

    with pytest.raises(InputError, match="cannot be written: Input/output error"):
        write_run(tmp_path / "run", audited, "audit", other)
    assert sorted(tmp_path.rglob("*")) == before


def test_folder_is_refused_before_the_work(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").touch()
    with pytest.raises(InputError, match="has files and no earlier run"):
        check_folder(tmp_path / "full")
    for below in ("thesis.txt", "thesis.txt/run", "thesis.txt/deep/run"):
        with pytest.raises(InputError, match=r"thesis.txt is a file"):
            check_folder(tmp_path / "full" / below)


def test_folder_with_the_name_of_a_file_is_refused_unless_it_is_there(tmp_path):
    for name in ("report.html", "x.XLSX", "labels.csv"):
        with pytest.raises(InputError, match=r"must be a folder, got .*; omit the suffix \."):
            check_folder(tmp_path / name)
    (tmp_path / "old.json").mkdir()
    assert check_folder(tmp_path / "old.json") is None
    assert check_folder(tmp_path / "week.3") is None


def test_folder_that_is_empty_new_or_a_run_is_taken(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").touch()
    for name in ("empty", "run", "new", "new/deep"):
        assert check_folder(tmp_path / name) is None


def test_cells_are_safe_for_spreadsheets_and_numbers_stay_numbers():
    risky = ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "plain", "a=b", None]
    frame = pl.DataFrame({"who": risky, "n": range(-4, 5)})
    safe = safe_for_spreadsheets(frame)
    assert safe["who"].to_list() == [f"'{cell}" for cell in risky[:6]] + risky[6:]
    assert safe["n"].to_list() == list(range(-4, 5))


def test_contributors_file_is_safe_and_samples_file_is_exact(tmp_path):
    frame = consortium(40).with_columns(pl.col("contributor").replace({"dan": "=1+1"}))
    result = audit_table(frame, Request(evaluate=False))[0]
    write_run(tmp_path / "run", result, "audit", nothing)
    listed = pl.read_csv(tmp_path / "run" / "contributors.csv")["contributor"].to_list()
    assert "'=1+1" in listed
    assert "=1+1" not in listed
    assert "=1+1" in pl.read_parquet(tmp_path / "run" / "samples.parquet")["contributor"].to_list()


def test_frame_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    frame = pl.DataFrame({"x": [1, 2]})
    for name in ("a.csv", "a.parquet"):
        write_frame(frame, tmp_path / name)
    assert pl.read_csv(tmp_path / "a.csv").equals(pl.read_parquet(tmp_path / "a.parquet"))

    def fail(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(InputError, match=r"a.csv cannot be written: No space left on device"):
        write_frame(frame, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "x\n1\n2\n"
    assert {path.name for path in tmp_path.iterdir()} == {"a.csv", "a.parquet"}


@pytest.mark.parametrize("name", ["samples.parquet", "contributors.csv"])
def test_a_file_that_was_changed_after_the_run_is_found_out(name, audited, tmp_path):
    from anml.pipeline.read import read_learned, read_run

    def read():
        return read_learned(folder, read_run(folder))

    folder = tmp_path / "run"
    write_run(folder, audited, "audit", nothing)
    good = (folder / name).read_bytes()
    assert read().height == 4
    # A change that leaves both tables readable: somebody's evidence, or somebody's row.
    if name == "samples.parquet":
        pl.read_parquet(good).with_columns(p_correct=pl.lit(1.0)).write_parquet(folder / name)
    else:
        (folder / name).write_bytes(good.replace(b"dan", b"eve"))
    with pytest.raises(IntegrityError, match=f"{name} was changed after the run was written"):
        read()
    (folder / name).unlink()
    with pytest.raises(InputError, match=name):
        read()


def test_a_run_that_keeps_no_hashes_is_refused(audited, tmp_path):
    import json

    from anml.core.errors import IntegrityError
    from anml.pipeline.read import read_run

    folder = tmp_path / "run"
    write_run(folder, audited, "audit", nothing)
    record = json.loads((folder / "run.json").read_text())
    assert set(record.pop("files")) == {"samples.parquet", "contributors.csv"}
    (folder / "run.json").write_text(json.dumps(record))
    with pytest.raises(IntegrityError, match=r"keeps no hash of .*; write the run again"):
        read_run(folder)
