"""Verdicts in typical situations of contributors, made up and real."""

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.datasets import make_blobs

import anml
from anml.annotators.judge_numbers import numeric_verdicts
from anml.annotators.numbers import fit_numbers
from anml.annotators.rows import SideInformation
from anml.annotators.words import FLAGGED, GUESSING, INCONCLUSIVE, LESS_RELIABLE, RELIABLE
from anml.report.summary import summary
from anml.report.verdict_text import top_contributors

pytestmark = pytest.mark.slow


def crowd(accuracy, classes=3, items=254, per_item=6, seed=0, always=()):
    """Labels of people who are right so often; `always` label every item."""
    rng = np.random.default_rng(seed)
    truth, rows = rng.integers(0, classes, items), []
    others = [k for k in range(len(accuracy)) if k not in always]
    for item in range(items):
        for k in (*always, *rng.choice(others, per_item - len(always), replace=False)):
            wrong = (truth[item] + rng.integers(1, classes)) % classes
            label = truth[item] if rng.uniform() < accuracy[k] else wrong
            rows.append((f"i{item:04}", f"p{k:02}", f"c{label}", f"c{truth[item]}"))
    return pl.DataFrame(rows, ["item", "who", "label", "truth"], orient="row")


def audited(frame, **named):
    return anml.audit(frame.drop("truth", strict=False), "label", "who", evaluate=False, **named)


def verdicts(result) -> dict[str, str]:
    return dict(result.contributors.select("contributor", "verdict").iter_rows())


def figures(result, name: str) -> dict[str, float]:
    return dict(result.contributors.select("contributor", name).iter_rows())


class TestSystematicErrors:
    """Twenty people label points of four groups; some of them take every class for the next."""

    def audit_of(self, flipped, error):
        x, truth = make_blobs(800, centers=4, n_features=5, cluster_std=1.0, random_state=3)
        rng = np.random.default_rng(3)
        contributor = rng.integers(0, 20, 800)
        wrong = (truth + (1 if error == "same" else rng.integers(1, 4, 800))) % 4
        label = np.where(contributor < flipped, wrong, truth)
        frame = pl.DataFrame(x, [f"x{k}" for k in range(5)]).with_columns(label=label, who=contributor)
        return audited(frame.cast({"label": pl.String, "who": pl.String}))

    def test_a_majority_with_the_same_error_has_no_contributor_flagged(self):
        result = self.audit_of(12, "same")
        assert set(verdicts(result).values()) == {INCONCLUSIVE}
        doubt = summary(result._result).dispute
        assert doubt.startswith("This result is disputed: contributors of ")
        assert "contradict the rest, and the data cannot show which side is correct" in doubt

    @pytest.mark.parametrize(("flipped", "error"), [(5, "same"), (8, "any")])
    def test_a_minority_or_independent_errors_are_found(self, flipped, error):
        result = self.audit_of(flipped, error)
        flagged = {name for name, word in verdicts(result).items() if word in FLAGGED}
        assert flagged == {str(k) for k in range(flipped)}
        assert result._result.disputed_share is None


class TestThePerfectAnnotator:
    """Eleven are right 85% of the time, and one always."""

    FRAME = crowd([0.85] * 11 + [1.0], always=(11,))

    def with_true_labels(self, large):
        mine = self.FRAME["item"].unique(maintain_order=True)[:large]
        known = pl.when(pl.col("item").is_in(mine.implode())).then("truth").otherwise(None)
        return self.FRAME.with_columns(known=known)

    def test_is_reliable_and_among_the_best(self):
        result = audited(self.FRAME, item="item")
        assert verdicts(result) == {f"p{k:02}": RELIABLE for k in range(12)}
        kappa = figures(result, "kappa")
        assert max(kappa, key=kappa.get) == "p11"
        assert "p11" in str(top_contributors(result._result)[0])

    @pytest.mark.parametrize("large", [3, 30, 254])
    def test_true_labels_only_help(self, large):
        before = audited(self.FRAME, item="item")
        after = audited(self.with_true_labels(large), item="item", schema={"true_label": "known"})
        assert verdicts(after)["p11"] == RELIABLE
        assert figures(after, "kappa")["p11"] >= figures(before, "kappa")["p11"] - 0.01
        assert not set(verdicts(after).values()) & set(FLAGGED)
        if large == 254:
            assert figures(after, "accuracy_low")["p11"] > 0.95


