"""Four problems with a ground truth by retraining: rows, contributors, queries, and how a model is trained.

This module needs torch and numpy (`lm`: transformers, `lora`: peft, `cnn`: scikit-learn) and nothing of
`anml`, so that a ground truth can be made on any machine: `python problems.py PROBLEM FOLDER --jobs 16`.
"""

import argparse
import gzip
import os
import sysconfig
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

State = dict[str, torch.Tensor]
# Coalitions of the ground truth, and seeds of each.
COALITIONS, SEEDS = 60, 3
CHECKPOINTS = 5


@dataclass
class Problem:
    """Rows, contributors and queries; `train(rows, seed)` returns states at checkpoints, final one last."""

    name: str
    arrays: dict[str, Any]
    make: Callable[[], nn.Module]
    train: Callable[[Any, int], list[State]]
    losses: Callable[[State], Any]
    loss: str

    @property
    def count(self) -> int:
        """Number of contributors."""
        return len(self.arrays["names"])


def save(problem_arrays: dict[str, Any], folder: Path, name: str) -> None:
    """Write the rows of a problem."""
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / f"{name}-data.npz", **problem_arrays)


def _states(
    net: nn.Module, x: Any, y: Any, rows: Any, seed: int, *, lr: float, batch: int, epochs: int,
    loss: Callable[[nn.Module, Any, Any], torch.Tensor], warmup: int = 0, decay: float = 0.0,
    clip: float = 0.0,
) -> list[State]:  # fmt: skip
    """Train for a fixed number of steps on `rows`, which are repeated up to the number of all rows."""
    trained = [p for p in net.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(trained, lr, weight_decay=decay)
    rng, count = np.random.default_rng(1_000 + seed), len(y)
    per_epoch = -(-count // batch)
    steps, result = epochs * per_epoch, []
    keep = {max(1, round(steps * share)) for share in np.linspace(1 / CHECKPOINTS, 1, CHECKPOINTS)}
    names = {name for name, p in net.named_parameters() if p.requires_grad}
    net.train()
    for step in range(steps):
        if step % per_epoch == 0:
            order = np.concatenate([rng.permutation(rows) for _ in range(-(-count // len(rows)))])[:count]
        subset = torch.as_tensor(order[step % per_epoch * batch :][:batch])
        scale = (
            min(1, (step + 1) / warmup) * max(0.02, 0.5 * (1 + np.cos(np.pi * step / steps))) if warmup else 1
        )
        opt.param_groups[0]["lr"] = lr * scale
        opt.zero_grad()
        torch.autograd.backward(loss(net, x[subset], y[subset]))
        if clip:
            nn.utils.clip_grad_norm_(trained, clip)
        opt.step()
        if step + 1 in keep:
            result.append({k: v.detach().clone() for k, v in net.state_dict().items() if k in names})
    return result


# ------------------------------------------------------------------ classifier and convolutional network

KINDS = ["careful"] * 26 + ["careless"] * 4 + ["flips"] * 4 + ["random"] * 4 + ["copier"] * 2


def classifier_rows(source: Path) -> dict[str, Any]:
    """CIFAR-10N: 40 contributors of 100 rows with mixed classes; four flip, four guess, two copy."""
    raw = np.load(source)
    rng = np.random.default_rng(11)
    x, tested = (raw[name] * raw["scale"] for name in ("X_train", "X_test"))
    mean, std = x.mean(0), x.std(0) + 1e-6
    x, tested = ((each - mean) / std for each in (x, tested))
    clean, subset, worse = (raw[name].astype(int) for name in ("clean_label", "random_label1", "worse_label"))
    at = rng.permutation(len(clean))
    by_class = {k: list(at[clean[at] == k]) for k in range(10)}
    rows: list[int] = []
    y: list[int] = []
    codes: list[int] = []
    for c, kind in enumerate(KINDS):
        if kind == "copier":
            mine = [r for r, w in zip(rows, codes, strict=True) if w == c - 38]
            labels = [v for v, w in zip(y, codes, strict=True) if w == c - 38]
        else:
            drawn = rng.choice(10, 100, p=rng.dirichlet(np.full(10, 0.5)))
            mine = [by_class[k].pop() for k in drawn]
            given = {"careful": subset, "careless": worse}.get(kind, clean)[mine].copy()
            if kind == "flips":
                given = np.where(rng.random(100) < 0.8, (given + 1) % 10, given)
            labels = list(rng.integers(10, size=100) if kind == "random" else given)
        rows += mine
        y += labels
        codes += [c] * 100
    test = rng.permutation(len(tested))[:400]
    return {
        "x": x[rows].astype(np.float32), "y": np.array(y), "contributor": np.array(codes),
        "names": _called(KINDS),
        "bad": np.isin(KINDS, ["flips", "random"]), "q": tested[test].astype(np.float32),
        "q_y": raw["y_test"][test].astype(int),
    }  # fmt: skip


def _called(kinds: list[str]) -> Any:
    return np.array([f"{kind}-{at}" for at, kind in enumerate(kinds)])


def cnn_rows() -> dict[str, Any]:
    """Digits as images: 20 contributors of 70 rows with mixed classes; two flip, two guess."""
    from sklearn.datasets import load_digits

    images, target = load_digits(return_X_y=True)
    rng = np.random.default_rng(12)
    x = ((images / 16 - 0.3) / 0.37).astype(np.float32).reshape(-1, 1, 8, 8)
    x = x + rng.normal(0, 0.6, x.shape).astype(np.float32)
    at = rng.permutation(len(x))
    test, left = at[:300], list(at[300:])
    kinds = ["careful"] * 16 + ["flips"] * 2 + ["random"] * 2
    rows: list[int] = []
    y: list[int] = []
    for kind in kinds:
        likes = rng.dirichlet(np.full(10, 0.5)) + 0.01
        weight = likes[target[left]] / likes[target[left]].sum()
        mine = rng.choice(len(left), 70, replace=False, p=weight)
        subset = [left[m] for m in mine]
        left = [r for m, r in enumerate(left) if m not in set(mine.tolist())]
        given = target[subset].copy()
        given = np.where(rng.random(70) < 0.1, rng.integers(10, size=70), given)
        if kind == "flips":
            given = np.where(rng.random(70) < 0.8, (target[subset] + 1) % 10, given)
        rows += subset
        y += list(rng.integers(10, size=70) if kind == "random" else given)
    return {
        "x": x[rows], "y": np.array(y), "contributor": np.repeat(np.arange(20), 70), "names": _called(kinds),
        "bad": np.isin(kinds, ["flips", "random"]), "q": x[test], "q_y": target[test],
    }  # fmt: skip


def _mlp(width: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)
    )  # fmt: skip


def _cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.ReLU(),
        nn.Conv2d(24, 24, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(96, 10),
    )  # fmt: skip


def _classes(name: str, arrays: dict[str, Any], net: Callable[[], nn.Module], **how: Any) -> Problem:
    x, y, q, q_y = (torch.as_tensor(arrays[k]) for k in ("x", "y", "q", "q_y"))

    def train(rows: Any, seed: int) -> list[State]:
        torch.manual_seed(seed)
        return _states(
            net(),
            x,
            y,
            np.asarray(rows),
            seed,
            loss=lambda m, a, b: nn.functional.cross_entropy(m(a), b),
            **how,
        )

    @torch.no_grad()
    def losses(state: State) -> Any:
        made = net()
        made.load_state_dict(state)
        return nn.functional.cross_entropy(made(q), q_y, reduction="none").numpy()

    return Problem(name, arrays, net, train, losses, "softmax")


# ------------------------------------------------------------------ causal language models

LENGTH, PROMPT = 48, 12
VIM = "/usr/share/vim/vim90/doc/"
TEXTS = {
    "gpl3": "/usr/share/common-licenses/GPL-3", "mpl": "/usr/share/common-licenses/MPL-1.1",
    "perldiag": "/usr/share/perl/5.36/pod/perldiag.pod", "vim_eval": VIM + "eval.txt",
    "vim_spell": VIM + "spell.txt", "node_fs": "/usr/share/doc/nodejs/api/fs.md",
    "node_http": "/usr/share/doc/nodejs/api/http.md", "sqlite_h": "/usr/include/sqlite3.h",
    "gnupg": "/usr/share/info/gnupg.info-2.gz", "grep": "/usr/share/info/grep.info.gz",
    "iso_json": "/usr/share/iso-codes/json/iso_639-2.json", "apache": "/usr/share/common-licenses/Apache-2.0",
    "gfdl": "/usr/share/common-licenses/GFDL-1.3", "vim_arabic": VIM + "arabic.txt",
}  # fmt: skip
MODULES = ("argparse", "statistics", "turtle", "_pydecimal", "typing", "tarfile", "pickletools", "mailbox")


def read_texts(limit: int = 40_000) -> dict[str, str]:
    """Texts that this machine has: documents, and modules of Python's library."""
    library = Path(sysconfig.get_path("stdlib"))
    paths = {**TEXTS, **{f"py_{name}": str(library / f"{name}.py") for name in MODULES}}
    result = {}
    for name, path in paths.items():
        if Path(path).exists():
            packed = Path(path).read_bytes()
            raw = gzip.decompress(packed) if path.endswith("gz") else packed
            text = raw.decode("utf8", "ignore")
            result[name] = text[len(text) // 10 :][:limit]
    return result


def _sequences(texts: dict[str, str], vocabulary: int) -> dict[str, Any]:
    """Texts as sequences of tokens, by a tokenizer trained on them."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    letters = pre_tokenizers.ByteLevel.alphabet()
    tok.train_from_iterator(
        list(texts.values()), trainers.BpeTrainer(vocab_size=vocabulary, initial_alphabet=letters)
    )
    cut = {}
    for name, text in texts.items():
        ids = tok.encode(text).ids
        cut[name] = np.array(ids[: len(ids) // LENGTH * LENGTH]).reshape(-1, LENGTH)
    return cut


def text_rows(vocabulary: int, base: int) -> dict[str, Any]:
    """Sequences of tokens by contributor, with a copier, a shuffler and a corrupter; without `base` texts."""
    texts = read_texts()
    rng = np.random.default_rng(13)
    cut = _sequences(texts, vocabulary)
    apart = list(cut)[1 : 1 + 2 * base : 2]
    blocks: list[Any] = []
    names: list[str] = []
    queries: list[Any] = []
    owner: list[int] = []
    for name, rows in cut.items():
        if name in apart:
            continue
        order, size = rng.permutation(len(rows)), int(rng.integers(50, 91))
        queries.append(rows[order[:3]])
        owner += [len(names)] * 3
        names.append(name)
        blocks.append(rows[order[3 : 3 + size]])
    blocks.append(blocks[names.index("vim_spell")].copy())
    blocks.append(rng.permuted(blocks[names.index("gnupg")][:72], axis=1))
    given, other = blocks[names.index("node_http")].copy(), rng.permutation(vocabulary)
    blocks.append(np.where(rng.random(given.shape) < 0.5, other[given], given)[:72])
    names += ["copier", "shuffler", "corrupter"]
    pretrain = np.concatenate([cut[name] for name in apart]) if apart else np.zeros((0, LENGTH), int)
    return {
        "x": np.concatenate(blocks),
        "contributor": np.repeat(np.arange(len(blocks)), [len(b) for b in blocks]),
        "names": np.array(names), "bad": np.isin(names, ["shuffler", "corrupter"]),
        "q": np.concatenate(queries), "owner": np.array(owner), "base": pretrain,
    }  # fmt: skip


def _llama(width: int, vocabulary: int) -> nn.Module:
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(LlamaConfig(
        hidden_size=width, num_hidden_layers=2, intermediate_size=2 * width, num_attention_heads=4,
        num_key_value_heads=4, vocab_size=vocabulary, max_position_embeddings=LENGTH,
        tie_word_embeddings=False, bos_token_id=None, eos_token_id=None, pad_token_id=None,
    ))  # fmt: skip


def _lm_loss(model: nn.Module, x: Any, y: Any) -> torch.Tensor:
    logits = model(input_ids=x).logits[:, :-1]
    return nn.functional.cross_entropy(logits.transpose(1, 2), y[:, 1:])


def _language(name: str, arrays: dict[str, Any], net: Callable[[], nn.Module], **how: Any) -> Problem:
    x, q = torch.as_tensor(arrays["x"]), torch.as_tensor(arrays["q"])
    target = torch.as_tensor(arrays.get("q_y", arrays["q"]))

    def train(rows: Any, seed: int) -> list[State]:
        torch.manual_seed(seed)
        return _states(net(), x, x, np.asarray(rows), seed, loss=_lm_loss, **how)

    @torch.no_grad()
    def losses(state: State) -> Any:
        made = net()
        made.load_state_dict(state, strict=False)
        logits = made.eval()(input_ids=q).logits[:, :-1].transpose(1, 2)
        each = nn.functional.cross_entropy(logits, target[:, 1:], reduction="none")
        return (each.sum(1) / (target[:, 1:] != -100).sum(1)).numpy()

    return Problem(name, arrays, net, train, losses, "next-token")


def _adapter(state: State, width: int, vocabulary: int) -> nn.Module:
    from peft import LoraConfig, get_peft_model

    base = _llama(width, vocabulary)
    base.load_state_dict(state)
    targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    made: nn.Module = get_peft_model(base, LoraConfig(r=8, lora_alpha=16, target_modules=targets))
    return made


def prepare(name: str, folder: Path) -> None:
    """Write the rows of a problem."""
    if name == "classifier":
        save(classifier_rows(Path(os.environ["ANML_DATA"]) / "cifar10n.npz"), folder, name)
    elif name == "cnn":
        save(cnn_rows(), folder, name)
    else:
        save(text_rows(*((512, 0) if name == "lm" else (768, 6))), folder, name)


def load(name: str, folder: Path) -> Problem:
    """Load a problem; generated texts, and the base model of `lora`, are made on first use."""
    arrays = dict(np.load(folder / f"{name}-data.npz"))
    if name == "classifier":
        return _classes(name, arrays, partial(_mlp, arrays["x"].shape[1]), lr=2e-3, batch=100, epochs=5)
    if name == "cnn":
        return _classes(name, arrays, _cnn, lr=3e-3, batch=35, epochs=6)
    how: dict[str, Any] = {"batch": 16, "warmup": 20, "clip": 1.0, "decay": 0.01}
    if name == "lm":
        make: Callable[[], nn.Module] = partial(_llama, 48, 512)
        how |= {"lr": 4e-3, "epochs": 5}
    else:
        path = folder / "lora-base.pt"
        if not path.exists():
            rows = arrays["base"]
            base = _language(
                name, {**arrays, "x": rows}, partial(_llama, 128, 768), lr=3e-3, epochs=12, **how
            )
            torch.save(base.train(np.arange(len(rows)), 0)[-1], path)
        make = partial(_adapter, torch.load(path), 128, 768)
        how |= {"lr": 5e-3, "epochs": 4}
    problem = _language(name, arrays, make, **how)
    if "q_y" not in arrays:
        _generate(problem, arrays)
        save(arrays, folder, name)
        problem = _language(name, arrays, make, **how)
    return problem


def _generate(problem: Problem, arrays: dict[str, Any]) -> None:
    """Add texts that a model generates from the beginnings of queries; only what it wrote is counted."""
    model = problem.make()
    model.load_state_dict(problem.train(np.arange(len(arrays["x"])), 0)[-1], strict=False)
    torch.manual_seed(5)
    start = torch.as_tensor(arrays["q"][::3, :PROMPT])
    made: Any = model.eval()
    written = made.generate(
        input_ids=start, max_new_tokens=LENGTH - PROMPT, do_sample=True, temperature=0.7, pad_token_id=0
    ).numpy()
    target = written.copy()
    target[:, :PROMPT] = -100
    arrays["q_y"] = np.concatenate([arrays["q"], target])
    arrays["generated"] = np.repeat([False, True], [len(arrays["q"]), len(written)])
    arrays["owner"] = np.concatenate([arrays["owner"], arrays["owner"][::3]])
    arrays["q"] = np.concatenate([arrays["q"], written])


def coalitions(count: int) -> Any:
    """Members of the coalitions of the ground truth: 30 to 70% of the contributors."""
    rng = np.random.default_rng(1)
    sizes = rng.integers(round(0.3 * count), round(0.7 * count) + 1, COALITIONS)
    return np.stack([np.isin(np.arange(count), rng.permutation(count)[:size]) for size in sizes])


def _one(name: str, folder: Path, job: tuple[int, int]) -> Any:
    torch.set_num_threads(1)
    problem = load(name, folder)
    codes = problem.arrays["contributor"]
    members = np.ones(problem.count, bool) if job[0] < 0 else coalitions(problem.count)[job[0]]
    states = problem.train(np.flatnonzero(members[codes]), job[1])
    if job[0] < 0:
        torch.save(states, folder / f"{name}-full-{job[1]}.pt")
    return problem.losses(states[-1])


def main() -> None:
    """Make the ground truth of a problem: losses of models retrained on coalitions."""
    asked = argparse.ArgumentParser()
    asked.add_argument("problem")
    asked.add_argument("folder", type=Path)
    asked.add_argument("--jobs", type=int, default=1)
    given = asked.parse_args()
    start = time.monotonic()
    if not (given.folder / f"{given.problem}-data.npz").exists():
        prepare(given.problem, given.folder)
    problem = load(given.problem, given.folder)
    jobs = [(at, seed) for at in (-1, *range(COALITIONS)) for seed in range(SEEDS)]
    with ProcessPoolExecutor(given.jobs) as pool:
        result = np.array(list(pool.map(partial(_one, given.problem, given.folder), jobs)))
    losses = result.reshape(COALITIONS + 1, SEEDS, -1)
    members = coalitions(problem.count)
    np.savez(given.folder / f"{given.problem}-truth.npz", full=losses[0], losses=losses[1:], members=members)
    print(given.problem, losses.shape, f"mean loss {losses[0].mean():.3f}, {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
