"""The application of `anml review`: who may ask, what is answered, and two reviewers."""

import shutil

import pytest
from starlette.testclient import TestClient

from anml.report.review import review_page
from anml.review.server import ReviewApp
from anml.review.session import ReviewSession

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")
HOST = "http://127.0.0.1"


@pytest.fixture
def open_app(audited_table, tmp_path):
    shutil.copytree(audited_table, tmp_path, dirs_exist_ok=True)

    def make(names=True, **more):
        session = ReviewSession(tmp_path / "run", lambda: 0.0, names=names)
        app = ReviewApp(
            session, review_page, lambda before: ({"sentence": "done"}, before),
            lambda folder, name: f"page of {name}", **more,
        )  # fmt: skip
        return TestClient(app.build(), base_url=HOST, follow_redirects=False)

    return make


def test_only_the_token_opens_the_page(open_app):
    client = open_app(token="secret")
    for address in ("/", "/report", "/image/0", "/contributor?name=dan", "/?token=wrong"):
        assert client.get(address).status_code == 403
    assert client.post("/next", json={"by": "ana"}).status_code == 403
    opened = client.get("/?token=secret")
    assert (opened.status_code, opened.headers["location"]) == (303, "/")
    assert "httponly" in opened.headers["set-cookie"].lower()
    assert "samesite=strict" in opened.headers["set-cookie"].lower()
    page = client.get("/")
    assert page.status_code == 200
    assert "secret" not in page.text
    assert page.headers["cache-control"] == "no-store"
    assert client.get("/contributor?name=dan").text == "page of dan"
    assert "html" in client.get("/report").headers["content-type"]
    other = client.post("/next", json={"by": "ana"}, headers={"Origin": "http://localhost:1"})
    assert other.status_code == 403


def test_a_password_opens_the_page_and_names_the_reviewer(open_app):
    client = open_app(password="correct horse")
    assert client.get("/").headers["www-authenticate"] == "Basic"
    assert client.get("/", auth=("ana", "wrong")).status_code == 401
    assert client.get("/", headers={"Authorization": "Basic %%%"}).status_code == 401
    assert '"by": "ana"' in client.get("/", auth=("ana", "correct horse")).text
    first = client.post("/next", json={}, auth=("ana", "correct horse")).json()
    assert first["progress"]["answered"] == 0


def test_steps_and_refusals_are_json(open_app):
    client = open_app(token="secret")
    client.get("/?token=secret")
    nameless = client.post("/next", json={"by": " "})
    assert (nameless.status_code, nameless.json()["error"]) == (400, "enter your name, of 1 to 60 characters")
    item = client.post("/next", json={"by": "ana"}).json()["item"]
    other = client.post("/next", json={"by": "ben"}).json()["item"]
    assert item["row"] != other["row"]
    sent = {"by": "ana", "row": item["row"], "label": "yes", "seconds": 3, "comment": "x"}
    after = client.post("/answer", json=sent).json()
    assert after["progress"]["answered"] == 1
    assert after["item"]["row"] not in (item["row"], other["row"])
    assert client.post("/answer", json=sent | {"label": "no way"}).status_code == 400
    assert client.post("/answer", json=sent | {"comment": "x" * 3000}).status_code == 400
    assert client.post("/undo", json={"by": "ana"}).json()["item"]["row"] == item["row"]
    assert client.post("/nothing", json={"by": "ana"}).status_code == 404
    assert client.post("/next", content=b"[").status_code == 400
    assert client.post("/next", json=[1]).status_code == 400
    assert client.get("/image/0").status_code == 404
    assert client.post("/finish", json={"by": "ana"}).json() == {"sentence": "done"}


def test_hidden_names_close_the_pages_about_contributors(open_app):
    client = open_app(names=False, token="secret")
    client.get("/?token=secret")
    for address in ("/report", "/contributor?name=dan"):
        refused = client.get(address)
        assert (refused.status_code, "names of contributors are hidden" in refused.text) == (400, True)
    assert (
        "report" not in client.get("/").text.split("<main>")[1].split("<script")[0].lower().split("round")[0]
    )
