"""Site build hooks: pages from outside of docs, their links, and the search index."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

from properdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
# Files of the project that pages link to, by their path on the site.
OUTSIDE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
    "experiments/README.md": "experiments.md",
    **{
        path.relative_to(ROOT).as_posix(): path.relative_to(ROOT).as_posix()
        for path in sorted(ROOT.glob("results/**/figures/*.svg"))
    },
}


def on_files(files: Files, config: Any) -> Files:
    """Add the files from outside of docs."""
    for source, target in OUTSIDE.items():
        if files.get_file_from_path(target) is None:
            content = (ROOT / source).read_text(encoding="utf-8")
            if target.endswith(".md"):
                # All of these pages are at the top of the site.
                content = re.sub(r"\]\((?:\.\./)?docs/", "](", content)
                for name, place in OUTSIDE.items():
                    content = re.sub(rf"\]\((?:\.\./)?{re.escape(name)}", f"]({place}", content)
            files.append(File.generated(config, target, content=content))
    return files


def on_post_build(config: Any) -> None:
    """Write the search index as a script, since browsers refuse JSON to pages that are opened from disk."""
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
    """Replace links that lead out of docs by links to the site's copy."""
    up = "../" * page.file.src_uri.count("/")
    for source, target in OUTSIDE.items():
        markdown = markdown.replace(f"]({up}../{source}", f"]({up}{target}")
    return markdown
