"""The disk's door: one sentence that names the file, and nothing half-written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.core.files import check_writable, commit_file, read_bytes, read_text, write_file, write_temporary


def test_what_is_written_reads_back_and_folders_are_made(tmp_path):
    path = tmp_path / "a" / "b" / "note.txt"
    write_file(path, "héllo\n")
    assert read_text(path, "note") == "héllo\n"
    write_file(path, b"\x00\xff")
    assert read_bytes(path, "note") == b"\x00\xff"


def test_text_is_the_same_from_any_editor(tmp_path):
    path = tmp_path / "note.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    assert read_text(path, "note") == "one\ntwo\n"


@pytest.mark.parametrize("read", [read_bytes, read_text])
def test_what_is_not_there_is_named_as_the_user_named_it(tmp_path, read):
    with pytest.raises(
        InputError, match=r"^the policy .*none.toml cannot be read: No such file or directory$"
    ):
        read(tmp_path / "none.toml", "policy")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read(tmp_path, "policy")


@given(st.binary(min_size=1, max_size=20))
def test_bytes_that_are_no_text_are_one_sentence(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("t") / "x"
    path.write_bytes(data)
    try:
        expected = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        with pytest.raises(InputError, match="it is not UTF-8 text"):
            read_text(path, "file")
    else:
        assert read_text(path, "file") == expected


def test_a_place_that_cannot_be_written_is_said_before_the_work(tmp_path):
    (tmp_path / "file").write_text("keep me")
    for path, message in (
        (tmp_path, "it is a folder"),
        (tmp_path / "file" / "out.csv", "file is a file"),
        (tmp_path / ("x" * 300), "File name too long"),
    ):
        with pytest.raises(InputError, match=f"cannot be written: .*{message}"):
            write_file(path, "x")
    check_writable(tmp_path / "new" / "folder" / "out.csv")
    assert not (tmp_path / "new").exists()
    assert (tmp_path / "file").read_text() == "keep me"


def test_a_file_is_never_written_through_a_link_and_a_private_one_is_nobody_elses(tmp_path):
    (tmp_path / "theirs").write_text("mine")
    (tmp_path / "out.csv").symlink_to(tmp_path / "theirs")
    write_file(tmp_path / "out.csv", "new", private=True)
    assert (tmp_path / "theirs").read_text() == "mine"
    assert ((tmp_path / "out.csv").read_text(), (tmp_path / "out.csv").is_symlink()) == ("new", False)
    assert (tmp_path / "out.csv").stat().st_mode & 0o077 == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "theirs"]


def test_a_file_that_cannot_be_put_in_place_leaves_no_half(tmp_path):
    draft = write_temporary(tmp_path / "a", b"x")
    assert not (tmp_path / "a").exists()
    (tmp_path / "a").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        commit_file(draft, tmp_path / "a")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
