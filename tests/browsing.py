"""A real browser for tests, and what each page has to satisfy."""

import os
import shutil

import pytest

WIDTHS = {"desktop": 1280, "phone": 390}
HEIGHT = 900
NAMES = ("chromium", "chromium-browser", "google-chrome")
REQUIRED = os.environ.get("ANML_REQUIRE_BROWSER") == "1"


@pytest.fixture(scope="module")
def browser():
    """A browser that is installed already; nothing is downloaded."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return _without("playwright is not installed")
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        return _without(f"there is no {' or '.join(NAMES)} on the PATH")
    with sync_playwright() as drive:
        # Pages are our own, and root has no sandbox.
        running = drive.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield running
        running.close()


def _without(why: str) -> None:
    if REQUIRED:
        pytest.fail(f"ANML_REQUIRE_BROWSER=1, and {why}")
    pytest.skip(why)


def violations(page) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    answer = Axe().run(page).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in answer]


def fits(page) -> bool:
    """True if the page needs no horizontal scrolling."""
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
