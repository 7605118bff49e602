"""The report: three answers first, self-contained, small, safe with hostile names, the same each time."""

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser

import polars as pl
import pytest

from anml.annotators.words import CONTRADICTS, GUESSING, INCONCLUSIVE, LESS_RELIABLE, RELIABLE
from anml.core.stats import Estimate
from anml.core.types import Gate
from anml.pipeline.result import versions
from anml.pipeline.review_queue import build_queue, queue_input_from_result
from anml.report.html import (
    MAX_CONTRIBUTORS,
    MAX_DRAWN,
    MAX_ROWS_SHOWN,
    MAX_SEARCHABLE,
    render_card,
    render_report,
    write_report,
)
from anml.report.printable import format_probability, sanitise, truncate
from anml.report.summary import queue_gain, recommended_actions, summary
from anml.report.verdict_text import (
    contributor_findings,
    false_discovery_sentence,
    flagged_sentences,
    inconclusive_sentences,
    less_reliable,
    top_contributors,
)
from anml.signals.freshness import ContextDecay, Decay
from anml.weighting.combine import correlation
from report_cases import audited, comparison

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")

ORDER = ["answers", "contributors", "accuracy", "confusion", "samples", "method", "evaluation"]


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
            kappa = [f"{row[name]:.2f}" for name in ("kappa", "kappa_low", "kappa_high")]
            assert shown[2] == f"{kappa[0]} {kappa[1]}–{kappa[2]}"
            assert shown[3:5] == [f"{row['rows']:,}", f"{row['kept'] / row['rows']:.0%}"]
            assert shown[5] == f"{row['accuracy']:.2f} {row['accuracy_low']:.2f}–{row['accuracy_high']:.2f}"
            assert shown[6:9] == [f"{row[f'mean_{name}']:.2f}" for name in "vrt"]
            assert shown[9] == f"{row['model_agreement']:.0%}"
            assert shown[10:12] == [f"{row['row_share']:.1%}", f"{row['weight_share']:.1%}"]
        assert rows[start + 6][3] == "600"

    def test_rows_to_look_at_first(self, result, html):
        rows = Page(html).rows
        start = next(i for i, row in enumerate(rows) if row[0] == "row" and row[-1] == "p_correct")
        shown = [int(row[0]) for row in rows[start + 1 : start + 1 + MAX_ROWS_SHOWN]]
        assert shown == build_queue(queue_input_from_result(result), MAX_ROWS_SHOWN).rows["row"].to_list()
        assert len({row[1] for row in rows[start + 1 : start + 1 + MAX_ROWS_SHOWN]}) > 1

    def test_method_names_every_setting(self, html):
        words = Page(html).words
        for name in ("alpha", "tau_s", "tau_h", "tau_c", "tau_n", "keep", "select", "hidden", "references"):
            assert name in words
        for message in (
            "31",
            "ab" * 32,
            "602, 600 of them used",
            "7 years",
            versions()["numpy"],
        ):
            assert message in words
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
        assert "not used by this recipe" in words


