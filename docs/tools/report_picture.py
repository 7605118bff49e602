"""Make docs/report.png: the first page of the report of `anml demo`, as a browser without a window draws it.

`python docs/tools/report_picture.py` needs chromium or Google Chrome on the path.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PICTURE = Path(__file__).parents[1] / "report.png"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT = 1200, 900


def browser() -> str:
    """Return the path of the first browser that is installed."""
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    sys.exit(f"no browser on the path; install one of {', '.join(BROWSERS)}")


def draw(page: Path, picture: Path) -> None:
    """Write an image of the first page of an HTML file."""
    with tempfile.TemporaryDirectory() as profile:
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={profile}",
        ]
        size, target = f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={picture}"
        subprocess.run([browser(), *options, size, target, page.as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        demo = [sys.executable, "-m", "anml", "demo", "--out", folder, "--quiet"]
        subprocess.run(demo, check=True, stdout=subprocess.DEVNULL)
        draw(Path(folder, "run", "report.html").resolve(), PICTURE)
