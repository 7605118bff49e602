"""The report: three answers first, self-contained, small, safe with hostile names, the same each time."""

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser

import polars as pl
import pytest

from anml.app.audit.result import versions
from anml.app.relabel.queue import of_result, where_to_look
from anml.core.combine import correlation
from anml.core.domain import Gate
from anml.core.people.words import CONTRADICTS, GUESSING, LESS, RELIABLE, UNSURE
from anml.core.signals.temporal import ContextDecay, Decay
from anml.core.stats import Estimate
from anml.surfaces.accused import accusations, best, cannot_tell, false_alarms, less_reliable, who
from anml.surfaces.names import chance, printable, shortened
from anml.surfaces.report import (
    MOST_FOUND,
    MOST_LISTED,
    MOST_SAMPLES,
    MOST_SHOWN,
    render_card,
    render_report,
    write_report,
)
from anml.surfaces.summary import gain, summary, todo
from surfaces.report_cases import audited, comparison

ORDER = ["answers", "contributors", "quality", "confusion", "samples", "method", "compared"]


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
        if tag not in ("meta", "br", "input"):
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in ("meta", "br", "input"):
            self.stack.pop()

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        if "style" in self.stack or "script" in self.stack:
            return
        self.text.append(data)
        if self.rows and ("td" in self.stack or "th" in self.stack):
            self.rows[-1][-1] += data

    @property
    def words(self):
        return " ".join("".join(self.text).split())


@pytest.fixture(scope="module")
def result():
    return audited()


@pytest.fixture(scope="module")
def html(result):
    return render_report(result)


