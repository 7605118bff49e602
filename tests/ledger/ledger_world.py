"""A small world for ledger tests: a clock that is set by hand, fixed identifiers, made-up runs."""

import atexit
import itertools
import json
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

from anml.core.canonical import sha256
from anml.ledger import evidence, keys, kinds, standing, two_people
from anml.ledger import personal_data as people
from anml.ledger.money import parse_amount
from anml.ledger.pay import settle
from anml.ledger.services.steps import confirm_proposals
from anml.ledger.signing import from_file
from anml.ledger.store import Ledger, LedgerSettings, create, open_ledger
from ledger.ledger_queries import who_is

START = datetime(2026, 1, 1, tzinfo=UTC)
STAFF = ("ann", "bob", "cat", "dan", "eve")


class HandClock:
    """A clock that moves when told to."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def pass_days(self, days: float) -> None:
        self.now += timedelta(days=days)


class World:
    """A fresh ledger with a hand-set clock, five members of staff, and identifiers c000…1, c000…2 and so on.

    Ann founded it and acts where nobody is named.
    """

    def __init__(self, url: str, keys: Path, folder: Path, staff: tuple[str, ...] = STAFF, **charter) -> None:
        self.url, self.keys, self.folder = url, keys, folder
        self.clock = HandClock()
        self._ids = itertools.count(1)
        self._runs = itertools.count(1)
        self.ledger: Ledger | None = None
        is_copy = Path(url).is_file()
        if not is_copy:
            given = LedgerSettings(**{"founder": "ann", "payee_wait_days": 0, **charter})
            self.ledger = create(url, keys, "test-ledger", self.clock, given, keys / "staff")
        self.reopen()
        if not is_copy:
            for name in staff[1:]:
                self.hire(name)
        self.start = self.size()

    def reopen(self) -> Ledger:
        if self.ledger is not None:
            self.ledger.close()
        self.ledger = open_ledger(
            self.url, self.keys, self.clock, lambda: f"c{next(self._ids):032x}", staff=self.keys / "staff"
        )
        self.ledger.signers.name = "ann"
        return self.ledger

    def key(self, name: str) -> bytes:
        """A key in the folder of staff, made where there is none; returns the public part."""
        path = self.keys / "staff" / f"{name}.pem"
        return from_file(path).public if path.exists() else keys.read_public(keys.create_signer(path))

    def hire(self, name: str, *roles: str) -> None:
        made = self.ledger.write(
            lambda tx: two_people.propose_staff(tx, name, self.key(name), list(roles or kinds.ROLES), "ann")
        )
        if made.kind == kinds.PROPOSED:
            self.confirm(made.seq)

    def confirm(self, *numbers: int, by: str = "bob"):
        """A second person's word; returns the last entry."""
        return confirm_proposals(self.ledger, numbers, by)[-1]

    def trust(self, public: bytes, owner: str = "https://lab.example/qa", **more) -> str:
        """Trust a key that vouches; returns its name."""
        given = {"may": None, "since": None, "until": None, **more}
        made = self.ledger.write(lambda tx: two_people.propose_key(tx, owner, public, **given, by="ann"))
        return self.confirm(made.seq).subject

    def name_reviewer(self, pid: str) -> None:
        made = self.ledger.write(
            lambda tx: two_people.propose(tx, kinds.REVIEWER_NAMED, pid, {"on": True}, "ann")
        )
        self.confirm(made.seq)

    def register(self, source: str, names) -> dict[str, str]:
        def work(tx):
            found = people.register(tx, source, names)
            evidence.sign_records(tx, "import", "test", None)
            return found

        return self.ledger.write(work)

    def record(self, *records: evidence.EvidenceRecord) -> None:
        """Evidence as an import would record it."""

        def work(tx):
            evidence.add_records(tx, records)
            evidence.sign_records(tx, "import", "test", None)

        self.ledger.write(work)

    def score(self, *scores: standing.Score) -> None:
        """Scores as an import would record them."""

        def work(tx):
            standing.add_scores(tx, scores)
            evidence.sign_records(tx, "import", "test", None)

        self.ledger.write(work)

    def vouch(self, *pids: str) -> None:
        """Somebody with standing vouches for these contributors, with a key of their own."""
        from anml.ledger.services import attest

        path = self.folder / "university.pem"
        if not path.exists():
            self.trust(keys.read_public(keys.create_signer(path)), "https://university.example")
        paper = attest.sign_attestation(
            path, "https://university.example", ["ANML_AFFILIATION"], self.clock.now, pids
        )
        attest.record_attestations(self.ledger, {"": paper})

    def pay_to(self, pid: str, changes: dict[str, str]) -> None:
        from anml.ledger.pay import payout

        self.confirm(payout.set_payees(self.ledger, {pid: changes})[0])

    def erase(self, pid: str):
        """Forget somebody, money or not, by as many people as that takes."""
        from anml.ledger.contributors.identity import erase_contributor

        made = erase_contributor(self.ledger, pid, anyway=True)
        if made["proposal"] is not None:
            self.confirm(made["proposal"])
        return made

    def size(self) -> int:
        from ledger.ledger_queries import size

        with self.ledger.read() as connection:
            return size(connection)

    def run(self, rows: pl.DataFrame | None = None, **columns: list) -> Path:
        """Write a run folder as `anml audit --out` does; each has rows of its own."""
        number = next(self._runs)
        folder = self.folder / f"run{number}"
        frame = pl.DataFrame(columns) if rows is None else rows
        if "item" not in frame.columns and "row" in frame.columns:
            frame = frame.with_columns(row=pl.col("row") + 10_000 * number)
        write_run(folder, frame)
        return folder

    def draft(self, folder: Path, pool: str = "100", by: str = "ann", **terms) -> settle.Draft:
        given = {"source": "run", **terms}
        return settle.draft_settlement(
            self.ledger,
            folder,
            settle.SettlementTerms(parse_amount(pool), given.pop("currency", "EUR"), by, **given),
        )

    def post(self, folder: Path, pool: str = "100", **terms) -> str:
        made = self.draft(folder, pool, **terms)
        settle.approve_settlement(self.ledger, made.id, "bob")
        return made.id

    def establish(self, *names: str) -> dict[str, str]:
        """Give these contributors ten settled contributions and an account of some age."""
        folder = self.run(simple_rows(dict.fromkeys(names, 10)))
        made = self.draft(folder, "0.000001")
        settle.approve_settlement(self.ledger, made.id, "bob")
        with self.ledger.read() as connection:
            found = {name: who_is(connection, self.ledger.ring, "run", name) for name in names}
        self.name_payees(found)
        self.clock.pass_days(30)
        return found

    def name_payees(self, pids: dict[str, str]) -> None:
        """Let two people agree on names to pay these contributors under."""
        from anml.ledger.pay import payout

        self.confirm(*payout.set_payees(self.ledger, {pid: {"name": who} for who, pid in pids.items()}))


