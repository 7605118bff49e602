"""Insert single faults into a copy and check that the quick tests fail: `python tests/faults.py`.

Each fault is one changed line that would harm a user: an inverted verdict, a signature that is not checked, a
column read as another one, a sign in Krum, a rounding of money. The tests of the package run first; the
whole quick suite runs only if these pass.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
COPIED = (
    "src", "tests", "experiments", "docs", "bench", "results", "pyproject.toml", "README.md", "Makefile",
    "CHANGELOG.md", "CONTRIBUTING.md", "mkdocs.yml", "constraints.txt",
)  # fmt: skip


class Fault(NamedTuple):
    """A changed line: its file under src/anml, the text before and after, and the tests that run first."""

    file: str
    before: str
    after: str
    tests: str


FAULTS = {
    "verdict: the two flags swapped": Fault(
        "annotators/verdicts.py",
        "words[accused & against], words[accused & ~against] = CONTRADICTS, GUESSING",
        "words[accused & against], words[accused & ~against] = GUESSING, CONTRADICTS",
        "tests/annotators",
    ),
    "verdict: reliable without evidence": Fault(
        "annotators/verdicts.py",
        "(chances.less <= 1 - RELIABLE_PROBABILITY)",
        "(chances.less <= RELIABLE_PROBABILITY)",
        "tests/annotators",
    ),
    "verdict: flags of contributors with few rows": Fault(
        "annotators/verdicts.py",
        "(chances.rows >= MIN_ROWS_TO_FLAG)",
        "(chances.rows >= 0)",
        "tests/annotators",
    ),
    "verdict: false discovery rate of 10%": Fault(
        "annotators/verdicts.py",
        "FALSE_DISCOVERY_RATE = 0.01",
        "FALSE_DISCOVERY_RATE = 0.1",
        "tests/annotators",
    ),
    "signature: not checked": Fault(
        "ledger/keys.py",
        "    except (InvalidSignature, TypeError):\n        return False",
        "    except (InvalidSignature, TypeError):\n        return True",
        "tests/ledger",
    ),
    "key: a weak public key is accepted": Fault(
        "ledger/ed25519.py",
        "_same(point, _NEUTRAL):\n        return False",
        "_same(point, _NEUTRAL):\n        return True",
        "tests/ledger",
    ),
    "money: the remainder is lost": Fault(
        "settlement/allocate.py",
        "        whole[name] += 1\n",
        "        whole[name] += 0\n",
        "tests/settlement",
    ),
    "money: ties go by the order of input": Fault(
        "settlement/allocate.py",
        "sorted(quotas, key=lambda name: (-remainder[name], name))",
        "sorted(quotas, key=lambda name: -remainder[name])",
        "tests/settlement",
    ),
    "Krum: the sample's own distance is counted": Fault(
        "networks/sample_krum.py",
        "tile[positions[first:last] - rows.start, np.arange(first, last)] = np.inf",
        "pass",
        "tests/networks",
    ),
    "Krum: the farthest client wins": Fault(
        "federated/client_krum.py",
        "np.flatnonzero(scores <= scores.min() * (1 + 1e-9))",
        "np.flatnonzero(scores >= scores.max() * (1 - 1e-9))",
        "tests/federated",
    ),
    "q: high raw scores are good": Fault(
        "signals/quality.py", "np.clip(1.0 - (scores / 2", "np.clip((scores / 2", "tests/signals"
    ),
    "gate: the comparison is turned round": Fault(
        "weighting/gates.py", "rho_c > recipe.tau_c:", "rho_c < recipe.tau_c:", "tests/weighting"
    ),
    "s: v alone": Fault("core/types.py", "return self.v * self.r", "return self.v", "tests/core"),
    "freshness: old rows gain weight": Fault(
        "signals/freshness.py",
        "return np.exp(-self.delta * ages)",
        "return np.exp(self.delta * ages)",
        "tests/signals",
    ),
    "reputation: the floor saves flagged rows": Fault(
        "signals/reputation.py",
        "            floored &= ~flagged\n",
        "            floored |= flagged\n",
        "tests/signals",
    ),
    "value: gains of a coalition with the wrong sign": Fault(
        "attribution/games.py",
        "gain = worth[without | (1 << player)] - worth[without]",
        "gain = worth[without] - worth[without | (1 << player)]",
        "tests/attribution",
    ),
    "roles: reputation read as verification": Fault(
        "io/roles.py", '"reputation": ("reputation", ', '"reputation": ("verification", ', "tests/io"
    ),
    "weights: rows found by the wrong key": Fault(
        "pipeline/align.py", "    return positions\n", "    return positions[::-1]\n", "tests/pipeline"
    ),
    "review: the most certain rows first": Fault(
        "pipeline/review_queue.py",
        'p_label_wrong=1 - pl.col("_p")',
        'p_label_wrong=pl.col("_p")',
        "tests/pipeline",
    ),
    "selection: the lowest weights are kept": Fault(
        "weighting/selection.py",
        "np.asarray(w >= threshold)",
        "np.asarray(w <= threshold)",
        "tests/weighting",
    ),
    "ledger: postings that do not add up to zero": Fault(
        "ledger/log.py", "        if left:\n", "        if False:\n", "tests/ledger"
    ),
}


def copy(target: Path) -> None:
    """Copy the project without caches."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target / name)


def tests_pass(project: Path, *chosen: str) -> bool:
    """Run the quick tests of a project, and return True if all pass."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-n",
        "2",
        "-m",
        "not slow",
        "-p",
        "no:cacheprovider",
    ]
    ran = subprocess.run(
        [*command, *chosen], cwd=project, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(project / "src"), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    # pytest-xdist ends with 2 where -x stops it after a failure.
    if ran.returncode not in (0, 1) and "= FAILURES =" not in ran.stdout:
        sys.exit(ran.stdout + ran.stderr)
    return ran.returncode == 0


def main() -> None:
    """Insert each fault, run the tests, and exit with 1 if a fault was not noticed."""
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        copy(project)
        for name, fault in FAULTS.items():
            path = project / "src" / "anml" / fault.file
            text = path.read_text(encoding="utf-8")
            if fault.before not in text:
                sys.exit(f"{name}: {fault.file} has no {fault.before!r}")
            path.write_text(text.replace(fault.before, fault.after, 1), encoding="utf-8")
            passed = tests_pass(project, fault.tests) and tests_pass(project)
            path.write_text(text, encoding="utf-8")
            print("missed" if passed else "caught", name, flush=True)
            missed += [name] if passed else []
    print(f"{len(FAULTS) - len(missed)} of {len(FAULTS)} faults were caught")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
