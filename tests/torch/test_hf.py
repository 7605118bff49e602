"""With Hugging Face: tiny models made from a configuration, offline."""

import copy
import dataclasses

import numpy as np
import pytest
import torch

pytest.importorskip("transformers", reason="needs the extra hf")
pytest.importorskip("accelerate", reason="needs the extra hf")

from torch import nn
from torch.utils.data import BatchSampler, DataLoader, RandomSampler
from transformers import (
    BertConfig,
    BertForMaskedLM,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    GPT2LMHeadModel,
    MixtralConfig,
    MixtralForCausalLM,
    Trainer,
    TrainingArguments,
    ViTConfig,
    ViTForImageClassification,
)

import anml
from anml.core.errors import InputError, UnsupportedError
from anml.gradients.record import unsupported_layers
from anml.torch import module_quality
from anml.torch.data import samples_of
from anml.torch.hf import Weighted, WeightedTrainer
from anml.torch.quality import Scoring, module_gradients
from formed_gradients import module_factors

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


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
        result = torch.autograd.grad(loss, trainable, allow_unused=True)
        rows.append(torch.cat([g.flatten() for g in result if g is not None]))
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
        assert unsupported_layers(module) == []
        assert_gradients(module, self.tokens(), torch.as_tensor(self.data.y))

    def test_of_a_vision_transformer_go_through_torch_func(self):
        torch.manual_seed(0)
        config = ViTConfig(
            hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, image_size=8,
            patch_size=4, num_labels=3,
        )  # fmt: skip
        module = ViTForImageClassification(config)
        assert unsupported_layers(module) == ["ViTEmbeddings"]
        assert_gradients(module, {"pixel_values": torch.randn(5, 3, 8, 8)}, torch.arange(5) % 3)

    def test_of_adapters_are_those_of_what_is_trained(self):
        peft = pytest.importorskip("peft", reason="needs peft")
        config = peft.LoraConfig(r=2, target_modules=["q_lin", "v_lin"], init_lora_weights=False)
        module = peft.get_peft_model(bert(), config)
        assert unsupported_layers(module) == []
        assert_gradients(module, self.tokens(), torch.as_tensor(self.data.y))


class Sentences(torch.utils.data.Dataset):
    """Counting modulo 20, from anywhere and of any length; `masked` hides every other place."""

    def __init__(self, n=48, masked=False):
        rng = np.random.default_rng(0)
        starts, lengths = rng.integers(0, 20, n), rng.integers(6, 14, n)
        self.ids = [
            torch.as_tensor((np.arange(k) + a) % 20 + 4) for a, k in zip(starts, lengths, strict=True)
        ]
        self.masked = masked

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, at):
        labels = self.ids[at].clone()
        if self.masked:
            labels[::2] = -100
        return {"input_ids": self.ids[at], "labels": labels}


def padded(examples):
    ids, labels = ([each[name] for each in examples] for name in ("input_ids", "labels"))
    filled = nn.utils.rnn.pad_sequence(ids, batch_first=True)
    targets = nn.utils.rnn.pad_sequence(labels, batch_first=True, padding_value=-100)
    return {"input_ids": filled, "attention_mask": (filled > 0).long(), "labels": targets}


def causal():
    torch.manual_seed(0)
    sizes = {"vocab_size": 32, "n_embd": 32, "n_layer": 1, "n_head": 2, "n_positions": 32}
    return GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0))


def masked():
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    return BertForMaskedLM(BertConfig(vocab_size=32, max_position_embeddings=32, **sizes))


def experts():
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    return MixtralForCausalLM(
        MixtralConfig(
            vocab_size=32,
            num_key_value_heads=2,
            num_local_experts=4,
            num_experts_per_tok=2,
            max_position_embeddings=32,
            output_router_logits=True,
            bos_token_id=0,
            eos_token_id=0,
            **sizes,
        )
    )


def focal(outputs, labels, num_items_in_batch=None):
    """A loss of a user's own."""
    each = nn.functional.cross_entropy(outputs.logits, labels, reduction="none")
    return ((1 - torch.exp(-each)) * each).sum() / (num_items_in_batch or len(labels))


def clip(outputs, labels, num_items_in_batch=None):
    """A loss that compares samples."""
    return nn.functional.cross_entropy(outputs.logits @ outputs.logits.T, torch.arange(len(labels)))


