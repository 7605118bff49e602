"""Benchmarks that need a GPU or sixteen cores, in one run of about eight minutes: prints figures, keeps rows.

    ANML_DATA=folder/with/cifar10n PYTHONPATH=src python bench/h200.py --out results --minutes 7.5

Needs torch, numpy, scipy and scikit-learn; transformers for text. In this process, on the GPU where there is
one: 50,000 drawn pictures, as those of the demo, with a convolutional network, q of all of them and an audit;
then cifar10n by its 256 features, and features of up to a million pictures, made up. Beside it, on all cores
but four: `training.py` and `federations.py`, the longest first; what could not start in time is said.
"""

import argparse
import os
import time
import traceback
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import federations
import numpy as np
import torch
import training
from sklearn.metrics import roc_auc_score
from torch import nn

from anml.core.checks import as_codes
from anml.gradients.devices import use_device
from anml.gradients.threads import limit_threads
from anml.predictors.images import cnn_predictions, random_features, small_network
from anml.torch import module_quality

SIDE, SHAPES, PEOPLE = 32, 5, 50
SIZES = (10_000, 100_000, 1_000_000)


def drawn(n, rng):
    """A circle, square, triangle, cross or ring of any colour, place and size, on a noisy ground."""
    kind = rng.integers(0, SHAPES, n)
    pixels = np.empty((n, 3, SIDE, SIDE), dtype=np.uint8)
    down, right = np.mgrid[:SIDE, :SIDE]
    for start in range(0, n, 5_000):
        subset = slice(start, start + 5_000)
        m = len(kind[subset])
        half = rng.uniform(5.5, 11, (m, 1, 1))
        x, y = (rng.uniform(half + 1, SIDE - half - 1) for _ in range(2))
        across, along = np.abs(right - x), np.abs(down - y)
        far = np.hypot(across, along)
        thin = half / 3
        inside = np.stack([
            far <= half,
            np.maximum(across, along) <= 0.8 * half,
            (along <= half) & (across <= (down - y + half) / 2),
            (np.minimum(across, along) <= thin) & (np.maximum(across, along) <= half),
            (far <= half) & (far >= half - np.maximum(1.5, thin)),
        ])[kind[subset], np.arange(m)]  # fmt: skip
        ground, ink = rng.integers(0, 110, (m, 3, 1, 1)), rng.integers(130, 256, (m, 3, 1, 1))
        flat = np.where(inside[:, None], ink, ground) + rng.normal(0, 18, (m, 3, SIDE, SIDE))
        pixels[subset] = np.clip(flat, 0, 255)
    return pixels, kind


