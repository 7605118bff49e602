"""New inputs through everything: what is given is used, and changes what is believed."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import anml
from anml.annotators.words import FLAGGED, VERDICTS
from made_up import WRONG, consortium, measurements, reviews

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("short_training", "shared_results")]

DATA = Path(__file__).parents[1] / "data"


def right_labels(rows=120, seed=0):
    """The right labels of `consortium`, as it draws them."""
    return np.random.default_rng(seed).integers(0, 2, rows)


def said(right, sure=0.95):
    p = np.where(right == 1, sure, 1 - sure)
    return pl.DataFrame({"yes": p, "no": 1 - p})


class TestLabelsAlone:
    def test_a_small_table_in_the_terminal(self, run_anml, tmp_path):
        ran = run_anml("audit", DATA / "crowd_long.csv", "--item", "task", "--contributor", "worker",
                      "--label", "label", "--json", "--out", tmp_path / "out")  # fmt: skip
        assert (ran.code, ran.err) == (0, "")
        result = json.loads(ran.out)
        assert result["rows"] == 6
        assert result["evaluation"] is None
        assert (tmp_path / "out" / "report.html").is_file()

    @pytest.mark.parametrize("recipe", anml.RECIPES)
    def test_every_recipe_works_or_says_why_not(self, recipe):
        message = ""
        try:
            anml.audit(pl.read_csv(DATA / "crowd_long.csv"), recipe=recipe)
        except anml.AnmlError as error:
            message = str(error)
        assert "\n" not in message

    def test_workers_are_ranked_as_the_truth_ranks_them(self, real_data):
        labels = pl.read_csv(real_data / "weather_sentiment_labels.csv.gz")
        truth = pl.read_csv(real_data / "weather_sentiment_items.csv.gz").select("item", "truth")
        # "Cannot tell" is one of the five classes.
        every_class = anml.Schema(missing=[])
        result = anml.audit(real_data / "weather_sentiment_labels.csv.gz", schema=every_class)
        right = labels.join(truth, on="item").group_by("contributor").agg(
            true_accuracy=(pl.col("label") == pl.col("truth")).mean(), n=pl.len()
        )  # fmt: skip
        known = result.contributors.join(right, on="contributor").filter(pl.col("n") >= 20)
        assert np.corrcoef(known["accuracy"], known["true_accuracy"])[0, 1] > 0.9
        # Of five classes one in five is right by chance: the accused are about there, and nobody else.
        words = known.group_by("verdict").agg(
            low=pl.col("true_accuracy").min(), high=pl.col("true_accuracy").max()
        )
        given = {word: (low, high) for word, low, high in words.iter_rows()}
        assert set(given) <= {*VERDICTS}
        accused = [high for word, (_, high) in given.items() if word in FLAGGED]
        assert max(accused, default=0.0) < 0.3
        assert given["reliable"][0] > 0.45 > given["less reliable"][1]
        assert (known["verdict"] == "reliable").mean() > 0.7
        message = result.consensus.with_columns(pl.col("item").cast(pl.Int64)).join(truth, on="item")
        # The truth was made from these labels, each counted alike; here the better ones count for more.
        assert (message["consensus_label"] == message["truth"]).mean() > 0.92

    def test_numbers_of_several_people(self):
        rng = np.random.default_rng(0)
        item = np.repeat(np.arange(40), 4)
        annotator = np.tile(["ann", "bob", "cat", "dan"], 40)
        value = 10 * rng.normal(size=40)[item] + np.where(annotator == "dan", 8, 0.2) * rng.normal(size=160)
        frame = pl.DataFrame({"item": item, "contributor": annotator, "dose": value})
        result = anml.audit(frame, label="dose", item="item", contributor="contributor")
        assert result.contributors["contributor"][0] == "dan"


class TestPredictions:
    def test_alone_they_find_the_bad_contributor(self):
        frame = consortium().select("label", "contributor")
        result = anml.audit(frame, predictions=said(right_labels()))
        assert result.contributors["contributor"][0] == "dan"
        wrong = frame["label"].to_numpy() != np.array(["no", "yes"])[right_labels()]
        assert result.samples["p_correct"].to_numpy()[wrong].mean() < 0.3
        assert result.samples["p_correct"].to_numpy()[~wrong].mean() > 0.8

    def test_beside_features_that_say_nothing_they_decide(self):
        rng = np.random.default_rng(1)
        frame = consortium().select("label", "contributor").with_columns(noise=rng.normal(size=120))
        result = anml.audit(frame, predictions=said(right_labels()), evaluate=False)
        assert result.contributors["contributor"][0] == "dan"
        assert result.samples["p_correct"].to_numpy()[frame["contributor"] == "dan"].mean() < 0.5

    def test_sure_ones_of_zero_and_one_are_no_trouble(self):
        result = anml.audit(
            consortium().select("label", "contributor"), predictions=said(right_labels(), 1.0)
        )
        assert np.isfinite(result.samples["p_correct"].to_numpy()).all()

    def test_of_numbers(self):
        frame = measurements()
        right = 3 * frame["mass"] - frame["age"]
        result = anml.audit(frame.select("dose", "contributor"), label="dose", predictions=right.to_numpy())
        assert result.contributors["contributor"][0] == "dan"

    def test_train_in_the_terminal(self, run_anml, tmp_path):
        consortium().write_csv(tmp_path / "data.csv")
        said(right_labels()).write_parquet(tmp_path / "p.parquet")
        ran = run_anml("train", tmp_path / "data.csv", "--predictions", tmp_path / "p.parquet",
                      "--set", "evaluate=false", "--out", tmp_path / "run")  # fmt: skip
        assert (ran.code, ran.err) == (0, "")
        assert (tmp_path / "run" / "model").is_dir()


def test_embeddings_find_the_bad_contributor(tmp_path):
    frame = consortium()
    np.save(tmp_path / "e.npy", frame.select("width", "height", "depth").to_numpy())
    result = anml.audit(frame.with_columns(width=pl.lit(0)), embeddings=tmp_path / "e.npy")
    assert result.contributors["contributor"][0] == "dan"
    assert result._result.evaluation is not None


class TestKnown:
    def frame(self, column):
        return consortium().with_columns(answer=column)

    def test_right_labels_are_believed_and_wrong_ones_are_not(self):
        names = np.array(["no", "yes"])[right_labels()]
        column = pl.Series([str(name) if at < 40 else None for at, name in enumerate(names)])
        result = anml.audit(self.frame(column), evaluate=False, schema={"true_label": "answer"}).samples
        right, wrong = result.filter(label_is_correct=True), result.filter(label_is_correct=False)
        assert right["p_correct"].min() > 0.99
        assert right["kept"].all()
        assert wrong.height > 3
        assert wrong["p_correct"].max() < 0.01
        assert not wrong["kept"].any()

    def test_what_is_only_known_to_be_wrong_is_not_kept(self):
        column = pl.Series([False] * 5 + [None] * 115)
        result = anml.audit(self.frame(column), evaluate=False, schema={"true_label": "answer"}).samples
        assert not result["kept"][:5].any()

    def test_what_is_known_of_a_contributor_tells_of_the_rest(self):
        """Without informative features, p_correct is low for a contributor with mostly wrong labels."""
        names = np.array(["no", "yes"])[right_labels()]
        contributor = np.resize(list(WRONG), 120)
        column = pl.Series([str(name) if at < 80 else None for at, name in enumerate(names)])
        frame = pl.DataFrame({
            "noise": np.random.default_rng(1).normal(size=120), "label": consortium()["label"],
            "contributor": contributor.tolist(), "answer": column,
        })  # fmt: skip
        rest = anml.audit(frame, evaluate=False, schema={"true_label": "answer"}).samples[80:]
        belief = rest.group_by("contributor").agg(pl.col("p_correct").mean())
        belief = dict(belief.iter_rows())
        assert belief["dan"] < 0.5 < belief["ann"]

    def test_gold_that_is_not_known_still_checks(self):
        names = [str(name) for name in np.array(["no", "yes"])[right_labels()]]
        frame = consortium().with_columns(
            answer=pl.Series([name if at < 40 else None for at, name in enumerate(names)]),
            checked=pl.Series(names),
        )
        result = anml.audit(
            frame, evaluate=False, schema={"true_label": "answer", "test_label": "checked"}
        )._result
        assert result.gold.rows == 80

    def test_in_the_estimator(self):
        frame = consortium()
        X = frame.select("width", "height", "depth").to_numpy()
        y, right = frame["label"].to_numpy(), np.array(["no", "yes"])[right_labels()]
        known = [str(name) if at < 40 else None for at, name in enumerate(right)]
        model = anml.AnmlClassifier(LogisticRegression(), random_state=0).fit(
            X, y, contributor=frame["contributor"], true_label=known
        )
        assert model.p_correct_[:40][y[:40] == right[:40]].min() > 0.99
        assert not model.kept_[:40][y[:40] != right[:40]].any()


class TestEstimatorsOwnPredictions:
    def worst(self, model):
        return model.contributors_.sort("accuracy")["contributor"][0]

    def test_words_and_gaps(self):
        frame = consortium(200)
        X = pd.DataFrame({
            "width": frame["width"].to_numpy(), "tall": np.where(frame["height"] > 1.2, "tall", "small"),
        })  # fmt: skip
        X.loc[::11, "width"] = np.nan
        X.loc[::13, "tall"] = None
        learner = make_pipeline(
            make_column_transformer((SimpleImputer(), ["width"]), (OneHotEncoder(), ["tall"])),
            LogisticRegression(),
        )
        model = anml.AnmlClassifier(learner, random_state=0)
        model.fit(X, frame["label"].to_numpy(), contributor=frame["contributor"])
        assert self.worst(model) == "dan"
        right = np.array(["no", "yes"])[right_labels(200)]
        assert model.score(X, right) > 0.85

    def test_boosted_trees_on_gaps(self):
        frame = consortium(200)
        X = frame.select("width", "height", "depth").to_numpy().copy()
        X[::9, 1] = np.nan
        model = anml.AnmlClassifier(HistGradientBoostingClassifier(max_iter=30), random_state=0)
        model.fit(X, frame["label"].to_numpy(), contributor=frame["contributor"])
        assert self.worst(model) == "dan"

    def test_sparse_text(self):
        frame = reviews(200)
        X = TfidfVectorizer().fit_transform(frame["text"].to_list())
        model = anml.AnmlClassifier(LogisticRegression(), random_state=0)
        model.fit(X, frame["label"].to_numpy(), contributor=frame["annotator"])
        assert self.worst(model) == "dan"

    def test_numbers(self):
        frame = measurements(200)
        X = frame.select("mass", "age").to_pandas()
        X.loc[::9, "age"] = np.nan
        model = anml.AnmlRegressor(HistGradientBoostingRegressor(max_iter=30), random_state=0)
        model.fit(X, frame["dose"].to_numpy(), contributor=frame["contributor"])
        assert self.worst(model) == "dan"
