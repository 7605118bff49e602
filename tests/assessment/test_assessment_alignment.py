"""Predictions, embeddings and labels of other rows: refused by what they say, never by their form."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import anml
from anml.assessment.alignment import check_embeddings, check_predictions, gather

N, K = 600, 3


def rows(seed=0, noise=0.15):
    rng = np.random.default_rng(seed)
    correct = rng.integers(K, size=N)
    x = rng.normal(size=(N, 6))
    x[:, :2] += 2.5 * np.array([[0, 0], [1, 0], [0, 1]])[correct]
    y = np.where(rng.random(N) < noise, rng.integers(K, size=N), correct)
    return x, y, rng


def held_out(x, y, model=None):
    model = model or RandomForestClassifier(60, random_state=0)
    return cross_val_predict(model, x, y, method="predict_proba")


def moved(p, y, rng):
    """Inputs in other orders, by the mistake that makes them."""
    n = len(p)
    half, late = rng.random(n) < 0.5, p.copy()
    some = p.copy()
    some[half] = p[half][rng.permutation(half.sum())]
    late[n // 2 :] = p[n // 2 :][rng.permutation(n - n // 2)]
    return {
        "shuffled": p[rng.permutation(n)],
        "half of the rows shuffled": some,
        "second half shuffled": late,
        "one row later": np.roll(p, 1, axis=0),
        "eleven rows earlier": np.roll(p, -11, axis=0),
        "reversed": p[::-1],
        "sorted by label": p[np.argsort(y, kind="stable")],
        "sorted as text": p[np.argsort(np.arange(n).astype(str))],
        "a row is missing": np.concatenate([p[: n // 3], p[n // 3 + 1 :], p[-1:]]),
    }


MISTAKES = list(moved(np.zeros((20, K)), np.zeros(20), np.random.default_rng(0)))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_predictions_of_other_rows_are_found(mistake, seed):
    x, y, rng = rows(seed)
    p = moved(held_out(x, y), y, rng)[mistake]
    assert any(each.certain for each in check_predictions(p, y, gather(x, y, K, None, 0), None))


@pytest.mark.parametrize("mistake", [m for m in MISTAKES if "half" not in m])
def test_embeddings_of_other_rows_are_found(mistake):
    x, y, rng = rows()
    e = moved(x @ rng.normal(size=(6, 16)), y, rng)[mistake]
    findings = check_embeddings(e, y, K, gather(x, y, K, None, 0), None)
    assert any(each.certain for each in findings) or (findings and mistake == "sorted by label")


def test_columns_of_other_classes_and_models_that_saw_the_labels_are_found():
    x, y, _ = rows()
    p, evidence = held_out(x, y), gather(x, y, K, None, 0)
    assert "another order of the classes" in check_predictions(p[:, [1, 0, 2]], y, evidence, None)[0].reason
    forest = RandomForestClassifier(60, random_state=0).fit(x, y)
    findings = check_predictions(forest.predict_proba(x), y, evidence, None)
    assert "trained on these labels" in findings[0].reason
    # The same mistake is found by items alone: predictions follow each of two labels of one item.
    item = np.repeat(np.arange(N // 3), 3)
    labels = np.where(np.arange(N) % 3 == 2, (y[item * 3] + 1) % K, y[item * 3])
    both = check_predictions(
        0.9 * np.eye(K)[labels] + 0.1 / K, labels, gather(x[:, :0], labels, K, item, 0), item
    )
    assert any("trained on these labels" in each.reason for each in both)


HONEST = {
    "linear": LogisticRegression(),
    "independent": GaussianNB(),
    "one split": DecisionTreeClassifier(max_depth=1),
    "overfitted": DecisionTreeClassifier(random_state=0),
}


@pytest.mark.parametrize("noise", [0.0, 0.15, 0.5, 1.0])
@pytest.mark.parametrize("model", HONEST)
def test_honest_predictions_of_weak_models_are_not_refused(model, noise):
    x, y, rng = rows(3, noise)
    # One-hot predictions without any information are those of other rows, by all that they say.
    for features in (x, x[:, :1], *([] if model == "overfitted" else [rng.normal(size=(N, 2))])):
        p = held_out(features, y, HONEST[model])
        for features_or_none in (x, x[:, :0]):
            findings = check_predictions(p, y, gather(features_or_none, y, K, None, 0), None)
            assert not any(each.certain for each in findings), findings


def test_honest_embeddings_are_not_refused():
    x, y, rng = rows(4)
    evidence = gather(x, y, K, None, 0)
    for e in (x, x[:, :1], x @ rng.normal(size=(6, 20)), x + 2 * rng.normal(size=x.shape)):
        assert not any(each.certain for each in check_embeddings(e, y, K, evidence, None))


@pytest.fixture(scope="module")
def table():
    x, y, rng = rows()
    frame = {f"x{at}": x[:, at] for at in range(6)}
    names = np.array(["ann", "bob", "cat"])[rng.integers(3, size=N)]
    return pl.DataFrame({"id": [f"r{at}" for at in range(N)], **frame, "annotator": names, "label": y})


def audit(table, **options):
    schema = {"ignore": ["id"], **options.pop("schema", {})}
    return anml.audit(table, "label", "annotator", schema=schema, evaluate=False, **options)


def test_an_audit_refuses_them_by_position_and_takes_them_by_key(table):
    x, y = table.select(pl.selectors.starts_with("x")).to_numpy(), table["label"].to_numpy()
    p, order = held_out(x, y), np.random.default_rng(5).permutation(N)
    plain = audit(table, predictions=p)
    assert not any("other rows" in each for each in plain.warnings)
    with pytest.raises(anml.AnmlError, match=r"predictions seem to be of other rows: .* --column key=NAME"):
        audit(table, predictions=p[order])
    keyed = pl.DataFrame({"id": table["id"], **{str(c): p[:, c] for c in range(K)}})[order]
    found = audit(table, predictions=keyed, schema={"key": "id", "ignore": []})
    np.testing.assert_allclose(found.samples["p_correct"], plain.samples["p_correct"])
    with pytest.raises(anml.AnmlError, match="embeddings seem to be of other rows"):
        audit(table, embeddings=x[order])
    indexed = pd.DataFrame(p, columns=["0", "1", "2"])[::-1]
    assert audit(table.to_pandas(), predictions=indexed).samples["p_correct"].to_numpy() == pytest.approx(
        plain.samples["p_correct"].to_numpy()
    )


def test_numbers_in_another_order_are_refused(table):
    rng = np.random.default_rng(0)
    value = table["x0"].to_numpy() * 3 + rng.normal(size=N)
    numbers = table.drop("label").with_columns(label=pl.Series(value))
    close = table["x0"].to_numpy() * 3
    assert not any("other rows" in each for each in audit(numbers, predictions=close).warnings)
    with pytest.raises(anml.AnmlError, match="of other rows"):
        audit(numbers, predictions=close[rng.permutation(N)])
