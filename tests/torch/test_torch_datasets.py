"""With `datasets` and `trl` themselves: their datasets, streams, formats and trainers, offline."""

import numpy as np
import pandas as pd
import pytest
import torch

pytest.importorskip("datasets", reason="needs datasets")
pytest.importorskip("transformers", reason="needs the extra hf")

import datasets
from torch.utils.data import BatchSampler, DataLoader, RandomSampler
from transformers import (
    BatchEncoding,
    GPT2Config,
    GPT2ForSequenceClassification,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
)

import anml
from anml.core.errors import InputError, UnsupportedError
from anml.torch import module_quality
from anml.torch.hf import Weighted, WeightedTrainer

pytestmark = pytest.mark.filterwarnings("ignore")
N = 24
SIZES = {"vocab_size": 32, "n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 64}


@pytest.fixture(autouse=True)
def quiet():
    datasets.disable_progress_bars()


def sentences():
    """Counting modulo 20, from anywhere and of any length."""
    rng = np.random.default_rng(0)
    rows = []
    for at in range(N):
        ids = [int(each) for each in (np.arange(rng.integers(6, 14)) + rng.integers(0, 20)) % 20 + 4]
        rows.append({"input_ids": ids, "labels": ids, "key": f"s{at}"})
    return datasets.Dataset.from_list(rows)


def numbered(data):
    return data.map(lambda each, at: {"sample_index": at}, with_indices=True)


def padded(examples):
    longest = max(len(each["input_ids"]) for each in examples)

    def filled(name, value):
        return torch.tensor([[*map(int, e[name]), *[value] * (longest - len(e[name]))] for e in examples])

    ids = filled("input_ids", 0)
    batch = {"input_ids": ids, "attention_mask": (ids > 0).long(), "labels": filled("labels", -100)}
    if "sample_index" in examples[0]:
        batch["sample_index"] = torch.tensor([int(each["sample_index"]) for each in examples])
    return BatchEncoding(batch)


def gpt(kind=GPT2LMHeadModel, **more):
    torch.manual_seed(0)
    return kind(GPT2Config(**SIZES, bos_token_id=2, eos_token_id=2, pad_token_id=0, **more))


def settings(folder, kind=TrainingArguments, **more):
    given = {"num_train_epochs": 1, "per_device_train_batch_size": 4, "learning_rate": 5e-3, "seed": 1}
    quiet = {"report_to": [], "disable_tqdm": True, "save_strategy": "no", "use_cpu": True, "bf16": False}
    return kind(output_dir=str(folder), **{**given, **quiet, "logging_strategy": "no", **more})


def uniform(n=N):
    return anml.weigh(np.ones(n), recipe="uniform")


class TestQuality:
    data = sentences().remove_columns("key")

    def found(self, data, **loading):
        return module_quality(gpt(), DataLoader(data, collate_fn=padded, **loading), neighbors=3)

    @pytest.mark.parametrize("kind", ["shuffled batches, two workers", "torch", "stream", "named stream"])
    def test_is_by_row_however_rows_come(self, kind):
        batches = BatchSampler(RandomSampler(range(N)), 5, drop_last=False)
        stream = numbered(self.data).to_iterable_dataset(num_shards=3).shuffle(seed=1, buffer_size=8)
        given = {
            "shuffled batches, two workers": (self.data, {"batch_sampler": batches, "num_workers": 2}),
            "torch": (self.data.with_format("torch"), {"batch_size": 5, "shuffle": True}),
            "stream": (self.data.to_iterable_dataset(num_shards=3), {"batch_size": 5, "num_workers": 2}),
            "named stream": (stream, {"batch_size": 5, "num_workers": 2}),
        }[kind]
        np.testing.assert_allclose(
            self.found(given[0], **given[1]), self.found(self.data, batch_size=5), atol=1e-5
        )

    def test_lengths_that_differ_need_a_collator_that_pads(self):
        with pytest.raises(InputError, match="DataCollatorWithPadding"):
            module_quality(gpt(), self.data)


class TestTrainer:
    @pytest.mark.parametrize("kind", ["plain", "shuffled", "torch", "named stream"])
    def test_equal_weights_are_the_plain_trainer_to_the_bit(self, kind, tmp_path):
        data = {
            "plain": sentences,
            "shuffled": lambda: sentences().shuffle(seed=3),
            "torch": lambda: sentences().with_format("torch"),
            "named stream": lambda: numbered(sentences()).to_iterable_dataset(num_shards=3),
        }[kind]()
        more = {"max_steps": 6, "dataloader_num_workers": 2} if kind == "named stream" else {}
        given = {"args": settings(tmp_path, **more), "train_dataset": data, "data_collator": padded}
        plain = Trainer(gpt(), **given)
        plain.train()
        ours = WeightedTrainer(gpt(), **given, weighting=uniform())
        ours.train()
        for p, q in zip(plain.model.parameters(), ours.model.parameters(), strict=True):
            assert torch.equal(p, q)

    def test_rows_that_were_shuffled_since_are_refused(self, tmp_path):
        frame = pd.DataFrame({"key": [f"s{at}" for at in range(N)], "label": np.arange(N) % 2})
        audit = anml.audit(
            frame.assign(x=frame.label + 0.1),
            label="label",
            features=["x"],
            evaluate=False,
            schema={"key": "key"},
        )
        weighting = audit.weights_for(sentences(), key="key")
        with pytest.raises(InputError, match="'key' of the train_dataset is not that of the weights"):
            WeightedTrainer(
                gpt(), settings(tmp_path), train_dataset=sentences().shuffle(seed=1), weighting=weighting
            )

    @pytest.mark.parametrize("kind", ["torch", "numpy", "pandas", "stream", "filtered"])
    def test_weights_are_found_in_every_form(self, kind):
        frame = pd.DataFrame({"key": [f"k{at}" for at in range(N)], "x": np.linspace(-1, 1, N)})
        frame["label"] = (frame.x > 0).astype(int)
        audit = anml.audit(frame, label="label", features=["x"], evaluate=False, schema={"key": "key"})
        data = datasets.Dataset.from_pandas(frame)
        if kind in ("stream", "filtered"):
            mixed = data.shuffle(seed=1).filter(lambda each: each["x"] > -0.5)
            given = mixed.to_iterable_dataset(num_shards=2) if kind == "stream" else mixed
            result = audit.weights_for(given, key="key")
            wanted = audit.samples.set_index("key").weight[list(mixed["key"])]
        else:
            result, wanted = audit.weights_for(data.with_format(kind)), audit.samples.weight
        np.testing.assert_array_equal(result.w, wanted)

    def test_a_stream_without_names_is_refused(self, tmp_path):
        data = sentences().to_iterable_dataset()
        given = {"train_dataset": data, "data_collator": padded, "weighting": uniform()}
        with pytest.raises(InputError, match="number them as 'sample_index'"):
            WeightedTrainer(gpt(), settings(tmp_path, max_steps=2), **given).train()


WORDS = [f"w{at}" for at in range(20)]


class TestTRL:
    """Preferences of six people over eight pairs, of whom one chooses the worse."""

    @pytest.fixture(scope="class")
    def trl(self):
        return pytest.importorskip("trl", reason="needs trl")

    @pytest.fixture(scope="class")
    def chosen(self):
        rng, rows = np.random.default_rng(0), []
        for pair in range(8):
            prompt, good, bad = (" ".join(rng.choice(WORDS, 4)) for _ in range(3))
            for contributors in range(6):
                one, two = (bad, good) if contributors == 0 else (good, bad)
                key = f"{pair}-{contributors}"
                rows.append(
                    {"prompt": prompt, "chosen": one, "rejected": two, "key": key, "who": contributors}
                )
        frame = pd.DataFrame(rows)
        audit = anml.audit(frame, contributor="who", task="preferences", schema={"key": "key"})
        pairs = datasets.Dataset.from_pandas(frame.drop(columns="who")).shuffle(seed=1)
        return pairs, audit.weights_for(pairs, key="key")

    @pytest.fixture(scope="class")
    def folder(self, tmp_path_factory):
        folder = tmp_path_factory.mktemp("gpt")
        gpt().save_pretrained(folder)
        return folder

    @staticmethod
    def tokenizer():
        from tokenizers import Tokenizer, models, pre_tokenizers

        names = {word: at for at, word in enumerate(["[PAD]", "[UNK]", "[EOS]", *WORDS])}
        raw = Tokenizer(models.WordLevel(names, unk_token="[UNK]"))
        raw.pre_tokenizer = pre_tokenizers.Whitespace()
        special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "eos_token": "[EOS]"}
        return PreTrainedTokenizerFast(tokenizer_object=raw, **special)

    def trained(self, trainer, config, model, tmp_path, data, weighting, by="draws", **more):
        class Ours(Weighted, trainer):
            pass

        args = settings(tmp_path, config, **more)
        made = Ours(
            model=model, args=args, train_dataset=data, processing_class=self.tokenizer(),
            weighting=weighting, by=by,
        )  # fmt: skip
        made.train()
        return made

    def test_preferences_are_drawn_by_weight(self, trl, chosen, folder, tmp_path):
        pairs, weighting = chosen
        liar = np.array([key.endswith("-0") for key in pairs["key"]])
        assert not weighting.kept[liar].any()
        assert weighting.kept[~liar].all()
        dpo = trl.DPOTrainer, trl.DPOConfig, GPT2LMHeadModel.from_pretrained(folder)
        rewards = trl.RewardTrainer, trl.RewardConfig, gpt(GPT2ForSequenceClassification, num_labels=1)
        for trainer, config, model in (dpo, rewards):
            result = self.trained(trainer, config, model, tmp_path, pairs, weighting)
            assert result.state.global_step == 12
            assert not (result.drawing.weighting.sample_weight()[liar]).any()

    def test_rows_in_another_order_are_refused(self, trl, chosen, folder, tmp_path):
        pairs, weighting = chosen
        model = GPT2LMHeadModel.from_pretrained(folder)
        with pytest.raises(InputError, match="'key' of the train_dataset is not that of the weights"):
            self.trained(trl.DPOTrainer, trl.DPOConfig, model, tmp_path, pairs.sort("key"), weighting)

    def test_losses_over_two_answers_cannot_be_weighed(self, trl, chosen, tmp_path):
        pairs, weighting = chosen
        model = gpt(GPT2ForSequenceClassification, num_labels=1)
        with pytest.raises(UnsupportedError, match="logits of 8 for a batch of 4 samples"):
            self.trained(trl.RewardTrainer, trl.RewardConfig, model, tmp_path, pairs, weighting, by="loss")

    def test_a_trainer_that_shuffles_its_rows_is_refused(self, trl, tmp_path):
        rng = np.random.default_rng(0)
        texts = datasets.Dataset.from_dict({"text": [" ".join(rng.choice(WORDS, 6)) for _ in range(N)]})
        with pytest.raises(InputError, match="made its train_dataset anew"):
            self.trained(
                trl.SFTTrainer, trl.SFTConfig, gpt(), tmp_path, texts, uniform(), shuffle_dataset=True
            )