def labelled(truth, classes, rng):
    """Labels of fifty people: five are wrong nine times in ten, the others once in twenty."""
    contributor = rng.integers(0, PEOPLE, len(truth))
    wrong = rng.uniform(size=len(truth)) < np.where(contributor < PEOPLE // 10, 0.9, 0.05)
    return (
        contributor,
        wrong,
        np.where(wrong, (truth + rng.integers(1, classes, len(truth))) % classes, truth),
    )


def timed(what, work):
    start = time.perf_counter()
    result = work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    print(f"  {what}: {time.perf_counter() - start:.1f} s", flush=True)
    return result


def epoch(module, x, y, batch=64):
    """One plain epoch; data are where the module is."""
    optimiser = torch.optim.Adam(module.parameters(), lr=1e-3)
    for rows in torch.randperm(len(x), device=x.device).split(batch):
        optimiser.zero_grad()
        nn.functional.cross_entropy(module(x[rows]), y[rows]).backward()
        optimiser.step()


def said_of(result, wrong, contributor, liars):
    """Wrong labels found, and people by verdict."""
    kept = result.weighting.kept
    print(f"  AUROC of wrong labels {roc_auc_score(wrong, -result.belief.p_correct):.4f}; of what is kept "
          f"{100 * wrong[kept].mean():.2f}% wrong (of all {100 * wrong.mean():.2f}%), of right ones "
          f"{100 * kept[~wrong].mean():.2f}% kept", flush=True)  # fmt: skip
    names = np.asarray(as_codes("contributor", contributor, len(contributor))[1]).astype(int)
    verdicts = np.asarray(result.belief.contributors.verdict)
    for kind, attacked in (("liars", np.isin(names, liars)), ("others", ~np.isin(names, liars))):
        if attacked.any():
            counts = dict(zip(*np.unique(verdicts[attacked], return_counts=True), strict=True))
            print(f"  {kind} by verdict: { {str(k): int(v) for k, v in counts.items()} }", flush=True)


def q_of(module, x, y, wrong, device, ways=({}, {"references": 2_048}), batch=64):
    """Times of q beside an epoch, and how well q alone tells wrong labels."""
    for _ in range(2):
        timed("one plain epoch", lambda: epoch(module, x, y, batch))
    for settings in ways:
        named = f"q of all {len(x):,}, {settings}"
        q = timed(
            named, lambda s=settings: module_quality(module, x, y, batch_size=512, device=device, neighbors=s)
        )
        print(f"  AUROC of wrong labels by q {roc_auc_score(wrong, -q):.4f}", flush=True)
    assert len(q) == len(wrong)


def pictures(count, device):
    print(f"{count:,} drawn pictures of 3 x {SIDE} x {SIDE}, {PEOPLE} people", flush=True)
    rng = np.random.default_rng(0)
    pixels, truth = timed("drawing", lambda: drawn(count, rng))
    contributor, wrong, y = labelled(truth, SHAPES, rng)
    torch.manual_seed(0)
    module = small_network(SHAPES).to(device)
    x = torch.as_tensor(pixels).to(device).float().sub_(128).div_(64)
    print(f"  network of {sum(p.numel() for p in module.parameters()):,} parameters", flush=True)
    q_of(module, x, torch.as_tensor(y).to(device), wrong, device)
    features = timed("features by random convolutions", lambda: random_features(pixels, 0))
    held_out = timed(
        "held-out predictions by three networks", lambda: cnn_predictions(pixels, y, SHAPES, None, 0)
    )
    print(f"  their accuracy {np.mean(held_out.argmax(1) == truth):.4f}", flush=True)
    result = timed("audit", lambda: training.audited(features, y, contributor, SHAPES, held_out))
    said_of(result, wrong, contributor, np.arange(PEOPLE // 10))


def cifar10n(count, device):
    """One of five people's labels for each photograph, as in the lab."""
    with np.load(Path(os.environ["ANML_DATA"]) / "cifar10n.npz") as archive:
        data = {name: each if name in ("scale", "X_test", "y_test") else each[:count]
                for name, each in archive.items()}  # fmt: skip
    sets = ("aggre_label", "random_label1", "random_label2", "random_label3", "worse_label")
    truth = data["clean_label"].astype(np.int64)
    contributor = np.random.default_rng(0).integers(0, len(sets), len(truth))
    y = np.stack([data[name] for name in sets]).astype(np.int64)[contributor, np.arange(len(truth))]
    # All features by one factor: the components come in the order of what they explain.
    factor = data["scale"].astype(np.float64) / (data["X_train"] * data["scale"]).std()
    features, fresh = data["X_train"] * factor, data["X_test"] * factor
    wrong = y != truth
    print(f"cifar10n, {len(y):,} photographs by 256 features, {100 * wrong.mean():.1f}% wrong", flush=True)
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)
    x = torch.as_tensor(features, dtype=torch.float32, device=device)
    q_of(module, x, torch.as_tensor(y, device=device), wrong, device)
    result = timed("audit", lambda: training.audited(features, y, contributor, 10))
    said_of(result, wrong, contributor, [])
    fresh = torch.as_tensor(fresh, dtype=torch.float32)
    for name, weights in (("plain", None), ("audit first", result.weighting.sample_weight()),
                          ("oracle", (~wrong).astype(float))):  # fmt: skip
        right = training.accuracy(
            training.fit(lambda: nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)), 1e-3,
                         torch.as_tensor(features, dtype=torch.float32), y, 6, "linear", 0, weights),
            fresh, data["y_test"],
        )  # fmt: skip
        print(f"  trained {name}: accuracy {right:.4f}", flush=True)