# Model, data, what the Trainer is given, and its settings.
OBJECTIVES = {
    "classes": (bert, Examples(48), {}, {}),
    "classes, smoothed, accumulated": (
        bert, Examples(48), {}, {"label_smoothing_factor": 0.1, "gradient_accumulation_steps": 2},
    ),
    "a loss of one's own, accumulated": (
        bert, Examples(48), {"compute_loss_func": focal}, {"gradient_accumulation_steps": 2},
    ),
    "next tokens": (causal, Sentences(), {"data_collator": padded}, {}),
    "next tokens, accumulated": (
        causal, Sentences(), {"data_collator": padded},
        {"gradient_accumulation_steps": 3, "per_device_train_batch_size": 4},
    ),
    "next tokens, smoothed": (
        causal, Sentences(), {"data_collator": padded}, {"label_smoothing_factor": 0.1},
    ),
    "next tokens, bfloat16": (causal, Sentences(), {"data_collator": padded}, {"bf16": True}),
    "next tokens, by length": (
        causal, Sentences(), {"data_collator": padded}, {"train_sampling_strategy": "group_by_length"},
    ),
    "masked tokens": (masked, Sentences(masked=True), {"data_collator": padded}, {}),
    "a mixture of experts": (experts, Sentences(), {"data_collator": padded}, {}),
}  # fmt: skip


def off(module, data, loss, n=16):
    """Return the deviation of gradient products from those of one backward pass per sample."""
    scoring = Scoring(batch_size=5)
    result = module_gradients(module, samples_of(data, None, 5), scoring, torch.device("cpu"), None)
    module.eval()
    trainable = [p for p in module.parameters() if p.requires_grad]
    rows = []
    for at in range(n):
        each = torch.autograd.grad(loss(module, at), trainable, allow_unused=True)
        filled = [torch.zeros_like(p) if g is None else g for p, g in zip(trainable, each, strict=True)]
        rows.append(torch.cat([g.flatten().float() for g in filled]))
    exact = torch.stack(rows)
    scale = exact.norm(dim=1)[:, None] * exact.norm(dim=1)
    return float(((result.products(result) - exact @ exact.T).abs() / scale).max())


def spoken(module, at):
    ids = Sentences(16).ids[at][None]
    return nn.functional.cross_entropy(module(input_ids=ids).logits[0, :-1].float(), ids[0, 1:])


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table, self.cells, self.head = (
            nn.Embedding(32, 8),
            nn.GRU(8, 8, batch_first=True),
            nn.Linear(8, 2),
        )

    def forward(self, input_ids):
        return self.head(self.cells(self.table(input_ids))[0][:, -1])


class TestAnyModule:
    """Batches of padded sentences, each of another length, in an order that a sampler shuffles."""

    @pytest.mark.parametrize(
        ("change", "within"),
        [
            (lambda module: module, 1e-5),
            # Another back end would spend a minute on compiling what is compared with.
            (lambda module: torch.compile(module, backend="eager"), 1e-5),
            (lambda module: module.bfloat16(), 2e-2),
            (lambda module: module.half(), 1e-2),
        ],
        ids=["as it is", "compiled", "bfloat16", "float16"],
    )
    def test_a_causal_language_model_is_scored_by_the_next_token(self, change, within):
        data = Sentences(16)
        batches = BatchSampler(RandomSampler(data), 5, drop_last=False)
        loader = DataLoader(data, batch_sampler=batches, collate_fn=padded, num_workers=2)
        assert off(change(causal()), loader, spoken) < within

    def test_a_mixture_of_experts(self):
        assert off(experts(), DataLoader(Sentences(16), batch_size=5, collate_fn=padded), spoken) < 1e-5

    def test_recurrent_layers_go_one_by_one(self):
        data = Examples(16)

        def loss(module, at):
            ids, y = torch.as_tensor(data.ids[at : at + 1]), torch.as_tensor(data.y[at : at + 1])
            return nn.functional.cross_entropy(module(ids), y)

        rows = [{"input_ids": data.ids[at].tolist(), "label": int(data.y[at])} for at in range(16)]
        assert off(Recurrent(), rows, loss) < 1e-5


def uniform(n):
    return anml.weigh(np.ones(n), recipe="uniform")


def trained(kind, folder, name, **more):
    make, data, given, args = OBJECTIVES[name]
    module = make()
    kind(module, settings(folder, **args), train_dataset=data, **given, **more).train()
    return module


