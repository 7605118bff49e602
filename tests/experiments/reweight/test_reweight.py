"""Ways of training: gradients against autograd, choices by hand, wrong labels found, bad input."""

import numpy as np
import pytest
from plain_networks import made_blobs

from anml.core.errors import InputError
from experiments.reweight.dividemix import dividemix
from experiments.reweight.glister import glister
from experiments.reweight.learning_to_reweight import learning_to_reweight
from experiments.reweight.training import Schedule

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def blobs():
    return made_blobs()


PLAN = Schedule(hidden=(16,), epochs=30, batch=40, lr=1e-2)


WAYS = {
    "learning to reweight": lambda b, plan: learning_to_reweight(b[0], b[1], b[4], b[5], 3, plan),
    "glister": lambda b, plan: glister(b[0], b[1], b[4], b[5], 3, 0.75, plan),
    "dividemix": lambda b, plan: dividemix(b[0], b[1], 3, plan),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_wrong_labels_weigh_less_and_the_same_seed_gives_the_same(way, blobs):
    result = way(blobs, PLAN)
    assert result.weights.shape == (240,)
    assert ((result.weights >= 0) & (result.weights <= 1)).all()
    assert result.weights[blobs[3]].mean() < 0.6 * result.weights[~blobs[3]].mean()
    assert (result.predict(blobs[0]) == blobs[2]).mean() > 0.9
    again = way(blobs, PLAN)
    assert (again.weights == result.weights).all()


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b: (b[0][:0], b[1][:0], *b[2:]), "rows of features with one class each"),
        (lambda b: (np.full_like(b[0], np.nan), *b[1:]), "missing or infinite"),
        (lambda b: (b[0], b[1] + 5, *b[2:]), "class codes from 0 to 2"),
        (lambda b: (b[0], b[1][:5], *b[2:]), "rows of features with one class each"),
    ],
)
def test_bad_rows_are_one_sentence(way, change, message, blobs):
    with pytest.raises(InputError, match=message):
        way(change(blobs), PLAN)
