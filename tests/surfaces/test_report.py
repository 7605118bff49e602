"""The report: complete, in order, self-contained, small, safe with hostile names, the same each time."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest

from anml.app.audit import Audited, versions
from anml.app.compare import Compared, Comparison
from anml.assess.assess import Policy
from anml.core.attribute import attribute
from anml.core.combine import correlation
from anml.core.domain import Gate, Signals
from anml.core.evidence.belief import Contributor, quality_of
from anml.core.profile import profile_of
from anml.core.signals.reputation import ColdStart
from anml.core.signals.temporal import ContextDecay, Decay
from anml.core.stats import Estimate
from anml.core.verdicts import BLIND, CONTRADICTS, TRUSTED, UNSURE
from anml.core.weigh import recipe_of, weigh_signals
from anml.intake.columns import Columns
from anml.surfaces.accused import MORE_HELP, accusations, chance, false_alarms, opening
from anml.surfaces.figures import MOST_SHOWN, to_show
from anml.surfaces.names import printable, shortened
from anml.surfaces.report import render_report, write_report
from anml.surfaces.tables import MOST_LISTED, MOST_SAMPLES

ORDER = ["verdict", "contributors", "evidence", "quality", "shares", "ages", "confusion", "samples", "method"]


class Page(HTMLParser):
    """Tags, ids, attributes and the cells of tables; fails on tags that do not match."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.ids, self.attributes, self.stack = set(), [], [], []
        self.sections, self.text, self.rows = [], [], []
        self.feed(html)
        assert not self.stack, self.stack

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        given = dict(attrs)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if "id" in given:
            self.ids.append(given["id"])
            self.sections += [given["id"]] if tag == "section" else []
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in ("meta", "br"):
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in ("meta", "br"):
            self.stack.pop()

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        if "style" in self.stack:
            return
        self.text.append(data)
        if self.rows and ("td" in self.stack or "th" in self.stack):
            self.rows[-1][-1] += data

    @property
    def words(self):
        return " ".join("".join(self.text).split())


def comparison(uniform=0.3, only_q=0.2, chosen=0.1, metric="share of wrong predictions", on="test data"):
    def estimate(mean):
        return Estimate(mean, mean - 0.02, mean + 0.02)

    ways = [
        Compared("uniform", estimate(uniform), {}),
        Compared("q only", estimate(only_q), {"uniform": estimate(only_q - uniform)}),
        Compared(
            "chosen",
            estimate(chosen),
            {"uniform": estimate(chosen - uniform), "q only": estimate(chosen - only_q)},
        ),
    ]
    return Comparison(ways, on, 500, 200, metric)