def features(counts, device, wide=256, classes=10, styles=5):
    """Features as pictures have them, made up: what each step costs from ten thousand rows to a million."""
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 0.35, (classes * styles, wide))
    for count in counts:
        print(f"{count:,} pictures by {wide} features, made up, {PEOPLE} people", flush=True)
        style = rng.integers(0, len(centres), count)
        x = torch.as_tensor(centres[style], dtype=torch.float32, device=device)
        x += torch.randn(x.shape, device=device, generator=torch.Generator(device).manual_seed(0))
        truth = style % classes
        contributor, wrong, y = labelled(truth, classes, rng)
        given = torch.as_tensor(y, device=device)

        def make():
            return nn.Sequential(nn.Linear(wide, 256), nn.ReLU(), nn.Linear(256, classes)).to(device)

        torch.manual_seed(0)
        q_of(make(), x, given, wrong, device, ({"references": 2_048},), 1_024)
        held_out = timed("held-out predictions by three networks, three epochs",
                         lambda m=make, x=x, y=given: three_networks(m, x, y))  # fmt: skip
        print(f"  their accuracy {np.mean(held_out.argmax(1) == truth):.4f}", flush=True)
        nothing = np.zeros((count, 0))
        result = timed(
            "audit", lambda y=y, w=contributor, p=held_out, n=nothing: training.audited(n, y, w, classes, p)
        )
        said_of(result, wrong, contributor, np.arange(PEOPLE // 10))


def three_networks(make, x, y):
    """Class probabilities of every row by a network that did not learn from it."""
    part, out = torch.arange(len(x), device=x.device) % 3, []
    for held in range(3):
        torch.manual_seed(held)
        module, learn = make(), torch.nonzero(part != held)[:, 0]
        for _ in range(3):
            epoch(module, x[learn], y[learn], 1_024)
        with torch.no_grad():
            out.append(torch.softmax(module(x[part == held]).double(), dim=1).cpu().numpy())
    result = np.empty((len(x), out[0].shape[1]))
    for held, p in enumerate(out):
        result[held::3] = p
    return result


def jobs(seeds, only):
    """Longest first."""
    results = [("training", task, epochs, schedule, seed)
             for epochs in (12, 6, 3) for task in ("text", "pictures")
             for schedule in ("constant", "linear") for seed in range(seeds)]  # fmt: skip
    for clients, data in ((100, "cifar10n"), (10, "cifar10n"), (100, "digits"), (10, "digits")):
        results += [("federations", data, clients, alpha, attack, rule, seed)
                  for seed in range(seeds) for alpha in (0.1, 0.2, 0.5)
                  for attack in federations.ATTACKS for rule in federations.RULES]  # fmt: skip
    return [job for job in results if only in (None, "cores", job[0])]


def done(job, ends, rounds, rows):
    """A row, or None where there is no time left."""
    if time.time() > ends:
        return None
    torch.set_num_threads(1)
    attacked, *given = job
    if attacked == "federations":
        return federations.cell(*given, rounds, rows)
    training.quietly()
    task, epochs, schedule, seed = given
    result = training.cell(task, epochs, schedule, seed)
    return {"task": task, "epochs": epochs, "schedule": schedule, "seed": seed, **result}


def collected(running, out, settings):
    """Rows of both benches as they come; tables at the end."""
    rows, missed = {"training": [], "federations": []}, 0
    for future in as_completed(running):
        try:
            row = future.result()
        except Exception:
            traceback.print_exc()
            continue
        missed += row is None
        if row is not None:
            rows["training" if "task" in row else "federations"].append(row)
    print(f"jobs left out for lack of time: {missed}", flush=True)
    for name in rows:
        rows[name].sort(key=lambda row: [str(value) for value in row.values()])
    training.table(rows["training"])
    if rows["federations"]:
        federations.table(rows["federations"])
    if out is not None and rows["federations"]:
        federations.keep(rows["federations"], out / "federated", settings)
    if out is not None and rows["training"]:
        (out / "training").mkdir(parents=True, exist_ok=True)
        federations.write_rows(rows["training"], out / "training" / "rows.json")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--minutes", type=float, default=7.5)
    parser.add_argument("--pictures", type=int, default=50_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=20, help="of federations")
    parser.add_argument("--rows", type=int, default=5_000, help="of federations, on cifar10n")
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 1) - 4))
    parser.add_argument("--only", choices=("gpu", "features", "cores", "training", "federations"))
    given = parser.parse_args()
    began = time.time()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    print(torch.cuda.get_device_name() if device.type == "cuda" else "no GPU", torch.__version__, flush=True)
    # The last jobs need up to half a minute after they start.
    ends = began + 60 * given.minutes - 40
    with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool:
        every = jobs(given.seeds, given.only)
        running = [pool.submit(done, job, ends, given.rounds, given.rows) for job in every]
        if given.only in (None, "gpu", "features"):
            works = [lambda: pictures(given.pictures, device), lambda: cifar10n(given.pictures, device)]
            works = works * (given.only != "features") + [lambda: features(SIZES, device)]
            for work in works:
                try:
                    with use_device(device), limit_threads(4):
                        work()
                except Exception:
                    traceback.print_exc()
                print(f"after {time.time() - began:.0f} s", flush=True)
        settings = {name: getattr(given, name) for name in ("rounds", "rows", "seeds")}
        collected(running, given.out, settings)
    print(f"after {time.time() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
