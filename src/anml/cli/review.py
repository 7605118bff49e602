"""`anml review`: the review queue in a browser. Heavy imports are inside."""

import os
import re
import secrets
import socket
import sys
import time
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anml.cli.options import RunFolder, opt
from anml.core.errors import InputError
from anml.core.extras import require_extra

if TYPE_CHECKING:
    from anml.review.server import ReviewApp
    from anml.review.session import ReviewSession

PASSWORD, SHORTEST = "ANML_REVIEW_PASSWORD", 8
LOCAL = "127.0.0.1"


def review(
    context: typer.Context,
    run: RunFolder,
    out: Annotated[Path | None, opt("Folder of the run with the answers; RUN-2 without.")] = None,
    top: Annotated[int | None, opt("Number of items to review; all without.")] = None,
    hide_names: Annotated[bool, opt("Hide the names of contributors.", "--hide-names")] = False,
    allow_new_labels: Annotated[
        bool, opt("Accept labels that the data do not have.", "--allow-new-labels")
    ] = False,
    host: Annotated[
        str | None, opt(f"Address for other machines; asks for a password, or takes {PASSWORD}.")
    ] = None,
    port: Annotated[int, opt("Port; 0 is a free one.")] = 0,
    data: Annotated[Path | None, opt("The data of the run, if they were moved.")] = None,
) -> None:
    """Review items in the browser."""
    for package in ("starlette", "uvicorn"):
        require_extra(package, "review", "anml review")
    from anml.cli.contributor import render_person
    from anml.pipeline.contributor_report import contributor_report
    from anml.pipeline.read import read_run
    from anml.report.review import review_page
    from anml.review.apply import request_from_run
    from anml.review.server import ReviewApp
    from anml.review.session import ReviewSession

    # A run that cannot be repeated with the answers is refused before the review.
    request_from_run(read_run(run))
    password = None if host is None else _password()
    token = secrets.token_urlsafe(24) if host is None else None
    more: dict[str, Any] = {"data": data, "names": not hide_names, "new_labels": allow_new_labels}
    session = ReviewSession(run, time.monotonic, top=top, **more)
    app = ReviewApp(
        session, review_page, partial(_next_round, {run: out}, more),
        lambda folder, name: render_person(contributor_report(folder, name)), token=token, password=password,
    )  # fmt: skip
    _serve(app, session, host or LOCAL, port)


def _serve(app: "ReviewApp", session: "ReviewSession", host: str, port: int) -> None:
    from uvicorn import Config, Server

    listening = _listen(host, port)
    address = f"http://{host}:{listening.getsockname()[1]}/{f'?token={app.token}' if app.token else ''}"
    print(f"Review of {len(session.order):,} items: {address}")
    print(f"Answers are written to {session.file}. Ctrl-C stops the server.", flush=True)
    Server(Config(app.build(), log_level="error", lifespan="off", access_log=False)).run([listening])


def _next_round(
    places: dict[Path, Path | None], more: dict[str, Any], before: "ReviewSession"
) -> tuple[dict[str, Any], "ReviewSession"]:
    """Audit again with the answers of a session; `places` are folders of next runs that were named."""
    from anml.cli.relabel import before_after, result_sentence, write_round
    from anml.review.session import ReviewSession

    place = places.get(before.folder) or next_folder(before.folder)
    options = {name: more[name] for name in ("data", "new_labels")}
    applied = write_round(before.folder, None, place, False, options)
    after = ReviewSession(place, time.monotonic, **more)
    rows = [[name, *pair] for name, pair in before_after(applied).items()]
    return {"sentence": result_sentence(applied), "rows": rows, "folder": str(place),
            "items": len(after.order)}, after  # fmt: skip


def next_folder(run: Path) -> Path:
    """Return the folder of the next round beside that of a run: NAME-2, NAME-3, the first that is free."""
    folder = run.resolve()
    name = re.sub(r"-\d+$", "", folder.name)
    return next(each for n in count(2) if not (each := folder.with_name(f"{name}-{n}")).exists())


def _password() -> str:
    given = os.environ.get(PASSWORD)
    if given is None and sys.stdin.isatty():
        given = typer.prompt("Password for reviewers", hide_input=True, confirmation_prompt=True)
    if given is None or len(given) < SHORTEST:
        raise InputError(f"--host needs a password of at least {SHORTEST} characters in {PASSWORD}")
    return given


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port < 2**16:
        raise InputError(f"a port is a number from 0 to 65535, got {port}")
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise InputError(f"cannot listen on {host}, port {port}: {error.strerror or error}") from None