def audited(
    n=600, people=5, *, task="classification", classes=3, given="vrt", recipe="guarded", names=None,
    compared="default", seed=0,
) -> Audited:  # fmt: skip
    """Everything an audit finds, made up: the last contributors are the worst."""
    rng = np.random.default_rng(seed)
    names = names or [f"member-{i}" for i in range(people)]
    codes = np.concatenate([np.arange(people), rng.integers(0, max(people, 1), n - people)])
    bad = codes / max(people - 1, 1) * 0.8
    wrong = rng.uniform(size=n) < bad
    q = np.clip(rng.normal(np.where(wrong, 0.5, 0.9), 0.08), 0, 1)
    v = np.clip(rng.normal(1 - bad, 0.1), 0, 1) if "v" in given else None
    r = np.clip(rng.normal(0.9 - bad, 0.1), 0, 1) if "r" in given else None
    age = rng.uniform(0, 6, n)
    decay = Decay.half_life("7y")
    signals = Signals.of(q, v, r, decay(age) if "t" in given else None, noise=float(wrong.mean()))
    chosen = recipe_of(recipe)
    weighting = weigh_signals(signals, chosen)
    p_correct = np.clip(rng.normal(np.where(wrong, 0.05, 0.95), 0.03), 0, 1)
    who = np.array(names, dtype=object)[codes] if people else np.array(["(all)"] * n, dtype=object)
    frame = {"row": np.arange(n), "contributor": who.tolist()}
    kinds = [f"kind {i}" for i in range(classes)] if task == "classification" else []
    if kinds:
        truth = rng.integers(0, classes, n)
        labels = np.where(wrong, (truth + 1) % classes, truth)
        frame |= {"label": [kinds[i] for i in labels], "predicted": [kinds[i] for i in truth]}
    else:
        truth = rng.normal(100, 20, n)
        frame |= {"label": truth + np.where(wrong, 60, 1), "predicted": truth}
    frame |= {"q": q, "v": signals.v, "r": signals.r, "t": signals.t}
    if "t" in given:
        frame["age"] = age
    frame |= {"weight": weighting.w, "kept": weighting.kept, "p_correct": p_correct, "alone": [False] * n}
    if kinds:
        frame |= {"suggested": frame["predicted"], "p_suggested": np.maximum(p_correct, 1 - p_correct)}
    samples = pl.DataFrame(frame)
    text = {"given": pl.col("label").cast(pl.String), "predicted": pl.col("predicted").cast(pl.String)}
    confusion = samples.group_by("contributor", **text).agg(rows=pl.len())
    return Audited(
        samples=samples,
        contributors=_contributors(samples, signals, weighting, codes, names, p_correct, people),
        confusion=confusion.sort("contributor", "given", "predicted") if kinds else confusion.clear(),
        gate=weighting.gate,
        comparison=comparison() if compared == "default" else compared,
        wrong=Estimate(float(wrong.mean()), 0.11, 0.55),
        task=task,
        classes=kinds,
        recipe_name=recipe,
        policy=Policy(chosen, profile_of("default"), decay, ColdStart(), 7),
        columns=Columns("label", "who", features=tuple(f"f{i}" for i in range(40))),
        data={"name": "table.csv", "sha256": "ab" * 32, "rows": n + 2},
        signals_given=sorted({"q", *given}),
        scoring_epochs=31,
        notes=["a note about the columns"],
        warnings=["a warning about the dates"],
        versions=versions(),
    )


def _contributors(samples, signals, weighting, codes, names, p_correct, people):
    if not people:
        return pl.DataFrame(schema={"contributor": pl.String, "rows": pl.Int64, "kept": pl.Int64})
    quality, low, high, good, bad = quality_of(p_correct, codes, people, 1.0)
    honest = np.where(quality > 0.8, 0.999, np.where(quality > 0.5, 0.5, 0.001))
    verdict = np.where(quality > 0.8, TRUSTED, np.where(quality > 0.5, UNSURE, CONTRADICTS)).tolist()
    types = np.column_stack([honest, np.zeros(people), 1 - honest])
    believed = Contributor(types, verdict, -np.log(honest), quality, low, high, good, bad, 0.002)
    found = attribute(signals, weighting, codes, names, believed)
    agreement = samples.group_by("contributor").agg(agreement=(pl.col("label") == pl.col("predicted")).mean())
    frame = pl.DataFrame(found._asdict()).rename({"names": "contributor"})
    frame = frame.with_columns(verdict=pl.Series(verdict), p_honest=honest)
    return frame.join(agreement, on="contributor").sort("quality", "contributor")


@pytest.fixture(scope="module")
def result():
    return audited()


@pytest.fixture(scope="module")
def html(result):
    return render_report(result)


class TestPage:
    def test_sections_come_in_order(self, html):
        assert Page(html).sections == ORDER

    def test_nothing_runs_and_nothing_is_fetched(self, html):
        page = Page(html)
        assert not page.tags & {"script", "iframe", "object", "embed", "link", "img", "form", "base"}
        assert not [a for a in page.attributes if a[1].startswith("on")]
        assert set(re.findall(r"https?://[^\"'\s<>]*", html)) <= {
            "http://www.w3.org/2000/svg",
            "http://www.w3.org/1999/xlink",
        }
        assert not re.findall(r"@import|url\((?!#)", html)
        links = {value for _, name, value in page.attributes if name in ("href", "xlink:href", "src")}
        assert all(link.startswith("#") for link in links)

    def test_content_security_policy_is_strict(self, html):
        policy = next(value for _, name, value in Page(html).attributes if name == "content")
        assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")

    def test_ids_are_unique_and_links_lead_somewhere(self, html):
        page = Page(html)
        assert len(page.ids) == len(set(page.ids))
        links = {value[1:] for _, name, value in page.attributes if name in ("href", "xlink:href")}
        clips = set(re.findall(r"url\(#([^)]*)\)", html))
        assert links | clips <= set(page.ids)

    def test_figures_speak_to_those_who_do_not_see_them(self, html):
        page = Page(html)
        svgs = [a for a in page.attributes if a[:2] == ("svg", "aria-labelledby")]
        assert len(svgs) == 6
        for _, _, ids in svgs:
            assert set(ids.split()) <= set(page.ids)

    def test_same_result_same_bytes(self, result, html):
        assert render_report(result) == html
        assert render_report(audited()) == html

    def test_is_written_as_utf8(self, result, html, tmp_path):
        write_report(result, tmp_path)
        assert (tmp_path / "report.html").read_text(encoding="utf-8") == html


