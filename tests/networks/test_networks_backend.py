"""The backend that predictors use: numpy, unless a block says otherwise."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from anml.networks.backend import NUMPY, current_backend, use_backend
from anml.networks.mlp import to_numpy


def test_numpy_unless_a_block_says_otherwise():
    other = replace(NUMPY, name="other")
    assert current_backend() is NUMPY
    with use_backend(other):
        assert current_backend() is other
        with use_backend(NUMPY):
            assert current_backend() is NUMPY
        assert current_backend() is other
    assert current_backend() is NUMPY


def test_an_error_inside_restores_it():
    with pytest.raises(RuntimeError), use_backend(replace(NUMPY, name="other")):
        raise RuntimeError
    assert current_backend() is NUMPY


def test_it_goes_to_other_processes():
    assert pickle.loads(pickle.dumps(NUMPY)) == NUMPY


def test_arrays_are_returned_in_double_precision():
    result = to_numpy(np.ones(2, dtype=np.float32))
    assert result.dtype == np.float64
