"""An audit of preferences, from a file to tables; the ranking says what is decided."""

import numpy as np
import polars as pl
import pytest

import anml
from anml.core.errors import InputError, UnsupportedError
from anml.pipeline.read import read_run
from anml.review.apply import request_from_run


def comparisons(seed=0, people=12, rows=50, groups=1):
    rng = np.random.default_rng(seed)
    n, names = people * rows, np.array([f"answer {k}" for k in range(8)])
    scores = np.linspace(-3, 3, 8)
    contributor = np.repeat(np.arange(people), rows)
    first = rng.integers(8, size=n)
    second = (first + rng.integers(1, 8, n)) % 8
    p = 1 / (1 + np.exp(scores[second] - scores[first]))
    choice = np.where(rng.random(n) < p, "first", "second").astype(object)
    choice[rng.random(n) < 0.1] = "equal"
    choice[contributor == 0] = "first"
    topic = [f"t{k}" for k in rng.integers(groups, size=n)]
    judge = [f"j{k:02}" for k in contributor]
    shown = {"first": names[first], "second": names[second], "choice": choice.astype(str)}
    return pl.DataFrame({**shown, "judge": judge, "topic": topic})


@pytest.fixture(scope="module")
def result():
    return anml.audit(comparisons(), contributor="judge", task="preferences")


def test_the_ranking_is_in_order_with_intervals(result):
    ranking = result._result.structured.tables["ranking"]
    assert ranking["candidate"][0] == "answer 7"
    assert ranking["candidate"][-1] == "answer 0"
    assert ranking["rank"].to_list() == [*range(1, 9)]
    assert (ranking["score_low"] < ranking["score"]).all()
    assert ranking["p_ahead_of_next"][:-1].is_between(0.4, 1.0).all()
    assert ranking["p_ahead_of_next"][-1] is None
    assert ranking["n_comparisons"].sum() == 2 * 600


def test_every_comparison_has_the_probability_that_somebody_careful_chooses_so(result):
    samples = result.samples
    assert samples["self_confidence"].is_between(0, 1).all()
    assert samples["predicted_label"].null_count() == samples.height
    clear = samples.filter(pl.col("item").is_in(["answer 7 · answer 0", "answer 0 · answer 7"]))
    best = (pl.col("item").str.starts_with("answer 7")) == (pl.col("label") == "first")
    right = clear.filter(best, pl.col("label") != "equal")["self_confidence"]
    assert right.min() > 0.7


def test_people_have_reliability_and_habits(result):
    people = {row["contributor"]: row for row in result.contributors.to_dicts()}
    assert people["j00"]["verdict"] == "no better than guessing"
    assert people["j00"]["kappa"] < 0.2
    assert people["j00"]["position_bias"] > 0.9
    assert "prefers the first of two equal candidates" in people["j00"]["notes"]
    assert min(people[f"j{k:02}"]["kappa"] for k in range(1, 12)) > 0.4
    assert people["j00"]["tie_rate"] == 0.0


def test_every_comparison_has_a_probability_and_a_weight(result):
    samples = result.samples
    assert samples.height == 600
    assert samples["self_confidence"].is_between(0, 1).all()
    assert samples["p_correct"].is_between(0, 1).all()
    guess = samples.filter(pl.col("contributor") == "j00")
    assert guess["weight"].mean() < 0.5 * samples["weight"].mean()
    assert result.consensus.height > 0


def test_it_says_what_is_decided_and_is_written(result, tmp_path):
    assert "8 candidates are ranked" in result._result.structured.sentences[0]
    files = result.save(tmp_path / "run")
    assert "ranking.csv" in files
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Ranking" in page
    assert "answer 7" in page
    assert "600 comparisons by 12 contributors" in page


def test_groups_are_ranked_apart():
    result = anml.audit(
        comparisons(groups=3), contributor="judge", task=anml.tasks.Preferences(group="topic")
    )
    ranking = result._result.structured.tables["ranking"]
    assert ranking["group"].unique().sort().to_list() == ["t0", "t1", "t2"]
    assert ranking.filter(pl.col("rank") == 1).height == 3
    assert "of 3 separate rankings" in result._result.structured.sentences[1]


