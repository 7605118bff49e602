"""Evidence: wrong labels found from model, credentials and contributors, without any truth."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from anml.core.evidence import Likelihoods, by_contributor, classify, weigh_evidence, wrong_among
from anml.core.noise import label_noise, residual_noise


def simulated(n=3000, rate=0.3, seed=0, classes=4, sharpness=3.0):
    """Held-out predictions of a fair model, true classes, labels as given, and the mask of right ones."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, classes)) * sharpness
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    truth = np.array([rng.choice(classes, p=np.exp(row) / np.exp(row).sum()) for row in log_p])
    wrong = rng.uniform(size=n) < rate
    labels = np.where(wrong, (truth + rng.integers(1, classes, n)) % classes, truth)
    return log_p, labels, ~wrong, rng


def evidence(log_p, labels, signals=None, codes=None):
    return classify(log_p, labels, label_noise(log_p, labels), signals, codes)


class TestByHand:
    def test_bayes_rule_with_nothing_else_known(self):
        """Half of the labels wrong: the odds are the likelihood ratio."""
        likelihoods = Likelihoods(np.array([0.9, 0.1] * 500), np.array([0.1, 0.9] * 500))
        found = weigh_evidence(likelihoods, None, None, 0.5)
        np.testing.assert_allclose(found.expected, 0.5, atol=1e-3)
        np.testing.assert_allclose(found.clean[:2], [0.9, 0.1], atol=1e-3)

    def test_parts_add_up_to_the_belief(self):
        log_p, labels, _, rng = simulated()
        found = evidence(log_p, labels, rng.uniform(size=(3000, 2)), rng.integers(0, 20, 3000))
        logit = found.base + found.credentials + found.contributor
        np.testing.assert_allclose(found.expected, 1 / (1 + np.exp(-logit)))
        np.testing.assert_allclose(found.clean, 1 / (1 + np.exp(-(logit + found.model))))


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.3])
def test_recovers_the_share_of_wrong_labels(rate):
    log_p, labels, _, _ = simulated(rate=rate)
    assert 1 - evidence(log_p, labels).clean.mean() == pytest.approx(rate, abs=0.03)


def test_probabilities_are_calibrated():
    log_p, labels, right, _ = simulated(n=20_000)
    clean = evidence(log_p, labels).clean
    for low in np.arange(0, 1, 0.1):
        inside = (clean >= low) & (clean < low + 0.1)
        if inside.sum() > 300:
            assert right[inside].mean() == pytest.approx(clean[inside].mean(), abs=0.06)


def test_good_credentials_help_and_lies_do_no_harm():
    log_p, labels, right, rng = simulated(sharpness=1.5)
    honest = np.where(right, rng.uniform(0.5, 1, 3000), rng.uniform(0, 0.5, 3000))[:, None]

    def correct(signals):
        return ((evidence(log_p, labels, signals).clean > 0.5) == right).mean()

    without = correct(None)
    assert correct(honest) > 0.98 > without
    assert correct(rng.uniform(size=(3000, 1))) > without - 0.01


def test_credentials_that_lie_are_evidence_too():
    log_p, labels, right, rng = simulated(sharpness=1.5)
    faked = np.where(right, rng.uniform(0, 0.5, 3000), rng.uniform(0.5, 1, 3000))[:, None]
    assert ((evidence(log_p, labels, faked).clean > 0.5) == right).mean() > 0.98


