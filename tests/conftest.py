"""Shared by all tests: one thread per process, and the folder of real data sets."""

import os
from pathlib import Path

import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)
# A program that a test starts, not a module of tests.
collect_ignore = ["adapters/flower_simulation.py"]
settings.register_profile("anml", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("anml")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder with Adult, Covertype and the multi-contributor sets, named by ANML_DATA."""
    folder = os.environ.get("ANML_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs the real data sets: set ANML_DATA to their folder")
    return Path(folder)
