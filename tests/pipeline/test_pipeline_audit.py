"""From a table to weights: classes, numbers, text, chains of derivation, and real data."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import polars as pl
import pytest

from anml.core.errors import InputError
from anml.pipeline.audit import audit_table
from anml.pipeline.request import Request
from anml.pipeline.result import run_metadata
from anml.pipeline.train import predict_table, train_table
from anml.signals.verification import VERIFICATION
from made_up import consortium, measurements, reviews

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")


def audited(frame, **request):
    return audit_table(frame, Request(**{"evaluate": False, **request}))[0]


def kept_share(result, contributor):
    row = result.contributors.filter(contributor=contributor).row(0, named=True)
    return row["kept"] / row["rows"]


def test_classes_end_to_end():
    result = audited(consortium(), evaluate=True)
    assert (result.task, result.classes) == ("classification", ["no", "yes"])
    assert result.contributors["contributor"][0] == "dan"
    assert 0.1 < result.label_error_rate.mean < 0.4
    assert kept_share(result, "dan") < 0.5 < kept_share(result, "ann")
    assert [way.name for way in result.evaluation.results] == ["uniform", "chosen"]
    confused = result.confusion
    assert confused["rows"].sum() == 120
    assert result.samples["self_confidence"].is_between(0, 1).all()


def test_regression_end_to_end(tmp_path):
    frame = measurements()
    trained = train_table(frame, Request(label="dose", evaluate=False), model="ridge", test=frame)
    result = trained.audited
    assert (result.task, result.classes) == ("regression", [])
    assert result.contributors["contributor"][0] == "dan"
    assert kept_share(result, "dan") < 0.5 < kept_share(result, "ann")
    assert result.confusion.is_empty()
    assert result.samples["self_confidence"].null_count() == 120
    trained.save(tmp_path)
    predicted = predict_table(tmp_path, frame)
    honest = frame["contributor"] != "dan"
    off = (predicted["dose"] - frame["dose"]).abs().filter(honest)
    assert predicted.columns == ["row", "dose"]
    assert off.mean() < 1.0
    assert trained.test_error.mean == pytest.approx((predicted["dose"] - frame["dose"]).abs().mean())


def test_text_column_end_to_end(tmp_path):
    frame = reviews()
    trained = train_table(frame, Request(evaluate=False), model="logistic")
    result = trained.audited
    assert result.columns.contributor == "annotator"
    assert result.columns.features == ("text",)
    assert result.contributors["contributor"][0] == "dan"
    trained.save(tmp_path)
    new = pl.DataFrame({"text": ["the garden was lovely and tasty", "a rude and stale window"]})
    assert predict_table(tmp_path, new)["label"].to_list() == ["good", "bad"]


def test_chain_of_derivation_multiplies_along_the_chain():
    rows = 60
    frame = consortium(rows).with_columns(
        item=pl.Series([f"i{at}" for at in range(rows)]),
        derived_from=pl.Series([None, "i0", "i1", "i1; i0", *[None] * (rows - 4)]),
        verification=pl.lit(0.1),
        reputation=pl.lit(0.15),
    )
    samples = audited(frame, recipe={"name": "multiplicative", "r_min": 0.0, "newcomer_rows": 0}).samples
    s = (samples["v"] * samples["r"]).to_numpy()
    assert s[:5] == pytest.approx([0.015, 0.015**2, 0.015**3, 0.015**3, 0.015])
    w = samples["weight"].to_numpy()
    assert w[2] / w[4] == pytest.approx(0.015**2 * samples["q"][2] / samples["q"][4])


def test_newcomers_are_lifted_to_the_floor_until_they_have_a_record():
    frame = consortium(80).with_columns(reputation=pl.lit(0.1), verification=pl.lit("institution"))
    samples = audited(frame, recipe={"r_min": 0.5, "newcomer_rows": 3}).samples
    r = samples.filter(contributor="ann")["r"].to_list()
    assert r[:4] == [0.5, 0.5, 0.5, 0.1]


def test_who_is_flagged_is_not_lifted():
    flagged = pl.when(contributor="ann").then(pl.lit("flagged")).otherwise("verification")
    frame = consortium(80).with_columns(verification=flagged, reputation=pl.lit(0.1))
    samples = audited(frame).samples
    assert samples.filter(contributor="ann")["r"].unique().to_list() == [0.1]
    assert samples.filter(contributor="ann")["v"].unique().to_list() == [VERIFICATION["flagged"].default]
    assert samples.filter(contributor="bob")["r"][0] == 0.4


def test_freshness_counts_only_when_it_was_asked_for():
    guessed, named = audited(consortium()), audited(consortium(), time="labeled_at")
    for result in (guessed, named):
        assert "t" not in result.signals_given
        assert any("the time column does not affect weights" in note for note in result.notes)
    asked = audited(consortium(), time="labeled_at", recipe={"half_life": "7y"})
    assert "t" in asked.signals_given
    assert asked.samples["t"].min() == pytest.approx(0.5 ** (5 / 7), abs=0.01)
    assert asked.samples["age_years"].max() == pytest.approx(5, abs=0.01)


def test_moment_with_a_zone_counts_in_universal_time():
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    elsewhere = noon.astimezone(timezone(timedelta(hours=5)))
    ages = [
        audited(consortium(40), time="labeled_at", recipe={"reference_time": now}).samples["age_years"]
        for now in (noon, elsewhere)
    ]
    assert ages[0].equals(ages[1])


def test_rows_without_a_label_are_left_out_and_positions_stay():
    label = pl.when(pl.int_range(pl.len()) % 10 == 0).then(None).otherwise("label")
    result = audited(consortium(60).with_columns(label=label))
    assert result.samples["row"].to_list() == [at for at in range(60) if at % 10]
    assert run_metadata(result, "audit")["data"]["rows"] == 60


def test_order_of_columns_does_not_change_the_weights():
    frame = consortium(60)
    turned = frame.select(*reversed(["label", "contributor", "verification", "reputation", "labeled_at"]),
                          "width", "height", "depth")  # fmt: skip
    assert audited(frame).samples["weight"].equals(audited(turned).samples["weight"])


@pytest.mark.parametrize("combine", ["evidence", "multiplicative", "softmax", "guarded"])
def test_signal_that_is_not_used_changes_nothing(combine):
    with_it = audited(consortium(60), recipe={"combine": combine, "use": ["q"]}).samples
    without = audited(consortium(60).drop("verification", "reputation"), recipe={"combine": combine}).samples
    assert with_it["weight"].to_numpy() == pytest.approx(without["weight"].to_numpy())
    assert with_it["kept"].equals(without["kept"])


def test_share_to_keep_overrides_the_recipe_and_leaves_its_name():
    result = audited(consortium(), recipe={"name": "krum", "keep": 0.25})
    assert (result.recipe_name, result.kept) == ("krum", 30)


def test_test_table_never_seen_class_counts_as_wrong():
    test = consortium(40).with_columns(label=pl.lit("perhaps"))
    result = audit_table(consortium(80), Request(), test=test)[0]
    assert [way.error.mean for way in result.evaluation.results] == [1.0, 1.0]


def test_data_that_is_no_table_is_refused():
    with pytest.raises(InputError, match="must be a path or a pandas, polars or Arrow table, got int"):
        audited(3)


def test_hospitals_as_contributors(real_data):
    frame = pl.read_csv(real_data / "heart_disease.csv.gz")
    result = audited(frame.with_columns(disease=pl.col("num") > 0).drop("num"), label="disease")
    assert result.columns.contributor == "hospital"
    assert result.contributors.height == 4
    assert result.contributors["rows"].sum() == 920
    # No label is known to be wrong: little may be called wrong.
    assert result.label_error_rate.mean < 0.15


def test_crowd_workers_are_ranked_as_the_truth_ranks_them(real_data):
    items = pl.read_csv(real_data / "music_genre_items.csv.gz").filter(split="train")
    labels = pl.read_csv(real_data / "music_genre_labels.csv.gz")
    truth = items.select("item", "truth")
    frame = labels.join(items.drop("truth", "split"), on="item")
    result = audited(frame, item="item", recipe={"profile": {"max_epochs": 20, "folds": 2}})
    right = labels.join(truth, on="item").group_by("contributor").agg(
        true_accuracy=(pl.col("label") == pl.col("truth")).mean(), n=pl.len()
    )  # fmt: skip
    known = result.contributors.join(right, on="contributor").filter(pl.col("n") >= 20)
    assert result.contributors.height == 44
    assert np.corrcoef(known["accuracy"], known["true_accuracy"])[0, 1] > 0.8
