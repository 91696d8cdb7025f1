"""CPU seconds of the stages of a run."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stages:
    """Adds up what the stages of a run take; threads and time spent waiting are not looked at."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        start = time.process_time()
        yield
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.process_time() - start
