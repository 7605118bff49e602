"""Federations of clients who hold different classes: ours beside averaging, Krum and trimmed means.

    python bench/federations.py --out results/federated
    python bench/federations.py --data digits --clients 10 --seeds 1 --rounds 10
    python bench/federations.py --rules 'Flower FedAvg' 'Flower Krum' --add results/federated

Rows are dealt out by a Dirichlet distribution for each class. Three clients in ten attack: `flip` trains on
labels that are one too high, `sign` sends the opposite of its update, `noise` random numbers, three times as
long. The other rules are told how many clients attack; ours is told nothing.
"""

import argparse
import itertools
import json
import os
import time
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from anml.federated.client_krum import krum, multi_krum
from anml.federated.rounds import Federation, Reply
from anml.federated.rules import mean, trimmed_mean
from anml.gradients.mlp import initialise
from anml.networks.mlp import LayerWidths
from experiments.federated_clients import Clients, LocalTraining, predicted

ATTACKS = ("none", "flip", "sign", "noise")
RULES = ("fedavg", "krum", "multi-krum", "trimmed", "anml")
SHARE = 0.3


def load(name, seed, rows):
    if name == "digits":
        x, y = load_digits(return_X_y=True)
        return train_test_split(x / 16, y, test_size=0.3, stratify=y, random_state=seed)
    with np.load(Path(os.environ["ANML_DATA"]) / "cifar10n.npz") as archive:
        held = dict(archive)
    subset = np.random.default_rng(seed).permutation(len(held["clean_label"]))[:rows]
    x, y = held["X_train"][subset] * held["scale"], held["clean_label"][subset].astype(np.int64)
    spread = x.std(axis=0) + 1e-9
    return (
        x / spread,
        held["X_test"][:2_000] * held["scale"] / spread,
        y,
        held["y_test"][:2_000].astype(np.int64),
    )


def deal(y, clients, alpha, rng, minimum=4):
    """Assign rows to clients; drawn again until every client has at least `least`."""
    for _ in range(1_000):
        contributor = np.zeros(len(y), dtype=np.int64)
        for kind in np.unique(y):
            rows = rng.permutation(np.flatnonzero(y == kind))
            ends = np.round(np.cumsum(rng.dirichlet(np.full(clients, alpha))) * len(rows)).astype(int)
            contributor[rows] = np.repeat(np.arange(clients), np.diff(ends, prepend=0))
        short = np.flatnonzero(np.bincount(contributor, minlength=clients) < minimum)
        if len(short) <= clients // 4:
            break
    # Whoever is left with next to nothing gets a few rows of whoever has most.
    for client in short:
        rich = np.bincount(contributor, minlength=clients).argmax()
        contributor[rng.choice(np.flatnonzero(contributor == rich), minimum, replace=False)] = client
    return contributor


def rule_of(rule, f, names, counts, model):
    """From a name to what makes one update of a round's."""
    if rule.startswith("Flower"):
        from flower_rules import flower_rule

        return flower_rule(rule, f, counts, model)

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
    }[rule]


def train(data, clients, alpha, attack, rule, rounds, seed, rows):
    x, x_test, y, y_test = load(data, seed, rows)
    rng = np.random.default_rng([seed, clients, int(100 * alpha)])
    contributor = deal(y, clients, alpha, rng)
    f = int(SHARE * clients) if attack != "none" else 0
    bad = np.isin(np.arange(clients), rng.permutation(clients)[: int(SHARE * clients)]) & (attack != "none")
    if attack == "flip":
        y = np.where(bad[contributor], (y + 1) % 10, y)
    shape = LayerWidths(x.shape[1], (64,), 10)
    held = Clients.of(x, y, contributor, shape)
    names = [f"client-{i}" for i in range(clients)]
    known = f if attack != "none" else int(SHARE * clients)
    model, federation = initialise(shape, [seed]).flat[0], Federation(random_state=seed)
    chosen = rule_of(rule, known, names, held.counts(), model)
    for number in range(1, rounds + 1):
        seeds = [1_000 * number + client for client in range(clients)]
        updates = held.updates(model, seeds, LocalTraining(epochs=2, lr=5e-3))
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