def test_a_file_is_read_again_for_relabelling(tmp_path):
    path = tmp_path / "pairs.csv"
    comparisons(people=6, rows=30).write_csv(path)
    result = anml.audit(path, contributor="judge", task="preferences")
    result.save(tmp_path / "run")
    rows = pl.read_csv(anml.load_run(tmp_path / "run").export_review(tmp_path / "look.csv", n=5))
    assert rows.height == 5
    assert rows["first"].str.starts_with("answer").all()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"schema": {"test_label": "judge"}}, InputError, "row 0 chooses 'j00', which is neither"),
        ({"task": anml.tasks.Preferences(choice="nowhere")}, InputError, "no column 'nowhere' for choice"),
    ],
)
def test_what_it_cannot_do_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        anml.audit(comparisons(rows=5), contributor="judge", **{"task": "preferences", **options})


def test_accounts_of_one_judge_are_one_voice():
    """Six honest judges, and one who guesses under six names; who repeats a choice has made it twice."""
    rng, scores = np.random.default_rng(0), np.linspace(-2.5, 2.5, 16)
    first = rng.integers(0, 16, 200)
    second = (first + rng.integers(1, 16, 200)) % 16
    likely = 1 / (1 + np.exp(scores[second] - scores[first]))
    honest, coin = rng.random((6, 200)) < likely, rng.random(200) < 0.5
    chosen = {f"h{k}": honest[k] for k in range(6)} | {f"x{k}": coin for k in range(6)}
    shown = {"first": [f"c{k}" for k in first], "second": [f"c{k}" for k in second]}
    frame = pl.concat(
        pl.DataFrame({"judge": judge, **shown, "choice": np.where(took, "first", "second")})
        for judge, took in chosen.items()
    )
    result = anml.audit(frame, contributor="judge", task="preferences")
    assert any("x0, x1" in each and "one copy group" in each for each in result._result.warnings)
    verdicts = dict(result.contributors.select("contributor", "verdict").iter_rows())
    assert {verdicts[f"h{k}"] for k in range(6)} == {"reliable"}
    assert {verdicts[f"x{k}"] for k in range(6)} == {"no better than guessing"}
    assert result.samples.height == frame.height
    ranking = result._result.structured.tables["ranking"]
    assert np.corrcoef(ranking["candidate"].str.slice(1).cast(int), ranking["score"])[0, 1] > 0.95
    assert ranking["n_comparisons"].sum() == 2 * frame.height


def test_chats_are_compared_by_their_messages():
    frame = comparisons(groups=3)
    won = pl.when(pl.col("choice") == "second").then("second").otherwise("first")
    lost = pl.when(pl.col("choice") == "second").then("first").otherwise("second")
    plain = frame.select("judge", prompt="topic", chosen=won, rejected=lost).with_row_index("id")
    chat = [pl.concat_list(pl.struct(role=pl.lit("assistant"), content=name)).alias(name)
            for name in ("chosen", "rejected")]  # fmt: skip
    asked = pl.concat_list(pl.struct(role=pl.lit("user"), content="prompt")).alias("prompt")
    one, two = (
        anml.audit(each, contributor="judge", task="preferences")
        for each in (plain, plain.with_columns(asked, *chat))
    )
    np.testing.assert_allclose(one.samples["weight"], two.samples["weight"], atol=1e-9)
    subset = plain.with_columns(asked, *chat).sample(fraction=0.5, shuffle=True, seed=1)
    result = two.weights_for(subset.to_dicts(), key="id")
    np.testing.assert_array_equal(result.w, two.samples["weight"].to_numpy()[subset["id"].to_numpy()])
    assert two.weights_for(plain.with_columns(asked, *chat)).w.tolist() == two.samples["weight"].to_list()


def test_a_choice_made_without_looking_may_be_right_all_the_same():
    frame = comparisons(rows=60)
    result = anml.audit(frame, contributor="judge", task=anml.tasks.Preferences(group="topic"))
    (table,) = result._result.structured.tables.values()
    score = {
        (group, name): value for group, name, value in table.select("group", "candidate", "score").rows()
    }
    known = result.samples.join(frame.with_row_index("row").cast({"row": pl.Int64}), on="row")
    for row in known.to_dicts():
        gap = score[row["topic"], row["first"]] - score[row["topic"], row["second"]]
        if abs(gap) > 1.5:
            assert row["suggested_label"] == ("first" if gap > 0 else "second")
    # What to look at is which of two is better, and that is not sure.
    assert (result.review_queue()["p_suggested_label"] < 0.9).all()


