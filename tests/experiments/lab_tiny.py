from dataclasses import replace

from experiments.spec import Experiment


def tiny(experiment: Experiment, trials: int = 2) -> Experiment:
    """The same experiment with short training and few rows, for its structure."""
    vary = {
        axis: [{**value, "size": 300} if "dataset" in value else value for value in values]
        if isinstance(values[0], dict)
        else values
        for axis, values in experiment.vary.items()
    }
    size = 150 if experiment.setting.dataset in ("digits", "adult") else experiment.setting.size
    setting = replace(experiment.setting, epochs=min(experiment.setting.epochs, 3), size=size)
    return replace(experiment, trials=trials, seeds=(), chunk=trials, setting=setting, vary=vary)
