"""`python -m anml` is the command line."""

import subprocess
import sys


def test_the_package_can_be_run():
    done = subprocess.run(
        [sys.executable, "-m", "anml", "--help"], capture_output=True, text=True, check=True
    )
    assert "anml [OPTIONS] COMMAND" in done.stdout
