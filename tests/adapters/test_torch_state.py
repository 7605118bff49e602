"""What a Reweigher goes on from: numbers and arrays in one file, whole or not there, and no pickle."""

import numpy as np
import pytest

from anml.adapters.torch.state import load_state, save_state
from anml.core.errors import InputError

STATE = {
    "epoch": 3,
    "name": "é",
    "share": 0.5,
    "none": None,
    "w": np.arange(3.0),
    "kept": np.array([True, False]),
}


def test_numbers_and_arrays_come_back(tmp_path):
    save_state(STATE, tmp_path / "s.npz")
    back = load_state(tmp_path / "s.npz")
    assert back.keys() == STATE.keys()
    for name, value in STATE.items():
        np.testing.assert_array_equal(back[name], value)
    assert back["kept"].dtype == np.bool_


def test_no_half_written_file_is_left(tmp_path):
    save_state(STATE, tmp_path / "s.npz")
    save_state({**STATE, "epoch": 4}, tmp_path / "s.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["s.npz"]
    assert load_state(tmp_path / "s.npz")["epoch"] == 4


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04", b"\x93NUMPY"])
def test_other_files_are_no_state(content, tmp_path):
    (tmp_path / "s.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"s\.npz is not the state of a Reweigher"):
        load_state(tmp_path / "s.npz")


def test_a_file_of_other_arrays_is_no_state(tmp_path):
    np.savez(tmp_path / "s.npz", x=np.ones(2))
    with pytest.raises(InputError, match="is not the state of a Reweigher"):
        load_state(tmp_path / "s.npz")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"gone\.npz is not the state"):
        load_state(tmp_path / "gone.npz")


def test_objects_are_never_read(tmp_path):
    np.savez(tmp_path / "s.npz", __rest__=np.array("{}"), bad=np.array([object()], dtype=object))
    with pytest.raises(InputError, match="is not the state"):
        load_state(tmp_path / "s.npz")
