"""Three of eight contributors lie: plain training, one audit first, a second one, an oracle.

    python bench/training.py text 3 6 12          # made-up sentences, a tiny BERT from a configuration
    python bench/training.py pictures 3 6 12      # drawn pictures, a small convolutional network

Prints accuracy on clean test rows, mean and standard error over seeds. The audit is what `anml.audit` does
with words that are counted, or with pixels, given as embeddings; it needs no table. A second audit is given
held-out predictions of the network itself, trained by the weights of the first.
"""

import argparse
import logging
import warnings

import numpy as np
import torch
from torch import nn

from anml.assessment.assess import SampleInfo, SamplePolicy, assess
from anml.core.folds import assign_folds
from anml.core.profile import PROFILES
from anml.signals.freshness import Decay
from anml.signals.reputation import ColdStart
from anml.weighting.weigh import recipe_of

CLASSES, LIARS, PEOPLE = 4, 3, 8
FOLDS, EPOCHS = 3, 6
WAYS = ("plain", "audit first", "audit twice", "oracle")


def sentences(n, rng):
    """Twelve words of 300; four of them come from thirty that go with the class more often than not."""
    y = rng.integers(0, CLASSES, n)
    ids = rng.integers(CLASSES * 30 + 2, 302, (n, 12))
    known = np.where(rng.uniform(size=(n, 4)) < 0.8, y[:, None], rng.integers(0, CLASSES, (n, 4)))
    places = np.argsort(rng.uniform(size=(n, 12)), axis=1)[:, :4]
    ids[np.arange(n)[:, None], places] = 2 + 30 * known + rng.integers(0, 30, (n, 4))
    counts = np.zeros((n, 302))
    np.add.at(counts, (np.arange(n)[:, None], ids), 1.0)
    return torch.as_tensor(ids), y, counts


def pictures(n, rng):
    """A bright bar in one of four directions, under noise."""
    y = rng.integers(0, CLASSES, n)
    x = rng.normal(0, 1.0, (n, 1, 12, 12))
    for at, kind in enumerate(y):
        line = rng.integers(2, 10)
        for step in range(12):
            across = {
                0: (line, step),
                1: (step, line),
                2: (step, (step + line) % 12),
                3: (step, (line - step) % 12),
            }
            x[at, 0][across[kind]] += 1.6
    return torch.as_tensor(x, dtype=torch.float32), y, x.reshape(n, -1)


def bert():
    from transformers import BertConfig, BertForSequenceClassification

    sizes = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96}
    config = BertConfig(vocab_size=302, max_position_embeddings=16, num_labels=CLASSES, **sizes)
    return BertForSequenceClassification(config)


def network():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
        nn.Conv2d(16, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(24, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveMaxPool2d(2),
        nn.Flatten(), nn.Linear(128, CLASSES),
    )  # fmt: skip


TASKS = {"text": (sentences, bert, 2e-3), "pictures": (pictures, network, 2e-3)}


def logits(module, x):
    result = module(x)
    return getattr(result, "logits", result)


def fit(make, rate, x, y, epochs, schedule, seed, weights=None):
    torch.manual_seed(seed)
    module = make()
    optimiser = torch.optim.AdamW(module.parameters(), lr=rate)
    batches = -(-len(x) // 32)
    total = epochs * batches
    slope = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: 1.0 if schedule == "constant" else max(0.0, 1 - step / total)
    )
    generator = torch.Generator().manual_seed(seed)
    target = torch.as_tensor(y)
    for _ in range(epochs):
        module.train()
        for rows in torch.randperm(len(x), generator=generator).split(32):
            each = nn.functional.cross_entropy(logits(module, x[rows]), target[rows], reduction="none")
            if weights is not None:
                each = each * torch.as_tensor(weights[rows.numpy()], dtype=each.dtype)
            each.mean().backward()
            optimiser.step()
            optimiser.zero_grad()
            slope.step()
    return module.eval()


def accuracy(module, x, y):
    with torch.no_grad():
        return float((logits(module, x).argmax(1).numpy() == y).mean())


def audited(features, y, contributors, classes, predictions=None):
    """Audit features, labels and contributors."""
    known = SampleInfo(contributor=contributors, predictions=predictions)
    policy = SamplePolicy(recipe_of("evidence"), PROFILES["default"], Decay(0.0), ColdStart(0.0, 0))
    return assess(features, y, "classification", classes, known, policy)


def held_out(make, rate, x, y, weights, seed):
    """Class probabilities of each row by networks that did not see it, trained by weights."""
    fold = assign_folds(y, None, FOLDS, np.random.default_rng(seed))
    result = np.zeros((len(y), CLASSES))
    for held in range(FOLDS):
        learn, asked = np.flatnonzero(fold != held), np.flatnonzero(fold == held)
        module = fit(make, rate, x[learn], y[learn], EPOCHS, "linear", seed, weights=weights[learn])
        with torch.no_grad():
            result[asked] = torch.softmax(logits(module, x[asked]), dim=1).numpy()
    return result


def cell(task, epochs, schedule, seed, rows=3_000):
    """Return accuracy by method of training."""
    draw, make, rate = TASKS[task]
    rng = np.random.default_rng(seed)
    x, truth, features = draw(rows, rng)
    fresh, right, _ = draw(2_000, rng)
    contributor = rng.integers(0, PEOPLE, rows)
    wrong = (contributor < LIARS) & (rng.uniform(size=rows) < 0.9)
    y = np.where(wrong, (truth + 1) % CLASSES, truth)
    weights = {"plain": None, "oracle": np.where(wrong, 0.0, 1.0),
               "audit first": audited(features, y, contributor, CLASSES).weighting.sample_weight(),
               }  # fmt: skip
    predicted = held_out(make, rate, x, y, weights["audit first"], seed)
    weights["audit twice"] = audited(features, y, contributor, CLASSES, predicted).weighting.sample_weight()
    given = (make, rate, x, y, epochs, schedule, seed)
    return {way: accuracy(fit(*given, weights=w), fresh, right) for way, w in weights.items()}


def table(result):
    """Print mean and standard error over seeds, and the difference from the oracle."""
    for task, epochs, schedule in dict.fromkeys(
        (row["task"], row["epochs"], row["schedule"]) for row in result
    ):
        rows = [r for r in result if (r["task"], r["epochs"], r["schedule"]) == (task, epochs, schedule)]
        line = f"{task:<9} {epochs:>3} {schedule:<9}"
        for way in WAYS:
            got = np.array([row[way] for row in rows])
            line += f" {way} {got.mean():.3f}"
        for one, other in (("audit first", "oracle"), ("audit twice", "oracle")):
            off = np.array([row[one] - row[other] for row in rows])
            error = off.std(ddof=1) / len(off) ** 0.5 if len(off) > 1 else float("nan")
            line += f" | {one} less {other} {off.mean():+.3f} (standard error {error:.3f})"
        print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("epochs", type=int, nargs="+")
    parser.add_argument("--rows", type=int, default=3_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--schedules", nargs="+", default=["constant", "linear"])
    given = parser.parse_args()
    quietly()
    rows = []
    for seed in range(given.seeds):
        for epochs in given.epochs:
            for schedule in given.schedules:
                result = cell(given.task, epochs, schedule, seed, given.rows)
                rows.append({"task": given.task, "epochs": epochs, "schedule": schedule, **result})
                shown = {way: round(value, 3) for way, value in result.items()}
                print(seed, epochs, schedule, shown, flush=True)
    table(rows)


def quietly():
    warnings.filterwarnings("ignore")
    logging.getLogger("transformers").setLevel("ERROR")


if __name__ == "__main__":
    main()
