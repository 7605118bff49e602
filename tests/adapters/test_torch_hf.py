"""With Hugging Face: tiny models made from a configuration, offline."""

import numpy as np
import pytest
import torch

pytest.importorskip("transformers", reason="needs the extra hf")
pytest.importorskip("accelerate", reason="needs the extra hf")

from torch import nn
from transformers import (
    DistilBertConfig,
    DistilBertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    Trainer,
    TrainingArguments,
    ViTConfig,
    ViTForImageClassification,
)

import anml
from anml.adapters.torch import Reweigher, module_quality
from anml.adapters.torch.hf import WeightedTrainer
from anml.core.errors import InputError
from anml.gradients.record import unread
from formed_gradients import module_factors

pytestmark = pytest.mark.filterwarnings("ignore")


class Examples(torch.utils.data.Dataset):
    """Token ids whose class is which of two words they hold more often; some labels are wrong."""

    def __init__(self, n=96, seed=0, wrong=0.25):
        rng = np.random.default_rng(seed)
        self.who = rng.integers(0, 8, n)
        y = rng.integers(0, 2, n)
        self.ids = rng.integers(4, 30, (n, 12))
        self.ids[np.arange(n)[:, None], rng.integers(0, 12, (n, 5))] = 2 + y[:, None]
        self.wrong = (self.who < 2) & (rng.uniform(size=n) < 0.95) if wrong else np.zeros(n, dtype=bool)
        self.y, self.truth = np.where(self.wrong, 1 - y, y), y

    def __len__(self):
        return len(self.y)

    def __getitem__(self, at):
        ids = torch.as_tensor(self.ids[at])
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": int(self.y[at])}


def bert():
    torch.manual_seed(0)
    return DistilBertForSequenceClassification(
        DistilBertConfig(vocab_size=32, dim=32, hidden_dim=64, n_layers=1, n_heads=2, num_labels=2)
    )


def gpt():
    torch.manual_seed(0)
    return GPT2ForSequenceClassification(
        GPT2Config(vocab_size=32, n_embd=16, n_layer=1, n_head=2, num_labels=2, pad_token_id=0)
    )


def settings(folder, **more):
    given = {"num_train_epochs": 2, "per_device_train_batch_size": 16, "learning_rate": 5e-3, "seed": 1}
    quiet = {"report_to": [], "disable_tqdm": True, "save_strategy": "no", "use_cpu": True}
    return TrainingArguments(str(folder), **{**given, **quiet, "logging_strategy": "no", **more})


def assert_gradients(module, inputs, y):
    """Norms and products against one backward pass a sample."""
    factors = module_factors(module, inputs, y, "softmax")
    module.eval()
    rows = []
    for at in range(len(y)):
        one = {name: value[at : at + 1] for name, value in inputs.items()}
        loss = nn.functional.cross_entropy(module(**one).logits, y[at : at + 1])
        trainable = [p for p in module.parameters() if p.requires_grad]
        found = torch.autograd.grad(loss, trainable, allow_unused=True)
        rows.append(torch.cat([g.flatten() for g in found if g is not None]))
    exact = torch.stack(rows)
    scale = exact.norm(dim=1)[:, None] * exact.norm(dim=1)
    assert float(((factors.products(factors) - exact @ exact.T).abs() / scale).max()) < 1e-4


class TestGradients:
    data = Examples(7)

    def tokens(self):
        batch = torch.as_tensor(self.data.ids)
        return {"input_ids": batch, "attention_mask": torch.ones_like(batch)}

    @pytest.mark.parametrize("make", [bert, gpt], ids=["distilbert", "gpt2"])
    def test_of_text_models_are_read_from_layers(self, make):
        module = make()
        assert unread(module) == []
        assert_gradients(module, self.tokens(), torch.as_tensor(self.data.y))

    def test_of_a_vision_transformer_go_through_torch_func(self):
        torch.manual_seed(0)
        config = ViTConfig(
            hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, image_size=8,
            patch_size=4, num_labels=3,
        )  # fmt: skip
        module = ViTForImageClassification(config)
        assert unread(module) == ["ViTEmbeddings"]
        assert_gradients(module, {"pixel_values": torch.randn(5, 3, 8, 8)}, torch.arange(5) % 3)

    def test_of_adapters_are_those_of_what_is_trained(self):
        peft = pytest.importorskip("peft", reason="needs peft")
        config = peft.LoraConfig(r=2, target_modules=["q_lin", "v_lin"], init_lora_weights=False)
        module = peft.get_peft_model(bert(), config)
        assert unread(module) == []
        assert_gradients(module, self.tokens(), torch.as_tensor(self.data.y))


