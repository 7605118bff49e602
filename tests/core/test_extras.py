"""Optional packages: one sentence names the extra, wherever one is missing."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from anml.core.errors import UnsupportedError
from anml.core.extras import require_extra

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
# A program that runs in a process where some packages are absent.
ABSENT = """
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""


def test_what_is_installed_is_no_error():
    require_extra("numpy", "torch", "an example")


def test_every_extra_that_is_named_exists():
    called = re.compile(r'require_extra\(\s*\S+, "(\w+)"')
    sources = "".join(path.read_text() for path in (ROOT / "src" / "anml").rglob("*.py"))
    named = set(called.findall(sources))
    assert {"torch", "hf", "lightning", "flower", "ray", "ledger", "postgres", "images", "excel"} <= named
    assert named <= EXTRAS.keys()


@pytest.mark.parametrize(
    ("code", "package", "extra"),
    [
        ("import anml.torch", "torch", "torch"),
        ("import anml.torch.hf", "transformers", "hf"),
        ("import anml.torch.lightning", "lightning", "lightning"),
        ("import anml.federated.flower", "flwr", "flower"),
        ("from anml.engines.ray import on_ray; on_ray().__enter__()", "ray", "ray"),
        ("from anml.ledger.cli.main import root; root()", "sqlalchemy", "ledger"),
        ("from anml.ledger.cli.main import root; root()", "cryptography", "ledger"),
        ("from anml.gradients.devices import device_of; device_of('cuda')", "torch", "torch"),
        ("from anml.io.images import decode_image; decode_image(b'', 'x')", "PIL", "images"),
        ("from anml.predictors.embed import load_embedder; load_embedder('torchvision:x')", "torchvision",
         "images"),
    ],
)  # fmt: skip
def test_a_missing_package_is_one_sentence_with_its_extra(code, package, extra):
    program = f"""{ABSENT.format(names=[package])}
from anml.core.errors import UnsupportedError
try:
    {code.replace("; ", chr(10) + "    ")}
except UnsupportedError as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert f"needs the package {package}: pip install 'attribution-native-ml[{extra}]'" in ran.stdout
    assert ran.stdout.count("\n") == 1


def test_the_sentence_names_what_needs_it():
    with pytest.raises(UnsupportedError, match=r"^an audit of smells needs the package no_such_package: pip"):
        require_extra("no_such_package", "smells", "an audit of smells")
