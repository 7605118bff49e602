"""Choice of the device: by name, within a block, and an error for an unavailable device."""

import sys

import pytest
import torch

from anml.core.errors import InputError, UnsupportedError
from anml.gradients.devices import DEVICES, current_device, device_of, use_device
from anml.networks.backend import NUMPY, current_backend


def test_the_processor_is_always_there():
    assert device_of("cpu") == torch.device("cpu")
    assert current_device() == torch.device("cpu")


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
    with use_device(torch.device("meta")):
        assert current_device() == torch.device("meta")
        with use_device("cpu"):
            assert current_device() == torch.device("cpu")
        assert current_device() == torch.device("meta")
    assert current_device() == torch.device("cpu")


def test_an_error_inside_gives_it_back_too():
    with pytest.raises(RuntimeError), use_device(torch.device("meta")):
        raise RuntimeError
    assert current_device() == torch.device("cpu")


def test_a_bad_name_changes_nothing():
    with pytest.raises(InputError), use_device("gpu"):
        pass
    assert current_device() == torch.device("cpu")


class TestBackend:
    @pytest.mark.parametrize("name", ["auto", "cpu"])
    def test_small_networks_are_trained_by_numpy(self, name, monkeypatch):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        with use_device(name):
            assert current_backend() is NUMPY

    def test_small_networks_are_trained_by_torch_on_a_gpu_that_is_named(self, monkeypatch):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        with use_device("cuda"):
            assert current_backend().name == "torch on cuda"
        assert current_backend() is NUMPY

    def test_without_torch_the_extra_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "torch", None)
        with use_device("auto"), pytest.raises(UnsupportedError, match=r"attribution-native-ml\[torch\]"):
            current_device()
        with (
            pytest.raises(UnsupportedError, match="the device 'cuda' needs the package torch"),
            use_device("cuda"),
        ):
            pass
