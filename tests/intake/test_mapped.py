"""Any table with named columns: found by common names or named by hand."""

import pytest

from anml.core.errors import InputError
from anml.intake.mapped import read_mapped


def rows(found, *names):
    return found.rows.select(*names).rows()


def test_tables_by_common_names_or_by_hand(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text(
        "item,Worker-ID,label,review,reviewer,size\n1,007,a,accepted,z,3.5\n1,b,a,,,1\n2,b,c,rejected,b,2\n"
    )
    found = read_mapped(file)
    assert rows(found, "item", "contributor", "label", "size") == [
        ("1", "007", "a", 3.5),
        ("1", "b", "a", 1.0),
        ("2", "b", "c", 2.0),
    ]
    assert found.evidence.select("contributor", "kind", "issuer").rows() == [
        ("007", "review-accepted", "z"),
        ("b", "review-rejected", "b"),
    ]
    by_hand = read_mapped(file, {"contributor": "reviewer", "label": "size"})
    assert by_hand.rows["contributor"].to_list() == ["z", "b"]
    assert "1 of 3 rows do not say who" in by_hand.warnings[0]
    with pytest.raises(InputError, match="no column 'nobody' for the contributor"):
        read_mapped(file, {"contributor": "nobody"})