@pytest.mark.parametrize("name", OBJECTIVES)
def test_equal_weights_are_the_plain_trainer_to_the_bit(name, tmp_path):
    plain = trained(Trainer, tmp_path, name)
    ours = trained(WeightedTrainer, tmp_path, name, weighting=uniform(48))
    for p, q in zip(plain.parameters(), ours.parameters(), strict=True):
        assert torch.equal(p, q)


class Mean(Trainer):
    """A trainer with a loss of its own, as users write it."""

    def compute_loss(self, model, inputs, return_outputs=False, **more):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = nn.functional.cross_entropy(outputs.logits, labels)
        return (loss, outputs) if return_outputs else loss


class Known(torch.utils.data.IterableDataset):
    """A stream that says how long it is."""

    def __len__(self):
        return 48

    def __iter__(self):
        return ({**each, "sample_index": at} for at, each in enumerate(Examples(48)))


class Renewed(Examples):
    """Examples that are others in every epoch."""

    epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __getitem__(self, at):
        result = super().__getitem__(at)
        return {**result, "input_ids": (result["input_ids"] + self.epoch) % 30}


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (Trainer, {"model": bert(), "train_dataset": Renewed(48)}),
        (Trainer, {"model_init": bert, "train_dataset": Examples(48)}),
        (Mean, {"model": bert(), "train_dataset": Examples(48)}),
        (Trainer, {"model": bert(), "train_dataset": Known()}),
    ],
    ids=["new in every epoch", "model_init", "a trainer of one's own", "a stream of known length"],
)
def test_ways_of_starting_a_trainer(kind, given, tmp_path):
    def parameters(kind, **more):
        trainer = kind(args=settings(tmp_path), **copy.deepcopy(given), **more)
        trainer.train()
        # A model that was trained can be copied.
        return list(copy.deepcopy(trainer.model).parameters())

    class Ours(Weighted, kind):
        pass

    plain, ours = parameters(kind), parameters(Ours, weighting=uniform(48))
    assert all(torch.equal(p, q) for p, q in zip(plain, ours, strict=True))


def test_a_language_model_learns_the_next_token(tmp_path):
    module = causal()
    data = Sentences(96)
    args = settings(tmp_path, num_train_epochs=12, learning_rate=1e-2)
    weighting = anml.weigh(np.arange(96) % 4 > 0, recipe="krum")
    WeightedTrainer(module, args, train_dataset=data, data_collator=padded, weighting=weighting).train()
    module.eval()
    batch = padded([data[at] for at in range(96)])
    message = module(input_ids=batch["input_ids"]).logits[:, :-1].argmax(2)
    right = batch["labels"][:, 1:]
    assert (message == right)[right != -100].float().mean() > 0.95


