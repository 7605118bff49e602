"""What the site needs beyond its pages: guides in the navigation, and files that lie outside of docs."""

import json
import shutil
from pathlib import Path
from typing import Any

from properdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
# Files of the project that pages link to, and where they stand on the site.
OUTSIDE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
    **{
        path.relative_to(ROOT).as_posix(): path.relative_to(ROOT).as_posix()
        for path in sorted(ROOT.glob("results/**/figures/*.svg"))
    },
}


def on_config(config: Any) -> Any:
    """Put every page under docs/guides into the navigation, first among the guides."""
    found = sorted(path.name for path in (ROOT / "docs" / "guides").glob("*.md"))
    for section in config.nav:
        if "Guides" in section:
            listed = {page for page in section["Guides"] if isinstance(page, str)}
            new = [f"guides/{name}" for name in found if f"guides/{name}" not in listed]
            section["Guides"] = [*new, *section["Guides"]]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Take in files from outside of docs."""
    for source, target in OUTSIDE.items():
        if files.get_file_from_path(target) is None:
            content = (ROOT / source).read_text(encoding="utf-8")
            if target.endswith(".md"):
                content = content.replace("](docs/", "](")
                for name, place in OUTSIDE.items():
                    content = content.replace(f"]({name}", f"]({place}")
            files.append(File.generated(config, target, content=content))
    return files


def on_post_build(config: Any) -> None:
    """The index of the search as a script: a page opened from disk may not read JSON."""
    folder = Path(config.site_dir) / "search"
    docs = json.loads((folder / "search_index.json").read_text(encoding="utf-8"))["docs"]
    pages = {doc["location"]: doc["title"] for doc in docs if "#" not in doc["location"]}
    parts = [
        doc | {"page": pages[doc["location"].partition("#")[0]]} for doc in docs if "#" in doc["location"]
    ]
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "index.js").write_text(f"window.searched = {json.dumps(parts)};\n", encoding="utf-8")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links that lead out of docs lead to the site's copy."""
    up = "../" * page.file.src_uri.count("/")
    for source, target in OUTSIDE.items():
        markdown = markdown.replace(f"]({up}../{source}", f"]({up}{target}")
    return markdown
