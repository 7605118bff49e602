"""Progress reporting: a callback with arguments (what, done, total)."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]


def ticker(progress: Progress | None, what: str, total: int) -> Callable[[int], bool]:
    """Report epochs under a name; never asks to stop."""

    def tick(epoch: int) -> bool:
        if progress is not None:
            progress(what, epoch, total)
        return False

    return tick