def test_what_is_known_of_pairs_is_counted():
    frame = comparisons(rows=60)
    right = anml.audit(frame, contributor="judge", task=anml.tasks.Preferences(group="topic"))
    pair = right.samples.filter(pl.col("p_suggested_label") < 0.6).row(0, named=True)
    other = "second" if pair["suggested_label"] == "first" else "first"
    truth = pl.when(pl.int_range(pl.len()) == pair["row"]).then(pl.lit(other))
    known = anml.audit(
        frame.with_columns(truth=truth),
        contributor="judge",
        task=anml.tasks.Preferences(group="topic"),
        schema={"true_label": "truth"},
    )
    row = known.samples.filter(pl.col("row") == pair["row"]).row(0, named=True)
    assert (row["true_label"], row["suggested_label"]) == (other, other)
    assert row["p_correct"] == pytest.approx(float(row["label"] == other), abs=1e-6)
    ranks = [
        dict(each._result.structured.tables["ranking"].filter(pl.col("group") == frame["topic"][pair["row"]])
             .select("candidate", "score").rows())
        for each in (right, known)
    ]  # fmt: skip
    one, two = frame["first"][pair["row"]], frame["second"][pair["row"]]
    before, after = (each[one] - each[two] for each in ranks)
    assert after > before if other == "first" else after < before


def test_credentials_move_the_weights_of_pairs():
    frame = comparisons(rows=60)
    bad = pl.col("judge") == frame["judge"].unique().sort()[0]
    frame = frame.with_columns(checked=pl.when(bad).then(0.1).otherwise(0.9))
    result = anml.audit(frame, contributor="judge", task="preferences", schema={"verification": "checked"})
    assert result.samples["logodds_credentials"].n_unique() == 2


def test_two_kinds_of_answers_are_those_that_were_given():
    rows = [(f"c{k % 4}", f"c{(k + 1) % 4}", f"j{k % 5}", "tie" if k % 3 else "a") for k in range(60)]
    frame = pl.DataFrame(rows, schema=["first", "second", "judge", "choice"], orient="row")
    result = anml.audit(frame, contributor="judge", task="preferences")
    assert set(result.samples["suggested_label"]) <= {"first", "equal"}
    assert result.contributors["tie_rate"].mean() == pytest.approx(2 / 3, abs=0.05)


def test_chats_in_another_order_are_not_taken_for_the_same_rows():
    rows = [
        {"chosen": [{"role": "assistant", "content": f"a{k % 7}"}], "judge": f"j{k % 4}",
         "rejected": [{"role": "assistant", "content": f"b{k % 5}"}]}
        for k in range(80)
    ]  # fmt: skip
    result = anml.audit(pl.DataFrame(rows), contributor="judge", task="preferences")
    swapped = [{key: row[key] for key in ("judge", "rejected", "chosen")} for row in rows]
    for same in (rows, swapped, pl.DataFrame(rows), pl.DataFrame(rows).to_pandas()):
        assert len(result.weights_for(same).w) == 80
    with pytest.raises(InputError, match="the rows or their order differ; name a key"):
        result.weights_for(rows[::-1])


def described(seed, known):
    """Comparisons of many candidates, each compared a few times, and two numbers about every candidate."""
    rng = np.random.default_rng(seed)
    x, own = rng.normal(size=(2, 300, 2)), rng.normal(size=300)
    score = 2 * (x[0] @ [0.9, -0.4] if known else own)
    first = rng.integers(300, size=1200)
    second = (first + rng.integers(1, 300, 1200)) % 300
    choice = rng.random(1200) > 1 / (1 + np.exp(score[second] - score[first]))
    table = {"first": [f"c{k}" for k in first], "second": [f"c{k}" for k in second]}
    table |= {"choice": np.where(choice, "second", "first"), "judge": [f"j{k % 30}" for k in range(1200)]}
    return pl.DataFrame(table), {f"c{k}": x[0, k].tolist() for k in range(300)}, score