class TestContributors:
    def three(self, share_wrong=(0.02, 0.3, 0.9), n=3000):
        log_p, _, _, rng = simulated(n=n, rate=0.0)
        truth = simulated(n=n, rate=0.0)[1]
        codes = rng.integers(0, 3, n)
        wrong = rng.uniform(size=n) < np.array(share_wrong)[codes]
        return log_p, np.where(wrong, (truth + rng.integers(1, 4, n)) % 4, truth), codes, ~wrong

    def test_quality_is_the_share_of_right_labels(self):
        log_p, labels, codes, right = self.three()
        expected = evidence(log_p, labels, codes=codes).expected
        for code in range(3):
            assert expected[codes == code].mean() == pytest.approx(right[codes == code].mean(), abs=0.05)

    def test_knowing_contributors_finds_more(self):
        log_p, labels, codes, right = self.three()
        with_codes = ((evidence(log_p, labels, codes=codes).clean > 0.5) == right).mean()
        assert with_codes > ((evidence(log_p, labels).clean > 0.5) == right).mean()

    def test_ten_rows_do_not_convict(self):
        """A stranger with three contradicted labels is doubted less than one with three hundred."""
        log_p, labels, codes, _ = self.three((0.05, 0.05, 0.95))
        few = np.flatnonzero(codes == 2)[:3]
        codes[few] = 3
        found = evidence(log_p, labels, codes=codes)
        assert found.effect[3] > found.effect[2]
        assert found.doubt[3] > found.doubt[2]

    @pytest.mark.parametrize("seed", range(6))
    def test_credentials_that_belong_to_contributors_do_not_run_away(self, seed):
        """Each contributor has one v and one r: the two ways to explain them must not feed each other."""
        log_p, _, _, rng = simulated(n=1200, rate=0.0, seed=seed, classes=10)
        truth = simulated(n=1200, rate=0.0, seed=seed, classes=10)[1]
        codes = rng.integers(0, 12, 1200)
        wrong = rng.uniform(size=1200) < np.r_[np.full(9, 0.03), np.full(3, 0.9)][codes]
        labels = np.where(wrong, (truth + rng.integers(1, 10, 1200)) % 10, truth)
        levels = rng.choice([0.25, 0.65, 0.85], size=(12, 3))[codes]
        found = evidence(log_p, labels, levels, codes)
        assert 1 - found.clean.mean() == pytest.approx(wrong.mean(), abs=0.04)
        assert np.abs(found.effect).max() < 10
        assert abs(found.base) < 10

    def test_systematic_confusion_by_one_contributor_is_seen(self):
        """Eve always names the next class; a model that learned some of it still leaves her out."""
        rng = np.random.default_rng(0)
        truth, codes = rng.integers(0, 3, 2000), rng.integers(0, 4, 2000)
        labels = np.where(codes == 3, (truth + 1) % 3, truth)
        learned = np.full((2000, 3), 0.02)
        learned[np.arange(2000), truth] = 0.73
        learned[np.arange(2000), (truth + 1) % 3] = 0.25
        clean = evidence(np.log(learned), labels, codes=codes).clean
        assert clean[codes == 3].mean() < 0.1
        assert clean[codes != 3].mean() > 0.9


def test_a_handful_of_rows_does_not_condemn_everybody():
    """Six labels, each contradicted by a model that saw only the other five."""
    against = np.log(np.array([[0.2, 0.8], [0.8, 0.2]]))[[0, 1, 0, 1, 0, 1]]
    labels = np.array([0, 1, 0, 1, 0, 1])
    found = evidence(against, labels, codes=np.array([0, 1, 0, 1, 0, 0]))
    assert found.base >= 0
    assert found.expected.min() > 0.2


@given(st.integers(2, 60), st.integers(2, 5), st.integers(0, 99))
def test_is_always_a_probability_and_follows_the_rows(n, classes, seed):
    rng = np.random.default_rng(seed)
    log_p = np.log(rng.dirichlet(np.ones(classes), n))
    labels, codes, signals = rng.integers(0, classes, n), rng.integers(0, 3, n), rng.uniform(size=(n, 2))
    _, codes = np.unique(codes, return_inverse=True)
    found = evidence(log_p, labels, signals, codes)
    assert ((found.clean >= 0) & (found.clean <= 1)).all()
    order = rng.permutation(n)
    again = evidence(log_p[order], labels[order], signals[order], codes[order])
    np.testing.assert_allclose(again.clean, found.clean[order], rtol=1e-6, atol=1e-9)


