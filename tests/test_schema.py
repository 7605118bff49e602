"""`Schema` and `Encoder`: from objects, from dicts, and refused."""

import pytest

from anml.core.errors import AnmlError
from anml.schema import Encoder, Schema, options_from


def test_options_from_an_object_a_dict_or_nothing():
    schema = Schema(time="created_at", ignore="note")
    assert schema.ignore == ("note",)
    assert options_from(Schema, schema) is schema
    assert options_from(Schema, {"time": "created_at", "ignore": ["note"]}) == schema
    assert options_from(Schema, None) == Schema()


def test_the_kind_of_an_encoder_follows_from_its_model():
    assert Encoder(column="text", model="sentence-transformers:small").kind == "text"
    assert Encoder(column="path", model="torchvision:resnet18").kind == "image"
    assert Encoder(model="torchvision:resnet18").kind == "auto"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tme": "created_at"}, "unknown key of Schema 'tme'.*did you mean 'time'"),
        ("created_at", "schema must be a Schema or a dict of its fields, got 'created_at'"),
    ],
)
def test_unknown_options_are_one_sentence(given, message):
    with pytest.raises(AnmlError, match=message):
        options_from(Schema, given)
