"""Simulated credentials: the paper's reliability scenarios, faked credentials, tiers, controlled correlation.

The paper gives the ranges of those who have a credential and leaves those of the others open; the open
ones are parameters, and the defaults are those that give the paper's numbers.
"""

from typing import Any, NamedTuple

import numpy as np

from anml.core.checks import Bools, Floats, Ints, as_booleans, in_range, one_of
from anml.core.stats import standardise

Range = tuple[float, float]

# Open in the paper: honest contributors without a credential, and the "low values" of attackers.
NO_CREDENTIAL_V: Range = (0.40, 0.60)
NO_CREDENTIAL_R: Range = (0.30, 0.50)
LOW_V: Range = (0.10, 0.25)
LOW_R: Range = (0.15, 0.35)
# What attackers fake.
FAKE_V: Range = (0.70, 0.90)
FAKE_R: Range = (0.65, 0.85)


class Credential(NamedTuple):
    """A share of contributors draws from one range, the rest from another."""

    share: float
    having: Range
    lacking: Range


class Scenario(NamedTuple):
    """Distribution of credentials of honest and malicious contributors; `together`: v and r jointly."""

    honest_v: Credential
    honest_r: Credential
    bad_v: Credential
    bad_r: Credential
    together: bool = False


_NONE_CREDENTIALED_V, _NONE_CREDENTIALED_R = Credential(0.0, LOW_V, LOW_V), Credential(0.0, LOW_R, LOW_R)

SCENARIOS: dict[str, Scenario] = {
    "high": Scenario(
        Credential(0.80, (0.75, 0.90), NO_CREDENTIAL_V),
        Credential(0.60, (0.70, 0.90), NO_CREDENTIAL_R),
        _NONE_CREDENTIALED_V,
        _NONE_CREDENTIALED_R,
    ),
    "moderate": Scenario(
        Credential(0.70, (0.70, 0.85), NO_CREDENTIAL_V),
        Credential(0.50, (0.65, 0.85), NO_CREDENTIAL_R),
        Credential(0.20, (0.40, 0.55), LOW_V),
        Credential(0.25, (0.40, 0.55), LOW_R),
    ),
    "low": Scenario(
        Credential(0.60, (0.65, 0.80), NO_CREDENTIAL_V),
        Credential(0.40, (0.55, 0.80), NO_CREDENTIAL_R),
        Credential(0.40, (0.45, 0.60), LOW_V),
        Credential(0.35, (0.45, 0.60), LOW_R),
    ),
    "adversarial": Scenario(
        Credential(0.55, (0.50, 0.70), (0.30, 0.50)),
        # Open: the paper says "mixed signals" and gives no r of honest contributors here.
        Credential(0.0, NO_CREDENTIAL_R, NO_CREDENTIAL_R),
        Credential(0.40, (0.65, 0.85), LOW_V),
        Credential(0.40, (0.60, 0.80), LOW_R),
        together=True,
    ),
    # Every honest contributor has both credentials, so that all s are high where nobody attacks.
    "all-high": Scenario(
        Credential(1.0, (0.75, 0.90), NO_CREDENTIAL_V),
        Credential(1.0, (0.70, 0.90), NO_CREDENTIAL_R),
        _NONE_CREDENTIALED_V,
        _NONE_CREDENTIALED_R,
    ),
}


def draw_credentials(bad: Any, scenario: str, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw v and r for every sample, given which samples are bad."""
    chosen, marked = SCENARIOS[one_of("scenario", scenario, SCENARIOS)], as_booleans("bad", bad)
    n = len(marked)
    coin_v, coin_r = rng.uniform(size=n), rng.uniform(size=n)
    v = np.where(marked, _draw_values(chosen.bad_v, coin_v, rng), _draw_values(chosen.honest_v, coin_v, rng))
    attacker_coin = coin_v if chosen.together else coin_r
    r = np.where(
        marked, _draw_values(chosen.bad_r, attacker_coin, rng), _draw_values(chosen.honest_r, coin_r, rng)
    )
    return v, r


def fake_credentials(
    v: Floats, r: Floats, bad: Bools, rng: np.random.Generator, share: float = 0.6
) -> tuple[Floats, Floats]:
    """Let a share of the bad contributors replace their credentials by high ones."""
    faked = bad & (rng.uniform(size=len(bad)) < in_range("share", share, 0, 1))
    fake_v, fake_r = (rng.uniform(*span, len(bad)) for span in (FAKE_V, FAKE_R))
    return np.where(faked, fake_v, v), np.where(faked, fake_r, r)


def correlated_credentials(bad: Any, rho: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw v and r whose product correlates with quality (good or bad) by `rho`.

    s = v r is quality plus Gaussian noise, made exactly uncorrelated with quality and scaled so that
    the correlation in the sample is `rho`, then stretched from 0.1 to 0.4.
    """
    marked = as_booleans("bad", bad)
    in_range("correlation", rho, -1, 1)
    quality = standardise((~marked).astype(np.float64))
    noise = rng.normal(size=len(marked))
    noise -= noise.mean()
    noise -= quality * (noise @ quality) / max(float(quality @ quality), 1e-12)
    mixed = rho * quality + np.sqrt(1 - rho**2) * standardise(noise)
    spread = float(np.ptp(mixed))
    unit = (mixed - mixed.min()) / spread if spread > 1e-12 else np.full(len(marked), 0.5)
    root = np.sqrt(0.1 + 0.3 * unit)
    return root, root.copy()


class Tier(NamedTuple):
    """A group of contributors of one expertise: its credentials, and how often its labels are wrong."""

    name: str
    v: Range
    r: Range
    wrong: float


# Ranges are the paper's. How often legitimate contributors err is open; these shares give the paper's
# selection rates of its Krum (novices 75%, experts 88%).
TIERS: tuple[Tier, ...] = (
    Tier("attacker", LOW_V, LOW_R, 1.0),
    Tier("novice", (0.40, 0.60), (0.30, 0.50), 0.20),
    Tier("intermediate", (0.60, 0.75), (0.50, 0.70), 0.05),
    Tier("expert", (0.80, 0.95), (0.80, 0.95), 0.0),
)


def assign_tiers(bad: Bools, rng: np.random.Generator) -> Ints:
    """Tier of each sample: 0 for bad ones, the others dealt evenly over the rest."""
    tier = np.zeros(len(bad), dtype=np.int64)
    honest = rng.permutation(np.flatnonzero(~bad))
    tier[honest] = 1 + np.arange(len(honest)) % (len(TIERS) - 1)
    return tier


def tiered_credentials(tier: Ints, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw v and r from the ranges of each sample's tier."""
    ranges = np.array([(*level.v, *level.r) for level in TIERS])[tier]
    return rng.uniform(ranges[:, 0], ranges[:, 1]), rng.uniform(ranges[:, 2], ranges[:, 3])


def _draw_values(credential: Credential, coin: Floats, rng: np.random.Generator) -> Floats:
    having, lacking = rng.uniform(*credential.having, len(coin)), rng.uniform(*credential.lacking, len(coin))
    return np.where(coin < credential.share, having, lacking)