class TestVerdict:
    @pytest.mark.parametrize(
        ("errors", "message", "advised"),
        [
            ((0.3, 0.2, 0.1), "lower the error by 67%", ""),
            ((0.1, 0.2, 0.2), "increase the error", "“uniform”"),
            ((0.3, 0.3, 0.3), "no significant effect", ""),
        ],
    )
    def test_says_plainly_what_changes(self, result, errors, message, advised):
        words = Page(render_report(replace(result, evaluation=comparison(*errors)))).words
        assert f"{errors[0]:.1%} → {errors[2]:.1%}" in words
        assert message in words
        assert advised in words
        assert ("Equal weights gave a lower error" in words) == bool(advised)

    def test_of_the_uniform_branch(self):
        words = Page(render_report(audited(recipe="uniform"))).words
        assert "No effect: all rows have equal weight." in words

    def test_without_comparison(self):
        page = Page(render_report(audited(compared=None)))
        assert "Not evaluated" in page.words
        assert "The evaluation was switched off" in page.words
        assert "errors-title" not in page.ids

    def test_measured_on_labels_as_given_is_said(self, result):
        given = comparison(on="held-out rows, against the given labels")
        assert "which contain errors" in Page(render_report(replace(result, evaluation=given))).words


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
        assert head[6:9] == ["v", "modelagreement", "rowshare"]
        row = next(row for row in rows if row[0] == "member-0")
        assert len(row) == len(head)

    def test_regression(self):
        numbers = audited(task="regression", compared=comparison(30, 20, 10, "mean absolute error"))
        page = Page(render_report(numbers))
        assert page.sections == ORDER
        assert "confusion-title" not in page.ids
        assert "label minus held-out prediction" in page.words
        row = next(row for row in page.rows if row[0] == "member-4" and len(row) == 6)
        mine = numbers.samples.filter(contributor="member-4")
        assert row[2] == f"{(mine['label'] - mine['predicted_label']).mean():+.3g}"

    def test_one_contributor(self):
        page = Page(render_report(audited(people=1)))
        assert page.sections == [section for section in ORDER if section != "accuracy"]
        assert "no comparison is possible" in page.words
        assert "accuracy-title" not in page.ids

    def test_no_contributor(self):
        page = Page(render_report(audited(people=0)))
        assert page.sections == [section for section in ORDER if section != "accuracy"]
        assert "No contributor column was given" in page.words

    def test_one_row_and_nothing_known(self):
        page = Page(render_report(audited(n=1, people=1, given="")))
        missing = {"accuracy", "samples"}
        assert page.sections == [section for section in ORDER if section not in missing]

    def test_every_label_as_predicted(self, result):
        same = result.confusion.filter(pl.col("label") == pl.col("predicted_label"))
        assert "Every label equals" in Page(render_report(replace(result, confusion=same))).words

    def test_undefined_rho_c(self, result):
        flat = result.samples.with_columns(q=pl.lit(1.0))
        gate = Gate("q_only", "q or s is constant")
        assert (
            "undefined, since q or s is constant"
            in Page(render_report(replace(result, samples=flat, gate=gate))).words
        )

    def test_all_of_one_age_and_context_decay(self, result):
        now = result.samples.with_columns(age_years=pl.lit(0.0))
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
            assert any(row and row[0].startswith(truncate(name, 80)) for row in page.rows), name
        assert "evil  \x1b" not in html
        assert not set(html) & {"\x00", "\x1b", "\u202e"}
        assert "x" * 100 not in html

    def test_classes_too(self):
        result = audited(classes=2)
        named = {"kind 0": "<script>", "kind 1": "</svg>"}
        swap = pl.col("label", "predicted_label").replace(named)
        confusion = result.confusion.with_columns(swap)
        html = render_report(replace(result, classes=list(named.values()), confusion=confusion))
        Page(html)
        assert html.count("<script") == 1

    def test_printable_keeps_letters(self):
        assert sanitise("a\tb\u2028c\u202ed é 日") == "a b cd é 日"


class TestSize:
    @pytest.mark.slow
    def test_is_small_whatever_the_number_of_rows(self):
        large = audited(n=200_000, people=1_000, classes=10)
        html = render_report(large)
        assert len(html.encode()) < 1_000_000
        page = Page(html)
        # The first are in the table; the others wait for the search, and nobody is there twice.
        table = html[html.index('id="people"') : html.index('<template class="rest"')]
        assert table.count('<th scope="row">member-') == MAX_CONTRIBUTORS
        assert html.count('<th scope="row">member-') == 1_000
        assert "contributors.csv has all 1,000" in page.words
        assert "accuracy-title" not in page.ids

    def test_beyond_what_a_page_holds_contributors_are_counted(self):
        large = audited(n=2_000, people=50)
        frame = pl.concat([large.contributors] * 101).with_row_index("n")
        frame = frame.with_columns(contributor=pl.col("n").cast(pl.String)).drop("n")
        words = Page(render_report(replace(large, contributors=frame))).words
        assert f"{frame.height - MAX_SEARCHABLE} more contributors are in contributors.csv" in words

    def test_many_classes_are_listed_not_drawn(self):
        page = Page(render_report(audited(classes=40)))
        assert "confusion-title" not in page.ids
        assert "too many classes" in page.words

    def test_of_many_it_is_said_how_many_are_what(self):
        large = people(audited(n=2_000, people=MAX_DRAWN + 1), member_4=GUESSING, member_3=INCONCLUSIVE)
        html = render_report(large)
        assert "1 flagged, 0 less reliable, 1 inconclusive, 39 reliable." in Page(html).words

    def test_few_rows_are_marked(self):
        page = Page(render_report(audited(n=40, people=8)))
        assert any(row[0].endswith("few rows") for row in page.rows)


