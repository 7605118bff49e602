"""Mutated inputs for every command that reads files: one sentence or success, nothing half-written.

    python tests/fuzz.py [--count 10000] [--seed 0]

Import, audit, settle, pay, verify, show and export each get files that a seed spoils: bytes flipped, cut,
doubled or put elsewhere, values replaced by odd ones, whole files swapped. Faults are a traceback, an exit
code other than 0, 1 or 2, an error of more than one sentence, a changed ledger after a failure, and a file
written in spite of one.
"""

import argparse
import contextlib
import copy
import io
import json
import os
import random
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

DATA = Path(__file__).parent / "data"
ODD = (
    "", "null", "NaN", "-1", "1e400", "9" * 40, "=cmd", "\\ud800", "\u202e", "\x00", "{}", "[]", "[[[[]]]]",
    '{"a": {}}', "true", "0.5", "2026-13-99", "é" * 50, "'; DROP TABLE event; --", "a\nb", "\t", '"',
    "9" * 5000,
)  # fmt: skip
BANK = (
    '<?xml version="1.0"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"><BkToCstmrStmt>'
    "<Stmt><Ntry><Amt Ccy='EUR'>10.00</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts>BOOK</Sts><NtryDtls><TxDtls>"
    "<Refs><EndToEndId>b1-1</EndToEndId></Refs></TxDtls></NtryDtls></Ntry></Stmt></BkToCstmrStmt></Document>"
)
ODD_VALUES = (None, {}, [], [[]], -1, 2**70, 1.5, True, "", "\x1b[31m", {"a": {"b": []}}, "x" * 5000, "NaN")


def mutate_bytes(data: bytes, pick: random.Random) -> bytes:
    """Spoil a file as a file."""
    made = bytearray(data)
    for _ in range(pick.randint(1, 4)):
        place = pick.randrange(len(made) + 1)
        how = pick.randrange(6)
        if how == 0 and made:
            made[place % len(made)] ^= 1 << pick.randrange(8)
        elif how == 1:
            del made[place : place + pick.randint(1, 40)]
        elif how == 2:
            made[place:place] = pick.choice(ODD).encode("utf-8", "surrogatepass")
        elif how == 3:
            end = place + pick.randint(1, 60)
            made[place:place] = made[place:end]
        elif how == 4:
            made = made[:place] if pick.random() < 0.3 else made
        else:
            made[place : place + 1] = bytes([pick.randrange(256)])
    return bytes(made)


def mutate_json(data: bytes, pick: random.Random) -> bytes:
    """Spoil a JSON file as a value: somewhere in it stands something else, or nothing."""
    value = json.loads(data)
    for _ in range(pick.randint(1, 3)):
        node, parent, key = value, None, None
        for _ in range(pick.randint(1, 8)):
            if isinstance(node, dict) and node:
                parent, key = node, pick.choice(sorted(node))
            elif isinstance(node, list) and node:
                parent, key = node, pick.randrange(len(node))
            else:
                break
            node = parent[key]
        if parent is not None:
            if pick.random() < 0.2:
                del parent[key]
            else:
                parent[key] = copy.deepcopy(pick.choice(ODD_VALUES))
    return json.dumps(value).encode()


def mutate_csv(data: bytes, pick: random.Random) -> bytes:
    """Spoil cells of a table."""
    lines = data.decode().splitlines()
    for _ in range(pick.randint(1, 4)):
        row = pick.randrange(len(lines))
        mark = "\t" if "\t" in lines[row] else ","
        cells = lines[row].split(mark)
        cells[pick.randrange(len(cells))] = pick.choice(ODD).replace("\n", " ")
        lines[row] = mark.join(cells)
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogatepass")


def spoil(path: Path, pick: random.Random) -> None:
    """Spoil a file in place, by its kind or by its bytes."""
    data = path.read_bytes()
    by_kind = {".json": mutate_json, ".csv": mutate_csv, ".tsv": mutate_csv}.get(path.suffix)
    path.write_bytes(by_kind(data, pick) if by_kind and pick.random() < 0.6 else mutate_bytes(data, pick))


