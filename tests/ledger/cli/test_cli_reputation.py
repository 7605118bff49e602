"""Track records: shown with intervals, fed by runs, and reviewers named by two people."""

from anml.signals.track_record import ReputationRule


def test_everybody_is_shown_with_an_interval_and_the_rule(books):
    found = books.json("show", "contributors")
    assert found["rule"]["r0"] == ReputationRule().r0
    for person in found["contributors"]:
        low, high = person["r_interval"]
        assert 0 <= low <= person["r"] <= high <= 1
    ran = books("show", "contributors")
    assert "Ada Lovelace" in ran.out


def test_a_run_without_held_out_confidence_says_so(books):
    said = books.refused("import", books.run, "--by", "ann")
    assert "the run has no held-out predictions" in said


def test_a_reviewer_is_proposed(books):
    path = books.folder / "reviewers.csv"
    path.write_text("reviewer\nada\n")
    assert books("import", path, "--by", "ann").code == 0
    (waiting,) = books.json("show", "waiting")["proposals"]
    assert "reviews by" in str(waiting)
