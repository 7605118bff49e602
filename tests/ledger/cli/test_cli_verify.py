"""`anml-ledger verify`: exit codes for programs, and notes that are kept."""

import sqlite3

import pytest


def test_a_sound_ledger_is_exit_code_0_and_a_changed_one_1(books):
    found = books.json("verify")
    assert (found["sound"], found["problems"]) == (True, [])
    with sqlite3.connect(books.folder / "ledger.db") as base:
        base.execute("UPDATE meta SET value = 'other' WHERE name = 'origin'")
    base.close()
    ran = books("verify", "--json")
    assert ran.code in (1, 2)
    assert "Traceback" not in ran.err


def test_a_checkpoint_is_written_and_held_against_the_log(books, tmp_path):
    note = tmp_path / "note.txt"
    found = books.json("verify", "--out", note)
    assert note.read_text() == found["note"]
    assert found["size"] == books.size()
    assert books("verify", "--checkpoint", note).code == 0
    note.write_text(found["note"].replace("test-ledger", "other-ledger"))
    ran = books("verify", "--checkpoint", note)
    assert ran.code in (1, 2)
    assert "signed" in ran.err + ran.out


def test_a_watch_adds_a_note_for_every_state(books, tmp_path):
    folder = tmp_path / "watch"
    assert "there is no folder" in books.refused("verify", "--keep", folder)
    folder.mkdir()
    for _ in range(2):
        assert books("verify", "--keep", folder).code == 0
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("name", ["none.txt", "."])
def test_a_checkpoint_that_cannot_be_read_is_one_sentence(books, tmp_path, name):
    assert "cannot be read" in books.refused("verify", "--checkpoint", tmp_path / name)
