"""Federations of clients who hold different classes: ours beside averaging, Krum and trimmed means.

    python bench/federations.py --out results/federated
    python bench/federations.py --data digits --clients 10 --seeds 1 --rounds 10

Rows are dealt out by a Dirichlet distribution for each class. Three clients in ten attack: `flip` trains on
labels that are one too high, `sign` sends the opposite of its update, `noise` random numbers, three times as
long. The other rules are told how many clients attack; ours is told nothing.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import polars as pl
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from anml.aggregate.krum import krum
from anml.aggregate.mean import mean
from anml.aggregate.multi_krum import multi_krum
from anml.aggregate.trimmed_mean import trimmed_mean
from anml.federated.clients import Clients, Training, predicted
from anml.federated.rounds import Federation, Reply
from anml.gradients.mlp import Shape, initialise
from anml.lab.contributed import cifar10n

ATTACKS = ("none", "flip", "sign", "noise")
SHARE = 0.3


def load(name, seed, rows):
    if name == "digits":
        x, y = load_digits(return_X_y=True)
        return train_test_split(x / 16, y, test_size=0.3, stratify=y, random_state=seed)
    held = cifar10n()
    some = np.random.default_rng(seed).permutation(len(held["clean_label"]))[:rows]
    x, y = held["X_train"][some] * held["scale"], held["clean_label"][some].astype(np.int64)
    spread = x.std(axis=0) + 1e-9
    return (
        x / spread,
        held["X_test"][:2_000] * held["scale"] / spread,
        y,
        held["y_test"][:2_000].astype(np.int64),
    )


def deal(y, clients, alpha, rng, least=4):
    """Who holds which row; drawn again until everybody has a few."""
    for _ in range(1_000):
        who = np.zeros(len(y), dtype=np.int64)
        for kind in np.unique(y):
            rows = rng.permutation(np.flatnonzero(y == kind))
            ends = np.round(np.cumsum(rng.dirichlet(np.full(clients, alpha))) * len(rows)).astype(int)
            who[rows] = np.repeat(np.arange(clients), np.diff(ends, prepend=0))
        short = np.flatnonzero(np.bincount(who, minlength=clients) < least)
        if len(short) <= clients // 4:
            break
    # Whoever is left with next to nothing gets a few rows of whoever has most.
    for client in short:
        rich = np.bincount(who, minlength=clients).argmax()
        who[rng.choice(np.flatnonzero(who == rich), least, replace=False)] = client
    return who


def rules(f, names, counts):
    def ours(number, updates, federation):
        return federation.aggregate(
            number, [Reply(n, u, int(c)) for n, u, c in zip(names, updates, counts, strict=True)]
        )

    return {
        "fedavg": lambda number, u, _: mean(u, counts).update,
        "krum": lambda number, u, _: krum(u, f).update,
        "multi-krum": lambda number, u, _: multi_krum(u, f).update,
        "trimmed": lambda number, u, _: trimmed_mean(u, f).update,
        "anml": ours,
    }


def train(data, clients, alpha, attack, rule, rounds, seed, rows):
    x, x_test, y, y_test = load(data, seed, rows)
    rng = np.random.default_rng([seed, clients, int(100 * alpha)])
    who = deal(y, clients, alpha, rng)
    f = int(SHARE * clients) if attack != "none" else 0
    bad = np.isin(np.arange(clients), rng.permutation(clients)[: int(SHARE * clients)]) & (attack != "none")
    if attack == "flip":
        y = np.where(bad[who], (y + 1) % 10, y)
    shape = Shape(x.shape[1], (64,), 10)
    held = Clients.of(x, y, who, shape)
    names = [f"client-{i}" for i in range(clients)]
    told = f if attack != "none" else int(SHARE * clients)
    chosen, federation = rules(told, names, held.counts())[rule], Federation(seed=seed)
    model = initialise(shape, [seed]).flat[0]
    for number in range(1, rounds + 1):
        seeds = [1_000 * number + client for client in range(clients)]
        updates = held.updates(model, seeds, Training(epochs=2, lr=5e-3))
        if attack == "sign":
            updates[bad] *= -1
        if attack == "noise":
            lengths = 3 * np.linalg.norm(updates[bad], axis=1, keepdims=True)
            noise = rng.normal(size=updates[bad].shape)
            updates[bad] = (noise / np.linalg.norm(noise, axis=1, keepdims=True) * lengths).astype(np.float32)
        step = chosen(number, updates, federation)
        if step is not None:
            model = model + torch.as_tensor(np.asarray(step, dtype=np.float32))
    accuracy = float((predicted(shape, model, x_test) == y_test).mean())
    return accuracy, federation, bad


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=["digits", "cifar10n"])
    parser.add_argument("--clients", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--alphas", type=float, nargs="+", default=[0.1, 0.2, 0.5])
    parser.add_argument("--attacks", nargs="+", default=ATTACKS)
    parser.add_argument("--rules", nargs="+", default=["fedavg", "krum", "multi-krum", "trimmed", "anml"])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    found, began = [], time.time()
    for data in given.data:
        for clients in given.clients:
            for alpha in given.alphas:
                for attack in given.attacks:
                    for rule in given.rules:
                        for seed in range(given.seeds):
                            run = (data, clients, alpha, attack, rule, given.rounds, seed, given.rows)
                            accuracy, federation, bad = train(*run)
                            row = dict(zip(("data", "clients", "alpha", "attack", "rule"), run, strict=False))
                            found.append({**row, "seed": seed, "accuracy": accuracy})
                            if rule == "anml":
                                found[-1] |= told_apart(federation, bad)
                    report(found[-given.seeds * len(given.rules) :], f"{time.time() - began:.0f} s")
                    if given.out is not None:
                        keep(found, given)


def keep(found, given):
    """Write what is there so far."""
    given.out.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(found, infer_schema_length=None).write_parquet(given.out / "rows.parquet")
    settings = {"rounds": given.rounds, "rows": given.rows, "seeds": given.seeds, "share": SHARE}
    (given.out / "run.json").write_text(json.dumps(settings, indent=2) + "\n")


def report(found, after):
    """One line of a cell: accuracy by rule, and who was left out."""
    shown = pl.DataFrame(found, infer_schema_length=None)
    means = shown.group_by("rule", maintain_order=True).agg(pl.col("accuracy").mean())
    line = " ".join(f"{rule} {accuracy:.3f}" for rule, accuracy in means.iter_rows())
    if "left_out_honest" in shown.columns:
        line += f" left out: honest {shown['left_out_honest'].mean():.2f} bad {shown['left_out_bad'].mean()}"
    first = found[0]
    print(first["data"], first["clients"], first["alpha"], first["attack"], line, after, flush=True)


def told_apart(federation, bad):
    """Shares of honest and of attacking clients that were left out, over all rounds."""
    kept = np.array([[line.kept for line in each.lines] for each in federation.history])
    out = 1 - kept.mean(axis=0)
    return {
        "left_out_honest": float(out[~bad].mean()),
        "left_out_bad": float(out[bad].mean()) if bad.any() else None,
    }


if __name__ == "__main__":
    main()
