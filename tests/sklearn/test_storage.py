"""Models in files without pickle: every kind comes back, and nothing else is read."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier

from anml import AnmlClassifier, AnmlRegressor
from anml.core.errors import InputError, UnknownNameError, UnsupportedError
from anml.sklearn.mlp import MLPClassifier, MLPRegressor
from anml.sklearn.storage import MODEL_FORMATS, load_model, save_model

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")


class TestFiles:
    def test_round_trip_without_pickle(self, consortium, tmp_path):
        inner = LogisticRegression(solver="newton-cholesky")
        x, y, contributors, x_test, _ = consortium
        names = np.array(["red", "white", "rosé"])[y]
        model = AnmlClassifier(inner, random_state=0).fit(x, names, contributor=contributors)
        save_model(model, tmp_path / "m")
        back = load_model(tmp_path / "m")
        np.testing.assert_array_equal(back.predict(x_test), model.predict(x_test))
        np.testing.assert_array_equal(back.predict_proba(x_test), model.predict_proba(x_test))
        np.testing.assert_array_equal(back.sample_weight_, model.sample_weight_)
        assert back.gate_ == model.gate_
        assert back.contributors_.equals(model.contributors_)
        assert {p.suffix for p in (tmp_path / "m").rglob("*") if p.is_file()} == {".json", ".safetensors"}

    def test_what_cannot_be_saved(self, tmp_path):
        with pytest.raises(UnsupportedError, match="cannot be saved without pickle"):
            save_model(KNeighborsClassifier(), tmp_path)

    def test_bad_files(self, tmp_path):
        with pytest.raises(InputError, match=r"model\.json is missing"):
            load_model(tmp_path)
        x, y = load_wine(return_X_y=True)
        save_model(MLPClassifier(epochs=1).fit(x, y), tmp_path)
        about = json.loads((tmp_path / "model.json").read_text())
        (tmp_path / "model.json").write_text(json.dumps({**about, "kind": "pickle"}))
        with pytest.raises(UnknownNameError, match="kind of model 'pickle'"):
            load_model(tmp_path)
        (tmp_path / "model.json").write_text(json.dumps({**about, "format": 99}))
        with pytest.raises(InputError, match="format 99"):
            load_model(tmp_path)
        (tmp_path / "model.json").write_text("{")
        with pytest.raises(InputError, match="cannot be read"):
            load_model(tmp_path)
        (tmp_path / "model.json").write_text(json.dumps(about))
        (tmp_path / "model.safetensors").write_bytes(b"not a tensor")
        with pytest.raises(InputError, match="cannot be read"):
            load_model(tmp_path)


def test_a_model_that_was_not_fitted_is_not_saved(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        save_model(AnmlClassifier(), tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_loaded_model_keeps_what_it_learned_of_contributors(tmp_path):
    X, y = load_wine(return_X_y=True)
    model = AnmlClassifier(random_state=0).fit(X, y, contributor=["ann", "bob"] * 89)
    save_model(model, tmp_path / "with")
    again = load_model(tmp_path / "with")
    assert again.reputation_.equals(model.reputation_)
    assert again.predictor_ == "anml"
    save_model(AnmlClassifier(random_state=0).fit(X, y), tmp_path / "without")
    assert load_model(tmp_path / "without").reputation_ is None


def fitted(name):
    """A small fitted model of every kind that can be saved."""
    x, y = load_wine(return_X_y=True)
    x, y = (x[::4] - x.mean(axis=0)) / x.std(axis=0), y[::4]
    x = x[: len(y)]
    small = {"hidden": (4,), "epochs": 3, "random_state": 0}
    made = {
        "mlp-classifier": lambda: MLPClassifier(**small).fit(x, y),
        "mlp-regressor": lambda: MLPRegressor(**small).fit(x, y),
        "logistic": lambda: LogisticRegression(C=0.5).fit(x, y),
        "ridge": lambda: Ridge(alpha=2.0).fit(x, y),
        "anml-classifier": lambda: AnmlClassifier(MLPClassifier(**small), recipe="krum", random_state=0).fit(
            x, y
        ),
        "anml-regressor": lambda: AnmlRegressor(Ridge(), recipe="krum", random_state=0).fit(
            x, y.astype(float)
        ),
    }
    return made[name](), x


@pytest.fixture(scope="module")
def models():
    return {name: fitted(name) for name in MODEL_FORMATS}


@pytest.mark.parametrize("name", MODEL_FORMATS)
class TestEveryKind:
    def test_comes_back_with_the_same_predictions(self, name, models, tmp_path):
        model, x = models[name]
        save_model(model, tmp_path)
        back = load_model(tmp_path)
        assert type(back) is type(model)
        np.testing.assert_array_equal(back.predict(x), model.predict(x))
        for key in (*MODEL_FORMATS[name].arrays, *MODEL_FORMATS[name].values):
            np.testing.assert_array_equal(np.asarray(getattr(back, key)), np.asarray(getattr(model, key)))

    def test_saving_again_gives_the_same_bytes(self, name, models, tmp_path):
        model, _ = models[name]
        save_model(model, tmp_path / "one")
        save_model(load_model(tmp_path / "one"), tmp_path / "two")
        for path in (tmp_path / "one").rglob("*.*"):
            assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes()

    def test_a_missing_file_is_named(self, name, models, tmp_path):
        save_model(models[name][0], tmp_path)
        for file in ("model.safetensors", "model.json"):
            (tmp_path / file).unlink()
            with pytest.raises(InputError, match=f"{file} is missing"):
                load_model(tmp_path)


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "m").write_text("x")
    with pytest.raises(InputError, match="it is a file, not a folder"):
        load_model(tmp_path / "m")