@pytest.mark.parametrize("known", [True, False])
def test_what_is_known_of_candidates_helps_where_it_says_something(known):
    frame, x, score = described(0, known)
    asked = {"task": "preferences", "contributor": "judge"}
    plain, with_x = (
        anml.audit(frame, **asked, **more)._result.structured for more in ({}, {"embeddings": x})
    )
    fits = [
        np.corrcoef(each.tables["ranking"]["score"], score[_codes(each.tables["ranking"])])[0, 1]
        for each in (plain, with_x)
    ]
    share = int(with_x.sentences[1].split("%")[0].split()[-1])
    if known:
        assert fits[1] > fits[0] + 0.05
        assert share > 70
    else:
        assert fits[1] > fits[0] - 0.01
        assert share < 10


def _codes(ranking):
    return ranking["candidate"].str.slice(1).cast(pl.Int64).to_numpy()


def test_embeddings_of_candidates_go_by_name_and_group(tmp_path):
    frame = comparisons(groups=2)
    x = pl.DataFrame({"candidate": [f"answer {k}" for k in range(9)], "x": np.arange(9.0)})
    both = x.join(pl.DataFrame({"group": ["t0", "t1"]}), how="cross")
    both.write_csv(tmp_path / "x.csv")
    frame.write_csv(tmp_path / "pairs.csv")
    asked = {"task": anml.tasks.Preferences(group="topic"), "contributor": "judge"}
    result = anml.audit(tmp_path / "pairs.csv", **asked, embeddings=tmp_path / "x.csv")
    assert any(
        "embeddings of 2 candidates that nobody compared are left out" in n for n in result._result.notes
    )
    by_name = anml.audit(frame, **asked, embeddings=x.to_pandas())
    scores = [each._result.structured.tables["ranking"]["score"].to_numpy() for each in (result, by_name)]
    assert scores[0] == pytest.approx(scores[1])
    # What was known of the candidates is not in the record: the run is not repeated without it.
    result.save(tmp_path / "run")
    anml.load_run(tmp_path / "run").export_review(tmp_path / "look.csv", n=3)
    with pytest.raises(UnsupportedError, match="cannot be repeated from its record"):
        request_from_run(read_run(tmp_path / "run"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"answer 0": [1.0]},
            "the embeddings lack 7 values of key 'candidate' that the table has, the first 'answer 1'",
        ),
        ({"answer 0": ["a"]}, "embeddings by candidate must be numbers, or lists of them"),
        (np.zeros((8, 2)), "in a column 'candidate'; got numbers alone"),
        (pl.DataFrame({"name": ["a"], "x": [1.0]}), "in a column 'candidate'; columns: name, x"),
        (
            pl.DataFrame({"candidate": ["a", "a"], "x": [1.0, 2]}),
            "must name each row of the embeddings once; 1 values occur more often",
        ),
        (
            pl.DataFrame({"candidate": ["a", None], "x": [1.0, 2]}),
            "key 'candidate' is empty in 1 rows of the embeddings",
        ),
        ({f"answer {k}": [float("nan")] for k in range(8)}, "embeddings must be finite numbers"),
    ],
)
def test_embeddings_of_candidates_that_cannot_be_read_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        anml.audit(comparisons(), contributor="judge", embeddings=given, task="preferences")


def test_known_answers_check_who_is_held_for_better():
    frame = comparisons()
    better = pl.max_horizontal("first", "second")
    frame = frame.with_columns(answer=pl.when(pl.int_range(pl.len()) % 5 == 0).then(better))
    result = anml.audit(frame, contributor="judge", task="preferences", schema={"test_label": "answer"})
    gold = result._result.gold
    assert gold.rows == 120
    assert gold.reliability.error < 0.15
    assert "120 comparisons agree with their test label" in gold.sentence()
    assert "Calibration error of the probability that the better candidate was chosen" in gold.sentence()


def test_embeddings_that_are_alike_say_nothing_and_are_said():
    similar = {f"answer {k}": [1.0, 2.0] for k in range(8)}
    result = anml.audit(comparisons(rows=20), contributor="judge", embeddings=similar, task="preferences")
    assert "of all compared candidates are equal" in result._result.structured.sentences[1]
