"""The probes pass all checks of scikit-learn's estimators."""

import pytest
from sklearn.utils.estimator_checks import check_estimator

from twohot import (
    AutoProbe,
    DiscriminantProbe,
    DistilledProbe,
    LinearProbe,
    PartialLabelProbe,
)

PROBES = [
    LinearProbe(),
    LinearProbe(loss="gce"),
    LinearProbe(fit_intercept=True),
    LinearProbe(whiten=True),
    DistilledProbe(),
    PartialLabelProbe(),
    PartialLabelProbe(loss="ce"),
    DiscriminantProbe(),
    DiscriminantProbe(shrinkage=0.1),
    pytest.param(AutoProbe(cv=2), marks=pytest.mark.slow),
]

# Needs an environment variable that is set before scipy is imported.
MAY_BE_SKIPPED = {"check_array_api_input"}

# Leave-one-out removes a row with its whole weight, but only one of several equal rows.
MAY_FAIL = {
    "DiscriminantProbe()": {
        f"check_sample_weight_equivalence_on_{stored}_data": "chosen by leave one out"
        for stored in ("dense", "sparse")
    }
}


@pytest.mark.parametrize("probe", PROBES, ids=repr)
def test_passes_all_common_checks(probe):
    may_fail = MAY_FAIL.get(repr(probe), {})
    results = check_estimator(probe, on_skip=None, on_fail=None, expected_failed_checks=may_fail)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    assert len(results) > 50
    not_passed = {r["check_name"] for r in results if r["status"] != "passed"}
    assert not_passed <= MAY_BE_SKIPPED | may_fail.keys()