def test_a_weight_is_a_factor_of_its_sequences_loss(tmp_path):
    data, q = Sentences(8), np.array([0.2, 1.0, 0.4, 1.0, 0.6, 0.8, 0.1, 1.0])
    recipe = {"combine": "multiplicative", "use": ["q"], "select": "weight", "keep": 1.0}
    byhand = causal().eval()
    batch = padded([data[at] for at in range(8)])
    right = batch["labels"][:, 1:]
    z = byhand(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits[:, :-1]
    each = nn.functional.cross_entropy(z.mT, right, reduction="none").sum(1)
    scale = None
    for weighting in (uniform(8), anml.weigh(q, recipe=recipe)):
        args = settings(
            tmp_path, per_device_train_batch_size=4, gradient_accumulation_steps=2, num_train_epochs=1,
            optim="sgd", max_grad_norm=0.0, learning_rate=1.0, lr_scheduler_type="constant",
        )  # fmt: skip
        ours = causal().eval()
        trainer = WeightedTrainer(ours, args, train_dataset=data, data_collator=padded, weighting=weighting)
        ours.train = lambda mode=True, module=ours: module
        trainer.train()
        moved = torch.cat([
            (before - after).flatten()
            for before, after in zip(byhand.parameters(), ours.parameters(), strict=True)
        ])  # fmt: skip
        w = torch.as_tensor(weighting.sample_weight(), dtype=torch.float32)
        result = torch.autograd.grad((each * w).sum(), list(byhand.parameters()), retain_graph=True)
        gradient = torch.cat([g.flatten() for g in result])
        # What a sum is divided by is the Trainer's affair, and the same for all weights.
        scale = scale or float(moved @ gradient / (gradient @ gradient))
        torch.testing.assert_close(moved, scale * gradient, rtol=1e-3, atol=1e-5)


class TestRefused:
    def test_a_loss_that_compares_samples(self, tmp_path):
        with pytest.raises(UnsupportedError, match=r'compares samples with each other.*by="draws"'):
            self.train(tmp_path, compute_loss_func=clip)

    def test_a_collator_that_gives_no_names(self, tmp_path):
        with pytest.raises(InputError, match="a collator must give values by name, got tuple"):
            self.train(tmp_path, data_collator=lambda each: (each[0]["input_ids"],))

    def test_a_collator_that_sorts(self, tmp_path):
        def longest_first(examples):
            return padded(sorted(examples, key=lambda each: -len(each["input_ids"])))

        with pytest.raises(InputError, match="changes the order of the examples"):
            WeightedTrainer(
                causal(), settings(tmp_path), train_dataset=Sentences(), data_collator=longest_first,
                weighting=uniform(48),
            ).train()  # fmt: skip

    def test_draws_from_other_rows(self, tmp_path):
        args = settings(tmp_path)
        trainer = WeightedTrainer(bert(), args, train_dataset=Examples(8), weighting=uniform(8), by="draws")
        trainer.train_dataset = Examples(6)
        with pytest.raises(InputError, match="there are weights of 8 samples for 6 to draw"):
            trainer.train()

    @pytest.mark.parametrize("by", ["loss", "draws"])
    def test_what_is_no_weighting(self, by, tmp_path):
        with pytest.raises(InputError, match=r"of anml\.weigh or audit\.weights_for, got ndarray"):
            WeightedTrainer(
                bert(), settings(tmp_path), train_dataset=Examples(4), weighting=np.ones(4), by=by
            )

    def test_a_compiled_model(self, tmp_path):
        compiled = {"torch_compile": True, "torch_compile_backend": "aot_eager"}
        with pytest.raises(UnsupportedError, match="train without torch_compile"):
            self.train(tmp_path, args=compiled)

    def test_batches_that_do_not_name_their_rows(self, tmp_path):
        class Stream(torch.utils.data.IterableDataset):
            def __iter__(self):
                return iter(Examples(48))

        with pytest.raises(InputError, match="number them as 'sample_index'"):
            self.train(tmp_path, data=Stream(), args={"max_steps": 2})

    def test_rows_beyond_the_weights(self, tmp_path):
        class Stream(torch.utils.data.IterableDataset):
            def __iter__(self):
                return ({**each, "sample_index": 40 + at} for at, each in enumerate(Examples(48)))

        with pytest.raises(InputError, match=r"a batch holds row 5\d for weights of 48 samples"):
            self.train(tmp_path, data=Stream(), args={"max_steps": 2})

    def test_draws_from_a_stream(self, tmp_path):
        class Stream(torch.utils.data.IterableDataset):
            def __iter__(self):
                return iter(Examples(48))

        with pytest.raises(UnsupportedError, match="cannot be drawn from by weight"):
            self.train(tmp_path, data=Stream(), args={"max_steps": 2}, by="draws")

    def test_rows_that_say_they_are_others(self, tmp_path):
        numbered = [{**each, "sample_index": 47 - at} for at, each in enumerate(Examples(48))]
        with pytest.raises(InputError, match=r"row \d+ of the train_dataset says that it is row \d+"):
            self.train(tmp_path, data=numbered)

    def test_a_trainer_that_draws_by_itself(self, tmp_path):
        class Repeats(torch.utils.data.Sampler):
            """Each row twice in turn, as losses over groups of answers need them."""

            def __len__(self):
                return 96

            def __iter__(self):
                return iter(np.repeat(np.arange(48), 2).tolist())

        class Grouping(Trainer):
            def _get_train_sampler(self, train_dataset=None):
                return Repeats()

        class Mine(Weighted, Grouping):
            pass

        args = settings(tmp_path)
        with pytest.raises(UnsupportedError, match="Mine draws by a Repeats, which draws by weight"):
            Mine(bert(), args, train_dataset=Examples(48), weighting=uniform(48), by="draws").train()

    def test_a_trainer_that_makes_its_dataset_anew(self, tmp_path):
        class Shuffling(Trainer):
            def __init__(self, *args, train_dataset, **more):
                order = np.random.default_rng(0).permutation(len(train_dataset))
                super().__init__(*args, train_dataset=[train_dataset[int(at)] for at in order], **more)

        class Mine(Weighted, Shuffling):
            pass

        with pytest.raises(InputError, match="Mine made its train_dataset anew"):
            Mine(bert(), settings(tmp_path), train_dataset=Examples(48), weighting=uniform(48))

    def test_a_trainer_with_a_loader_of_its_own(self, tmp_path):
        class Loading(Trainer):
            def get_train_dataloader(self):
                return DataLoader(self.train_dataset, batch_size=16)

        class Mine(Weighted, Loading):
            pass

        args = settings(tmp_path)
        with pytest.raises(UnsupportedError, match="Mine has its own loader"):
            Mine(bert(), args, train_dataset=Examples(48), weighting=uniform(48), by="draws").train()

    @staticmethod
    def train(folder, data=None, args=None, **more):
        given = data or Examples(48)
        WeightedTrainer(
            bert(), settings(folder, **(args or {})), train_dataset=given, weighting=uniform(48), **more
        ).train()


def test_rows_of_a_stream_name_themselves(tmp_path):
    """Two workers that share a stream change the order of its rows, and no weight."""
    data, dropped = Examples(48), np.arange(48) % 3 == 0

    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            worker = torch.utils.data.get_worker_info()
            start, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
            return ({**data[at], "sample_index": at} for at in range(start, 48, step))

    calls = []

    class Looking(WeightedTrainer):
        def compute_loss(self, model, inputs, *rest, **named):
            wanted = torch.as_tensor([data.y[at] for at in inputs["sample_index"]])
            calls.append(torch.equal(inputs["labels"], wanted))
            return super().compute_loss(model, inputs, *rest, **named)

    args = settings(tmp_path, max_steps=6, dataloader_num_workers=2)
    Looking(bert(), args, train_dataset=Stream(), weighting=anml.weigh(~dropped, recipe="krum")).train()
    assert calls == [True] * 6


@pytest.mark.parametrize("by", ["loss", "draws"])
@pytest.mark.parametrize(("workers", "step"), [(0, 8), (2, 8), (0, 6)])
def test_a_resumed_run_equals_an_uninterrupted_one_to_the_bit(by, workers, step, tmp_path):
    """Checkpoints within an epoch and at its end; an epoch has six steps."""
    data, weighting = Examples(96), anml.weigh(np.linspace(0.1, 1, 96), recipe="krum")

    def made(folder):
        args = settings(folder, save_strategy="steps", save_steps=step, dataloader_num_workers=workers)
        return WeightedTrainer(bert(), args, train_dataset=data, weighting=weighting, by=by)

    one, two = made(tmp_path / "one"), made(tmp_path / "two")
    one.train()
    two.train(resume_from_checkpoint=str(tmp_path / "one" / f"checkpoint-{step}"))
    for p, q in zip(one.model.parameters(), two.model.parameters(), strict=True):
        assert torch.equal(p, q)


class TestTrainer:
    def test_weights_of_another_number_of_samples(self, tmp_path):
        weighting = anml.weigh(np.ones(5), recipe="uniform")
        with pytest.raises(InputError, match="weights of 5 samples for a train_dataset of 48"):
            WeightedTrainer(bert(), settings(tmp_path), train_dataset=Examples(48), weighting=weighting)

    def test_rows_that_were_shuffled_after_their_weights_were_found(self, tmp_path):
        class Named(Examples):
            """Stand-in for a `datasets.Dataset` with an id column."""

            column_names = ("id", "labels")

            def __getitem__(self, at):
                return [f"r{row}" for row in self.order] if at == "id" else super().__getitem__(at)

        weighting = dataclasses.replace(uniform(8), rows=("id", [f"r{row}" for row in range(8)]))
        data = Named(8)
        data.order = range(8)
        WeightedTrainer(bert(), settings(tmp_path), train_dataset=data, weighting=weighting).train()
        data.order = range(7, -1, -1)
        with pytest.raises(InputError, match="'id' of the train_dataset is not that of the weights"):
            WeightedTrainer(bert(), settings(tmp_path), train_dataset=data, weighting=weighting)

    def test_q_of_a_dataset_of_dicts(self):
        data = Examples(20)
        assert module_quality(bert(), data, gradients={"method": "sketch", "size": 256}).shape == (20,)
