"""Small causal language models on pieces of Python's library, by module."""

import sysconfig
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from anml.attribution.recording import CheckpointRecorder
from anml.attribution.samples import RowBatches

transformers = pytest.importorskip("transformers")

SOURCES = ("argparse", "statistics", "tarfile", "pickletools", "typing")


def texts(rows, length=160, offset=0):
    """Pieces of modules of Python's library, by module."""
    library = Path(sysconfig.get_path("stdlib"))
    result = []
    for name in SOURCES:
        text = (library / f"{name}.py").read_text(encoding="utf-8")[4_000 + offset :]
        result += [(name, text[at : at + length]) for at in range(0, rows * length, length)]
    return pl.DataFrame(result, schema=["author", "text"], orient="row")


def tokenizer_of(frame, size):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer, tok.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    letters = pre_tokenizers.ByteLevel.alphabet()
    tok.train_from_iterator(frame["text"], trainers.BpeTrainer(vocab_size=size, initial_alphabet=letters))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tok)


def llama(width, vocabulary):
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=width, num_hidden_layers=2, intermediate_size=2 * width, num_attention_heads=4,
        num_key_value_heads=4, vocab_size=vocabulary, max_position_embeddings=64,
        tie_word_embeddings=False, bos_token_id=None, eos_token_id=None, pad_token_id=None,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config)


def rows_of(tok, frame):
    return [{"input_ids": tok(text)["input_ids"][:64]} for text in frame["text"]]


def fit(model, rows, steps, rate, batch=8, recorder=None):
    """Train on rows of tokens, padded and masked, by a plain loop."""
    data, rng = RowBatches(rows, loss="next-token"), np.random.default_rng(0)
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], rate)
    for _ in range(steps):
        given = data.batch(rng.choice(len(rows), batch, replace=False), torch.device("cpu"))
        opt.zero_grad()
        model(**given.inputs, labels=given.target).loss.backward()
        opt.step()
        if recorder is not None:
            recorder.step(opt)


def fine_tuned(folder):
    """Write a small model fine-tuned on five sources, its checkpoints, its rows and queries into a folder."""
    frame = texts(10)
    tok = tokenizer_of(frame, 300)
    model = llama(32, 300)
    recorder = CheckpointRecorder(folder / "ckpt", model, steps=30, batch_size=8)
    fit(model, rows_of(tok, frame), 30, 1e-2, recorder=recorder)
    model.save_pretrained(folder / "model")
    tok.save_pretrained(folder / "model")
    frame.write_ndjson(folder / "train.jsonl")
    texts(2, offset=2_000).write_ndjson(folder / "q.jsonl")
    return folder
