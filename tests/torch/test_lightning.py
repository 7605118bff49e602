"""With Lightning: the callback, offline."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, TensorDataset

import anml

pl = pytest.importorskip("lightning.pytorch", reason="needs the extra lightning")

from anml.core.errors import UnsupportedError  # noqa: E402
from anml.torch import WeightedSampler  # noqa: E402
from anml.torch.lightning import SamplerCheckpoint  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


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


def fitted(folder, epochs=4, resume=None, workers=0, saves=(), sampled=True):
    """Train, and save a checkpoint after each of some batches; `sampled` is False with a batch sampler."""
    x = torch.as_tensor(np.random.default_rng(0).normal(size=(200, 4)), dtype=torch.float32)
    y = (x[:, 0] > 0).long()
    sampler = WeightedSampler(anml.weigh(np.linspace(0.1, 1, 200), recipe="krum"), num_samples=200)

    class Saves(pl.Callback):
        def on_train_batch_end(self, trainer, module, outputs, batch, at):
            if (trainer.current_epoch, at) in saves:
                trainer.save_checkpoint(folder / "at.ckpt")

    # The checkpoint is written after the callback has counted the batch; Lightning orders its own likewise.
    trainer = pl.Trainer(
        max_epochs=epochs, accelerator="cpu", logger=False, enable_progress_bar=False,
        enable_model_summary=False, default_root_dir=folder, use_distributed_sampler=False,
        callbacks=[SamplerCheckpoint(sampler), Saves()], enable_checkpointing=False,
    )  # fmt: skip
    how = {"batch_size": 20, "sampler": sampler}
    if not sampled:
        how = {"batch_sampler": BatchSampler(sampler, 20, drop_last=False)}
    loader = DataLoader(TensorDataset(x, y), num_workers=workers, **how)
    module = Net()
    trainer.fit(module, loader, ckpt_path=resume)
    return module


@pytest.mark.parametrize(
    ("workers", "batch", "sampled"), [(0, 3, True), (2, 3, True), (0, 9, True), (0, 3, False), (2, 3, False)]
)
def test_a_resumed_run_equals_an_uninterrupted_one_to_the_bit(workers, batch, sampled, tmp_path):
    how = {"workers": workers, "sampled": sampled}
    whole = fitted(tmp_path, saves=[(2, batch)], **how)
    resumed = fitted(tmp_path, resume=tmp_path / "at.ckpt", **how)
    for p, q in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(p, q)


def test_batches_without_a_size_are_refused(tmp_path, monkeypatch):
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
    with pytest.raises(UnsupportedError, match="a Uneven has no batch_size"):
        fitted(tmp_path, sampled=False)


def test_a_checkpoint_is_read_without_running_code(tmp_path):
    fitted(tmp_path, epochs=1, saves=[(0, 3)])
    kept = torch.load(tmp_path / "at.ckpt", weights_only=True)["callbacks"]
    assert [state for name, state in kept.items() if "Sampler" in name] == [{"epoch": 0, "position": 80}]
