"""Croissant: which column says who, what and when."""

import json
from pathlib import Path

import pytest

from anml.core.errors import InputError
from anml.intake.croissant import _PROPERTIES, _TYPES, _file, read_croissant
from anml.intake.file import File
from anml.intake.mapped import read_mapped

DATA = Path(__file__).parents[1] / "data"


def rows(found, *names):
    return found.rows.select(*names).rows()


def test_croissant_maps_columns_even_from_annotations():
    found = read_croissant(File(DATA / "croissant.json"))
    assert found[0] == {"item": "sample", "label": "verdict", "contributor": "lab", "time": "measured"}
    assert found[1] == "papers.csv"
    read = read_mapped(File(DATA / found[1]), found[0])
    assert rows(read, "item", "contributor", "label")[0] == ("p1", "lab-a", "up")


def test_croissant_without_a_contributor_is_an_error(tmp_path):
    file = tmp_path / "c.json"
    file.write_text('{"recordSet": []}')
    with pytest.raises(InputError, match="prov:wasAttributedTo"):
        read_croissant(File(file))


def described(tmp_path, *fields, **more):
    file = tmp_path / "c.json"
    who = {"equivalentProperty": "prov:wasAttributedTo", "source": {"extract": {"column": "lab"}}}
    file.write_text(json.dumps({"recordSet": [{"field": [who, *fields]}], **more}))
    return read_croissant(File(file))


def field(column, **about):
    return {"source": {"extract": {"column": column}}, **about}


@pytest.mark.parametrize(("name", "role"), _PROPERTIES.items())
@pytest.mark.parametrize(
    "address", ["prov:{}", "http://www.w3.org/ns/prov#{}", "https://schema.org/{}", "{}"]
)
def test_every_property_in_every_spelling(name, role, address, tmp_path):
    columns = described(tmp_path, field("c", equivalentProperty=address.format(name)))[0]
    assert columns[role] == ("lab" if role == "contributor" else "c")


@pytest.mark.parametrize(("name", "role"), _TYPES.items())
def test_types_tell_where_no_property_does(name, role, tmp_path):
    assert described(tmp_path, field("c", dataType=["sc:Text", f"cr:{name}"]))[0][role] == "c"


def test_a_property_goes_before_a_type(tmp_path):
    both = field("c", dataType="sc:DateTime", equivalentProperty="sc:identifier")
    assert described(tmp_path, both)[0] == {"contributor": "lab", "item": "c"}


def test_the_first_of_two_columns_is_taken(tmp_path):
    found = described(tmp_path, field("one", dataType="cr:Label"), field("two", dataType="cr:Label"))
    assert found[0]["label"] == "one"


@pytest.mark.parametrize("place", ["field", "subField", "annotation"])
def test_fields_are_found_at_any_depth(place, tmp_path):
    inner = {"@type": "cr:Field", place: {place: [field("deep", dataType="cr:Label")]}}
    assert described(tmp_path, inner)[0]["label"] == "deep"


def test_fields_without_a_column_say_nothing(tmp_path):
    found = described(tmp_path, {"source": {"fileObject": 1}, "dataType": "cr:Label"}, "text",
                      {"source": "x", "dataType": "cr:Label"})  # fmt: skip
    assert found[0] == {"contributor": "lab"}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ([{"contentUrl": "a.csv"}, {"contentUrl": "b.csv"}], "a.csv"),
        ([{"contentUrl": "https://lab.example/a.csv"}, {"contentUrl": "b.csv"}], "b.csv"),
        ({"contentUrl": "a.csv"}, "a.csv"),
        ([{}, "text"], None),
    ],
)
def test_only_a_local_file_is_read(files, expected, tmp_path):
    assert described(tmp_path, distribution=files)[1] == expected


@pytest.mark.parametrize("text", ["[]", '{"a": 1}', '"recordSet"'])
def test_other_json_is_no_description(text, tmp_path):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(InputError, match="is not a Croissant description: it has no recordSet"):
        read_croissant(File(tmp_path / "c.json"))


@pytest.mark.parametrize("odd", [True, 7, 1.5, {}, ["x.csv"]])
def test_an_address_that_is_no_text_names_no_file(odd):
    about = {"recordSet": [], "distribution": [{"contentUrl": odd}, {"contentUrl": "rows.csv"}]}
    assert _file(about) == "rows.csv"
