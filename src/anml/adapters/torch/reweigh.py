"""Weights that follow a model while it is trained: q at checkpoints, evidence and r between epochs."""

import logging
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from anml.adapters.torch.data import in_row_order, samples_of
from anml.adapters.torch.held_out import LARGEST, hardly_predicted, rows_held_out, standing
from anml.adapters.torch.quality import Scoring, raw_quality, scoring_of
from anml.assess.assess import Known, SamplePolicy, assess
from anml.core.attribute import shrunk_by_group
from anml.core.checks import Array, Bools, Floats, Ints, as_codes, as_unit, in_range, whole
from anml.core.domain import Gate, Recipe, Signals, Weighting
from anml.core.errors import InputError
from anml.core.profile import PROFILES
from anml.core.progress import Progress
from anml.core.signals.quality import quality
from anml.core.signals.reputation import ColdStart
from anml.core.signals.temporal import Decay
from anml.core.weigh import recipe_of, weigh_signals
from anml.gradients.batches import in_evaluation, run
from anml.gradients.losses import logits_of

# What a contributor of whom nothing is known starts with: the paper's level `new`.
NEWCOMER = 0.4
log = logging.getLogger("anml")


class Reweigher:
    """Weights of the samples of a training set, renewed while a module is trained on it.

    Call `step(module)` after every step of the optimiser and `end_epoch(module)` after every epoch. Feed a
    `WeightedSampler` with it, or take `weights[index]` into `weighted_loss`.

    Some rows are held out of an epoch, others of the next. All others count alike until the module predicts
    every class, and its accuracy on rows held out is better than the commonest class and no longer rises;
    then these stay out, and if accuracy on them falls, all rows count alike for good. `weighting.gate` says
    where this stands, and the logger `anml` when it changes.

    Parameters
    ----------
    data, y
        The training set, in any form that `module_quality` takes.
    recipe
        How signals become weights. `evidence` needs classes: between epochs the mean of the module's
        predictions, contributors and credentials say which labels are right.
    every
        Q is scored anew every so many steps; 0 never.
    contributor, v, r, t
        One of each per sample, where known. With contributors, r moves after each epoch towards what their
        labels turned out to be worth, by the share `rate`.
    smooth
        Share of the newest q and predictions in their running means.
    warmup
        Epochs before weights are renewed: a module that has learned nothing knows nothing.
    held_out
        Share of the rows that are held out at a time; with 0 weights are followed from the end of the
        warm-up, whatever the module has learned. Modules that do not give classes have no accuracy: as with
        0.
    seed
        The same seed, data and modules give the same weights.
    scoring
        Settings of `module_quality`: gradients, size, layers, among, k, batch, device, precision, loss.

    Examples
    --------
    >>> x, y = torch.randn(40, 3, generator=torch.Generator().manual_seed(0)), torch.arange(40) % 2
    >>> module = nn.Linear(3, 2)
    >>> reweigher = Reweigher(x, y, recipe="krum", every=2, warmup=0, held_out=0)
    >>> reweigher.step(module), reweigher.step(module)
    (False, True)
    >>> float(reweigher.weights.mean()), int(reweigher.weighting.kept.sum())
    (0.7, 28)
    """

    def __init__(
        self, data: Any, y: Any = None, *, recipe: str | Recipe | dict[str, Any] = "evidence", every: int = 0,
        contributor: Any = None, v: Any = None, r: Any = None, t: Any = None, smooth: float = 0.5,
        rate: float = 0.3, warmup: int = 1, held_out: float = 0.1, seed: int = 0,
        progress: Progress | None = None, **scoring: Any,
    ) -> None:  # fmt: skip
        self.recipe, self.seed, self.progress = recipe_of(recipe), whole("seed", seed, 0), progress
        self.every, self.warmup = whole("every", every, 0), whole("warmup", warmup, 0)
        self.smooth = in_range("smooth", smooth, 0, 1, open_low=True)
        self.rate = in_range("rate", rate, 0, 1)
        self.scoring = scoring_of(self.seed, **scoring)
        self.samples = samples_of(data, y, self.scoring.batch)
        if self.samples.count is None:
            raise InputError("weights need a training set of known length; an IterableDataset has none")
        self.n = n = self.samples.count
        self.contributor = None if contributor is None else np.asarray(contributor)
        self.codes: Ints | None = None if contributor is None else as_codes("contributor", contributor, n)[0]
        self.v, self.t = _given("v", v, n), _given("t", t, n)
        self.r = _given("r", r, n)
        if self.r is None and self.codes is not None:
            self.r = np.full(n, NEWCOMER)
        self.q: Floats | None = None
        self.predictions: Floats | None = None
        self.p_correct: Floats | None = None
        self.steps, self.epochs = 0, 0
        self.held_out, self.turn = in_range("held_out", held_out, 0, LARGEST), 0
        self.held = rows_held_out(n, self.held_out, self.seed)
        self.stands, self.standing = "waits" if self.held.any() else "leads", "nothing has been scored yet"
        self.right: Bools | None = None
        self._believed: Weighting | None = None
        self.weighting = self._plain()

    @property
    def weights(self) -> Floats:
        """Training weights of all samples, with mean 1 over what is kept and 0 for what is not."""
        return self.weighting.sample_weight()

    def step(self, module: nn.Module) -> bool:
        """Count one step of the optimiser; true where q was scored anew."""
        self.steps += 1
        if not self.every or self.steps % self.every or self.epochs < self.warmup:
            return False
        self.score(module)
        return True

    def end_epoch(self, module: nn.Module) -> None:
        """Between epochs: renew what is believed of labels and contributors, and then the weights."""
        self.epochs += 1
        if self.epochs < self.warmup:
            return
        if self.recipe.combine == "evidence" or self.stands != "leads" or self.held.any():
            self._look(module)
        if self.recipe.combine == "evidence":
            self._believe()
        elif self.q is None or not self.every:
            self.score(module)
        self._update_r()
        self._weigh()

    def score(self, module: nn.Module) -> None:
        """Score q at this state of the module, into the running mean."""
        raw = raw_quality(module, self.samples, self.scoring, self.progress)
        self.q = self._mean(self.q, quality(raw))
        self._weigh()

    def state_dict(self) -> dict[str, Any]:
        """Everything that a later run goes on from: numbers and tensors."""
        state = {name: getattr(self, name) for name in STATE}
        w, kept, gate = self.weighting.w, self.weighting.kept, self.weighting.gate.to_dict()
        state |= {"w": w, "kept": kept, "gate": gate}
        arrays = {name: torch.tensor(each) for name, each in state.items() if isinstance(each, np.ndarray)}
        return state | arrays

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        if not {"w", "kept", "gate", *STATE} <= set(state):
            raise InputError("this is no state of a Reweigher")
        if len(state["w"]) != self.n:
            raise InputError(f"the state is of {len(state['w'])} samples, the training set has {self.n}")
        # Copies: rows that are held out change in place.
        state = {
            name: each.numpy().copy() if isinstance(each, Tensor) else each for name, each in state.items()
        }
        for name in STATE:
            setattr(self, name, state[name])
        self.weighting = Weighting(state["w"], state["kept"], Gate(**state["gate"]), self.recipe)

    def _mean(self, before: Floats | None, now: Floats) -> Floats:
        return now if before is None else (1 - self.smooth) * before + self.smooth * now

    def _look(self, module: nn.Module) -> None:
        """What the module says now, and whether its accuracy on rows held out earns it a say."""
        predicted, labels = _predicted(module, self.samples, self.scoring)
        self.classes, self.labels = predicted.shape[1], labels
        if labels.dtype.kind != "i" or self.classes < 2:
            # No classes, and so no accuracy.
            self.held[:], self.stands = False, "leads"
            return
        self.predictions = self._mean(self.predictions, predicted)
        if not self.held.any():
            return
        right, before = predicted.argmax(axis=1) == labels, self.stands
        rise = self._rise(right)
        common = np.bincount(labels[self.held]).max() / self.held.sum()
        missing = hardly_predicted(labels, predicted.argmax(axis=1), self.classes)
        self.stands, self.standing = standing(before, right[self.held], rise, float(common), missing)
        if before == "waits":
            self.right = right
        if self.stands == "waits":
            self.turn += 1
            self.held = rows_held_out(self.n, self.held_out, self.seed, self.turn)
        elif self.stands == "gave back":
            self.held[:] = False
        if self.stands != before:
            log.info("after epoch %d %s", self.epochs, self.standing)

    def _rise(self, right: Bools) -> Floats | None:
        """What changed since the epoch before, on rows held out of either; since it leads, on those."""
        if self.right is None:
            return None
        rows = self.held.copy()
        if self.stands == "waits":
            # Half of them are news of this epoch, and half of the one before.
            rows |= rows_held_out(self.n, self.held_out, self.seed, self.turn - 1)
        return right[rows].astype(float) - self.right[rows]

    def _believe(self) -> None:
        """Which labels are right, by the module's predictions so far and by contributors."""
        if self.predictions is None:
            raise InputError("evidence needs outputs (n, classes) and classes as labels; name another recipe")
        predicted, labels = self.predictions, self.labels
        known = Known(self.contributor, verification=self.v, reputation=self.r, predictions=predicted)
        policy = SamplePolicy(self.recipe, PROFILES["default"], Decay(0.0), ColdStart(0.0, 0), self.seed)
        nothing = np.zeros((self.n, 0))
        found = assess(nothing, labels, "classification", predicted.shape[1], known, policy)
        self.p_correct = found.belief.p_correct
        self._believed = found.weighting

    def _update_r(self) -> None:
        earned = self.q if self.p_correct is None else self.p_correct
        if self.codes is None or self.r is None or earned is None:
            return
        now = np.clip(shrunk_by_group(earned, self.codes).mean, 0.0, 1.0)[self.codes]
        self.r = (1 - self.rate) * self.r + self.rate * now

    def _weigh(self) -> None:
        if self.stands != "leads":
            self.weighting = self._plain()
            return
        if self.recipe.combine == "evidence":
            # After a restart the weights are those of the state until the next epoch ends.
            if self._believed is None:
                return
            found = self._believed
            if self.t is not None:
                found = replace(found, w=found.w * self.t)
        else:
            q = np.ones(self.n) if self.q is None else self.q
            signals = Signals.of(q, self.v, self.r, self.t, self.contributor, p_correct=self.p_correct)
            found = weigh_signals(signals, self.recipe)
        if self.held.any():
            gate = replace(found.gate, reason=f"{self.standing}; {found.gate.reason}")
            found = replace(found, kept=found.kept & ~self.held, gate=gate)
        self.weighting = found

    def _plain(self) -> Weighting:
        """All rows alike, but those that are held out."""
        w = np.full(self.n, 1 / self.n)
        return Weighting(w, ~self.held, Gate("uniform", self.standing), self.recipe)


# What a state holds, beside the weights.
STATE = (
    "steps", "epochs", "q", "r", "predictions", "p_correct", "held", "turn", "stands", "standing", "right",
)  # fmt: skip


def _given(name: str, values: Any, n: int) -> Floats | None:
    return None if values is None else as_unit(name, values, n)


def _predicted(module: nn.Module, samples: Any, scoring: Scoring) -> tuple[Floats, Array]:
    """Class probabilities by the module as it is, and the labels, both in the order of the rows."""
    device = next((p.device for p in module.parameters()), torch.device("cpu"))
    found, labels, rows = [], [], []
    with in_evaluation(module), torch.no_grad():
        for batch in samples.batches(device):
            logits = logits_of(run(module, batch.inputs, scoring.reading.precision))
            if logits.dim() != 2 or logits.shape[1] < 2:
                # Not classes: the labels say so as well.
                return np.zeros((0, 0)), np.zeros(0)
            found.append(torch.softmax(logits.double(), dim=1).cpu().numpy())
            labels.append(batch.target.cpu().numpy())
            rows.append(batch.rows)
    order = in_row_order(rows, sum(map(len, labels)))
    said, given = np.concatenate(found), np.concatenate(labels)
    return (said, given) if order is None else (said[order], given[order])
