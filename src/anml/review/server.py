"""The web application of `anml review`: one page, and the answers that it sends."""

from base64 import b64decode
from collections.abc import Awaitable, Callable
from hmac import compare_digest
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from anml.core.errors import AnmlError, InputError
from anml.review.session import ReviewSession

COOKIE, LONGEST_NAME, LONGEST_ANSWER = "anml_review", 60, 2_000
HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}
IMAGE_TYPES = {".jpg": "jpeg", ".tif": "tiff"}
# Runs the audit with the answers; returns its figures and opens the session of the next round.
Finish = Callable[[ReviewSession], tuple[dict[str, Any], ReviewSession]]


class ReviewApp:
    """Requests of the page as calls of the session, one after the other.

    `page` and `contributor` render HTML. Reviewers are known by a token in the address, or by a password.
    """

    def __init__(
        self, session: ReviewSession, page: Callable[[ReviewSession, str], str], finish: Finish,
        contributor: Callable[[Path, str], str], *, token: str | None = None, password: str | None = None,
    ) -> None:  # fmt: skip
        self.session, self.page, self.finish, self.contributor = session, page, finish, contributor
        self.token, self.password, self.busy = token, password, False

    def build(self) -> Starlette:
        """Return the application with its addresses."""
        routes = [
            Route("/", self._index), Route("/report", self._report), Route("/contributor", self._contributor),
            Route("/image/{row:int}", self._image), Route("/{step}", self._step, methods=["POST"]),
        ]  # fmt: skip
        errors = {AnmlError: lambda _, error: JSONResponse({"error": str(error)}, 400)}
        guard = Middleware(BaseHTTPMiddleware, dispatch=self._guard)
        return Starlette(routes=routes, middleware=[guard], exception_handlers=errors)

    async def _guard(self, request: Request, call: Callable[[Request], Awaitable[Response]]) -> Response:
        """Answer only reviewers, and only requests of this page."""
        origin, given = request.headers.get("origin"), request.query_params.get("token", "")
        if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
            return Response("requests of other pages are refused", 403)
        if self.token is not None and _same(given, self.token):
            response: Response = RedirectResponse("/", 303)
            response.set_cookie(COOKIE, self.token, httponly=True, samesite="strict")
        elif self._is_known(request):
            response = await call(request)
        elif self.token is not None:
            response = Response("open the address that anml review printed, with its token", 403)
        else:
            response = Response("a name and the password are needed", 401, {"WWW-Authenticate": "Basic"})
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    def _is_known(self, request: Request) -> bool:
        if self.token is not None:
            return _same(request.cookies.get(COOKIE, ""), self.token)
        return self.password is not None and _same(_basic(request)[1], self.password)

    async def _index(self, request: Request) -> Response:
        return HTMLResponse(self.page(self.session, _basic(request)[0]))

    async def _report(self, request: Request) -> Response:
        self._need_names()
        return FileResponse(self.session.folder / "report.html")

    async def _contributor(self, request: Request) -> Response:
        self._need_names()
        name = request.query_params.get("name", "")
        return HTMLResponse(await run_in_threadpool(self.contributor, self.session.folder, name))

    async def _image(self, request: Request) -> Response:
        if (image := self.session.image(request.path_params["row"])) is None:
            return Response(status_code=404)
        kind = image[1].removeprefix(".")
        return Response(image[0], media_type=f"image/{IMAGE_TYPES.get(image[1], kind)}")

    async def _step(self, request: Request) -> Response:
        """Take a step: `next`, `answer`, `undo`, `skipped` or `finish`; return the item to look at."""
        step, sent = request.path_params["step"], await _read_json(request)
        by = str(sent.get("by", "")).strip() or _basic(request)[0]
        if not 0 < len(by) <= LONGEST_NAME:
            raise InputError(f"enter your name, of 1 to {LONGEST_NAME} characters")
        if self.busy:
            raise InputError("the audit with the answers is running; wait until it is done")
        session = self.session
        if step == "finish":
            return JSONResponse(await self._finish())
        if step == "answer":
            label, seconds = sent.get("label"), sent.get("seconds", 0)
            texts = [str(sent.get("comment", "")), "" if label is None else str(label)]
            if any(len(text) > LONGEST_ANSWER for text in texts):
                raise InputError(f"an answer has at most {LONGEST_ANSWER:,} characters")
            time = float(seconds) if isinstance(seconds, int | float) else 0.0
            row = sent.get("row")
            session.answer(
                by, row if isinstance(row, int) else -1, None if label is None else texts[1], time, texts[0]
            )
        elif step == "undo":
            session.undo(by)
        elif step == "skipped":
            session.offer_skipped(by)
        elif step != "next":
            return Response(status_code=404)
        return JSONResponse({"item": session.next_item(by), "progress": session.progress()})

    async def _finish(self) -> dict[str, Any]:
        self.busy = True
        try:
            figures, self.session = await run_in_threadpool(self.finish, self.session)
        finally:
            self.busy = False
        return figures

    def _need_names(self) -> None:
        if not self.session.names:
            raise InputError("names of contributors are hidden in this review")


async def _read_json(request: Request) -> dict[str, Any]:
    try:
        sent = await request.json()
    except ValueError:
        sent = None
    if not isinstance(sent, dict):
        raise InputError("the request is not a JSON object")
    return sent


def _same(given: str, wanted: str) -> bool:
    return compare_digest(given.encode(), wanted.encode())


def _basic(request: Request) -> tuple[str, str]:
    """Return the name and the password of a request; empty where it has none."""
    kind, _, text = request.headers.get("authorization", "").partition(" ")
    try:
        name, _, password = b64decode(text).decode().partition(":")
    except ValueError:
        return "", ""
    return (name, password) if kind.lower() == "basic" else ("", "")
