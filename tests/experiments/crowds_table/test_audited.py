"""The audit of a crowd as arrays."""

import numpy as np
import pytest
from crowd_cases import crowd_of

from experiments.crowds_table.audited import audit_crowd


@pytest.mark.parametrize("ordinal", [False, True])
def test_the_consensus_and_the_verdicts_are_in_the_order_of_the_codes(ordinal):
    """Twelve items and contributors: codes of two digits come after those of one digit."""
    rng = np.random.default_rng(0)
    truth = np.arange(120) % 3
    labels = np.tile(truth[:, None], 12)
    labels[:, 2] = rng.integers(0, 3, 120)
    result = audit_crowd(crowd_of(labels, truth, 3), ordinal=ordinal)
    assert result.consensus.tolist() == truth.tolist()
    assert result.p_consensus.min() > 0.9
    assert result.verdict[2] == "no better than guessing"
    assert np.delete(result.verdict, 2).tolist() == ["reliable"] * 11
    assert result.accuracy.argmin() == 2
    assert ((result.low <= result.accuracy) & (result.accuracy <= result.high)).all()