def people(result, **verdicts):
    """The same result with other verdicts; who is not named is reliable."""
    named = [verdicts.get(name.replace("-", "_"), RELIABLE) for name in result.contributors["contributor"]]
    asked = [10 * (word == INCONCLUSIVE) for word in named]
    known = {"verdict": pl.Series(named), "true_labels_needed": pl.Series(asked)}
    return replace(result, contributors=result.contributors.with_columns(**known))


def believed(result, **figures):
    """The same result with other figures of everybody."""
    changed = {name: pl.lit(value) for name, value in figures.items()}
    return replace(result, contributors=result.contributors.with_columns(**changed))


def relabelled(result, contributor, label, suggested):
    mine = pl.col("contributor") == contributor
    columns = {"label": label, "suggested_label": suggested}
    changed = [pl.when(mine).then(pl.lit(text)).otherwise(pl.col(name)).alias(name)
               for name, text in columns.items()]  # fmt: skip
    return replace(result, samples=result.samples.with_columns(changed))


def told(message):
    return [str(each) for each in message]


class TestWho:
    def test_first_lines_say_who_and_of_what(self, result):
        output = people(result, member_4=CONTRADICTS, member_3=GUESSING, member_2=GUESSING)
        output = relabelled(output, "member-3", "kind 1", "kind 0")
        output = relabelled(output, "member-4", "kind 2", "kind 1")
        message = told(flagged_sentences(output))
        assert [sentence.split(" (")[0] for sentence in sorted(message)] == [
            "member-2 is no better than guessing: the labels carry almost no information about the items",
            "member-3 gives “kind 1” in more than 90% of the labels",
            "member-4 labels “kind 1” items as “kind 2”",
        ]
        words = Page(render_report(output)).words
        assert max(words.index(sentence) for sentence in message) < words.index("Recommended actions")
        # In the table of contributors too, beside the verdict.
        assert any(
            row[1:2] == [f"{GUESSING}gives “kind 1” in more than 90% of the labels"]
            for row in Page(render_report(output)).rows
        )

    def test_how_many_rows_that_is_stands_beside_it(self, result):
        output = people(result, member_4=CONTRADICTS)
        theirs = output.samples.filter(contributor="member-4")["p_correct"]
        (message,) = told(flagged_sentences(output))
        assert message.endswith(f" ({len(theirs)} rows, about {(1 - theirs).sum():.0f} wrong).")

    def test_those_who_do_the_same_share_a_sentence(self, result):
        output = people(result, member_4=GUESSING, member_3=GUESSING)
        for name in ("member-3", "member-4"):
            output = relabelled(output, name, "kind 1", "kind 0")
        (message,) = told(flagged_sentences(output))
        assert message.startswith("member-4 and member-3 give “kind 1” in more than 90% of the labels (")

    def test_who_contradicts_in_many_ways_contradicts(self, result):
        (message,) = told(flagged_sentences(people(result, member_4=CONTRADICTS)))
        assert message.startswith("member-4 contradicts the others (")

    @pytest.mark.parametrize(
        ("labels", "suggested", "says"),
        [
            ("aaaabbbbcc", "aaaabbbbab", "is mostly wrong with the label “c”"),
            ("aaaabbbbab", "aaaabbbbcc", "is mostly wrong on items of the class “c”"),
        ],
    )
    def test_who_is_wrong_on_one_class_alone_is_told_so(self, result, labels, suggested, says):
        output = people(result, member_4=CONTRADICTS)
        one = output.samples.filter(contributor="member-4").head(10)
        one = one.with_columns(label=pl.Series(list(labels)), suggested_label=pl.Series(list(suggested)))
        (message,) = told(flagged_sentences(replace(output, samples=one)))
        assert message.startswith(f"member-4 {says} (")

    def test_many_are_counted_not_listed(self):
        large = audited(n=3_000, people=60)
        everybody = large.contributors.with_columns(verdict=pl.lit(GUESSING))
        message = told(flagged_sentences(replace(large, contributors=everybody)))
        assert message[0].count("member-") == 5
        assert " and 55 more are no better than guessing" in message[0]

    def test_who_hands_in_the_same_rows_is_named_once(self, result):
        names = result.contributors["contributor"].to_list()
        total = {"member-1": ("member-0", 80), "member-0": ("member-1", 80)}
        copied = people(result).contributors.with_columns(
            duplicate_rows=pl.Series([total.get(name, (None, None))[1] for name in names]),
            duplicates_of=pl.Series([total.get(name, (None, None))[0] for name in names]),
        )
        (message,) = told(contributor_findings(replace(result, contributors=copied)))
        assert "have near-duplicate rows: 80 of " in message
        assert set(message.split(" have")[0].split(" and ")) == {"member-0", "member-1"}

    def test_expected_false_accusations_stand_under_the_table(self, result):
        output = replace(people(result, member_4=GUESSING, member_3=CONTRADICTS), expected_false_flags=0.013)
        message = "Expected false flags: 0.013 of 2 (FDR ≤ 1%)."
        assert false_discovery_sentence(output) == message
        assert message in Page(render_report(output)).words
        assert false_discovery_sentence(people(result)) == ""

    def test_nobody_is_accused(self, result):
        assert told(contributor_findings(people(result))) == ["No contributor is flagged."]

    def test_cannot_tell_is_said_by_name_and_with_what_would_help(self, result):
        output = believed(people(result, member_4=INCONCLUSIVE), rows=9)
        message = "Inconclusive for 1 of 5 contributors: member-4 has fewer than 10 labels."
        assert told(contributor_findings(output)) == ["No contributor is flagged.", message]
        page = Page(render_report(output))
        # Ten labels would do, and there are nine.
        assert (
            "To reach a verdict for the inconclusive contributors, add more rows of 1 contributor."
            in page.words
        )
        row = next(row for row in page.rows if row[0].startswith("member-4"))
        assert row[1] == f"{INCONCLUSIVE}fewer than 10 labels"

    @pytest.mark.parametrize(
        ("rows", "low", "high", "says"),
        [
            (9, 0.5, 0.95, "member-4 and member-3 have fewer than 10 labels"),
            (40, 0.5, 0.95, "member-4 and member-3 label items that no other contributor covers"),
            (40, 0.05, 1.0, "member-4 and member-3 label items that no other contributor covers"),
            (
                40,
                0.2,
                0.7,
                "member-4 and member-3 have an accuracy of 20% to 70% (peers: 90%)",
            ),
        ],
    )
    def test_why_somebody_is_left_open(self, result, rows, low, high, says):
        output = people(result, member_3=INCONCLUSIVE, member_4=INCONCLUSIVE)
        output = believed(output, rows=rows, accuracy_low=low, accuracy_high=high)
        assert told(inconclusive_sentences(output)) == [f"Inconclusive for 2 of 5 contributors: {says}."]

    def test_who_is_left_open_is_told_what_looks_wrong(self, result):
        output = relabelled(people(result, member_4=INCONCLUSIVE), "member-4", "kind 2", "kind 1")
        output = believed(output, rows=40, accuracy_low=0.5, accuracy_high=0.7)
        assert told(inconclusive_sentences(output)) == [
            "Inconclusive for 1 of 5 contributors: member-4 has an accuracy of 50% to 70% (peers: 90%), "
            "and labels “kind 1” items as “kind 2”."
        ]

    def test_who_is_less_reliable_is_told_so_beside_the_others(self, result):
        output = relabelled(people(result, member_4=LESS_RELIABLE), "member-4", "kind 2", "kind 1")
        output = believed(output, accuracy=0.62, accuracy_low=0.5, peer_accuracy=0.9)
        assert told(less_reliable(output)) == [
            "member-4 is less reliable: accuracy 62%, peers 90%; labels “kind 1” items as “kind 2”."
        ]
        assert told(flagged_sentences(output)) == []
        assert told(contributor_findings(output))[0] == "No contributor is flagged."

    def test_many_who_are_less_reliable_are_counted(self):
        large = audited(n=3_000, people=60)
        frame = large.contributors.with_columns(verdict=pl.lit(LESS_RELIABLE))
        assert told(less_reliable(replace(large, contributors=frame))) == [
            "60 contributors are less reliable than their peers on comparable rows."
        ]

    def test_who_is_best_is_said(self, result):
        output = believed(people(result, member_1=INCONCLUSIVE), accuracy_low=0.5, peer_accuracy=0.9)
        names = output.contributors["contributor"].to_list()
        low = pl.Series([0.97 if name in ("member-0", "member-1") else 0.5 for name in names])
        output = replace(
            output, contributors=output.contributors.with_columns(accuracy_low=low, accuracy=low + 0.02)
        )
        assert told(top_contributors(output)) == [
            "member-0 is among the best contributors: 99% of their labels are estimated to be correct."
        ]
        assert top_contributors(replace(output, disputed_share=0.4)) == []

    def test_cannot_tell_of_anybody(self, result):
        nobody = people(result, **{f"member_{i}": INCONCLUSIVE for i in range(5)})
        message = "Inconclusive for all 5 contributors."
        assert told(inconclusive_sentences(nobody)) == [message]

    def test_who_is_reliable_is_not_said_where_the_result_is_doubtful(self, result):
        rows = Page(render_report(replace(result, disputed_share=0.4))).rows
        assert next(row for row in rows if row[0] == "member-0")[2].strip() == "–"

    def test_hostile_labels_do_nothing(self, result):
        output = relabelled(people(result, member_4=GUESSING), "member-4", "<script>x</script>", "kind 0")
        assert render_report(output).count("<script") == 1


