"""Files of labels and of true labels as arrays."""

import pytest

from anml.core.errors import InputError
from experiments.crowds_table.read import read_crowds


def test_columns_and_files_are_found_by_their_names(folder):
    agreed, spam = read_crowds(folder)
    assert (agreed.name, agreed.classes, agreed.n_items) == ("agreed", ("cat", "dog"), 20)
    assert (spam.name, spam.classes, len(spam.label)) == ("spammers", ("0", "1"), 202)
    assert (agreed.votes.max(axis=1) == 3).all()


def test_grades_are_in_the_order_of_their_numbers(tmp_path):
    (tmp_path / "g_labels.csv").write_text("item,contributor,label\na,p,10\na,q,9\nb,p,2\n")
    (tmp_path / "g_truth.csv").write_text("item,truth\na,10\nb,\nc,3\n")
    [crowd] = read_crowds(tmp_path)
    assert crowd.classes == ("2", "9", "10")
    assert crowd.truth.tolist() == [2, -1]


def test_a_folder_is_needed(tmp_path):
    with pytest.raises(InputError, match="is not a folder"):
        read_crowds(tmp_path / "nowhere")