# Ledgers of each staff and charter, made once by each process of the tests.
MADE: dict[tuple, Path] = {}


def copied_world(folder: Path, staff: tuple[str, ...] = STAFF, **charter) -> World:
    """A ledger in a file as it is made, copied: with the keys of all other copies."""
    key = (staff, *sorted(charter.items()))
    if key not in MADE:
        MADE[key] = Path(tempfile.mkdtemp(prefix="anml-world-"))
        atexit.register(shutil.rmtree, MADE[key], ignore_errors=True)
        World(str(MADE[key] / "ledger.db"), MADE[key] / "keys", MADE[key], staff, **charter).ledger.close()
    shutil.copytree(MADE[key], folder, dirs_exist_ok=True)
    return World(str(folder / "ledger.db"), folder / "keys", folder, staff, **charter)


def simple_rows(rows: dict[str, int], q: float = 1.0, v: float = 0.5, r: float = 0.5) -> pl.DataFrame:
    """A run with this many kept rows for each contributor."""
    names = [name for name, count in rows.items() for _ in range(count)]
    n = len(names)
    return pl.DataFrame(
        {
            "row": list(range(n)),
            "contributor": names,
            "q": [q] * n,
            "v": [v] * n,
            "r": [r] * n,
            "t": [1.0] * n,
            "kept": [True] * n,
        }
    )


def judged_rows(labels: dict[str, list[float]]) -> pl.DataFrame:
    """A run by the evidence recipe: p_correct of each contributor's rows; below one half is not kept."""
    rows = [(who, p) for who, each in labels.items() for p in each]
    p_correct = [p for _, p in rows]
    return simple_rows({who: len(each) for who, each in labels.items()}).with_columns(
        p_correct=pl.Series(p_correct), kept=pl.Series([p >= 0.5 for p in p_correct])
    )


def write_run(
    folder: Path, rows: pl.DataFrame, recipe: dict | None = None, verdicts: dict[str, str] | None = None,
    disputed: str | None = None,
) -> None:  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    rows.write_parquet(folder / "samples.parquet")
    info = {
        "version": "0.1.0",
        "recipe": recipe or {"combine": "guarded"},
        "random_state": 0,
        "versions": {},
        "data": {"name": "made-up", "sha256": "", "rows": rows.height},
        "schema": {},
        "gate": {"branch": "disputed", "reason": disputed} if disputed else {"branch": "blend", "rho_c": 0.5},
        "rows": rows.height,
        "kept": int(rows["kept"].sum()),
        "warnings": [],
    }
    if verdicts is not None:
        table = pl.DataFrame({"contributor": list(verdicts), "verdict": list(verdicts.values())})
        table.write_csv(folder / "contributors.csv")
    hash_run(folder, info)


def hash_run(folder: Path, info: dict, names=("samples.parquet", "contributors.csv")) -> None:
    """Write the record of a run, with the hashes of the files that are there."""
    files = {name: sha256((folder / name).read_bytes()) for name in names if (folder / name).exists()}
    (folder / "run.json").write_text(json.dumps({"schema_version": 2, **info, "files": files}))
