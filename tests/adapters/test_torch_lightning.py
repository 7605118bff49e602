"""With Lightning: the callback, offline."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, TensorDataset

pl = pytest.importorskip("lightning.pytorch", reason="needs the extra lightning")

from anml.adapters.torch import Reweigher, WeightedSampler  # noqa: E402
from anml.adapters.torch.lightning import ReweighCallback  # noqa: E402
from anml.core.errors import UnsupportedError  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, _):
        x, y = batch
        return nn.functional.cross_entropy(self(x), y)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-2)


def data():
    rng = np.random.default_rng(0)
    x = torch.as_tensor(rng.normal(size=(200, 4)), dtype=torch.float32)
    truth = (x[:, 0] > 0).long()
    who = rng.integers(0, 8, 200)
    wrong = who < 2
    return x, torch.where(torch.as_tensor(wrong), 1 - truth, truth), who, wrong


def fitted(folder, epochs=4, resume=None, workers=0, saves=(), recipe="evidence", sampled=True, **settings):
    """Train, and save a checkpoint after each of some batches; `sampled` is False with a batch sampler."""
    x, y, who, _ = data()
    reweigher = Reweigher(x, y, contributor=who, recipe=recipe, every=4, held_out=0)
    sampler = WeightedSampler(reweigher, size=200)

    class Saves(pl.Callback):
        def on_train_batch_end(self, trainer, module, outputs, batch, at):
            if (trainer.current_epoch, at) in saves:
                trainer.save_checkpoint(folder / "at.ckpt")

    # What is kept must know what the step did: Lightning puts its own checkpoints last, too.
    trainer = pl.Trainer(
        max_epochs=epochs, accelerator="cpu", logger=False, enable_progress_bar=False,
        enable_model_summary=False, default_root_dir=folder, use_distributed_sampler=False,
        callbacks=[ReweighCallback(reweigher, sampler), Saves()], enable_checkpointing=False, **settings,
    )  # fmt: skip
    how = {"batch_size": 20, "sampler": sampler}
    if not sampled:
        how = {"batch_sampler": BatchSampler(sampler, 20, drop_last=False)}
    loader = DataLoader(TensorDataset(x, y), num_workers=workers, **how)
    module = Net()
    trainer.fit(module, loader, ckpt_path=resume)
    return module, reweigher, trainer


def test_weights_follow_the_model(tmp_path):
    _, reweigher, _ = fitted(tmp_path)
    wrong = data()[3]
    assert reweigher.epochs == 4
    assert reweigher.weights[wrong].mean() < 0.5 * reweigher.weights[~wrong].mean()


@pytest.mark.parametrize(
    ("workers", "batch", "sampled"), [(0, 3, True), (2, 3, True), (0, 9, True), (0, 3, False), (2, 3, False)]
)
@pytest.mark.parametrize("recipe", ["evidence", "krum"])
def test_stopped_within_an_epoch_or_at_its_end_it_goes_on(recipe, workers, batch, sampled, tmp_path):
    """To the bit."""
    how = {"workers": workers, "recipe": recipe, "sampled": sampled}
    whole, followed, _ = fitted(tmp_path, saves=[(2, batch)], **how)
    again, resumed, _ = fitted(tmp_path, resume=tmp_path / "at.ckpt", **how)
    assert (resumed.steps, resumed.epochs) == (followed.steps, followed.epochs) == (40, 4)
    np.testing.assert_array_equal(resumed.weights, followed.weights)
    for p, q in zip(whole.parameters(), again.parameters(), strict=True):
        assert torch.equal(p, q)


def test_batches_of_no_size_are_refused(tmp_path, monkeypatch):
    class Uneven(BatchSampler):
        def __init__(self, sampler, size, drop_last):
            super().__init__(sampler, size, drop_last)
            del self.batch_size

        def __iter__(self):
            rows = list(self.sampler)
            return iter((rows[:3], rows[3:]))

        def __len__(self):
            return 2

    monkeypatch.setitem(fitted.__globals__, "BatchSampler", Uneven)
    with pytest.raises(UnsupportedError, match="a Uneven has none to ask for"):
        fitted(tmp_path, sampled=False)


def test_accumulated_batches_are_one_step(tmp_path):
    _, reweigher, trainer = fitted(tmp_path, epochs=2, accumulate_grad_batches=5)
    assert reweigher.steps == trainer.global_step == 4


def test_a_checkpoint_is_read_without_running_code(tmp_path):
    fitted(tmp_path, epochs=1, saves=[(0, 9)])
    kept = torch.load(tmp_path / "at.ckpt", weights_only=True)["callbacks"]
    state = next(each for name, each in kept.items() if "Reweigh" in name)
    assert state["reweigher"]["steps"] == 10
