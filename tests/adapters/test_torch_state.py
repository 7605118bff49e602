"""What training goes on from: numbers and tensors in one file, whole or not there, and no code in it."""

from pathlib import Path

import numpy as np
import pytest
import torch

from anml.adapters.torch.state import load_state, save_state
from anml.core.errors import InputError

STATE = {
    "epoch": 3,
    "name": "é",
    "share": 0.5,
    "none": None,
    "w": torch.arange(3.0),
    "kept": torch.tensor([True, False]),
}


def test_numbers_and_arrays_come_back(tmp_path):
    save_state(STATE, tmp_path / "s.pt")
    back = load_state(tmp_path / "s.pt")
    assert back.keys() == STATE.keys()
    for name, value in STATE.items():
        np.testing.assert_array_equal(back[name], value)
    assert back["kept"].dtype == torch.bool


def test_no_half_written_file_is_left(tmp_path):
    save_state(STATE, tmp_path / "s.pt")
    save_state({**STATE, "epoch": 4}, tmp_path / "s.pt")
    assert [path.name for path in tmp_path.iterdir()] == ["s.pt"]
    assert load_state(tmp_path / "s.pt")["epoch"] == 4


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04", b"\x93NUMPY"])
def test_other_files_are_no_state(content, tmp_path):
    (tmp_path / "s.pt").write_bytes(content)
    with pytest.raises(InputError, match=r"s\.pt is not the state of a training"):
        load_state(tmp_path / "s.pt")


def test_a_file_of_other_arrays_is_no_state(tmp_path):
    np.savez(tmp_path / "s.npz", x=np.ones(2))
    (tmp_path / "s.npz").rename(tmp_path / "s.pt")
    with pytest.raises(InputError, match="is not the state of a training"):
        load_state(tmp_path / "s.pt")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"gone\.pt is not the state"):
        load_state(tmp_path / "gone.pt")


def test_objects_are_never_read(tmp_path):
    torch.save({"bad": Path("/tmp")}, tmp_path / "s.pt")
    with pytest.raises(InputError, match="is not the state"):
        load_state(tmp_path / "s.pt")
