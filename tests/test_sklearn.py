"""The probes keep every promise that scikit-learn's estimators make."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from twohot import DistilledProbe, LinearProbe, PartialLabelProbe

PROBES = [
    LinearProbe(),
    LinearProbe(loss="gce"),
    LinearProbe(fit_intercept=True),
    DistilledProbe(),
    PartialLabelProbe(),
    PartialLabelProbe(loss="ce"),
]


@parametrize_with_checks(PROBES)
def test_common_checks(estimator, check) -> None:
    check(estimator)
