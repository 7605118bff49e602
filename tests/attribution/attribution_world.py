"""A small classifier trained on the rows of eight contributors, one of whom flips labels."""

import numpy as np
import torch
from torch import nn

NAMES = np.array(["ann", "bob", "cat", "dan", "eve", "fay", "guy", "hal"])


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def world(rows=320, flips=("hal",), seed=0):
    """Three classes around centres; each contributor sees mostly one of them, and subset flip labels."""
    rng = np.random.default_rng(seed)
    codes = np.arange(rows) % len(NAMES)
    y = np.where(rng.uniform(size=rows) < 0.7, codes % 3, rng.integers(3, size=rows))
    x = 1.5 * np.eye(3)[y] @ rng.normal(size=(3, 6)) + rng.normal(size=(rows, 6))
    given = np.where(np.isin(NAMES[codes], flips), (y + 1) % 3, y)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(given), NAMES[codes], torch.tensor(y)


def trained(x, y, rows, seed, steps=60):
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    opt, rng, states = torch.optim.Adam(net.parameters(), 0.02), np.random.default_rng(seed), []
    for step in range(steps):
        subset = torch.as_tensor(rng.choice(rows, 32))
        opt.zero_grad()
        nn.functional.cross_entropy(net(x[subset]), y[subset]).backward()
        opt.step()
        if step in (9, 29, steps - 1):
            states.append({name: value.clone() for name, value in net.state_dict().items()})
    return net, states