class TestFewRows:
    @pytest.mark.parametrize("rows", [1, 5, 9])
    def test_contributors_with_few_rows_are_not_flagged(self, rows):
        """One gives so many labels, and all of them are wrong."""
        frame = crowd([0.9] * 8, items=120, per_item=5)
        first = frame.unique("item", maintain_order=True).head(rows)
        other = pl.when(pl.col("truth") == "c0").then(pl.lit("c1")).otherwise(pl.lit("c0"))
        wrong = first.with_columns(who=pl.lit("eve"), label=other)
        result = verdicts(audited(pl.concat([frame, wrong]), item="item"))
        assert result.pop("eve") not in FLAGGED
        assert set(result.values()) == {RELIABLE}


def blobs(n=600, classes=3, seed=0, spread=1.5):
    x, y = make_blobs(n, n_features=5, centers=classes, cluster_std=spread, random_state=seed)
    order = np.random.default_rng(seed).permutation(n)
    return x[order], y[order]


def table(x, label, contributor):
    columns = {f"f{i}": part for i, part in enumerate(x.T)}
    return pl.DataFrame({**columns, "label": [f"c{k}" for k in label], "who": contributor})


class TestRulesAndMachines:
    def test_rules_that_label_only_some_rows_are_not_guessing(self):
        """Three rules say one class each, right nine times in ten; six people label the rest."""
        x, y = blobs(900)
        rng = np.random.default_rng(1)
        contributor, label = np.array([f"p{k}" for k in rng.integers(0, 6, 900)]), y.copy()
        for k in range(3):
            mine = np.flatnonzero((y == k) & (rng.uniform(size=900) < 0.3))
            stray = rng.choice(np.flatnonzero(y != k), len(mine) // 9, replace=False)
            contributor[mine] = contributor[stray] = f"rule{k}"
            label[stray] = k
        result = verdicts(audited(table(x, label, contributor)))
        assert not set(result.values()) & set(FLAGGED)
        assert all(result[f"p{k}"] == RELIABLE for k in range(6))

    def test_a_contributor_with_most_of_the_rows_does_not_get_the_others_flagged(self):
        """A machine labels 60% of the rows and is wrong in every fifth; ten people are right."""
        x, y = blobs(1000)
        rng = np.random.default_rng(2)
        contributor = np.where(
            rng.uniform(size=1000) < 0.6, "machine", [f"p{k}" for k in rng.integers(0, 10, 1000)]
        )
        slips = (contributor == "machine") & (rng.uniform(size=1000) < 0.2)
        result = verdicts(audited(table(x, np.where(slips, (y + 1) % 3, y), contributor)))
        del result["machine"]
        assert not set(result.values()) & set(FLAGGED)
        assert list(result.values()).count(RELIABLE) >= 9


class TestTheHardRows:
    def test_an_expert_who_gets_them_is_not_bad(self):
        """Rows between the classes go to one, who is right in most of them, as anybody would be."""
        rng = np.random.default_rng(3)
        y = rng.integers(0, 2, 800)
        x = rng.normal(size=(800, 5)) + 2.0 * y[:, None]
        hard = np.abs(x.mean(axis=1) - 1.0) < 0.35
        contributor = np.where(hard, "expert", [f"p{k}" for k in rng.integers(0, 8, 800)])
        label = np.where(hard & (rng.uniform(size=800) < 0.1), 1 - y, y)
        result = verdicts(audited(table(x, label, contributor)))
        assert result["expert"] not in (*FLAGGED, LESS_RELIABLE)
        assert not set(result.values()) & set(FLAGGED)


class TestSides:
    def test_two_sides_of_equal_size_flag_no_contributor(self):
        frame = crowd([0.95] * 8, classes=2, items=150, per_item=6)
        turned = pl.when(pl.col("label") == "c0").then(pl.lit("c1")).otherwise(pl.lit("c0"))
        split = frame.with_columns(label=pl.when(pl.col("who") < "p04").then(turned).otherwise("label"))
        result = audited(split, item="item")
        assert set(verdicts(result).values()) == {INCONCLUSIVE}
        doubt = summary(result._result).dispute
        assert doubt.startswith("This result is disputed: contributors of ")
        assert "contradict the rest, and the data cannot show which side is correct" in doubt

    def test_a_side_of_two_is_found(self):
        frame = crowd([0.95] * 8, classes=2, items=150, per_item=6)
        turned = pl.when(pl.col("label") == "c0").then(pl.lit("c1")).otherwise(pl.lit("c0"))
        result = verdicts(audited(frame.with_columns(
            label=pl.when(pl.col("who") < "p02").then(turned).otherwise("label")), item="item"))  # fmt: skip
        assert {result.pop("p00"), result.pop("p01")} <= set(FLAGGED)
        assert set(result.values()) == {RELIABLE}

    def test_copies_count_as_one_vote(self):
        """Three copy one who errs in a third: four against three who are right, and not believed for it."""
        base = crowd([0.65, *[0.95] * 7], items=200, per_item=4, always=(0,))
        first = base.filter(pl.col("who") == "p00")
        copies = [first.with_columns(who=pl.lit(f"copy{k}")) for k in range(3)]
        result = audited(pl.concat([base, *copies]), item="item")
        items = result.consensus.join(base.unique("item").select("item", "truth"), on="item")
        assert (items["consensus_label"] == items["truth"]).mean() > 0.9
        honest = {name: word for name, word in verdicts(result).items() if name[0] == "p" and name != "p00"}
        assert set(honest.values()) == {RELIABLE}


class TestSpammers:
    def test_spammers_are_found_and_named(self):
        frame = crowd([0.9] * 8 + [1 / 3, 1 / 3], items=300, per_item=6)
        result = verdicts(audited(frame, item="item"))
        assert result.pop("p08") == result.pop("p09") == GUESSING
        assert set(result.values()) == {RELIABLE}

    @pytest.mark.parametrize("people", [2, 3])
    def test_a_spammer_is_found_among_two_or_three_and_a_contradiction_is_not_resolved(self, people):
        x, y = blobs()
        contributor = np.random.default_rng(0).integers(0, people, len(y))
        last, names = contributor == people - 1, [f"p{k}" for k in contributor]
        guessed = np.random.default_rng(3).integers(0, 3, len(y))
        result = verdicts(audited(table(x, np.where(last, guessed, y), names)))
        assert result.pop(f"p{people - 1}") == GUESSING
        assert set(result.values()) == {RELIABLE}
        result = verdicts(audited(table(x, np.where(last, (y + 1) % 3, y), names)))
        assert not set(result.values()) & set(FLAGGED)


class TestTwoPeople:
    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_the_spammer_of_two_cannot_be_found_by_their_labels_alone(self, seed):
        result = audited(crowd([0.9, 1 / 3], items=200, per_item=2, seed=seed), item="item")
        assert set(verdicts(result).values()) == {INCONCLUSIVE}
        assert max(figures(result, "accuracy_low").values()) < 0.4
        assert min(figures(result, "accuracy_high").values()) > 0.8
        # At most one of two labels that differ is right.
        frame = result.samples
        both = frame.group_by("item").agg(pl.col("p_correct").sum(), pl.col("label").n_unique())
        assert both.filter(pl.col("label") == 2)["p_correct"].max() < 1 + 1e-6

    def test_two_contributors_who_mostly_agree_are_reliable(self):
        result = verdicts(audited(crowd([0.9, 0.9], items=200, per_item=2), item="item"))
        assert set(result.values()) == {RELIABLE}


class TestWeakFeatures:
    """One label a row: what predictions cannot see is not held against anybody, nor promised to be right."""

    def site(self, seed):
        """Of four sites the last has classes that no feature tells; all people are 96% right."""
        rng = np.random.default_rng(seed)
        contributor = rng.integers(0, 12, 900)
        x, last = rng.normal(size=(900, 5)), contributor >= 9
        truth = np.where(last, rng.integers(0, 2, 900), x[:, 0] + x[:, 1] > 0).astype(int)
        label = np.where(rng.uniform(size=900) < 0.04, 1 - truth, truth)
        frame = pl.DataFrame(x, list("abcde")).with_columns(
            site=pl.Series([f"site {k}" for k in contributor // 3]),
            label=pl.Series([f"c{k}" for k in label]),
            who=pl.Series([f"p{k:02}" for k in contributor]),
        )  # fmt: skip
        return frame, {f"p{k:02}": (label == truth)[contributor == k].mean() for k in range(12)}

    @pytest.mark.parametrize("seed", [0, 1])
    def test_no_contributor_is_flagged_where_the_others_look_no_better(self, seed):
        frame, right = self.site(seed)
        result = audited(frame)
        assert not set(verdicts(result).values()) & set(FLAGGED)
        assert [verdicts(result)[f"p{k:02}"] for k in range(9)].count(RELIABLE) >= 6
        low, high = figures(result, "accuracy_low"), figures(result, "accuracy_high")
        assert (
            np.mean([low[name] <= share + 1e-9 <= high[name] + 2e-9 for name, share in right.items()]) > 0.8
        )

    def test_intervals_go_down_to_what_predictions_contradict(self):
        """Everybody is right in six of ten: overlapping classes look the same, and the interval says so."""
        rng = np.random.default_rng(0)
        x, truth = make_blobs(900, centers=3, n_features=4, cluster_std=1.0, random_state=0)
        label = np.where(rng.uniform(size=900) < 0.4, (truth + rng.integers(1, 3, 900)) % 3, truth)
        contributor = rng.integers(0, 9, 900)
        frame = pl.DataFrame(x, list("abcd")).with_columns(label=label, who=contributor)
        result = audited(frame.cast({"label": pl.String, "who": pl.String}))
        low, high = figures(result, "accuracy_low"), figures(result, "accuracy_high")
        covered = [low[str(k)] <= (label == truth)[contributor == k].mean() <= high[str(k)] for k in range(9)]
        assert np.mean(covered) > 0.7

    def test_true_labels_settle_isolated_contributors(self):
        """Each in a region of its own: so many known labels as it says, and nobody is left in doubt."""
        rng = np.random.default_rng(4)
        contributor = np.arange(800) % 8
        x = rng.normal(size=(800, 3)) + 12 * np.eye(8)[contributor] @ rng.normal(size=(8, 3))
        truth = (x[:, 0] - x[:, 1] > np.median(x[:, 0] - x[:, 1])).astype(int)
        label = np.where(rng.uniform(size=800) < np.where(contributor == 4, 0.5, 0.04), 1 - truth, truth)
        frame = pl.DataFrame(x, list("abc")).with_columns(label=label, who=contributor)
        frame = frame.cast({"label": pl.String, "who": pl.String})
        before = audited(frame)
        asked = figures(before, "true_labels_needed")
        open_ = [name for name, word in verdicts(before).items() if word == INCONCLUSIVE]
        assert open_
        known = np.full(800, None, dtype=object)
        for name in open_:
            mine = rng.permutation(np.flatnonzero(contributor == int(name)))[: int(asked[name])]
            known[mine] = truth[mine].astype(str)
        checked = frame.with_columns(known=pl.Series(known.tolist(), dtype=pl.String))
        after = verdicts(audited(checked, schema={"true_label": "known"}))
        assert [after[name] for name in open_].count(INCONCLUSIVE) <= 1


class TestNumbers:
    def test_a_contributor_whose_numbers_are_not_kept_is_not_reliable(self):
        """Read 12% high: near enough to be right in two of three, and believed in none."""
        rng = np.random.default_rng(0)
        codes, predicted = np.repeat(np.arange(10), 60), rng.normal(20, 4, 600)
        values = (predicted + rng.normal(size=600)) * np.where(codes < 3, 1.12, 1.0)
        fit = fit_numbers(values, predicted, np.ones(600), SideInformation(codes))
        people, _ = numeric_verdicts(fit, np.clip(fit.p_correct, 1e-9, 1 - 1e-9), values, codes)
        kept = np.bincount(codes, fit.p_correct >= 0.5) / 60
        assert not [k for k, word in enumerate(people.verdict) if word == RELIABLE and kept[k] < 0.5]

    def test_reputation_has_no_credentials_in_it(self):
        """The one who is off by four spreads is vouched for, and nobody else: what was seen stays seen."""
        rng = np.random.default_rng(0)
        codes = np.repeat(np.arange(8), 40)
        predicted = rng.normal(0, 5, 320)
        values = predicted + rng.normal(size=320) + np.where(codes == 0, 4.0, 0.0)
        calls = []
        for credentials in (
            None,
            np.where(codes == 0, 1.0, 0.1)[:, None],
            np.where(codes == 0, 0.1, 1.0)[:, None],
        ):
            fit = fit_numbers(values, predicted, np.ones(320), SideInformation(codes, credentials))
            people, _ = numeric_verdicts(fit, np.clip(fit.p_correct, 1e-9, 1 - 1e-9), values, codes)
            calls.append(people.reputation()["r"])
        np.testing.assert_allclose(calls[1], calls[0], atol=0.05)
        np.testing.assert_allclose(calls[2], calls[0], atol=0.05)


def truly(labels: pl.DataFrame, truth: pl.DataFrame) -> tuple[set[str], set[str]]:
    """Return the truly fine (kappa above .30 with 90%) and truly bad (below .15 with 95%) contributors."""
    both = labels.join(truth, on="item")
    typical = dict(truth.group_by("truth").agg(pl.len() / truth.height).iter_rows())
    fine, bad = set(), set()
    for (name,), mine in both.group_by("contributor"):
        if mine.height < 10:
            continue
        right = int((mine["label"] == mine["truth"]).sum())
        guessed = float(np.mean([typical.get(label, 0.0) for label in mine["label"]]))
        share = stats.beta(right + 1, mine.height - right + 1)
        if share.sf(guessed + 0.30 * (1 - guessed)) > 0.9:
            fine.add(name)
        if share.cdf(guessed + 0.15 * (1 - guessed)) > 0.95:
            bad.add(name)
    return fine, bad


@pytest.mark.parametrize("name", ["dogs", "companies"])
def test_real_crowds(real_data, name):
    labels, truth = (
        pl.read_csv(real_data / f"crowd_{name}_{part}.csv.gz", infer_schema=False)
        for part in ("labels", "truth")
    )
    truth = truth.rename({truth.columns[1]: "truth"})
    fine, bad = truly(labels, truth)
    result = anml.audit(labels, "label", "contributor", item="item", evaluate=False)
    message = verdicts(result)
    assert len(fine) > 30
    assert [contributor for contributor in fine if message[contributor] in FLAGGED] == []
    assert np.mean([message[contributor] == RELIABLE for contributor in fine]) >= 0.9
    assert [contributor for contributor in bad if message[contributor] == RELIABLE] == []
    small = labels.group_by("contributor").len().filter(pl.col("len") < 10)["contributor"]
    assert [contributor for contributor in small if message[contributor] in FLAGGED] == []