class TestWhatToDo:
    def test_rows_and_gain_by_hand(self, result):
        samples = result.samples.head(4).with_columns(p_correct=pl.Series([0.1, 0.2, 0.95, 1.0]))
        output = replace(result, samples=samples, label_error_rate=Estimate(0.45, 0.25, 0.5))
        # The first two are expected to hold 0.9 + 0.8 wrong labels of 1.75 among four rows.
        assert queue_gain(output) == pytest.approx((2, 1.7, 1.75 / 4, 0.05 / 4))
        message = (
            "Review 2 rows: about 2 wrong labels are expected. This lowers the estimated share of rows with "
        )
        assert f"{message}a wrong label from about 44% to about 1%." in recommended_actions(people(output))

    def test_of_slices_counts_are_of_all_rows(self, result):
        sliced = replace(people(result), data={**result.data, "rows": 60_000, "kept": 30_000})
        assert queue_gain(sliced).rows == 100 * queue_gain(result).rows
        assert f"Review about {queue_gain(sliced).rows:,} rows: " in " ".join(recommended_actions(sliced))
        assert "60,000 labels by 5 contributors" in Page(render_report(sliced)).words

    def test_the_list_is_the_same_on_every_surface(self, result):
        output = result.queue
        assert queue_gain(result).rows == output.candidates
        assert f"of {output.candidates:,} items of the review queue" in Page(render_report(result)).words
        assert f"Review {output.candidates:,} rows: " in " ".join(recommended_actions(people(result)))

    def test_nothing_to_do(self, result):
        clean = replace(people(result), samples=result.samples.with_columns(p_correct=pl.lit(0.9999)))
        assert recommended_actions(clean) == ["The queue is empty: every label has p ≥ 0.90 or is confirmed."]

    def test_a_doubtful_result_is_not_to_be_acted_on(self, result):
        asked = result.contributors.with_columns(true_labels_needed=pl.Series([0, 1200, 7, 0, 0]))
        doubt = replace(result, disputed_share=0.4, contributors=asked)
        assert recommended_actions(doubt) == [
            "To resolve the dispute, add true labels for about 7 rows of 1 contributor and more rows of 1 "
            "contributor.",
            "Until then, do not drop labels, relabel or pay by this result.",
        ]


