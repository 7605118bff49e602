"""With Lightning: the callback, offline."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

pl = pytest.importorskip("lightning.pytorch", reason="needs the extra lightning")

from anml.adapters.torch import Reweigher, WeightedSampler  # noqa: E402
from anml.adapters.torch.lightning import ReweighCallback  # noqa: E402

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


def test_weights_follow_and_travel_with_checkpoints(tmp_path):
    rng = np.random.default_rng(0)
    x = torch.as_tensor(rng.normal(size=(200, 4)), dtype=torch.float32)
    truth = (x[:, 0] > 0).long()
    who = rng.integers(0, 8, 200)
    wrong = who < 2
    y = torch.where(torch.as_tensor(wrong), 1 - truth, truth)
    reweigher = Reweigher(x, y, contributor=who, every=5)
    loader = DataLoader(TensorDataset(x, y), batch_size=20, sampler=WeightedSampler(reweigher))
    trainer = pl.Trainer(
        max_epochs=4, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
        default_root_dir=tmp_path, callbacks=[ReweighCallback(reweigher)], use_distributed_sampler=False,
    )  # fmt: skip
    trainer.fit(Net(), loader)
    assert reweigher.epochs == 4
    assert reweigher.weights[wrong].mean() < 0.5 * reweigher.weights[~wrong].mean()
    trainer.save_checkpoint(tmp_path / "at.ckpt")
    kept = torch.load(tmp_path / "at.ckpt", weights_only=False)["callbacks"]
    again = Reweigher(x, y, contributor=who)
    ReweighCallback(again).load_state_dict(next(v for k, v in kept.items() if "Reweigh" in k))
    np.testing.assert_array_equal(again.weights, reweigher.weights)
