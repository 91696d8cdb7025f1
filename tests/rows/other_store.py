"""A second store: every block is pickled, sent to another process with its kernel, and back."""

import pickle
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from typing import Any

from twohot.rows.rows import Block, Kernel, Rows, run_kernel


class RowsElsewhere(Rows):
    """Rows whose kernels run in another process, on what arrives there and on nothing else."""

    def map(self, kernel: Kernel, *shared: Any) -> Iterator[Any]:
        parcels = (
            pickle.dumps((kernel, self.block(number), shared)) for number in range(self.n_blocks)
        )
        results = other_process().map(run, parcels)
        yield from self._counted(pickle.loads(each) for each in results)  # noqa: S301


def run(parcel: bytes) -> bytes:
    """Run a kernel on the block that arrived with it."""
    kernel, block, shared = pickle.loads(parcel)  # noqa: S301
    assert isinstance(block, Block)
    return pickle.dumps(run_kernel(kernel, block, shared))


@cache
def other_process() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"))
