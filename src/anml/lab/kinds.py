"""Kinds of experiments: what makes their rows, on which data sets, beside whom, with which metrics."""

from collections.abc import Collection

import numpy as np

from anml.core.calibration import in_columns, reliability
from anml.lab.bank import peers as bank_peers
from anml.lab.bank.conditions import CONDITIONS
from anml.lab.bank.measures import MEASURES
from anml.lab.cited.names import MEASURES as CITED_MEASURES
from anml.lab.cited.names import PEERS as CITED
from anml.lab.cited.trials import ATTACKS as CITED_ATTACKS
from anml.lab.contributed import CONTRIBUTED
from anml.lab.crowds import CROWDS, METHODS
from anml.lab.crowds import MEASURES as OF_CROWDS
from anml.lab.data import DATASETS
from anml.lab.longitudinal.names import MEASURES as OVER_TIME
from anml.lab.longitudinal.names import RULES, SCENARIOS
from anml.lab.pairs import MEASURES as OF_PAIRS
from anml.lab.pairs import METHODS as OF_JUDGES
from anml.lab.pairs import SESSIONS
from anml.lab.peers import PEERS as REAL_PEERS
from anml.lab.relabel.names import MEASURES as OF_RELABELLING
from anml.lab.relabel.names import ORDERS
from anml.lab.relabel.names import SCENARIOS as REPLAYS
from anml.lab.reuse.names import MEASURES as OF_REUSE
from anml.lab.reuse.names import SCENARIOS as REUSED
from anml.lab.reuse.names import WAYS
from anml.lab.spec import Experiment

# Cases of a convolutional network and of a transformer, and ways to approximate q; in `anml.lab.modules`.
MODULE_CASES = (
    *(
        f"{name}-{attack}"
        for name in ("pictures", "texts", "cifar10n")
        for attack in ("flip", "alike", "aligned", "faked", "backdoor", "shift")
    ),
    "cifar10n-people",
)
APPROXIMATIONS = (
    *("exact", "sketch", "last", "references", "approximate", "minibatch", "checkpoints", "clients"),
)
# A module with `run_trial` (see `anml.lab.block`), loaded when needed: torch is slow to load.
KINDS = {
    "simulated": "anml.lab.trial",
    "real": "anml.lab.real",
    "crowds": "anml.lab.crowds",
    "pairs": "anml.lab.pairs",
    "calibration": "anml.lab.calibration",
    "bank": "anml.lab.bank.run",
    "modules": "anml.lab.modules.run",
    "approximations": "anml.lab.modules.approximate",
    "cited": "anml.lab.cited.run",
    "longitudinal": "anml.lab.longitudinal.simulate",
    "reuse": "anml.lab.reuse.run",
    "relabel": "anml.lab.relabel.run",
}

DATA: dict[str, Collection[str]] = {
    "simulated": DATASETS,
    "real": CONTRIBUTED,
    "crowds": CROWDS,
    "pairs": SESSIONS,
    "calibration": DATASETS,
    "bank": CONDITIONS,
    "modules": MODULE_CASES,
    "approximations": MODULE_CASES,
    "cited": [name for name in DATASETS if name not in ("diabetes", "friedman")],
    "longitudinal": SCENARIOS,
    "reuse": REUSED,
    "relabel": REPLAYS,
}
# Kinds whose rows are not simulated from a setting, and the methods they run beside the recipes.
PEERS: dict[str, Collection[str]] = {
    "real": REAL_PEERS,
    "crowds": METHODS,
    "pairs": OF_JUDGES,
    "bank": bank_peers.PEERS,
    "modules": ("reweigher", "oracle"),
    "approximations": APPROXIMATIONS,
    "cited": CITED,
    "longitudinal": RULES,
    "reuse": WAYS,
    "relabel": ORDERS,
}
# Attacks that a kind knows beside those on labels.
MORE_ATTACKS: dict[str, Collection[str]] = {"cited": CITED_ATTACKS}

_BINS = tuple(in_columns(reliability(np.array([0.5]), np.array([True]))))
_BELIEF = ("calibration", "gap", "ranking")
METRICS: dict[str, tuple[str, ...]] = {
    "simulated": (
        *("error", "precision", "kept", "rho_c", "rho_d"),
        *("uniform_branch", "doubtful", "krum_branch"),
    ),
    "real": ("accuracy", "correlation", "ranks", *_BELIEF, "seconds", *_BINS),
    "crowds": OF_CROWDS,
    "pairs": OF_PAIRS,
    "calibration": (*_BELIEF, *_BINS),
    "bank": (*MEASURES, "seconds"),
    "modules": (
        *("error", "precision", "kept", "attack", "seconds"),
        *("loss_1", "loss_2", "loss_4", "loss_8", "loss_12"),
    ),
    "approximations": ("ranks", "off", "precision", "seconds", "mebibytes"),
    "cited": CITED_MEASURES,
    "longitudinal": OVER_TIME,
    "reuse": OF_REUSE,
    "relabel": OF_RELABELLING,
}
# Those that rows have only where there is something to measure.
OF_EVIDENCE = ("calibration",)
OF_TIERS = ("kept_attacker", "kept_novice", "kept_intermediate", "kept_expert")
OF_TIME = ("scoring_s", "krum_s", "combine_ms", "train_s")

