"""Results of two versions are compared entry by entry."""

import numpy as np

from benchmarks.same_results import PROBES, differences


def test_differences_are_relative_to_the_largest_entry():
    before = {
        "a": np.array([1.0, -4.0, np.nan]),
        "b": np.zeros(2),
        "c": np.ones(3),
        "d": np.ones(1),
    }
    after = {"a": np.array([1.0, -3.0, np.nan]), "b": np.zeros(2), "c": np.ones(2)}
    expected = {"a": 0.25, "b": 0.0, "c": float("inf"), "d": float("inf")}
    assert differences(before, after) == expected


def test_every_kind_of_probe_is_compared():
    kinds = {type(probe).__name__ for probe in PROBES.values()}
    assert kinds == {"LinearProbe", "DistilledProbe", "PartialLabelProbe", "AutoProbe"}