CELL = ("data", "clients", "alpha", "attack", "rule", "seed")


def cell(data, clients, alpha, attack, rule, seed, rounds=20, rows=5_000):
    """One run as a row."""
    accuracy, federation, bad = train(data, clients, alpha, attack, rule, rounds, seed, rows)
    row = dict(zip(CELL, (data, clients, alpha, attack, rule, seed), strict=True))
    return row | {"accuracy": accuracy} | (told_apart(federation, bad) if rule == "anml" else {})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=["digits", "cifar10n"])
    parser.add_argument("--clients", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--alphas", type=float, nargs="+", default=[0.1, 0.2, 0.5])
    parser.add_argument("--attacks", nargs="+", default=ATTACKS)
    parser.add_argument("--rules", nargs="+", default=RULES)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    parser.add_argument(
        "--add", type=Path, help="rows are added to those of this folder, or take their place"
    )
    given = parser.parse_args()
    torch.set_num_threads(1)
    result, began = [], time.time()
    cells = itertools.product(given.data, given.clients, given.alphas, given.attacks)
    for attacked in cells:
        runs = itertools.product(given.rules, range(given.seeds))
        mine = [cell(*attacked, *run, given.rounds, given.rows) for run in runs]
        result += mine
        print(*attacked, line(mine), f"{time.time() - began:.0f} s", flush=True)
        if given.out is not None:
            keep(result, given.out, {"rounds": given.rounds, "rows": given.rows, "seeds": given.seeds})
    if given.add is not None:
        result = added(result, given.add / "rows.json")
        write_rows(result, given.add / "rows.json")
    table(result)


def added(result, path):
    """Rows with those of a file that they do not replace, in one order."""
    rows = json.loads(path.read_text()) if path.is_file() else []
    every = {tuple(row[name] for name in CELL): row for row in [*rows, *result]}
    return [every[key] for key in sorted(every)]


def keep(result, folder, settings):
    """Write what is there so far."""
    folder.mkdir(parents=True, exist_ok=True)
    write_rows(result, folder / "rows.json")
    (folder / "run.json").write_text(json.dumps({**settings, "share": SHARE}, indent=2) + "\n")


def write_rows(rows, path):
    """One row a line."""
    path.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


def line(rows):
    """Accuracy by rule, and who was left out."""
    messages = []
    for rule in dict.fromkeys(row["rule"] for row in rows):
        messages.append(f"{rule} {np.mean([row['accuracy'] for row in rows if row['rule'] == rule]):.3f}")
    for kind in ("honest", "bad"):
        out = [row[f"left_out_{kind}"] for row in rows if row.get(f"left_out_{kind}") is not None]
        if out:
            messages.append(f"{kind} left out {np.mean(out):.2f}")
    return " ".join(messages)


def table(result):
    """By data, clients and attack; then how far ours is from the best other rule, cell by cell."""
    for attacked in dict.fromkeys((row["data"], row["clients"], row["attack"]) for row in result):
        mine = [row for row in result if (row["data"], row["clients"], row["attack"]) == attacked]
        print("mean over Dirichlet:", *attacked, line(mine), flush=True)
    known = [row for row in result if row["attack"] != "none"]
    behind, without = [], []
    for where in dict.fromkeys(tuple(row[name] for name in CELL[:4]) for row in result):
        means = {}
        for rule in dict.fromkeys(row["rule"] for row in result):
            same = [r["accuracy"] for r in result if (*(r[n] for n in CELL[:4]), r["rule"]) == (*where, rule)]
            means[rule] = np.mean(same) if same else np.nan
        ours = means.pop("anml", np.nan)
        means = {rule: value for rule, value in means.items() if not np.isnan(value)}
        (without if where[3] == "none" else behind).append(
            ours
            - (means.get("fedavg", np.nan) if where[3] == "none" else max(means.values(), default=np.nan))
        )
    if without:
        print(f"without an attack, ours less FedAvg: worst cell {np.min(without):+.3f}")
    if known:
        print("under attack, mean over the grid:", line(known))
        print(f"under attack, ours less the best other of each cell: {np.mean(behind):+.3f}")


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
