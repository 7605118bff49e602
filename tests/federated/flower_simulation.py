"""Run the strategy under Flower's own simulation and in process, and say whether both give the same."""

import sys
from pathlib import Path

import numpy as np
from flwr.serverapp import ServerApp
from flwr.simulation import run_simulation

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from test_flower import client_app, start

from anml.federated.flower import AnmlStrategy
from experiments.federation_demo import demo_case
from flower_grid import InProcessGrid

ROUNDS = 3
case = demo_case(0)
app, server, found = client_app(case), ServerApp(), {}


@server.main()
def main(grid, context):
    """Start the strategy on the grid of the simulation."""
    strategy = AnmlStrategy(fraction_evaluate=0.0)
    found["model"] = start(strategy, grid, ROUNDS)
    found["weights"] = [each.weights() for each in strategy.federation.history]


if __name__ == "__main__":
    run_simulation(server, app, num_supernodes=10, backend_config={"client_resources": {"num_cpus": 1}})
    alone = AnmlStrategy(fraction_evaluate=0.0)
    model = start(alone, InProcessGrid(app, 10), ROUNDS)
    same = np.allclose(model, found["model"], atol=1e-4)
    for ours, theirs in zip(alone.federation.history, found["weights"], strict=True):
        same &= all(np.isclose(theirs[name], weight, atol=1e-4) for name, weight in ours.weights().items())
    print("equal" if same else "different")