class TestNumbers:
    def test_table_equals_the_frame(self, result, html):
        rows = Page(html).rows
        start = next(i for i, row in enumerate(rows) if row[:2] == ["contributor", "verdict"])
        for shown, row in zip(
            rows[start + 1 : start + 6], result.contributors.iter_rows(named=True), strict=True
        ):
            assert shown[0] == row["contributor"]
            assert shown[1:3] == [row["verdict"], chance(row["p_honest"])]
            assert shown[3:5] == [f"{row['rows']:,}", f"{row['kept'] / row['rows']:.0%}"]
            assert shown[5] == f"{row['quality']:.2f}{row['quality_low']:.2f}–{row['quality_high']:.2f}"
            assert shown[6] == f"{row['q']:.2f}{row['q_low']:.2f}–{row['q_high']:.2f}"
            assert shown[7:10] == [f"{row[name]:.2f}" for name in "vrt"]
            assert shown[10:12] == [f"{row['row_share']:.1%}", f"{row['weight_share']:.1%}"]
            assert shown[12] == f"{row['agreement']:.0%}"
        assert rows[start + 6][3] == "600"

    def test_rows_to_look_at_first(self, result, html):
        rows = Page(html).rows
        start = next(i for i, row in enumerate(rows) if row[0] == "row" and row[-1] == "p_correct")
        worst = result.samples.filter(~pl.col("kept")).sort("p_correct", "row").head(MOST_SAMPLES)
        shown = [int(row[0]) for row in rows[start + 1 : start + 1 + MOST_SAMPLES]]
        assert shown == worst["row"].to_list()

    def test_method_names_every_setting(self, html):
        words = Page(html).words
        for name in ("alpha", "tau_s", "tau_h", "tau_c", "tau_n", "keep", "select", "hidden", "references"):
            assert name in words
        for said in (
            "31",
            "ab" * 32,
            "602, of which 600 used",
            "T halves every 7 years",
            versions()["torch"],
        ):
            assert said in words
        assert "a note about the columns" in words
        assert "a warning about the dates" in words

    def test_rho_c_is_the_one_of_the_gate(self, result, html):
        assert f"rho_c = {result.gate.rho_c:.3f}, tau_c = 0.3" in Page(html).words

    def test_rho_c_is_shown_for_recipes_that_do_not_ask(self):
        result = audited(recipe="multiplicative")
        s = (result.samples["v"] * result.samples["r"]).to_numpy()
        rho_c = correlation(result.samples["q"].to_numpy(), s)
        words = Page(render_report(result)).words
        assert f"rho_c = {rho_c:.3f}" in words
        assert "does not ask rho_c" in words


class TestVerdict:
    @pytest.mark.parametrize(
        ("errors", "said", "advised"),
        [
            ((0.3, 0.2, 0.1), "lower the error by 67%", ""),
            ((0.3, 0.05, 0.1), "but q alone does better", "try the recipe “krum”"),
            ((0.1, 0.2, 0.2), "make it worse: plain training has the lower error", "“uniform”"),
            ((0.3, 0.3, 0.3), "make no difference beyond chance", ""),
        ],
    )
    def test_says_plainly_what_changes(self, result, errors, said, advised):
        words = Page(render_report(replace(result, comparison=comparison(*errors)))).words
        assert said in words
        assert advised in words
        assert ("did better here" in words) == bool(advised)

    def test_of_the_uniform_branch(self):
        words = Page(render_report(audited(recipe="uniform"))).words
        assert "Nothing changes without anml" in words
        assert "No row was left out" in words

    def test_freshness_that_costs_accuracy_is_named(self, result):
        aged = replace(result, gate=Gate("krum", "only q"), comparison=comparison(0.3, 0.05, 0.1))
        words = Page(render_report(aged)).words
        assert "q without freshness did better here" in words
        assert "they are q alone" not in words

    def test_without_comparison(self):
        page = Page(render_report(audited(compared=None)))
        assert "what would change without anml cannot be said" in page.words
        assert "errors-title" not in page.ids

    def test_measured_on_labels_as_given_is_said(self, result):
        given = comparison(on="held-out rows, against the labels as given")
        assert "wrong ones included" in Page(render_report(replace(result, comparison=given))).words


