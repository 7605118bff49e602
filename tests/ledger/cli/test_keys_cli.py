"""`anml-ledger key` and `import` of keys: made, trusted by two people, listed, revoked."""

from anml.signals.policy import DEFAULT_LEVELS


def made(books, tmp_path) -> tuple:
    path = tmp_path / "lab.pem"
    ran = books.anml_ledger("key", "--out", path)
    assert ran.code == 0
    return path, ran.out.split()[-1], ran


def test_a_key_is_made_once_and_only_its_public_part_is_shown(books, tmp_path):
    path, public, ran = made(books, tmp_path)
    assert public.startswith("ed25519:")
    assert path.read_text().splitlines()[1] not in ran.out
    before = path.read_bytes()
    again = books.anml_ledger("key", "--out", path)
    assert again.code == 2
    assert "never overwritten" in again.err
    assert path.read_bytes() == before


def test_a_key_is_trusted_by_two_listed_and_revoked(books, tmp_path):
    _, public, _ = made(books, tmp_path)
    assert books("import", public, "--owner", "https://lab.example", "--by", "ann").code == 0
    assert books.json("show", "keys")["keys"] == []
    assert books.sign("confirm", *books.waiting(), "--by", "bob")["confirmed"]
    (key,) = books.json("show", "keys")["keys"]
    name = next(value for value in key.values() if isinstance(value, str) and len(value) == 16)
    assert set(key["may"]) <= set(DEFAULT_LEVELS)
    assert books("key", name, "--revoke", "--by", "ann").code == 0
    assert "was revoked on" in books.refused("key", name, "--revoke", "--by", "ann")


def test_keys_that_are_refused(books, tmp_path):
    path, public, _ = made(books, tmp_path)
    owner = ("--owner", "https://lab.example", "--by", "ann")
    secret = path.read_text().splitlines()[1]
    said = books.refused("import", path, *owner)
    assert secret not in said
    assert "anybody could sign for it" in books.refused("import", "ed25519:" + "A" * 43 + "=", *owner)
    assert "not an e-mail address" in books.refused(
        "import", public, "--owner", "ann@example.org", "--by", "ann"
    )
    assert "there is no key '0000'" in books.refused("key", "0000", "--revoke", "--by", "ann")
