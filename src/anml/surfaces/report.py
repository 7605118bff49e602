"""placeholder replaced below"""

from pathlib import Path

from anml.app.audit import Audited


def render_report(result: Audited) -> str:
    """Render."""
    return "<html></html>"


def write_report(result: Audited, folder: Path) -> None:
    """Write."""
    (folder / "report.html").write_text(render_report(result), encoding="utf-8")