class TestWarnings:
    def test_stand_in_words_after_the_answers_and_before_the_contributors(self, result):
        words = Page(render_report(replace(result, warnings=["one thing", "another thing."]))).words
        at = [
            words.index(part) for part in ("Effect on the model", "One thing. Another thing.", "“few rows”")
        ]
        assert at == sorted(at)

    def test_many_are_cut_with_a_link_to_the_rest(self, result):
        html = render_report(replace(result, warnings=[f"thing {i}" for i in range(5)]))
        words = Page(html).words
        # A phone shows one, a desktop two.
        assert (
            words.index("Contributors to review")
            < words.index("Thing 1.")
            < words.index("3 more warnings 4 more warnings")
        )
        assert words.count("Thing 4.") == 1
        assert 'href="#warnings"' in html

    def test_a_dispute_is_described_by_its_share(self, result):
        message = "disputed: contributors of 41% of the rows contradict the rest, and the data cannot show"
        assert message in summary(replace(result, disputed_share=0.414)).dispute

    def test_doubt_is_said_once_and_before_anything_else(self, result):
        doubt = replace(
            result, gate=Gate("disputed", "two sides"), disputed_share=0.4,
            warnings=["a column is empty"],
        )  # fmt: skip
        words = Page(render_report(doubt)).words
        top = words[: words.index("“few rows”")]
        assert top.count("contradict the rest") == 1
        assert words.index("This result is disputed: ") < words.index("A column is empty.")
        assert words.index("Contributors to review") < words.index("A column is empty.")
        assert "none" not in top.lower().split()