class TestTrainer:
    def test_equal_weights_are_the_plain_trainer(self, tmp_path):
        data = Examples(48)
        plain, ours = bert(), bert()
        Trainer(plain, settings(tmp_path), train_dataset=data).train()
        weighting = anml.weigh(np.ones(len(data)), recipe="uniform")
        WeightedTrainer(ours, settings(tmp_path), train_dataset=data, weighting=weighting).train()
        for p, q in zip(plain.parameters(), ours.parameters(), strict=True):
            torch.testing.assert_close(p, q, rtol=1e-4, atol=1e-6)

    def test_accumulated_batches_are_one_large_batch(self, tmp_path):
        data = Examples(32)
        recipe = {"combine": "multiplicative", "select": "weight"}
        weighting = anml.weigh(np.linspace(0.1, 1, 32), recipe=recipe)
        models = []
        for size, steps in ((32, 1), (8, 4)):
            args = settings(
                tmp_path, per_device_train_batch_size=size, gradient_accumulation_steps=steps,
                num_train_epochs=1, optim="sgd", max_grad_norm=0.0,
            )  # fmt: skip
            models.append(bert().eval())
            trainer = WeightedTrainer(models[-1], args, train_dataset=data, weighting=weighting)
            trainer.model.train = lambda mode=True, module=models[-1]: module
            trainer.train()
        for p, q in zip(models[0].parameters(), models[1].parameters(), strict=True):
            torch.testing.assert_close(p, q, rtol=1e-3, atol=1e-5)

    @pytest.mark.parametrize("by", ["loss", "draws"])
    def test_weights_follow_the_model(self, tmp_path, by):
        data = Examples()
        reweigher = Reweigher(data, contributor=data.who, recipe="evidence", batch=32)
        trainer = WeightedTrainer(
            bert(), settings(tmp_path, num_train_epochs=6), train_dataset=data, weighting=reweigher, by=by
        )
        trainer.train()
        assert reweigher.epochs == 6
        assert reweigher.weights[data.wrong].mean() < 0.5 * reweigher.weights[~data.wrong].mean()

    def test_a_checkpoint_brings_the_weights_along(self, tmp_path):
        data = Examples(48)

        def made(folder):
            reweigher = Reweigher(data, contributor=data.who, recipe="krum", every=2, batch=32, warmup=0)
            args = settings(folder, num_train_epochs=2, save_strategy="epoch")
            return WeightedTrainer(bert(), args, train_dataset=data, weighting=reweigher), reweigher

        trainer, whole = made(tmp_path / "one")
        trainer.train()
        first = tmp_path / "one" / "checkpoint-3"
        assert (first / "anml_reweigher.npz").is_file()
        trainer, resumed = made(tmp_path / "two")
        trainer.train(resume_from_checkpoint=str(first))
        assert resumed.steps == whole.steps == 6
        np.testing.assert_allclose(resumed.weights, whole.weights, atol=1e-9)

    def test_weights_of_another_number_of_samples(self, tmp_path):
        weighting = anml.weigh(np.ones(5), recipe="uniform")
        with pytest.raises(InputError, match="weights of 5 samples for a train_dataset of 48"):
            WeightedTrainer(bert(), settings(tmp_path), train_dataset=Examples(48), weighting=weighting)

    def test_q_of_a_dataset_of_dicts(self):
        data = Examples(20)
        assert module_quality(bert(), data, gradients="sketch", size=256).shape == (20,)