class TestWhatIsMissing:
    def test_signals_not_given_are_not_ones(self):
        page = Page(render_report(audited(given="")))
        assert "ages" not in page.sections
        assert "No credentials were given" in page.words
        head = next(row for row in page.rows if row[:2] == ["contributor", "verdict"])
        assert not {"v", "r", "T"} & set(head)
        assert "not given" not in " ".join(next(row for row in page.rows if row[0] == "member-0"))

    def test_one_signal_of_three(self):
        rows = Page(render_report(audited(given="v"))).rows
        head = next(row for row in rows if row[:2] == ["contributor", "verdict"])
        assert head[7:9] == ["v", "rowshare"]
        row = next(row for row in rows if row[0] == "member-0")
        assert len(row) == len(head)

    def test_regression(self):
        numbers = audited(task="regression", compared=comparison(30, 20, 10, "mean absolute error"))
        page = Page(render_report(numbers))
        assert page.sections == ORDER
        assert "confusion-title" not in page.ids
        assert "Label minus the prediction" in page.words
        row = next(row for row in page.rows if row[0] == "member-4" and len(row) == 6)
        mine = numbers.samples.filter(contributor="member-4")
        assert row[2] == f"{(mine['label'] - mine['predicted']).mean():+.3g}"

    def test_one_contributor(self):
        page = Page(render_report(audited(people=1)))
        assert page.sections == ORDER
        assert "nobody to compare with" in page.words
        assert "quality-title" not in page.ids

    def test_no_contributor(self):
        page = Page(render_report(audited(people=0)))
        assert page.sections == ORDER
        assert "No contributor column was given" in page.words

    def test_one_row_and_nothing_known(self):
        page = Page(render_report(audited(n=1, people=1, given="")))
        assert page.sections == [section for section in ORDER if section != "ages"]

    def test_every_label_as_predicted(self, result):
        same = result.confusion.filter(pl.col("given") == pl.col("predicted"))
        assert "Every label equals" in Page(render_report(replace(result, confusion=same))).words

    def test_undefined_rho_c(self, result):
        flat = result.samples.with_columns(q=pl.lit(1.0))
        gate = Gate("krum", "q or s is constant")
        assert "rho_c is undefined" in Page(render_report(replace(result, samples=flat, gate=gate))).words

    def test_all_of_one_age_and_context_decay(self, result):
        now = result.samples.with_columns(age=pl.lit(0.0))
        decay = ContextDecay.between(Decay(0.1), Decay(0.2), Decay(0.3), "direct-application")
        policy = replace(result.policy, decay=decay)
        assert "Across domains" in Page(render_report(replace(result, samples=now, policy=policy))).words


class TestHostileNames:
    NAMES = (
        "<script>alert(1)</script>",
        "=cmd|'/c calc'!A0",
        '"><img src=x onerror=alert(1)>',
        "</title></svg><b>",
        "$\\frac{1}{",
        "日本語の名前 🙂",
        "evil\u202e\x00\x1b[31m\nname",
        "{{ 7 * 7 }}",
        "x" * 5000,
        "#0b6aa8 id=\"a\" url(#b)",
    )  # fmt: skip

    def test_are_shown_and_do_nothing(self):
        result = audited(people=len(self.NAMES), names=list(self.NAMES))
        result = replace(
            result,
            data={**result.data, "name": self.NAMES[0]},
            notes=[self.NAMES[2]],
            columns=replace(result.columns, label=self.NAMES[3]),
        )
        html = render_report(result)
        page = Page(html)
        assert "script" not in page.tags
        assert "img" not in page.tags
        assert "b" not in page.tags
        for name in (*self.NAMES[:6], "{{ 7 * 7 }}", self.NAMES[9]):
            assert any(row and row[0].startswith(shortened(name, 80)) for row in page.rows), name
        assert "evil  \x1b" not in html
        assert not set(html) & {"\x00", "\x1b", "\u202e"}
        assert "x" * 100 not in html

    def test_classes_too(self):
        result = audited(classes=2)
        named = {"kind 0": "<script>", "kind 1": "</svg>"}
        swap = pl.col("given", "predicted").replace(named)
        confusion = result.confusion.with_columns(swap)
        page = Page(render_report(replace(result, classes=list(named.values()), confusion=confusion)))
        assert "script" not in page.tags

    def test_printable_keeps_letters(self):
        assert printable("a\tb\u2028c\u202ed é 日") == "a b cd é 日"