GONE = (
    "goes along with", "as far as their number", "weighed together", "Ages and freshness: None",
    "1 rows", "nothing to add", "not given", "Decided by",
)  # fmt: skip


@pytest.mark.parametrize("given", ["vrt", ""])
def test_sentences_that_readers_stumbled_over_are_gone(given):
    words = Page(render_report(audited(given=given))).words
    assert [message for message in GONE if message in words] == []


class TestCard:
    def test_has_the_answers_and_contributors_and_nothing_that_runs(self, result):
        card = render_card(result)
        words = Page(card).words
        message = summary(result)
        change = message.change
        for text in (
            *told(message.contributors),
            *message.todo,
            change.headline,
            *change.sentences,
            "A warning about",
        ):
            assert text in words
        for name in result.contributors["contributor"]:
            assert name in words
        assert not Page(card).tags & {"script", "style", "link", "img", "iframe"}
        assert "kept" in words

    def test_is_short_and_escapes_names(self):
        large = render_card(audited(n=3_000, people=100, names=[f"<b>{i}</b>" for i in range(100)]))
        assert "<b>" not in large
        assert len(large) < 12_000
        assert "92 more contributors" in Page(large).words

    def test_says_doubt_first(self, result):
        words = Page(render_card(replace(result, disputed_share=0.4))).words
        assert words.index("This result is disputed: ") < words.index("Contributors to review")

    def test_without_contributors_and_comparison(self):
        words = Page(render_card(audited(people=0, compared=None))).words
        assert "contributors cannot be compared" in words
        assert "Not evaluated" in words


class TestShareOfWrongLabels:
    def test_is_shown_with_its_interval(self, result):
        words = Page(render_report(result)).words
        mean, low, high = result.label_error_rate
        shown = f"600 labels by 5 contributors; estimated label error rate: {mean:.0%} "
        assert f"{shown}(bounds {low:.0%} to {high:.0%})." in words

    def test_has_none_where_there_is_none(self, result):
        nan = float("nan")
        words = Page(render_report(replace(result, label_error_rate=Estimate(0.2, nan, nan)))).words
        assert "label error rate: 20%." in words
        assert "nan" not in words


class TestRowsToLookAt:
    def test_who_rests_on_one_contributor_is_listed_and_what_is_known_is_not(self, result):
        samples = result.samples.with_columns(
            p_correct=pl.when(pl.col("row") < 2).then(0.2).otherwise(0.99),
            uncorroborated=pl.col("row") == 7,
            label_is_correct=pl.when(pl.col("row") == 0).then(pl.lit(value=True)),
        )
        page = Page(render_report(replace(result, samples=samples)))
        start = next(i for i, row in enumerate(page.rows) if row[0] == "row" and row[-1] == "p_correct")
        shown = page.rows[start + 1 : start + 3]
        assert [int(row[0]) for row in shown] == [1, 7]
        assert "supported only by the same contributor's other labels" in " ".join(shown[1])

    def test_suggestions_are_shown_with_their_probability(self, result):
        rows = Page(render_report(result)).rows
        start = next(i for i, row in enumerate(rows) if row[0] == "row" and row[-1] == "p_correct")
        first = result.samples.row(int(rows[start + 1][0]), named=True)
        assert rows[start + 1][2].startswith(first["label"])
        assert rows[start + 1][3:5] == [
            first["suggested_label"],
            format_probability(first["p_suggested_label"]),
        ]


class TestItems:
    ITEMS = pl.DataFrame(
        {"item": [f"i{n}" for n in range(30)], "n_labels": [3] * 30, "consensus_label": ["kind 1"] * 30,
         "p_consensus": [0.5 + n / 60 for n in range(30)], "annotator_agreement": [2 / 3] * 30}
    )  # fmt: skip

    def test_section_says_how_many_are_unclear_and_lists_them(self, result):
        samples = result.samples.with_columns(item=pl.format("i{}", pl.col("row") % 30))
        output = replace(result, consensus=self.ITEMS, samples=samples)
        page = Page(render_report(output))
        assert "consensus" in page.sections
        assert "the most probable label of each of 30 items" in page.words
        assert (
            f"{output.queue.candidates:,} items are in the review queue (p below 0.90 and not confirmed)"
            in page.words
        )
        assert "10 more items are not listed" in page.words
        assert ["i0", "3", "kind 1", "50%", "67%"] in page.rows

    def test_there_is_none_where_items_have_one_label(self, html):
        assert "consensus" not in Page(html).sections
