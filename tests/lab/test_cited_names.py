"""Names of cited systems and measures: each once, and listed by the kind that runs them."""

import subprocess
import sys

from anml.lab.cited import names
from anml.lab.kinds import METRICS, PEERS


def test_names_stand_once():
    assert len(set(names.PEERS)) == len(names.PEERS)
    assert set(names.PEERS) == {*names.AGGREGATION, *names.VALUE, *names.TRAINING, *names.BOUNDS}


def test_the_kind_runs_and_measures_these():
    assert PEERS["cited"] == names.PEERS
    assert METRICS["cited"] == names.MEASURES


def test_names_load_nothing_heavy():
    code = (
        "import sys; import anml.lab.cited.names, anml.lab.longitudinal.names; print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
