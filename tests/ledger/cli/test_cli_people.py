"""`anml-ledger key`, `import` of keys, `show` and `confirm`: who acts, and the second person's word."""

from anml.ledger.kinds import ROLES


def new_key(books, tmp_path, name: str = "zoe") -> str:
    return books.anml_ledger("key", "--out", tmp_path / f"{name}.pem").out.split()[-1]


def test_everybody_who_may_act_is_listed_with_roles(books):
    found = books.json("show", "staff")["staff"]
    assert [member["name"] for member in found] == ["ann", "bob", "cat", "dan"]
    assert set(found[0]["roles"]) == set(ROLES)
    ran = books("show", "staff")
    assert all(name in ran.out for name in ("ann", "bob", "cat", "dan"))


def test_a_new_member_waits_for_a_second_person(books, tmp_path):
    public = new_key(books, tmp_path)
    asked = ("import", public, "--staff", "zoe", "--role", "payer", "--by", "ann")
    assert books(*asked).code == 0
    (waiting,) = books.json("show", "waiting")["proposals"]
    assert "zoe" in str(waiting)
    numbers = books.waiting()
    assert "a second person must confirm it" in books.refused("confirm", *numbers, "--by", "ann")
    assert "named by its number" in books.refused("confirm", "all", "--by", "bob")
    assert books.sign("confirm", *numbers, "--by", "bob")["confirmed"] == numbers
    assert books.json("show", "waiting")["proposals"] == []
    assert books.json("show", "staff")["staff"][-1]["roles"] == ["payer"]


def test_a_proposal_is_dropped(books, tmp_path):
    public = new_key(books, tmp_path)
    books("import", public, "--staff", "zoe", "--role", "payer", "--by", "ann")
    assert books("confirm", *books.waiting(), "--drop", "--by", "bob").code == 0
    assert len(books.json("show", "staff")["staff"]) == 4


def test_who_was_removed_acts_no_more(books):
    assert books("key", "dan", "--revoke", "--by", "ann").code == 0
    assert books.json("show", "staff")["staff"][-1]["until"]
    said = books.refused(
        "settle", books.run, "--pool", "1", "--currency", "EUR", "--source", "run", "--by", "dan"
    )
    assert "'dan' was removed from the staff" in said


def test_what_cannot_be_done(books, tmp_path):
    public = new_key(books, tmp_path)
    for arguments, said in (
        (
            ("import", "", "--staff", "zoe"),
            "a public key is 'ed25519:'",
        ),
        (
            ("import", "ed25519:x", "--staff", "zoe", "--role", "payer"),
            "a public key is 'ed25519:'",
        ),
        (("import", public, "--staff", "zoe", "--role", "king"), "unknown role 'king'"),
        (("key", "zoe", "--revoke"), "there is no key 'zoe'"),
        (("confirm", "999"), "there is no proposal 999"),
        (("confirm", "some"), "some"),
    ):
        assert said in books.refused(*arguments, "--by", "ann")