class TestSize:
    def test_is_small_whatever_the_number_of_rows(self):
        large = audited(n=200_000, people=1_000, classes=10)
        html = render_report(large)
        assert len(html.encode()) < 1_000_000
        words = Page(html).words
        assert f"{1_000 - MOST_LISTED} more contributors are in contributors.csv" in words
        assert f"{MOST_SHOWN} of 1,000 contributors" in words

    def test_many_classes_are_listed_not_drawn(self):
        page = Page(render_report(audited(classes=40)))
        assert "confusion-title" not in page.ids
        assert "too many classes" in page.words

    def test_figures_show_the_ends_and_the_largest(self):
        people = pl.DataFrame({"contributor": [str(i) for i in range(100)], "rows": list(range(100, 0, -1))})
        rows = pl.when(pl.col("contributor") == "50").then(999).otherwise("rows")
        shown = to_show(people.with_columns(rows=rows))
        assert shown.height == MOST_SHOWN
        names = shown["contributor"].to_list()
        assert {"0", "99", "50"} <= set(names)
        assert names == sorted(names, key=int)

    def test_few_rows_are_marked(self):
        page = Page(render_report(audited(n=40, people=8)))
        assert any(row[0].endswith("few rows") for row in page.rows)


def people(result, **verdicts):
    """The same result with other verdicts; who is not named is trusted."""
    named = [verdicts.get(name.replace("-", "_"), TRUSTED) for name in result.contributors["contributor"]]
    return replace(result, contributors=result.contributors.with_columns(verdict=pl.Series(named)))


def relabelled(result, who, label, suggested):
    mine = pl.col("contributor") == who
    columns = {"label": label, "suggested": suggested}
    changed = [pl.when(mine).then(pl.lit(text)).otherwise(pl.col(name)).alias(name)
               for name, text in columns.items()]  # fmt: skip
    return replace(result, samples=result.samples.with_columns(changed))


