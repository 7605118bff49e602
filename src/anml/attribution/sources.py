"""Models and rows of `anml trace`: a Hugging Face folder with texts, or a function of the user's."""

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from anml.core.errors import InputError, UnsupportedError, os_error_message
from anml.core.extras import require_extra

TEXT_COLUMNS = ("text", "content", "completion")
# Tokens of a row; longer texts are cut.
MAX_TOKENS = 1_024
IGNORED = -100


class ModelSource(NamedTuple):
    """Arguments of `index` and `trace`, with the texts that the page shows."""

    model: Any
    train: Any
    queries: Any
    loss: Any = "softmax"
    checkpoints: Any = None
    retrain: Any = None
    texts: list[str] | None = None
    asked: list[str] | None = None
    name: str = ""


def read_rows(path: Path, what: str) -> pl.DataFrame:
    """Read a table of rows."""
    readers = {
        ".jsonl": pl.read_ndjson, ".ndjson": pl.read_ndjson, ".csv": pl.read_csv, ".parquet": pl.read_parquet,
        ".tsv": lambda file: pl.read_csv(file, separator="\t"),
    }  # fmt: skip
    if path.suffix not in readers:
        raise InputError(f"the {what} must be one of {', '.join(readers)}, got {path}")
    try:
        with os_error_message(f"the {what} {path} cannot be read"):
            frame: pl.DataFrame = readers[path.suffix](path)  # type: ignore[operator]
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"the {what} {path} cannot be read: {reason}") from None
    if frame.is_empty():
        raise InputError(f"the {what} {path} have no rows")
    return frame


def model_source(
    model: str, rows: pl.DataFrame, queries: pl.DataFrame, text: str | None, checkpoints: Path | None
) -> ModelSource:
    """Load a model by the name of a folder, or by calling `module:function` with the two tables.

    The function returns a dict of `model`, `train` and `queries`, and of `loss`, `checkpoints` and `retrain`
    where they are needed.
    """
    if Path(model).is_dir():
        return _hugging_face(Path(model), rows, queries, text, checkpoints)
    module, colon, name = model.partition(":")
    if not colon:
        raise InputError(f"MODEL must be a folder or module:function, got {model!r}")
    sys.path.insert(0, str(Path.cwd()))
    try:
        function = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"{model} cannot be loaded: {error}") from None
    finally:
        sys.path.pop(0)
    made = function(rows, queries)
    if not isinstance(made, dict) or not {"model", "train", "queries"} <= made.keys():
        raise InputError(f"{model} must return a dict with model, train and queries")
    if unknown := sorted(made.keys() - set(ModelSource._fields)):
        raise InputError(f"{model} returns {unknown[0]!r}; allowed: {', '.join(ModelSource._fields)}")
    shown: dict[str, Any] = {"name": model, "texts": _texts(rows, text), "asked": _texts(queries, text)}
    if checkpoints is not None:
        shown["checkpoints"] = checkpoints
    return ModelSource(**(shown | made))


def _texts(frame: pl.DataFrame, text: str | None) -> list[str] | None:
    name = text or next((each for each in TEXT_COLUMNS if each in frame.columns), None)
    return None if name is None or name not in frame.columns else frame[name].cast(str).to_list()


def _hugging_face(
    folder: Path, rows: pl.DataFrame, queries: pl.DataFrame, text: str | None, checkpoints: Path | None
) -> ModelSource:
    """A causal language model, or its LoRA adapter, with the tokens of the texts."""
    require_extra("transformers", "hf", "a Hugging Face folder")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        if (folder / "adapter_config.json").is_file():
            require_extra("peft", "hf", "a LoRA adapter")
            from peft import AutoPeftModelForCausalLM

            model = AutoPeftModelForCausalLM.from_pretrained(folder, is_trainable=True)
        else:
            model = AutoModelForCausalLM.from_pretrained(folder)
    except (OSError, ValueError) as error:
        raise InputError(f"no causal language model can be loaded from {folder}: {error}") from None
    limit = min(MAX_TOKENS, getattr(model.config, "max_position_embeddings", None) or MAX_TOKENS)

    def examples(frame: pl.DataFrame, what: str) -> tuple[list[dict[str, list[int]]], list[str]]:
        texts = _texts(frame, text)
        if texts is None:
            raise InputError(f"the {what} have no column {text or 'text'!r}; name it with --text")
        prompts: Sequence[str] = frame["prompt"].to_list() if "prompt" in frame.columns else [""] * len(texts)
        made = []
        for prompt, answer in zip(prompts, texts, strict=True):
            before = tokenizer(prompt)["input_ids"] if prompt else []
            tokens = (before + tokenizer(answer, add_special_tokens=not prompt)["input_ids"])[:limit]
            labels = ([IGNORED] * len(before) + tokens[len(before) :])[:limit]
            if len(tokens) < 2 or all(each == IGNORED for each in labels[1:]):
                raise InputError(f"one of the {what} has no tokens to attribute: {answer[:40]!r}")
            made.append({"input_ids": tokens, "labels": labels})
        return made, [f"{p}{a}" for p, a in zip(prompts, texts, strict=True)]

    if not any(p.requires_grad for p in model.parameters()):
        raise UnsupportedError(f"the model in {folder} has no trainable parameters")
    if checkpoints is None and list(folder.glob("checkpoint-*")):
        checkpoints = folder
    train, train_texts = examples(rows, "training rows")
    asked, asked_texts = examples(queries, "queries")
    return ModelSource(
        model, train, asked, "next-token", checkpoints, None, train_texts, asked_texts, folder.name
    )
