"""The public names: each resolves, has a docstring, and importing a package loads nothing heavy."""

import subprocess
import sys
from importlib import import_module
from importlib.metadata import version

import pytest

import anml
from anml.core.errors import UnsupportedError
from anml.core.lazy import lazy_names

SUBMODULES = {
    "anml.attribution": {
        "CheckpointRecorder", "Index", "Trace", "banzhaf", "beta_shapley", "contributor_shares", "index",
        "shapley", "trainer_callback",
    },
    "anml.errors": {
        "AnmlError", "ConflictError", "InputError", "IntegrityError", "UnknownNameError", "UnsupportedError",
    },
    "anml.federated": {"AnmlStrategy", "Federation", "Reply"},
    "anml.federated.rules": {
        "abnormality", "bulyan", "fltrust", "krum", "mean", "median", "multi_krum", "recess", "trimmed_mean",
    },
    "anml.ledger": {"Ledger", "open_ledger"},
    "anml.settlement": {"allocate"},
    "anml.signals": {
        "REPUTATION", "VERIFICATION", "ContextDecay", "Decay", "Level", "ReputationEvent", "ReputationRule",
        "ReputationState", "decay_of", "eigentrust", "level_values", "replay", "track_record",
    },
    "anml.sklearn": {"AnmlClassifier", "AnmlRegressor", "AnnotatorModel", "load_model", "save_model"},
    "anml.torch": {
        "WeightedSampler", "WeightedTrainer", "checkpoint_quality", "module_quality", "weighted_loss",
    },
}  # fmt: skip
# Names whose module needs a package that this installation may lack, with that package.
OPTIONAL = {"WeightedTrainer": "transformers", "AnmlStrategy": "flwr"}
HEAVY = {"torch", "sklearn", "polars", "numpy", "scipy", "matplotlib"}
OPTIONAL_HEAVY = {"transformers", "flwr", "sqlalchemy", "cryptography", "lightning", "ray"}


def loaded_by(code):
    """Names of the modules that a program has loaded."""
    program = f"import sys; {code}; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


@pytest.mark.parametrize("name", anml.__all__)
def test_every_exported_name_resolves_and_is_documented(name):
    assert getattr(anml, name).__doc__
    assert name in dir(anml)


def test_lists_of_names_agree():
    assert sorted(anml.__all__) == sorted([*anml._HOMES, *anml._MODULES])
    assert sorted(dir(anml)) == sorted([*anml.__all__, "__version__"])


def test_star_import_gives_exactly_the_exported_names():
    namespace = {}
    exec("from anml import *", namespace)
    assert sorted(set(namespace) - {"__builtins__"}) == sorted(anml.__all__)


@pytest.mark.parametrize("module", SUBMODULES)
def test_submodules_export_their_names(module):
    package = import_module(module)
    assert package.__doc__
    assert set(package.__all__) == SUBMODULES[module]
    assert set(package.__all__) <= set(dir(package))
    for name in package.__all__:
        if name in OPTIONAL:
            pytest.importorskip(OPTIONAL[name])
        result = getattr(package, name)
        assert not callable(result) or result.__doc__


def test_names_that_equal_a_module_are_functions_whatever_was_imported_first():
    code = (
        "import anml.signals.eigentrust, anml.federated.rules, anml.settlement.allocate; "
        "from anml import federated, settlement, signals; "
        "assert all(map(callable, (signals.eigentrust, federated.rules.mean, settlement.allocate)))"
    )
    assert "anml.signals" in loaded_by(code)


def test_version_is_that_of_the_distribution():
    assert anml.__version__ == version("attribution-native-ml")


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'anml' has no attribute 'audti'"):
        _ = anml.audti
    with pytest.raises(AttributeError, match=r"module 'anml\.sklearn' has no attribute 'Anml'"):
        _ = import_module("anml.sklearn").Anml


def test_a_missing_package_is_named_with_its_extra():
    load, _ = lazy_names("anml.made_up", {"Name": "not_installed.part"}, extras={"Name": "hf"})
    with pytest.raises(UnsupportedError, match=r"Name needs the package not_installed: .*\[hf\]"):
        load("Name")
    with pytest.raises(ModuleNotFoundError):
        lazy_names("anml.made_up", {"Name": "not_installed.part"})[0]("Name")


def test_importing_loads_nothing_heavy():
    assert not HEAVY & loaded_by("import anml")


@pytest.mark.parametrize(
    "module", ["anml.attribution", "anml.federated", "anml.ledger", "anml.sklearn", "anml.torch"]
)
def test_lazy_submodules_load_nothing_heavy(module):
    assert not (HEAVY - {"numpy"} | OPTIONAL_HEAVY) & loaded_by(f"import {module}")


@pytest.mark.parametrize("module", ["anml.signals", "anml.settlement", "anml.federated.rules"])
def test_submodules_of_arithmetic_load_numpy_and_scipy_only(module):
    assert not (HEAVY - {"numpy", "scipy"} | OPTIONAL_HEAVY) & loaded_by(f"import {module}")


# Packages and parts of this one that an audit of a table must do without; experiments are not installed.
ABSENT = (
    "torch", "pandas", "pyarrow", "sqlalchemy", "cryptography", "matplotlib", "PIL", "ray", "transformers",
    "anml.attribution", "anml.ledger", "anml.torch", "anml.federated", "experiments",
)  # fmt: skip
WITHOUT = f"""
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in {ABSENT!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""
AUDIT = """
import anml
audit = anml.audit("table.csv", label="label", contributor="who")
audit.report("report.html")
audit.save("run")
"""
COMMANDS = ("audit", "train", "predict", "relabel", "compare", "contributor", "apply", "value", "demo")


def without(code, folder):
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT + code], capture_output=True, text=True, check=False, cwd=folder
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture
def table(tmp_path):
    rows = "\n".join(
        f"{row % 2 + row % 7 / 20},{row % 5},{'ab'[row % 2]},{'xyz'[row % 3]}" for row in range(90)
    )
    (tmp_path / "table.csv").write_text(f"one,two,label,who\n{rows}\n")
    return tmp_path


def test_an_audit_of_a_table_needs_no_extra(table):
    without(AUDIT, table)
    assert "<html" in (table / "report.html").read_text()
    assert (table / "run" / "samples.parquet").is_file()


def test_the_command_of_an_audit_needs_no_extra(table):
    code = """
sys.argv = ["anml", "audit", "table.csv", "--label", "label", "--contributor", "who", "--out", "run"]
from anml.cli.main import main
try:
    main()
except SystemExit as stopped:
    assert not stopped.code, stopped.code
"""
    without(code, table)
    assert (table / "run" / "report.html").is_file()


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_loads_nothing_that_computes(command, tmp_path):
    code = f"""
sys.argv = ["anml", *{[command] if command else []!r}, "--help"]
from anml.cli.main import main
try:
    main()
except SystemExit as stopped:
    assert not stopped.code
print("loaded", *sys.modules)
"""
    loaded = without(code, tmp_path).rsplit("loaded", 1)[1].split()
    assert not {"sklearn", "scipy", "polars", "jinja2"} & set(loaded)