class TestWhoIsAccused:
    def test_first_lines_say_who_and_of_what(self, result):
        found = people(result, member_4=CONTRADICTS, member_3=BLIND, member_2=BLIND)
        found = relabelled(found, "member-3", "kind 1", "kind 0")
        found = relabelled(found, "member-4", "kind 2", "kind 1")
        said = accusations(found)
        assert set(said) == {
            "member-4 takes “kind 1” for “kind 2”.",
            "member-3 always answers “kind 1”.",
            "member-2 answers without looking: the labels say nothing about the items.",
        }
        words = Page(render_report(found)).words
        assert max(words.index(sentence) for sentence in said) < words.index("Kept ")

    def test_those_who_do_the_same_share_a_sentence(self, result):
        found = people(result, member_4=BLIND, member_3=BLIND)
        for who in ("member-3", "member-4"):
            found = relabelled(found, who, "kind 1", "kind 0")
        assert accusations(found) == ["member-4 and member-3 always answer “kind 1”."]

    def test_who_contradicts_in_many_ways_contradicts(self, result):
        assert accusations(people(result, member_4=CONTRADICTS)) == ["member-4 contradicts the others."]

    def test_many_are_counted_not_listed(self):
        many = audited(n=3_000, people=60)
        everybody = many.contributors.with_columns(verdict=pl.lit(BLIND))
        said = accusations(replace(many, contributors=everybody))
        assert said[0].count("member-") == 5
        assert " and 55 more answer without looking" in said[0]

    def test_expected_false_accusations_stand_under_the_table(self, result):
        found = replace(people(result, member_4=BLIND, member_3=CONTRADICTS), false_accusations=0.013)
        said = "Of 2 accusations about 0.013 are expected to be false (false discovery rate at most 1%)."
        assert false_alarms(found) == said
        assert said in Page(render_report(found)).words
        assert false_alarms(people(result)) == ""

    def test_nobody_is_accused(self, result):
        assert opening(people(result)) == ["Nobody is accused."]

    def test_cannot_tell_is_said_with_what_would_help(self, result):
        found = people(result, member_4=UNSURE)
        told = "Whether 1 of 5 contributors can be trusted cannot be told."
        assert opening(found) == ["Nobody is accused.", told, f"{MORE_HELP[0].upper()}{MORE_HELP[1:]}."]
        found = replace(found, help="ten known answers would tell")
        page = Page(render_report(found))
        assert "Ten known answers would tell." in page.words
        row = next(row for row in page.rows if row[0] == "member-4")
        assert row[1] == UNSURE

    def test_who_is_honest_is_not_said_where_the_result_is_doubtful(self, result):
        rows = Page(render_report(replace(result, doubtful="two camps"))).rows
        assert next(row for row in rows if row[0] == "member-0")[2] == "–"

    def test_hostile_labels_do_nothing(self, result):
        found = relabelled(people(result, member_4=BLIND), "member-4", "<script>x</script>", "kind 0")
        assert "script" not in Page(render_report(found)).tags


class TestShareOfWrongLabels:
    def test_is_shown_with_its_interval(self, result):
        words = Page(render_report(result)).words
        mean = f"{result.noise:.0%}"
        assert f"Share of labels that look wrong {mean} 11% to 55%".replace(" ", "") in words.replace(" ", "")
        assert f"about {mean} (11% to 55%) of labels look wrong" in words

    def test_no_doubt_is_said_to_be_without_warnings(self, result):
        doubt = replace(result, gate=Gate("doubtful", "two camps"), warnings=[])
        words = Page(render_report(doubt)).words
        assert "nothing to add" not in words
        assert "do not rely on this result" in words


class TestRowsToLookAt:
    def test_who_rests_on_one_contributor_comes_first_and_what_is_known_is_left_out(self, result):
        worst = result.samples.filter(~pl.col("kept")).sort("p_correct", "row")["row"]
        alone = result.samples.filter(pl.col("kept")).sort("p_correct")["row"][-1]
        samples = result.samples.with_columns(
            alone=pl.col("row") == alone,
            known_right=pl.when(pl.col("row") == worst[0]).then(pl.lit(value=False)),
        )
        page = Page(render_report(replace(result, samples=samples)))
        start = next(i for i, row in enumerate(page.rows) if row[0] == "row" and row[-1] == "p_correct")
        shown = [int(row[0]) for row in page.rows[start + 1 : start + 3]]
        assert shown == [alone, worst[1]]
        assert "rests on this contributor alone" in " ".join(page.rows[start + 1])

    def test_suggestions_are_shown_with_their_probability(self, result):
        rows = Page(render_report(result)).rows
        start = next(i for i, row in enumerate(rows) if row[0] == "row" and row[-1] == "p_correct")
        first = result.samples.row(int(rows[start + 1][0]), named=True)
        assert rows[start + 1][2:5] == [first["label"], first["suggested"], chance(first["p_suggested"])]


class TestItems:
    ITEMS = pl.DataFrame(
        {"item": [f"i{n}" for n in range(30)], "labels": [3] * 30, "consensus": ["kind 1"] * 30,
         "p": [0.5 + n / 60 for n in range(30)], "agree": [2 / 3] * 30}
    )  # fmt: skip

    def test_section_says_how_many_are_unclear_and_lists_them(self, result):
        page = Page(render_report(replace(result, items=self.ITEMS)))
        assert "items" in page.sections
        assert "30 items, most with several labels" in page.words
        assert "24 are unclear: p below 0.9" in page.words
        assert "10 more items are clearer" in page.words
        assert ["i0", "3", "kind 1", "50%", "67%"] in page.rows

    def test_there_is_none_where_items_have_one_label(self, html):
        assert "items" not in Page(html).sections