class Bench:
    """A small ledger with a run, an attestation, a statement and a checkpoint, copied for each try."""

    def __init__(self, folder: Path) -> None:
        import polars as pl

        self.clean = folder / "clean"
        self.clean.mkdir(parents=True)
        for file in DATA.iterdir():
            shutil.copy(file, self.clean)
        ones = [0.5] * 6
        rows = pl.DataFrame({"row": range(6), "contributor": ["a", "b"] * 3, "label": ["x", "y"] * 3})
        rows = rows.with_columns(
            *(pl.Series(n, ones) for n in ("q", "v", "r", "t", "p_correct", "confidence"))
        )
        run = self.clean / "run"
        run.mkdir()
        rows.with_columns(kept=pl.lit(True)).write_parquet(run / "samples.parquet")
        self._hash(run)
        os.chdir(self.clean)
        for words in (
            "anml-ledger init --single-person --by fuzz",
            "anml-ledger import crowd_long.csv --format crowd-long",
            "anml-ledger settle run --pool 10 --currency EUR --source run --json",
        ):
            code, out, _ = call(words.split())
            assert code == 0, words
        self.sid = json.loads(out)["settlement"]
        _, out, _ = call(["anml-ledger", "confirm", self.sid, "--json"])
        assert call(["anml-ledger", "confirm", self.sid, "--yes", json.loads(out)["digest"]])[0] == 0
        _, out, _ = call(["anml-ledger", "key", "--out", "lab.pem"])
        call(["anml-ledger", "import", out.strip(), "--owner", "https://lab.example"])
        _, out, _ = call(["anml-ledger", "show", "crowd:w1", "--json"])
        pid = json.loads(out)["contributor"]
        sign = "anml-ledger key --sign lab.pem --verifier https://lab.example --out a.json"
        call([*sign.split(), "--attest", "ANML_REPRODUCED", "--about", pid])
        call(["anml-ledger", "statement", "latest", "--out", "papers"])
        shutil.copy(next((self.clean / "papers").glob("c*.json")), self.clean / "statement.json")
        call(["anml-ledger", "verify", "--out", "note.txt"])
        (self.clean / "bank.xml").write_text(BANK)
        code, out, _ = call(["anml-ledger", "pay", "--bank", "bank.xml", "--dry-run", "--json"])
        assert code == 0, out

    @staticmethod
    def _hash(run: Path) -> None:
        from anml.core.canonical import sha256

        files = {"samples.parquet": sha256((run / "samples.parquet").read_bytes())}
        (run / "run.json").write_text(
            json.dumps({"schema_version": 2, "recipe": {"combine": "evidence"}, "files": files})
        )

    def tries(self, pick: random.Random) -> tuple[str, str]:
        """A file to spoil, and the command that reads it."""
        exports = ["label_studio.json", "argilla_flat.json", "argilla_nested.json",
                   "crowd_long.csv", "crowd_wide.csv", "toloka.tsv", "mturk.csv", "papers.csv"]  # fmt: skip
        again = f"anml-ledger settle run --pool 1 --currency EUR --source run --supersedes {self.sid}"
        audit = "anml audit {} --set evaluate=false --recipe uniform --out audited --json"
        # How often, and what.
        weighted: list[tuple[float, list[tuple[str, str]]]] = [
            (9, [(file, f"anml-ledger import {file} --out rows.csv") for file in exports]),
            (3, [("a.json", "anml-ledger import a.json")]),
            (0.15, [(file, audit) for file in exports]),
            (3, [("run/samples.parquet", again), ("run/run.json", again),
                 ("run/run.json", "anml-ledger import run --source run")]),
            (3, [("statement.json", "anml-ledger verify statement.json"),
                 ("note.txt", "anml-ledger verify --checkpoint note.txt")]),
            (1, [("bank.xml", "anml-ledger pay --bank bank.xml")]),
            (1.5, [("books.db", "anml-ledger verify"), ("books.db", "anml-ledger export trial-balance"),
                   ("books.db.keys/master.key", "anml-ledger show contributors")]),
        ]  # fmt: skip
        [(_, several)] = pick.choices(weighted, [weight for weight, _ in weighted])
        return pick.choice(several)


def call(words: list[str]) -> tuple[int, str, str]:
    """Run the command of a program, its first word, in this process; a traceback is raised."""
    from anml.cli import main as cli
    from anml.ledger.cli import main as ledger_cli

    program = {"anml": cli, "anml-ledger": ledger_cli}[words[0]]
    out, err = io.StringIO(), io.StringIO()
    old, sys.argv = sys.argv, words
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            program.main()
        code: object = 0
    except SystemExit as stop:
        code = stop.code
    finally:
        sys.argv = old
    return int(code or 0) if not isinstance(code, str) else 2, out.getvalue(), err.getvalue()  # type: ignore[call-overload]


def snapshot(folder: Path) -> dict[str, bytes]:
    """Bytes by file; SQLite's own scratch files may come and go."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(("-wal", "-shm"))
    }


def one(bench: Bench, folder: Path, pick: random.Random) -> tuple[str, str]:
    """One spoilt input; returns the command and what is wrong, if anything."""
    file, words = bench.tries(pick)
    command = words.format(file).split()
    place = folder
    place.mkdir()
    for name in {file.partition("/")[0], "books.db", "books.db.keys"}:
        source = bench.clean / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, place / name)
    os.chdir(place)
    spoil(place / file, pick)
    before = snapshot(place)
    try:
        code, out, err = call(command)
    except Exception as error:
        return words, f"{type(error).__name__}: {error}"
    finally:
        os.chdir(bench.clean)
    wrong = ""
    if code not in (0, 1, 2):
        wrong = f"exit code {code}"
    elif code == 2 and (sum(line.startswith("error: ") for line in err.splitlines()) != 1 or out):
        wrong = f"not one sentence: {err!r} {out[:80]!r}"
    elif code == 2 and snapshot(place) != before:
        wrong = "something was written in spite of the error"
    return words, wrong


def fuzz(count: int, seed: int, folder: Path, *, show: bool = False) -> tuple[Counter, list[str]]:
    """Spoil `count` inputs; returns how often each command was tried, and every fault."""
    warnings.simplefilter("ignore")
    here, kept = Path.cwd(), {name: os.environ.get(name) for name in ("ANML_LEDGER", "ANML_BY", "ANML_KEYS")}
    os.environ.pop("ANML_KEYS", None)
    os.environ.update(ANML_LEDGER="books.db", ANML_BY="fuzz")
    tried: Counter = Counter()
    faults: list[str] = []
    try:
        bench = Bench(folder)
        for number in range(count):
            words, wrong = one(bench, folder / "try", random.Random(f"{seed}/{number}"))
            tried[words.split()[0] + " " + words.split()[1]] += 1
            if wrong:
                faults.append(f"{number}: {words}: {wrong}")
                if show:
                    print(faults[-1], flush=True)
            shutil.rmtree(folder / "try")
            if show and (number + 1) % 500 == 0:
                print(f"{number + 1} inputs, {len(faults)} faults", flush=True)
    finally:
        os.chdir(here)
        for name, value in kept.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
    return tried, faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="anml-fuzz-") as folder:
        tried, faults = fuzz(options.count, options.seed, Path(folder), show=True)
    for words, times in sorted(tried.items()):
        print(f"{times:6d}  {words}")
    print(f"{options.count} inputs in {time.perf_counter() - start:.0f} s, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