# In words, for who reads a table of them.
MEANING = {
    "error": "test error in percent, or mean absolute error where labels are numbers",
    "error_lr": "test error of a linear model in percent; of numbers, RMSE in percent of their spread",
    "error_rf": "test error of a forest in percent; of numbers, RMSE in percent of their spread",
    "right_dropped": "percent of the right labels that are not trained on",
    "wrong_kept": "percent of the wrong labels that are trained on",
    "honest_convicted": "honest contributors who are accused",
    "honest": "honest contributors",
    "honest_reliable": "honest contributors who are called reliable",
    "liars_found": "contributors of wrong labels who are accused or less reliable",
    "liars": "contributors of wrong labels",
    "liars_reliable": "contributors of wrong labels who are called reliable",
    "attack_lr": "percent of rows with the backdoor for which the linear model predicts its target",
    "attack_rf": "percent of rows with the backdoor for which the forest predicts its target",
    "consensus": "percent of the items whose likeliest class is right",
    "cover": "percent of people whose true accuracy lies in its 95% interval",
    "width": "mean width of these intervals",
    "fine": "people who are truly fine",
    "fine_accused": "of these, accused",
    "fine_reliable": "of these, called reliable",
    "bad": "people who are truly bad",
    "bad_found": "of these, accused or less reliable",
    "bad_reliable": "of these, called reliable",
    "loss": "mean log-loss of choices that were held out",
    "honest_accused": "of the honest contributors, accused",
    "few_accused": "accused on fewer than ten comparisons",
    "established": "honest judges with twenty comparisons or more",
    "established_known": "of these, called reliable or less reliable",
    "informed": "judges who choose the worse, with ten decided choices that were reliable before",
    "informed_found": "of these, accused",
    "taste_guessing": "judges with a taste of their own who are called no better than guessing",
    **{
        name: text
        for kind, does in {
            "coin": "choose by a coin",
            "first": "always choose the first",
            "reversed": "choose the worse",
            "rule": "choose by a rule that has nothing to do with the candidates",
            "taste": "choose by a taste of their own",
            "copies": "are copied by three accounts, or copy",
        }.items()
        for name, text in ((kind, f"judges who {does}"), (f"{kind}_found", f"judges accused who {does}"))
    },
    "precision": "percent of the kept labels that are right",
    "backdoor": "percent of rows with the backdoor for which the model predicts its target",
    "error_natural": "test error in percent when values of at most zero are dropped, not a told number",
    "honest_lost": "percent of the rows of honest contributors that are not trained on",
    "lr": "the rate of learning that the validation part chose",
    "harm": "percent of the weight that is on wrong labels (over time: after the turn)",
    "off": "mean distance of r from how often an account is right, of q from exact q, or of T from its truth",
    "found": "rounds until r of an account that is bad falls below that of somebody new",
    "honest_low": "percent of honest accounts' rounds, after ten, with r below that of somebody new",
    "start": "r of accounts in their first ten rounds, in percent of that of the established",
    "ranked": "chance that an honest contributor is ranked above a bad one",
    "paid_bad": "percent of all positive value or trust that goes to bad contributors",
    "kept": "percent of the labels kept",
    "rho_c": "correlation of q with v r",
    "rho_d": "how far the loss ranks bad samples last, from -1 to 1",
    "uniform_branch": "percent of trials in which the gate keeps everything",
    "krum_branch": "percent of trials in which the gate goes by q alone",
    "doubtful": "percent of trials in which the gate says that it must not be relied on",
    "calibration": "expected calibration error of p_correct",
    "gap": "mean p_correct minus the share that is right; above zero is too trusting",
    "ranking": "chance that a right label is believed more than a wrong one",
    "accuracy": "percent of the test part that is predicted right",
    "correlation": "of learned contributor quality with true accuracy",
    "ranks": "rank correlation of learned contributor quality with true accuracy",
    "seconds": "processor time",
    "answers": "answers until 99% of the items are right, in percent of the items",
    "half": "answers until half of the wrong labels are mended, in percent of the items",
    "area": "percent of the items that are right, on average over the rounds",
    "end": "percent of the items that are right after the last round",
    "kept_attacker": "percent of the labels of attackers kept",
    "kept_novice": "percent of the labels of novices kept",
    "kept_intermediate": "percent of the labels of intermediates kept",
    "kept_expert": "percent of the labels of experts kept",
    "scoring_s": "seconds to train the scoring model",
    "krum_s": "seconds to score by Krum",
    "combine_ms": "milliseconds to combine signals",
    "train_s": "seconds to train the final model",
    "attack": "percent of test rows with the backdoor that are given its target",
    "loss_1": "loss on test data after one epoch",
    "loss_2": "loss on test data after two epochs",
    "loss_4": "loss on test data after four epochs",
    "loss_8": "loss on test data after eight epochs",
    "loss_12": "loss on test data after twelve epochs",
    "mebibytes": "what the gradients of all samples take while they are compared",
}


def metrics_of(experiment: Experiment) -> list[str]:
    """Names of the metrics that the rows of an experiment have."""
    found = list(METRICS[experiment.kind])
    if experiment.kind == "simulated":
        if any(recipe.combine == "evidence" for recipe in experiment.methods.values()):
            found += OF_EVIDENCE
        if any(setting.scenario == "tiers" for _, setting in experiment.conditions()):
            found += OF_TIERS
        if experiment.timed:
            found += OF_TIME
    return found
