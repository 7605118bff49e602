"""Where to compute: by name, for a block, and in one sentence where there is no such place."""

import pytest
import torch

from anml.core.errors import InputError
from anml.gradients.devices import DEVICES, current, device_of, on


def test_the_processor_is_always_there():
    assert device_of("cpu") == torch.device("cpu")
    assert current() == torch.device("cpu")


def test_a_device_is_taken_as_it_is():
    device = torch.device("meta")
    assert device_of(device) is device


def test_auto_is_a_gpu_exactly_where_there_is_one(monkeypatch):
    for there, kind in ((True, "cuda"), (False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        assert device_of("auto").type == kind


@pytest.mark.parametrize("name", ["gpu", "", "CPU", "tpu:0"])
def test_unknown_names_are_shown_with_the_known(name):
    with pytest.raises(InputError, match=f"device must be one of {', '.join(DEVICES)}, got {name!r}"):
        device_of(name)


@pytest.mark.parametrize(
    ("name", "says"), [("cuda", "torch sees no GPU here"), ("cuda:1", "no GPU"), ("mps", "no GPU")]
)
def test_a_device_that_is_not_there_is_never_replaced_in_silence(name, says, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(InputError, match=says):
        device_of(name)


def test_a_block_has_its_own_device_and_gives_it_back():
    with on("meta" if "meta" in DEVICES else torch.device("meta")) as device:
        assert current() == device == torch.device("meta")
        with on("cpu"):
            assert current() == torch.device("cpu")
        assert current() == torch.device("meta")
    assert current() == torch.device("cpu")


def test_an_error_inside_gives_it_back_too():
    with pytest.raises(RuntimeError), on(torch.device("meta")):
        raise RuntimeError
    assert current() == torch.device("cpu")


def test_a_bad_name_changes_nothing():
    with pytest.raises(InputError), on("gpu"):
        pass
    assert current() == torch.device("cpu")
