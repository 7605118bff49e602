"""Say which data, models and pickles git tracks where none belong; `make lint` runs it.

    python tests/no_data.py [FOLDER]

The rows of experiments are in results, and small made-up files for tests in tests/data. Nothing else is.
"""

import subprocess
import sys
from pathlib import Path, PurePosixPath

TEXT = {".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".xlsx", ".gz", ".zip", ".tar"}
BINARY = {
    ".parquet",
    ".pq",
    ".arrow",
    ".feather",
    ".npy",
    ".npz",
    ".h5",
    ".hdf5",
    ".db",
    ".sqlite",
    ".sqlite3",
}
# A pickle runs whatever is in it, so there is no place for one; a key opens somebody's books.
NOWHERE = {".pkl", ".pickle", ".joblib", ".pt", ".pth", ".ckpt", ".safetensors", ".onnx", ".pem", ".key"}
PLACES = {"results": {*BINARY, ".json"}, "tests/data": TEXT}


def strays(folder: Path) -> list[str]:
    """Tracked files that are data and lie where none belong."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=folder, check=True, capture_output=True, text=True)
    return [name for name in listed.stdout.split("\0") if name and _is_stray(PurePosixPath(name))]


def _is_stray(path: PurePosixPath) -> bool:
    kind = path.suffix.lower()
    if kind not in TEXT | BINARY | NOWHERE:
        return False
    return not any(path.is_relative_to(place) and kind in kinds for place, kinds in PLACES.items())


def main() -> None:
    """Exit with 1 where there are any."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent
    result = strays(folder)
    for name in result:
        print(f"{name} is data: it does not belong into the repository", file=sys.stderr)
    raise SystemExit(bool(result))


if __name__ == "__main__":
    main()