class TestNumbers:
    def test_shifted_labels_are_found(self):
        rng = np.random.default_rng(0)
        wrong = rng.uniform(size=2000) < 0.2
        noise = residual_noise(rng.normal(size=2000) + 5 * wrong)
        assert noise.rate == pytest.approx(0.2, abs=0.02)
        assert noise.clean[~wrong].mean() > 0.98
        assert noise.clean[wrong].mean() < 0.05

    def test_scattered_labels_are_found(self):
        rng = np.random.default_rng(0)
        wrong = rng.uniform(size=2000) < 0.2
        noise = residual_noise(rng.normal(size=2000) * np.where(wrong, 8, 1))
        assert noise.rate == pytest.approx(0.2, abs=0.06)

    def test_plain_residuals_have_no_noise(self):
        assert residual_noise(np.random.default_rng(0).normal(size=500)).rate == 0

    @pytest.mark.parametrize("residuals", [[0.0] * 10, [1.0, 2.0], [3.0]])
    def test_degenerate_residuals(self, residuals):
        assert residual_noise(np.array(residuals)).rate == 0


class TestContributorsJudgedWhole:
    """Ann is honest, Eve is not, Tom turned half-way; two classes, of which the model is nearly sure."""

    def rows(self, hard=2, flipped=0, varied=False):
        sure = 0.9999 if varied else 0.98
        codes = np.repeat([0, 1, 2], 200)
        labels = np.zeros(600, int)
        named = np.tile([sure, 1 - sure], (600, 1))
        if varied:  # a model that is often less sure, and then right as often as it says
            named[10:60], named[10:15] = [0.9, 0.1], [0.1, 0.9]
        named[:hard] = [0.35, 0.65]  # hard: the model leans the other way
        named[200 - flipped : 200] = [1 - sure, sure]  # wrong: it is sure of another class
        named[200:398] = named[400:500] = [1 - sure, sure]
        return np.log(named), labels, codes

    def judge(self, log_p, labels, codes):
        right = np.exp(log_p[:, 0])
        found = weigh_evidence(Likelihoods(right, 1 - right), None, codes, 0.3)
        contradicted = np.exp(log_p[:, 0]) < 0.5
        doubted = np.where(contradicted, 0.3, found.clean)  # as a harsher view would
        beforehand = found.base + found.credentials + found.contributor
        harsh = replace(found, clean=doubted, model=special.logit(doubted) - beforehand)
        return harsh, by_contributor(harsh, log_p, labels, codes)

    def test_hard_samples_of_the_honest_are_believed(self):
        before, after = self.judge(*self.rows())
        assert (before.clean[:2] < 0.5).all()
        assert (after.clean[:200] > 0.9).all()

    def test_wrong_labels_of_the_honest_are_not(self):
        before, after = self.judge(*self.rows(flipped=6, varied=True))
        np.testing.assert_allclose(after.clean[:200], before.clean[:200])
        assert (after.clean[194:200] < 0.5).all()

    def test_what_agrees_by_accident_is_not_believed(self):
        _, after = self.judge(*self.rows())
        assert (after.clean[200:400] < 0.5).all()

    def test_one_who_turned_is_judged_label_by_label(self):
        before, after = self.judge(*self.rows())
        np.testing.assert_allclose(after.clean[400:], before.clean[400:])
        assert (after.clean[400:500] < 0.5).all()
        assert (after.clean[500:] > 0.5).all()

    def test_parts_still_add_up(self):
        _, found = self.judge(*self.rows())
        logit = found.base + found.credentials + found.contributor + found.model
        np.testing.assert_allclose(found.clean, special.expit(logit))


def test_a_rate_of_wrong_labels_must_be_worth_assuming():
    log_p, labels, _, _ = simulated(n=1_000, rate=0.0)
    assert not wrong_among(log_p, labels)
    log_p, labels, _, _ = simulated(n=1_000, rate=0.1)
    assert wrong_among(log_p, labels)
