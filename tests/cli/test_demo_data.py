"""The made-up consortium: contributors as they are described, and the same tables for the same seed."""

import pytest

from anml.cli.demo_data import MEMBERS, demo_tables
from anml.signals.reputation import REPUTATION
from anml.signals.verification import VERIFICATION

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tables():
    return demo_tables()


def test_the_same_seed_gives_the_same_tables(tables):
    again, other = demo_tables(), demo_tables(1)
    assert all(one.equals(two) for one, two in zip(tables, again, strict=True))
    assert not tables[0].equals(other[0])


def test_every_member_is_there_with_about_its_share_of_rows(tables):
    counts = dict(tables[0]["contributor"].value_counts().iter_rows())
    assert set(counts) == {member.name for member in MEMBERS}
    for member in MEMBERS:
        assert counts[member.name] / tables[0].height == pytest.approx(member.share, abs=0.03)
    assert sum(member.share for member in MEMBERS) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
def test_papers_are_levels_that_exist(member):
    assert member.verification in VERIFICATION
    assert member.reputation in REPUTATION
    assert 0 <= member.wrong <= 1


def test_test_labels_are_right_and_columns_are_the_same(tables):
    contributed, test = tables
    extra = {"contributor", "verification", "reputation", "labeled_at"}
    assert set(contributed.columns) - set(test.columns) == extra
    # 1,797 digits, three tenths of them to test on.
    assert (contributed.height, test.height) == (1_257, 540)
    assert test["label"].n_unique() == 10
