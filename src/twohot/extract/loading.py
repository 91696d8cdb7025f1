"""Items read, hashed and prepared by threads, ahead of the model and in order."""

import hashlib
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any

from twohot.extract.decoding import content_of, decoded, reason_of
from twohot.extract.plan import ExtractionPlan
from twohot.rows.threads import ordered_map


@dataclass(frozen=True, eq=False)
class Loaded:
    """One item on its way to the model."""

    row: int  # its place among the items
    key: bytes  # of its content; empty if that could not be read
    prepared: Any = None  # what a batch is made of; None if it is known or could not be read
    problem: str = ""  # why it could not be read


def prefetch(
    plan: ExtractionPlan, known: Container[bytes] | None, n_ahead: int
) -> Iterator[Loaded]:
    """Yield every item in order; at most `n_ahead` of them wait.

    Items whose key is known are not decoded, and none is where `known` is None.
    """
    items = plan.items

    def load(row: int) -> Loaded:
        key = b""
        try:
            content = content_of(items, row)
            key = hashlib.sha256(content).digest()
            if known is None or key in known:
                return Loaded(row, key)
            return Loaded(row, key, plan.backbone.prepare(decoded(items, row, content)))
        except Exception as error:  # noqa: BLE001 (a broken file makes Pillow raise almost anything)
            return Loaded(row, key, problem=reason_of(error))

    return ordered_map(load, len(items), plan.n_workers, n_ahead)
