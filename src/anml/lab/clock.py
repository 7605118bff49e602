"""How long each step takes, where an experiment is about time."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch


class Clock:
    """Times steps where the experiment is about time; otherwise just runs them."""

    def __init__(self, on: bool = False, device: str = "cpu") -> None:
        self.on, self.device = on, device
        self.spent: dict[str, list[float]] = {}
        self.of_job: dict[str, float] = {}

    def __call__(self, step: str, work: Callable[[], Any], job: str = "") -> Any:
        """Do the work of a step, for a job that can be asked for later."""
        if not self.on:
            return work()
        start = time.perf_counter()
        result = work()
        if torch.device(self.device).type == "cuda":
            torch.cuda.synchronize()  # work there goes on after the call returns
        seconds = time.perf_counter() - start
        self.spent.setdefault(step, []).append(1000 * seconds if step.endswith("_ms") else seconds)
        self.of_job[job] = seconds
        return result

    def of(self, job: str) -> dict[str, float]:
        """Mean time of each step, and the time of training this job; nothing where nothing is timed."""
        times = {step: float(np.mean(seconds)) for step, seconds in self.spent.items()}
        return {**times, "train_s": self.of_job[job]} if times else {}
