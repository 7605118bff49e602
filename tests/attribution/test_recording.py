"""Checkpoints kept in training, by a plain loop and by a Trainer, and LoRA from training to a usage file."""

import json

import numpy as np
import pytest

import anml
from anml.attribution.recording import RECORD, CheckpointRecorder, recorded_settings
from language_world import SOURCES, fine_tuned, fit, llama, rows_of, texts, tokenizer_of, transformers


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return fine_tuned(tmp_path_factory.mktemp("lm"))


def test_a_recorder_keeps_early_checkpoints_and_the_settings(trained):
    kept = sorted(path.name for path in (trained / "ckpt").glob("step-*"))
    assert [int(name[5:13]) for name in kept] == [2, 6, 15, 30]
    settings = recorded_settings(trained / "ckpt")
    assert settings["steps"] == len(settings["lr"]) == 30
    assert settings["batch_size"] == 8
    assert settings["optimizer"] == "AdamW"
    assert recorded_settings(trained) is None


def test_the_trainer_keeps_checkpoints(tmp_path):
    frame = texts(4)
    tok = tokenizer_of(frame, 300)
    cut = [each["input_ids"][:32] for each in rows_of(tok, frame)]
    rows = [{"input_ids": each, "labels": each} for each in cut if len(each) == 32]
    arguments = transformers.TrainingArguments(
        tmp_path / "out", max_steps=10, per_device_train_batch_size=4, report_to=[], save_strategy="no",
        disable_tqdm=True, use_cpu=True, logging_strategy="no",
    )  # fmt: skip
    callback = anml.attribution.trainer_callback(tmp_path / "ckpt", at=(0.3, 1.0))
    transformers.Trainer(llama(16, 300), arguments, train_dataset=rows, callbacks=[callback]).train()
    assert [p.name for p in sorted((tmp_path / "ckpt").glob("step-*"))] == [
        "step-00000003.safetensors", "step-00000010.safetensors",
    ]  # fmt: skip
    settings = json.loads((tmp_path / "ckpt" / RECORD).read_text())
    assert settings["batch_size"] == 4
    assert settings["clip"] == 1.0
    assert len(settings["lr"]) == 10


@pytest.mark.slow
# peft calls an attribute that transformers has renamed.
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
def test_lora_on_a_pretrained_model_from_training_to_a_usage_file(tmp_path):
    peft = pytest.importorskip("peft")
    base_text = texts(60, offset=20_000)
    tok = tokenizer_of(base_text, 2_000)
    base = llama(160, 2_000)
    assert sum(p.numel() for p in base.parameters()) >= 1_000_000
    fit(base, rows_of(tok, base_text), 60, 3e-3, batch=16)
    model = peft.get_peft_model(base, peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj", "up_proj"]))
    frame = texts(12)
    rows = [each | {"author": name} for each, name in zip(rows_of(tok, frame), frame["author"], strict=True)]
    recorder = CheckpointRecorder(tmp_path / "ckpt", model, steps=40, batch_size=8)
    fit(model, [{"input_ids": each["input_ids"]} for each in rows], 40, 5e-3, recorder=recorder)
    index = anml.attribution.index(
        model, rows, contributor="author", loss="next-token", checkpoints=tmp_path / "ckpt"
    )
    queries = rows_of(tok, texts(2, offset=2_000))
    result = index.trace(queries)
    assert result.check["status"] == "checked"
    assert result.check["retrainings"] == 10
    # Queries come from the sources in order: most have most influence from their own source.
    codes = np.array([index.contributors.index(name) for name in SOURCES]).repeat(2)
    own = result.influence.argmax(axis=1) == codes
    assert own.mean() >= 0.6
    result.report(tmp_path / "trace.html")
    usage = result.usage(tmp_path / "usage.json", period=("2026-01-01", "2026-01-31"))
    assert sum(line["share"] for line in usage["contributors"]) == pytest.approx(1)