class TestPage:
    def test_sections_come_in_order(self, html):
        assert Page(html).sections == ORDER

    def test_nothing_but_its_own_script_runs_and_nothing_is_fetched(self, html):
        page = Page(html)
        assert not page.tags & {"iframe", "object", "embed", "link", "img", "form", "base"}
        assert not [a for a in page.attributes if a[1].startswith("on")]
        assert set(re.findall(r"https?://[^\"'\s<>]*", html)) <= {
            "http://www.w3.org/2000/svg",
            "http://www.w3.org/1999/xlink",
        }
        assert not re.findall(r"@import|url\((?!#)", html)
        links = {value for _, name, value in page.attributes if name in ("href", "xlink:href", "src")}
        assert all(link.startswith("#") for link in links)

    def test_content_security_policy_allows_the_one_script_by_its_hash(self, html):
        policy = next(value for _, name, value in Page(html).attributes if name == "content")
        (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
        allowed = b64encode(sha256(script.encode()).digest()).decode()
        assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")
        assert f"script-src 'sha256-{allowed}'; base-uri 'none'" in policy

    def test_ids_are_unique_and_links_lead_somewhere(self, html):
        page = Page(html)
        assert len(page.ids) == len(set(page.ids))
        links = {value[1:] for _, name, value in page.attributes if name in ("href", "xlink:href")}
        clips = set(re.findall(r"url\(#([^)]*)\)", html))
        assert links | clips <= set(page.ids)

    def test_figures_speak_to_those_who_do_not_see_them(self, html):
        page = Page(html)
        svgs = [a for a in page.attributes if a[:2] == ("svg", "aria-labelledby")]
        assert len(svgs) == 2
        for _, _, ids in svgs:
            assert set(ids.split()) <= set(page.ids)

    @pytest.mark.usefixtures("made_anew")
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
            assert shown[1].startswith(row["verdict"])
            kappa = [f"{row[name]:.2f}" for name in ("reliability", "reliability_low", "reliability_high")]
            assert shown[2] == f"{kappa[0]} {kappa[1]}–{kappa[2]}"
            assert shown[3:5] == [f"{row['rows']:,}", f"{row['kept'] / row['rows']:.0%}"]
            assert shown[5] == f"{row['quality']:.2f} {row['quality_low']:.2f}–{row['quality_high']:.2f}"
            assert shown[6:9] == [f"{row[name]:.2f}" for name in "vrt"]
            assert shown[9] == f"{row['agreement']:.0%}"
            assert shown[10:12] == [f"{row['row_share']:.1%}", f"{row['weight_share']:.1%}"]
        assert rows[start + 6][3] == "600"

    def test_rows_to_look_at_first(self, result, html):
        rows = Page(html).rows
        start = next(i for i, row in enumerate(rows) if row[0] == "row" and row[-1] == "p_correct")
        shown = [int(row[0]) for row in rows[start + 1 : start + 1 + MOST_SAMPLES]]
        assert shown == where_to_look(of_result(result), MOST_SAMPLES).rows["row"].to_list()
        assert len({row[1] for row in rows[start + 1 : start + 1 + MOST_SAMPLES]}) > 1

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
        assert "A warning about the dates." in words

    def test_rho_c_is_the_one_of_the_gate(self, result, html):
        assert f"{result.gate.rho_c:.3f} (correlation of q and s = v r), tau_c = 0.3" in Page(html).words

    def test_rho_c_is_shown_for_recipes_that_do_not_ask(self):
        result = audited(recipe="multiplicative")
        s = (result.samples["v"] * result.samples["r"]).to_numpy()
        rho_c = correlation(result.samples["q"].to_numpy(), s)
        words = Page(render_report(result)).words
        assert f"{rho_c:.3f} (correlation" in words
        assert "this recipe does not ask it" in words


class TestVerdict:
    @pytest.mark.parametrize(
        ("errors", "said", "advised"),
        [
            ((0.3, 0.2, 0.1), "lowers the error by 67%", ""),
            ((0.1, 0.2, 0.2), "makes it worse", "“uniform”"),
            ((0.3, 0.3, 0.3), "makes no difference beyond chance", ""),
        ],
    )
    def test_says_plainly_what_changes(self, result, errors, said, advised):
        words = Page(render_report(replace(result, comparison=comparison(*errors)))).words
        assert f"{errors[0]:.1%} → {errors[2]:.1%}" in words
        assert said in words
        assert advised in words
        assert ("did better here" in words) == bool(advised)

    def test_of_the_uniform_branch(self):
        words = Page(render_report(audited(recipe="uniform"))).words
        assert "Nothing changes: all rows count alike." in words

    def test_without_comparison(self):
        page = Page(render_report(audited(compared=None)))
        assert "Not measured" in page.words
        assert "the comparison was switched off" in page.words
        assert "errors-title" not in page.ids

    def test_measured_on_labels_as_given_is_said(self, result):
        given = comparison(on="held-out rows, against the labels as given")
        assert "wrong ones included" in Page(render_report(replace(result, comparison=given))).words


class TestWhatIsMissing:
    def test_signals_not_given_are_not_ones(self):
        page = Page(render_report(audited(given="")))
        assert "rho_c" not in page.words
        head = next(row for row in page.rows if row[:2] == ["contributor", "verdict"])
        assert not {"v", "r", "T"} & set(head)
        assert "not given" not in " ".join(next(row for row in page.rows if row[0] == "member-0"))

    def test_one_signal_of_three(self):
        rows = Page(render_report(audited(given="v"))).rows
        head = next(row for row in rows if row[:2] == ["contributor", "verdict"])
        assert head[6:9] == ["v", "agree-ment", "rowshare"]
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
        assert page.sections == [section for section in ORDER if section != "quality"]
        assert "nobody to compare with" in page.words
        assert "quality-title" not in page.ids

    def test_no_contributor(self):
        page = Page(render_report(audited(people=0)))
        assert page.sections == [section for section in ORDER if section != "quality"]
        assert "No contributor column was given" in page.words

    def test_one_row_and_nothing_known(self):
        page = Page(render_report(audited(n=1, people=1, given="")))
        missing = {"quality", "samples"}
        assert page.sections == [section for section in ORDER if section not in missing]

    def test_every_label_as_predicted(self, result):
        same = result.confusion.filter(pl.col("given") == pl.col("predicted"))
        assert "Every label equals" in Page(render_report(replace(result, confusion=same))).words

    def test_undefined_rho_c(self, result):
        flat = result.samples.with_columns(q=pl.lit(1.0))
        gate = Gate("krum", "q or s is constant")
        assert (
            "undefined, as q or s is the same"
            in Page(render_report(replace(result, samples=flat, gate=gate))).words
        )

    def test_all_of_one_age_and_context_decay(self, result):
        now = result.samples.with_columns(age=pl.lit(0.0))
        decay = ContextDecay.between(Decay(0.1), Decay(0.2), Decay(0.3), "direct-application")
        policy = replace(result.policy, decay=decay)
        assert "across domains" in Page(render_report(replace(result, samples=now, policy=policy))).words


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
        assert html.count("<script") == 1
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
        html = render_report(replace(result, classes=list(named.values()), confusion=confusion))
        Page(html)
        assert html.count("<script") == 1

    def test_printable_keeps_letters(self):
        assert printable("a\tb\u2028c\u202ed é 日") == "a b cd é 日"


class TestSize:
    def test_is_small_whatever_the_number_of_rows(self):
        large = audited(n=200_000, people=1_000, classes=10)
        html = render_report(large)
        assert len(html.encode()) < 1_000_000
        page = Page(html)
        # The first are in the table; the others wait for the search, and nobody is there twice.
        table = html[html.index('id="people"') : html.index('<template class="rest"')]
        assert table.count('<th scope="row">member-') == MOST_LISTED
        assert html.count('<th scope="row">member-') == 1_000
        assert "contributors.csv has all 1,000" in page.words
        assert "quality-title" not in page.ids

    def test_beyond_what_a_page_holds_contributors_are_counted(self):
        many = audited(n=2_000, people=50)
        frame = pl.concat([many.contributors] * 101).with_row_index("n")
        frame = frame.with_columns(contributor=pl.col("n").cast(pl.String)).drop("n")
        words = Page(render_report(replace(many, contributors=frame))).words
        assert f"{frame.height - MOST_FOUND} more contributors are in contributors.csv" in words

    def test_many_classes_are_listed_not_drawn(self):
        page = Page(render_report(audited(classes=40)))
        assert "confusion-title" not in page.ids
        assert "too many classes" in page.words

    def test_of_many_it_is_said_how_many_are_what(self):
        many = people(audited(n=2_000, people=MOST_SHOWN + 1), member_4=GUESSING, member_3=UNSURE)
        html = render_report(many)
        assert "1 is accused, 0 are less reliable, 39 are reliable, and 1 is left open." in Page(html).words

    def test_few_rows_are_marked(self):
        page = Page(render_report(audited(n=40, people=8)))
        assert any(row[0].endswith("few rows") for row in page.rows)


def people(result, **verdicts):
    """The same result with other verdicts; who is not named is reliable."""
    named = [verdicts.get(name.replace("-", "_"), RELIABLE) for name in result.contributors["contributor"]]
    asked = [10 * (word == UNSURE) for word in named]
    told = {"verdict": pl.Series(named), "settled_by": pl.Series(asked)}
    return replace(result, contributors=result.contributors.with_columns(**told))


def believed(result, **figures):
    """The same result with other figures of everybody."""
    changed = {name: pl.lit(value) for name, value in figures.items()}
    return replace(result, contributors=result.contributors.with_columns(**changed))


def relabelled(result, who, label, suggested):
    mine = pl.col("contributor") == who
    columns = {"label": label, "suggested": suggested}
    changed = [pl.when(mine).then(pl.lit(text)).otherwise(pl.col(name)).alias(name)
               for name, text in columns.items()]  # fmt: skip
    return replace(result, samples=result.samples.with_columns(changed))


def told(said):
    return [str(each) for each in said]


class TestWho:
    def test_first_lines_say_who_and_of_what(self, result):
        found = people(result, member_4=CONTRADICTS, member_3=GUESSING, member_2=GUESSING)
        found = relabelled(found, "member-3", "kind 1", "kind 0")
        found = relabelled(found, "member-4", "kind 2", "kind 1")
        said = told(accusations(found))
        assert [sentence.split(" (")[0] for sentence in sorted(said)] == [
            "member-2 is no better than guessing: the labels say nothing about the items",
            "member-3 always answers “kind 1”",
            "member-4 takes “kind 1” for “kind 2”",
        ]
        words = Page(render_report(found)).words
        assert max(words.index(sentence) for sentence in said) < words.index("What to do")
        # In the table of contributors too, beside the verdict.
        assert any(
            row[1:2] == [f"{GUESSING}always answers “kind 1”"] for row in Page(render_report(found)).rows
        )

    def test_how_many_rows_that_is_stands_beside_it(self, result):
        found = people(result, member_4=CONTRADICTS)
        theirs = found.samples.filter(contributor="member-4")["p_correct"]
        (said,) = told(accusations(found))
        assert said.endswith(f" ({len(theirs)} rows, about {(1 - theirs).sum():.0f} wrong).")

    def test_those_who_do_the_same_share_a_sentence(self, result):
        found = people(result, member_4=GUESSING, member_3=GUESSING)
        for name in ("member-3", "member-4"):
            found = relabelled(found, name, "kind 1", "kind 0")
        (said,) = told(accusations(found))
        assert said.startswith("member-4 and member-3 always answer “kind 1” (")

    def test_who_contradicts_in_many_ways_contradicts(self, result):
        (said,) = told(accusations(people(result, member_4=CONTRADICTS)))
        assert said.startswith("member-4 contradicts the others (")

    @pytest.mark.parametrize(
        ("labels", "suggested", "says"),
        [
            ("aaaabbbbcc", "aaaabbbbab", "is mostly wrong when answering “c”"),
            ("aaaabbbbab", "aaaabbbbcc", "is mostly wrong where the answer should be “c”"),
        ],
    )
    def test_who_is_wrong_on_one_class_alone_is_told_so(self, result, labels, suggested, says):
        found = people(result, member_4=CONTRADICTS)
        one = found.samples.filter(contributor="member-4").head(10)
        one = one.with_columns(label=pl.Series(list(labels)), suggested=pl.Series(list(suggested)))
        (said,) = told(accusations(replace(found, samples=one)))
        assert said.startswith(f"member-4 {says} (")

    def test_many_are_counted_not_listed(self):
        many = audited(n=3_000, people=60)
        everybody = many.contributors.with_columns(verdict=pl.lit(GUESSING))
        said = told(accusations(replace(many, contributors=everybody)))
        assert said[0].count("member-") == 5
        assert " and 55 more are no better than guessing" in said[0]

    def test_who_hands_in_the_same_rows_is_named_once(self, result):
        names = result.contributors["contributor"].to_list()
        of = {"member-1": ("member-0", 80), "member-0": ("member-1", 80)}
        copied = people(result).contributors.with_columns(
            copies=pl.Series([of.get(name, (None, None))[1] for name in names]),
            copies_of=pl.Series([of.get(name, (None, None))[0] for name in names]),
        )
        (said,) = told(who(replace(result, contributors=copied)))
        assert "hand in the same rows: 80 of " in said
        assert set(said.split(" hand")[0].split(" and ")) == {"member-0", "member-1"}

    def test_expected_false_accusations_stand_under_the_table(self, result):
        found = replace(people(result, member_4=GUESSING, member_3=CONTRADICTS), false_accusations=0.013)
        said = "Of 2 accusations, about 0.013 are expected to be false (false discovery rate at most 1%)."
        assert false_alarms(found) == said
        assert said in Page(render_report(found)).words
        assert false_alarms(people(result)) == ""

    def test_nobody_is_accused(self, result):
        assert told(who(people(result))) == ["Nobody is accused."]

    def test_cannot_tell_is_said_by_name_and_with_what_would_help(self, result):
        found = believed(people(result, member_4=UNSURE), rows=9)
        said = "Cannot tell how reliable 1 of 5 contributors is: member-4 gives too little to judge by."
        assert told(who(found)) == ["Nobody is accused.", said]
        page = Page(render_report(found))
        # Ten labels would do, and there are nine.
        assert "To judge those left open, get more rows of 1 contributor." in page.words
        row = next(row for row in page.rows if row[0].startswith("member-4"))
        assert row[1] == f"{UNSURE}too little to judge by"

    @pytest.mark.parametrize(
        ("rows", "low", "high", "says"),
        [
            (9, 0.5, 0.95, "member-4 and member-3 give too little to judge by"),
            (40, 0.5, 0.95, "member-4 and member-3 label what the others cannot confirm"),
            (40, 0.05, 1.0, "member-4 and member-3 label what the others cannot confirm"),
            (
                40,
                0.2,
                0.7,
                "member-4 and member-3 have 20% to 70% of the labels right, where others get 90%",
            ),
        ],
    )
    def test_why_somebody_is_left_open(self, result, rows, low, high, says):
        found = people(result, member_3=UNSURE, member_4=UNSURE)
        found = believed(found, rows=rows, quality_low=low, quality_high=high)
        assert told(cannot_tell(found)) == [f"Cannot tell how reliable 2 of 5 contributors are: {says}."]

    def test_who_is_left_open_is_told_what_looks_wrong(self, result):
        found = relabelled(people(result, member_4=UNSURE), "member-4", "kind 2", "kind 1")
        found = believed(found, rows=40, quality_low=0.5, quality_high=0.7)
        assert told(cannot_tell(found)) == [
            "Cannot tell how reliable 1 of 5 contributors is: member-4 has 50% to 70% of the labels right, "
            "where others get 90%, and takes “kind 1” for “kind 2”."
        ]

    def test_who_is_less_reliable_is_told_so_beside_the_others(self, result):
        found = relabelled(people(result, member_4=LESS), "member-4", "kind 2", "kind 1")
        found = believed(found, quality=0.62, quality_low=0.5, others=0.9)
        assert told(less_reliable(found)) == [
            "member-4 is less reliable: 62% of the labels are right, where others get 90%; "
            "takes “kind 1” for “kind 2”."
        ]
        assert told(accusations(found)) == []
        assert told(who(found))[0] == "Nobody is accused."

    def test_many_who_are_less_reliable_are_counted(self):
        many = audited(n=3_000, people=60)
        frame = many.contributors.with_columns(verdict=pl.lit(LESS))
        assert told(less_reliable(replace(many, contributors=frame))) == [
            "60 contributors are less reliable than the others on comparable rows."
        ]

    def test_who_is_best_is_said(self, result):
        found = believed(people(result, member_1=UNSURE), quality_low=0.5, others=0.9)
        names = found.contributors["contributor"].to_list()
        low = pl.Series([0.97 if name in ("member-0", "member-1") else 0.5 for name in names])
        found = replace(
            found, contributors=found.contributors.with_columns(quality_low=low, quality=low + 0.02)
        )
        assert told(best(found)) == ["member-0 is among your best: 99% of the labels are right."]
        assert best(replace(found, doubtful="two camps")) == []

    def test_cannot_tell_of_anybody(self, result):
        nobody = people(result, **{f"member_{i}": UNSURE for i in range(5)})
        said = "Cannot tell how reliable any of the 5 contributors is."
        assert told(cannot_tell(nobody)) == [said]

    def test_who_is_reliable_is_not_said_where_the_result_is_doubtful(self, result):
        rows = Page(render_report(replace(result, doubtful="two camps"))).rows
        assert next(row for row in rows if row[0] == "member-0")[2].strip() == "–"

    def test_hostile_labels_do_nothing(self, result):
        found = relabelled(people(result, member_4=GUESSING), "member-4", "<script>x</script>", "kind 0")
        assert render_report(found).count("<script") == 1


class TestWhatToDo:
    def test_rows_and_gain_by_hand(self, result):
        samples = result.samples.head(4).with_columns(p_correct=pl.Series([0.1, 0.2, 0.95, 1.0]))
        found = replace(result, samples=samples, wrong=Estimate(0.45, 0.25, 0.5))
        # The first two are expected to hold 0.9 + 0.8 wrong labels of 1.75 among four rows.
        assert gain(found) == pytest.approx((2, 1.7, 1.75 / 4, 0.05 / 4))
        said = "Check 2 rows: about 2 are expected to be wrong. That cuts rows with a wrong label from "
        assert f"{said}about 44% to about 1%." in todo(people(found))

    def test_of_slices_counts_are_of_all_rows(self, result):
        sliced = replace(people(result), data={**result.data, "rows": 60_000, "kept": 30_000})
        assert gain(sliced).rows == 100 * gain(result).rows
        assert f"Check about {gain(sliced).rows:,} rows: " in " ".join(todo(sliced))
        assert "60,000 labels by 5 contributors" in Page(render_report(sliced)).words

    def test_the_list_is_the_same_on_every_surface(self, result):
        found = result.queue
        assert gain(result).rows == found.candidates
        assert f"of {found.candidates:,}, most to gain first" in Page(render_report(result)).words
        assert f"Check {found.candidates:,} rows: " in " ".join(todo(people(result)))

    def test_nothing_to_do(self, result):
        clean = replace(people(result), samples=result.samples.with_columns(p_correct=pl.lit(0.9999)))
        assert todo(clean) == ["No row needs a second look: every label is at least 90% sure, or settled."]

    def test_a_doubtful_result_is_not_to_be_acted_on(self, result):
        asked = result.contributors.with_columns(settled_by=pl.Series([0, 1200, 7, 0, 0]))
        doubt = replace(result, doubtful=0.4, contributors=asked)
        assert todo(doubt) == [
            "Get known labels for about 7 rows of 1 contributor and more rows of 1 contributor: that would "
            "settle it.",
            "Until then, do not drop, relabel or pay by this result.",
        ]


class TestWarnings:
    def test_stand_in_words_after_the_answers_and_before_the_contributors(self, result):
        words = Page(render_report(replace(result, warnings=["one thing", "another thing."]))).words
        at = [words.index(part) for part in ("What it changes", "One thing. Another thing.", "verdict")]
        assert at == sorted(at)

    def test_many_are_cut_with_a_link_to_the_rest(self, result):
        html = render_report(replace(result, warnings=[f"thing {i}" for i in range(5)]))
        words = Page(html).words
        # A phone shows one, a desktop two.
        assert words.index("Who") < words.index("Thing 1.") < words.index("3 more warnings 4 more warnings")
        assert words.count("Thing 4.") == 1
        assert 'href="#warnings"' in html

    @pytest.mark.parametrize(
        ("doubtful", "said"),
        [
            ("two camps.", "Do not rely on this result: two camps."),  # as runs of old keep it
            (0.414, "two camps: contributors of 41% of the rows contradict the others, and the labels alone"),
        ],
    )
    def test_doubt_is_said_from_its_figure_or_as_an_old_run_has_it(self, result, doubtful, said):
        assert said in summary(replace(result, doubtful=doubtful)).doubt

    def test_doubt_is_said_once_and_before_anything_else(self, result):
        doubt = replace(
            result, gate=Gate("doubtful", "two camps"), doubtful="two camps",
            warnings=["a column is empty"],
        )  # fmt: skip
        words = Page(render_report(doubt)).words
        top = words[: words.index("“few rows”")]
        assert top.count("two camps") == 1
        assert words.index("Do not rely on this result: two camps.") < words.index("A column is empty.")
        assert words.index("Who") < words.index("A column is empty.")
        assert "none" not in top.lower().split()


GONE = (
    "goes along with", "as far as their number", "weighed together", "Ages and freshness: None",
    "1 rows", "nothing to add", "not given", "Decided by",
)  # fmt: skip


@pytest.mark.parametrize("given", ["vrt", ""])
def test_sentences_that_readers_stumbled_over_are_gone(given):
    words = Page(render_report(audited(given=given))).words
    assert [said for said in GONE if said in words] == []


class TestCard:
    def test_has_the_answers_and_contributors_and_nothing_that_runs(self, result):
        card = render_card(result)
        words = Page(card).words
        said = summary(result)
        for text in (*told(said.who), *said.todo, said.change.headline, *said.change.said, "A warning about"):
            assert text in words
        for name in result.contributors["contributor"]:
            assert name in words
        assert not Page(card).tags & {"script", "style", "link", "img", "iframe"}
        assert "kept" in words

    def test_is_short_and_escapes_names(self):
        many = render_card(audited(n=3_000, people=100, names=[f"<b>{i}</b>" for i in range(100)]))
        assert "<b>" not in many
        assert len(many) < 12_000
        assert "92 more contributors" in Page(many).words

    def test_says_doubt_first(self, result):
        words = Page(render_card(replace(result, doubtful="two camps"))).words
        assert words.index("Do not rely on this result: two camps.") < words.index("Who")

    def test_without_contributors_and_comparison(self):
        words = Page(render_card(audited(people=0, compared=None))).words
        assert "nobody can be named" in words
        assert "Not measured" in words


class TestShareOfWrongLabels:
    def test_is_shown_with_its_interval(self, result):
        words = Page(render_report(result)).words
        shown = f"600 labels by 5 contributors; about {result.wrong.mean:.0%} "
        assert f"{shown}({result.wrong.low:.0%} to {result.wrong.high:.0%}) look wrong." in words

    def test_has_none_where_there_is_none(self, result):
        nan = float("nan")
        words = Page(render_report(replace(result, wrong=Estimate(0.2, nan, nan)))).words
        assert "about 20% look wrong." in words
        assert "nan" not in words


class TestRowsToLookAt:
    def test_who_rests_on_one_contributor_is_listed_and_what_is_known_is_not(self, result):
        samples = result.samples.with_columns(
            p_correct=pl.when(pl.col("row") < 2).then(0.2).otherwise(0.99),
            alone=pl.col("row") == 7,
            known_right=pl.when(pl.col("row") == 0).then(pl.lit(value=True)),
        )
        page = Page(render_report(replace(result, samples=samples)))
        start = next(i for i, row in enumerate(page.rows) if row[0] == "row" and row[-1] == "p_correct")
        shown = page.rows[start + 1 : start + 3]
        assert [int(row[0]) for row in shown] == [1, 7]
        assert "nothing but its contributor speaks for it" in " ".join(shown[1])

    def test_suggestions_are_shown_with_their_probability(self, result):
        rows = Page(render_report(result)).rows
        start = next(i for i, row in enumerate(rows) if row[0] == "row" and row[-1] == "p_correct")
        first = result.samples.row(int(rows[start + 1][0]), named=True)
        assert rows[start + 1][2].startswith(first["label"])
        assert rows[start + 1][3:5] == [first["suggested"], chance(first["p_suggested"])]


class TestItems:
    ITEMS = pl.DataFrame(
        {"item": [f"i{n}" for n in range(30)], "labels": [3] * 30, "consensus": ["kind 1"] * 30,
         "p": [0.5 + n / 60 for n in range(30)], "agree": [2 / 3] * 30}
    )  # fmt: skip

    def test_section_says_how_many_are_unclear_and_lists_them(self, result):
        samples = result.samples.with_columns(item=pl.format("i{}", pl.col("row") % 30))
        found = replace(result, items=self.ITEMS, samples=samples)
        page = Page(render_report(found))
        assert "items" in page.sections
        assert "30 items, most with several labels" in page.words
        assert f"{found.queue.candidates:,} need checking: less than 90% sure, and not settled" in page.words
        assert "10 more items are clearer" in page.words
        assert ["i0", "3", "kind 1", "50%", "67%"] in page.rows

    def test_there_is_none_where_items_have_one_label(self, html):
        assert "items" not in Page(html).sections
