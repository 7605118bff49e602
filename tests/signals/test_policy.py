"""Evidence to v: each rule by hand, then laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import AnmlError
from anml.signals.policy import DEFAULT_LEVELS, LEVELS, AttestationRecord, Policy
from anml.signals.verification import VERIFICATION

LAB = "https://lab.example"


def record(kind, number=1, issuer=LAB, at=0.0, **more):
    return AttestationRecord(number, kind, "c1", issuer, at, **more)


def v(*evidence, at=10.0):
    return Policy().judge(evidence, at)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("self", 0.25),
        ("affiliation", 0.65),
        ("review-accepted", 0.70),
        ("publication", 0.85),
        ("reproduced", 0.92),
        ("agreement", 0.92),
        ("retracted", 0.07),
        ("review-rejected", 0.07),
        ("admin-flag", 0.07),
    ],
)
def test_each_kind_alone(kind, expected):
    assert v(record(kind)).v == expected


def test_defaults_lie_inside_the_paper():
    for name, level in VERIFICATION.items():
        assert level.low <= Policy().levels[name] <= level.high


def test_nothing_is_self_attested():
    assert v() == (0.25, "self-attested", (), "no attestation by others")


def test_best_evidence_counts_and_is_named():
    result = v(record("affiliation", 1), record("reproduced", 2), record("publication", 3))
    assert (result.v, result.level, result.evidence) == (0.92, "reproduced", (2,))


def test_any_open_flag_wins():
    assert v(record("reproduced", 1), record("admin-flag", 2)).level == "flagged"


def test_nobody_vouches_for_themselves():
    assert v(record("reproduced", issuer="c1")).level == "self-attested"
    assert v(record("reproduced", vouched="nobody")).level == "self-attested"


def test_a_flag_that_nobody_stands_behind_counts_for_nothing():
    assert v(record("admin-flag", vouched="nobody")).level == "self-attested"


def test_flags_are_lifted_by_somebody_else_later_and_in_the_same_scope():
    rejected = record("review-rejected", 1, at=1.0, scope="item:a")
    assert v(rejected, record("review-accepted", 2, at=2.0, scope="item:a")).level == "reviewed"
    assert v(rejected, record("review-accepted", 2, at=0.5, scope="item:a")).level == "flagged"
    assert v(rejected, record("review-accepted", 2, at=2.0, scope="item:b")).level == "flagged"
    assert v(rejected, record("review-accepted", 2, at=2.0, scope="item:a", issuer="c1")).level == "flagged"


def test_retraction_correction_concern_and_reinstatement():
    published = record("publication", 1)
    assert v(published, record("correction", 2, at=1.0)).v == 0.85
    assert v(published, record("concern", 2, at=1.0)) == (0.20, "concern", (1, 2), f"concern by {LAB}")
    assert v(published, record("retracted", 2, at=1.0)).v == 0.07
    assert v(published, record("retracted", 2, at=1.0), record("reinstated", 3, at=2.0)).v == 0.85


def test_validity():
    assert v(record("affiliation", until=10.0)).level == "self-attested"
    assert v(record("affiliation", until=10.5)).level == "institution"
    assert v(record("affiliation", at=11.0)).level == "self-attested"


@pytest.mark.parametrize(
    "table",
    [
        {"levels": {"reviewed": 0.9}},
        {"levels": {"great": 0.9}},
        {"kinds": {"retracted": "reviewed"}},
        {"kinds": {"affiliation": "flagged"}},
        {"kinds": {"rumour": "reviewed"}},
        {"surprise": 1},
        {"concern_cap": 2},
    ],
)
def test_policies_say_what_is_wrong(table):
    with pytest.raises(AnmlError):
        Policy.from_dict(table)


@given(
    st.lists(
        st.builds(
            record,
            st.sampled_from(sorted(DEFAULT_LEVELS)),
            st.integers(1, 99),
            st.sampled_from([LAB, "c1", "c2"]),
            st.floats(0, 20),
            vouched=st.sampled_from(["signature", "platform", "nobody"]),
        )
    ),
    st.randoms(),
)
def test_order_does_not_matter_and_v_is_always_a_known_level(evidence, random):
    result = Policy().judge(evidence, 10.0)
    shuffled = random.sample(evidence, len(evidence))
    assert Policy().judge(shuffled, 10.0)[:2] == result[:2]
    assert result.level in {*LEVELS, "concern"}
    # What the contributor says themselves never lifts v above self-attested.
    own = [e for e in evidence if e.issuer == "c1"]
    assert Policy().judge(own, 10.0).v <= 0.25


def test_the_policies_in_the_docs_are_read_as_written():
    import re
    import tomllib
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "concepts" / "ledger.md").read_text(encoding="utf-8")
    tables = re.findall(r"^```toml\n(.*?)^```$", page, re.S | re.M)
    first, second = (Policy.from_dict(tomllib.loads(text)["policy"]) for text in tables)
    assert (first.concern_cap, first.levels["reviewed"], first.kinds["agreement"]) == (0.15, 0.75, "reviewed")
    assert second.trust.roots == ("https://lab.example/qa",)
