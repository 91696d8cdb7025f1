"""Every round of every probe ends at an optimum for its targets, by the plain twin."""

import numpy as np
import pytest

import problems
import twin
from twohot import DistilledProbe, LinearProbe, PartialLabelProbe

# With fewer rows than features, the fit runs in the span of the rows.
DATA = {
    "digits": problems.digits(),
    "synthetic": problems.synthetic(),
    "few rows": problems.synthetic(5, 20, 130),
}
EVERY_DATA = pytest.mark.parametrize("name", DATA)
EVERY_LOSS = pytest.mark.parametrize("loss", ["ce", "gce"])
PROBES = [
    DistilledProbe(n_rounds=4),
    DistilledProbe(n_rounds=2, loss="gce"),
    DistilledProbe(n_rounds=2, teacher_loss="gce"),
    PartialLabelProbe(),
    PartialLabelProbe(n_candidates=1, loss="ce"),
]


def targets_of(probe, entry, given, last):
    """Return the targets of a round, from the outputs of the previous round."""
    if entry.targets != "candidates":
        return given if entry.targets == "labels" else last
    kept = np.argsort(last, axis=1)[:, -probe.n_candidates :]
    candidates = np.zeros_like(last)
    np.put_along_axis(candidates, kept, 1 / probe.n_candidates, axis=1)
    return candidates


def check_certificates(probe, data, v=None, *, dtype=np.float64, **preparation):
    """Fit a probe; compare gradient and value of every round with those of the twin."""
    probe.set_params(**preparation).fit(data.X.astype(dtype), data.given_labels, v)
    rows = twin.prepare(data.X.astype(dtype), v=v, **preparation)
    given, outputs = twin.one_hot(data.given_labels), None
    for entry in probe.rounds_:
        assert entry.converged
        targets = targets_of(probe, entry, given, outputs)
        b = entry.intercept if entry.intercept.any() else None
        options = {"v": v, "loss": entry.loss}
        found = twin.relative_gradient(rows, targets, entry.coef, entry.l2, b=b, **options)
        if dtype == np.float32:  # the gradient has an error of a few 1e-8 of that at zero
            assert found <= 2e-6
        else:
            assert found <= 1.01e-6
            assert found == pytest.approx(entry.gradient_norm, rel=1e-3, abs=1e-12)
            value = twin.value(rows, targets, entry.coef, entry.l2, b=entry.intercept, **options)
            assert entry.value == pytest.approx(value)
        outputs = twin.outputs(rows, entry.coef, entry.intercept)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("ridge", [0.1, 1e4])
@EVERY_LOSS
@EVERY_DATA
def test_one_round_ends_at_an_optimum(name, loss, ridge, intercept, weighted):
    v = problems.random_weights(len(DATA[name].X)) if weighted else None
    probe = LinearProbe(loss=loss, ridge=ridge, fit_intercept=intercept)
    check_certificates(probe, DATA[name], v)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("probe", PROBES, ids=repr)
@EVERY_DATA
def test_several_rounds_end_at_optima(name, probe, intercept, weighted):
    v = problems.random_weights(len(DATA[name].X)) if weighted else None
    check_certificates(probe.set_params(fit_intercept=intercept), DATA[name], v)


@pytest.mark.parametrize(("center", "normalize"), [(False, False), (True, False), (False, True)])
@EVERY_LOSS
@EVERY_DATA
def test_optimum_on_rows_prepared_otherwise(name, loss, center, normalize):
    check_certificates(LinearProbe(loss=loss), DATA[name], center=center, normalize=normalize)


@EVERY_LOSS
@EVERY_DATA
def test_optimum_in_single_precision(name, loss):
    probe = PartialLabelProbe(loss=loss, ridge=5.0)
    check_certificates(probe, DATA[name], dtype=np.float32)
