"""What a run is known by: its kind and its settings, in every process and order of fields."""

import subprocess
import sys
from dataclasses import dataclass, make_dataclass

import pytest
from seeded_runs import PLAN, Draw

from twohot_paper import identity

ELSEWHERE = """
from seeded_runs import Draw
from twohot_paper import identity
print(identity(Draw(3, 0.5)))
"""


def test_identities_are_equal_in_every_process() -> None:
    environment = {"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "1"}
    command = [sys.executable, "-c", ELSEWHERE]
    found = subprocess.check_output(command, env=environment, text=True)  # noqa: S603 - ours
    assert found.strip() == identity(Draw(3, 0.5))


def test_identity_ignores_field_order_and_number_format() -> None:
    turned = make_dataclass(
        "Draw", [("moments", list), ("scale", float), ("seed", int)], frozen=True
    )
    assert identity(turned([1, 2], 2.0, 0)) == identity(Draw(0, 2))


def test_identity_depends_on_kind_and_settings() -> None:
    @dataclass(frozen=True)
    class Other:
        seed: int
        scale: float
        moments: tuple[int, ...]

    names = [identity(run) for run in [*PLAN, Other(0, 0.5, (1, 2)), Draw(0, 0.5, (2, 1))]]
    assert len(set(names)) == len(names) == len(PLAN) + 2


def test_rejects_mutable_runs() -> None:
    @dataclass
    class Loose:
        seed: int

    for run in (Loose(0), {"seed": 0}):
        with pytest.raises(ValueError, match="can change: make its class a frozen dataclass"):
            identity(run)
