"""Three of eight contributors lie: plain training, one audit first, a Reweigher, and an oracle.

    python bench/training.py text 3 6 12          # made-up sentences, a tiny BERT from a configuration
    python bench/training.py pictures 3 6 12      # drawn pictures, a small convolutional network

Prints accuracy on clean test rows, mean and standard error over seeds.
"""

import argparse
import logging
import warnings

import numpy as np
import pandas as pd
import torch
from torch import nn

import anml
from anml.adapters.torch import Reweigher

CLASSES, LIARS, PEOPLE = 4, 3, 8


def sentences(n, rng):
    """Twelve words of 300; four of them come from thirty that go with the class more often than not."""
    y = rng.integers(0, CLASSES, n)
    ids = rng.integers(CLASSES * 30 + 2, 302, (n, 12))
    told = np.where(rng.uniform(size=(n, 4)) < 0.8, y[:, None], rng.integers(0, CLASSES, (n, 4)))
    places = np.argsort(rng.uniform(size=(n, 12)), axis=1)[:, :4]
    ids[np.arange(n)[:, None], places] = 2 + 30 * told + rng.integers(0, 30, (n, 4))
    return torch.as_tensor(ids), y, pd.DataFrame({"text": [" ".join(f"w{i}" for i in row) for row in ids]})


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
    columns = {f"p{i}": x.reshape(n, -1)[:, i] for i in range(144)}
    return torch.as_tensor(x, dtype=torch.float32), y, pd.DataFrame(columns)


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
    found = module(x)
    return getattr(found, "logits", found)


def fit(make, rate, x, y, epochs, schedule, seed, weights=None, reweigher=None):
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
            w = weights if reweigher is None else reweigher.weights
            (
                each if w is None else each * torch.as_tensor(w[rows.numpy()], dtype=each.dtype)
            ).mean().backward()
            optimiser.step()
            optimiser.zero_grad()
            slope.step()
            if reweigher is not None:
                reweigher.step(module)
        if reweigher is not None:
            reweigher.end_epoch(module)
    return module.eval()


def accuracy(module, x, y):
    with torch.no_grad():
        return float((logits(module, x).argmax(1).numpy() == y).mean())


def trial(task, seed, rows, lengths, schedules):
    draw, make, rate = TASKS[task]
    rng = np.random.default_rng(seed)
    x, truth, frame = draw(rows, rng)
    fresh, right, _ = draw(2_000, rng)
    who = rng.integers(0, PEOPLE, rows)
    wrong = (who < LIARS) & (rng.uniform(size=rows) < 0.9)
    y = np.where(wrong, (truth + 1) % CLASSES, truth)
    audit = anml.audit(frame.assign(label=y, who=who), label="label", contributor="who", compare=False)
    found = audit.weights_for(frame).sample_weight()
    told = np.where(wrong, 0.0, 1.0)
    for epochs in lengths:
        for schedule in schedules:

            def score(module):
                return accuracy(module, fresh, right)

            given = (make, rate, x, y, epochs, schedule, seed)
            inputs = {"input_ids": x} if task == "text" else x
            follows = Reweigher(inputs, torch.as_tensor(y), contributor=who, batch=256, seed=seed)
            yield epochs, schedule, {
                "plain": score(fit(*given)),
                "oracle": score(fit(*given, weights=told)),
                "audit first": score(fit(*given, weights=found)),
                "Reweigher": score(fit(*given, reweigher=follows)),
            }, follows.weighting.gate.reason  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("epochs", type=int, nargs="+")
    parser.add_argument("--rows", type=int, default=3_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--schedules", nargs="+", default=["constant", "linear"])
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.getLogger("transformers").setLevel("ERROR")
    rows = []
    for seed in range(given.seeds):
        for epochs, schedule, found, why in trial(
            given.task, seed, given.rows, given.epochs, given.schedules
        ):
            rows.append({"epochs": epochs, "schedule": schedule, **found})
            print(seed, epochs, schedule, {k: round(v, 3) for k, v in found.items()}, why[:90], flush=True)
    table = pd.DataFrame(rows).groupby(["schedule", "epochs"]).agg(["mean", "sem"]).round(3)
    print(table.to_string())


if __name__ == "__main__":
    main()
