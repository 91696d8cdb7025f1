"""Another store needs a `map` of its own and nothing else; kernels run where its blocks are."""

import os

import numpy as np
from other_store import RowsElsewhere

from twohot import AutoProbe, DiscriminantProbe, PartialLabelProbe
from twohot.rows.rows import Rows


def process_of(block):
    """Return the process that a kernel runs in, for each row."""
    return np.full(len(block), os.getpid())


def test_kernels_run_in_the_other_process():
    X = np.zeros((150, 3))
    here, there = Rows(X, block_rows=64), RowsElsewhere(X, block_rows=64)
    for rows in (here, there):
        rows.derive("process", process_of)
    assert set(here.columns["process"]) == {os.getpid()}
    assert len(set(there.columns["process"]) - {os.getpid()}) == 1


def test_coefficients_are_those_of_rows_in_memory(monkeypatch):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(1100, 300)).astype(np.float32)
    y = (X[:, :4] + generator.normal(size=(1100, 4))).argmax(axis=1)
    probes = [
        PartialLabelProbe(given_share=0.2, fit_intercept=True, tol=1e-3),
        AutoProbe(cv=2, tol=0.1),
        DiscriminantProbe(),
    ]
    expected = [probe.fit(X, y).rounds_ for probe in probes]
    monkeypatch.setattr("twohot.rows.open.Rows", RowsElsewhere)
    for probe, rounds in zip(probes, expected, strict=True):
        probe.fit(X, y)
        for found, known in zip(probe.rounds_, rounds, strict=True):
            # The other process adds up in another order: its BLAS has threads of its own.
            np.testing.assert_allclose(found.coef, known.coef, rtol=0, atol=1e-5)
            assert found.n_passes == known.n_passes
