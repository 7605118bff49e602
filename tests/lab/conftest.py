import pytest

from anml.lab.spec import Experiment, parse


@pytest.fixture
def small() -> Experiment:
    """Two data shares, two methods, quick."""
    return parse(
        "small",
        {
            "title": "A small experiment",
            "trials": 4,
            "chunk": 2,
            "setting": {"epochs": 20},
            "vary": {"bad": [0.0, 0.3]},
            "methods": ["uniform", "krum", "softmax"],
            "derived": {"improvement": {"saving": ["*.error", "krum.error"], "methods": ["softmax"]}},
            "paper": [{"bad": 0.3, "method": "krum", "error": 12.4}],
            "claims": [{"text": "errors are not negative", "at_least": ["krum.error", 0]}],
        },
    )
