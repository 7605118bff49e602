"""Files of a ledger are for their owner alone, and what is malformed is a sentence."""

import stat

import pytest

from anml.core.errors import InputError, IntegrityError, UnsupportedError
from anml.ledger import keys
from anml.ledger.engine import ledger_url


def test_a_new_ledger_is_readable_by_its_owner_alone(make_world):
    world = make_world("sqlite")
    world.register("run", ["ann"])
    for path in world.folder.glob("ledger.db*"):
        if path.is_file():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


@pytest.mark.parametrize("text", ["postgresql://host:port/db", "sqlite://[::1", "://", "a://b:99999999"])
def test_a_malformed_url_is_a_sentence(text):
    with pytest.raises((InputError, UnsupportedError)):
        ledger_url(text)


@pytest.mark.parametrize("size", range(14))
def test_a_key_of_a_few_bytes_does_not_open(size):
    with pytest.raises(IntegrityError, match="sealed data does not open"):
        keys.decrypt(bytes(32), bytes(size), "key/c1")
