"""The linear probes: `LinearProbe`, `DistilledProbe` and `PartialLabelProbe`."""

from dataclasses import asdict, dataclass
from typing import Any

from twohot.base import check_class_count, check_count
from twohot.probes.base import Probe
from twohot.probes.discriminant_probe import DiscriminantProbe
from twohot.probes.fitted import FittedProbe
from twohot.probes.recipe import AnyRecipe, DiscriminantRecipe, Recipe


@dataclass(kw_only=True, eq=False, repr=False)
class LinearProbe(Probe):
    """Penalised softmax regression with cross-entropy or a noise-robust loss.

    Parameters
    ----------
    loss : {"ce", "gce"}
        Cross-entropy ("ce"), or generalised cross-entropy ("gce"). The latter is robust to label
        noise: the loss of a row is bounded, so that one wrong label has little influence.
    ridge : float, optional
        Dimensionless strength of the penalty: l2 = ridge · s / (n_classes · Σ weights), where s is
        the mean squared norm of the prepared features (1 with `normalize=True`). The default is 50
        for cross-entropy and 10 for generalised cross-entropy.
    l2 : float, optional
        Coefficient of the penalty in mean loss + ½·l2·‖coef‖². Pass either `ridge` or `l2`.
    gce_power : float
        The power q of generalised cross-entropy, 0.001 to 1. With a small power, this loss is
        nearly cross-entropy.
    start : {"teacher", "zero"} or array of shape (n_classes, n_features)
        Initial coefficients for generalised cross-entropy, which is not convex. "teacher" means
        those of the previous round; in the first round, those of a cross-entropy fit.
    center, normalize : bool
        Whether to prepare rows: subtract the training mean, and then scale rows to unit norm. Both
        steps suit embeddings. With few features (iris has four), pass `normalize=False` and
        `fit_intercept=True`.
    fit_intercept : bool or "auto"
        Whether to fit an unpenalised intercept per class. Without intercepts, a probe on centred
        features cannot represent that a class is rare. "auto" means True if `class_weight` is set,
        else False: on balanced classes, intercepts cost time without a gain. The paper has no
        intercepts.
    class_weight : dict, "balanced" or None
        Class weights as in scikit-learn. A row has the weight of its label or, for soft targets,
        the mean of the class weights, weighted by the targets.
    whiten : bool
        Whether to half-whiten the prepared rows: project the rows on their (at most 512) leading
        principal axes, and multiply the coordinates along each axis by
        (variance + mean variance / 10)^(-1/4). The penalty, and s of `ridge`, then refer to the
        half-whitened rows. Half-whitening often improves accuracy on embeddings of images. `coef_`
        still applies to the prepared features.
    tol : float
        Stop a fit when the norm of the gradient, relative to its norm at zero coefficients, is at
        most `tol`.
    max_iter : int
        Maximum number of steps per fit. A fit that needs more steps gives a ConvergenceWarning.
    dtype : {None, "float32", "float64"}
        Precision of computations. None means float64 for float64 features, else float32. Sums
        over rows are always accumulated in float64.
    n_jobs : int or None
        Number of threads, which does not change the result. -1 means all cores. None means all
        cores too, but in a joblib worker only the cores of this worker.
    random_state : int, RandomState or None
        Ignored: fits are deterministic. Accepted so that probes can replace other classifiers.
    verbose : int
        1 prints one line per round to standard error, 2 also prints one line per step.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (n_classes, n_features)
        Coefficients of the last round, on the prepared features; two rows for two classes.
    intercept_ : array of shape (n_classes,)
    rounds_ : list of Round
        The result of each round: `coef`, `n_passes`, `gradient_norm`, `converged` and more.
    n_features_in_, n_iter_ : int
    feature_names_in_ : array of str
        This attribute exists only if the features have names.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twohot import LinearProbe
    >>> X, y = load_digits(return_X_y=True)
    >>> probe = LinearProbe().fit(X[:1000], y[:1000])
    >>> print(f"{probe.score(X[1000:], y[1000:]):.2f}")
    0.90
    >>> probe.rounds_[0].converged
    True
    >>> half_whitened = LinearProbe(whiten=True).fit(X[:1000], y[:1000])
    >>> print(f"{half_whitened.score(X[1000:], y[1000:]):.2f}")
    0.91
    """

    def _rounds(self, n_classes: int) -> list[Recipe]:  # noqa: ARG002
        return [Recipe(self._loss())]

    def _default_ridge(self) -> float:
        return self._loss().default_ridge


@dataclass(kw_only=True, eq=False, repr=False)
class DistilledProbe(Probe):
    """Self-distillation: a teacher, and students fitted to the outputs of the previous round.

    Round 1 is the teacher, fitted to the given labels. Every later round is a student, fitted to
    the soft outputs of the round before.

    Parameters
    ----------
    n_rounds : int
        Number of rounds, the teacher included.
    loss, teacher_loss : {"ce", "gce"}
        `loss` is the loss of the last round, `teacher_loss` that of all earlier rounds.
    ridge, l2 : float or sequence of n_rounds floats, optional
        Strength of the penalty, see `LinearProbe`: one number for all rounds, or one per round.
        The default is ridge 10.
    gce_power, start, center, normalize, fit_intercept, class_weight, whiten, tol, max_iter, \
    dtype, n_jobs, random_state, verbose
        As for `LinearProbe`, which also describes the attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twohot import DistilledProbe
    >>> from twohot.noise import corrupt_labels, symmetric
    >>> X, y = load_digits(return_X_y=True)
    >>> noisy = corrupt_labels(y[:1000], symmetric(10, 0.7), random_state=0).given_labels
    >>> probe = DistilledProbe(n_rounds=3).fit(X[:1000], noisy)
    >>> for outputs in probe.staged_predict_proba(X[1000:]):
    ...     print(f"{(outputs.argmax(axis=1) == y[1000:]).mean():.2f}")
    0.69
    0.73
    0.75
    """

    n_rounds: int = 3
    teacher_loss: str = "ce"

    def _rounds(self, n_classes: int) -> list[Recipe]:  # noqa: ARG002
        n_rounds = check_count("n_rounds", self.n_rounds, 1)
        return [Recipe(self._loss("teacher_loss"))] * (n_rounds - 1) + [Recipe(self._loss())]


@dataclass(kw_only=True, eq=False, repr=False)
class PartialLabelProbe(Probe):
    """A teacher, and a student that is trained on the teacher's two most likely labels.

    The student's target gives equal weight to the classes with the largest outputs of the teacher,
    the candidates (the two-hot target of the paper). The student is fitted by generalised
    cross-entropy, starting from the teacher. If two classes are candidates of exactly the same
    rows, the student cannot distinguish them: then the teacher's outputs decide.

    Parameters
    ----------
    n_candidates : int
        Number of candidates per row; at most n_classes - 1 are used. If several classes tie for the
        last candidate, they share its weight.
    loss, teacher_loss : {"ce", "gce"}
        `loss` is the loss of the student, `teacher_loss` that of the teacher.
    ridge, l2 : float or sequence of 2 floats, optional
        Strength of the penalty, see `LinearProbe`: one number for both rounds, or one per round.
        The default is ridge 10.
    gce_power, start, center, normalize, fit_intercept, class_weight, whiten, tol, max_iter, \
    dtype, n_jobs, random_state, verbose
        As for `LinearProbe`, which also describes the attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twohot import PartialLabelProbe
    >>> from twohot.noise import corrupt_labels, symmetric
    >>> X, y = load_digits(return_X_y=True)
    >>> noisy = corrupt_labels(y[:1000], symmetric(10, 0.7), random_state=0).given_labels
    >>> probe = PartialLabelProbe().fit(X[:1000], noisy)
    >>> print(f"{probe.score(X[1000:], y[1000:]):.2f}")
    0.75
    """

    n_candidates: int = 2
    loss: str = "gce"
    teacher_loss: str = "ce"

    def _rounds(self, n_classes: int) -> list[Recipe]:
        n_candidates = check_class_count("n_candidates", self.n_candidates, n_classes)
        student = Recipe(self._loss(), n_candidates=n_candidates)
        return [Recipe(self._loss("teacher_loss")), student]


def probe_for(recipe: AnyRecipe, **parameters: Any) -> FittedProbe:
    """Return an unfitted probe for a recipe; a discriminant ignores parameters it does not have.

    Examples
    --------
    >>> from twohot.solve.losses import GeneralizedCrossEntropy
    >>> probe_for(Recipe(GeneralizedCrossEntropy(), ridge=4.0))
    LinearProbe(loss='gce', ridge=4.0)
    >>> probe_for(DiscriminantRecipe(0.1), center=False, tol=0.1)
    DiscriminantProbe(center=False, shrinkage=0.1)
    """
    if isinstance(recipe, DiscriminantRecipe):
        known = DiscriminantProbe().get_params()
        parameters = {name: value for name, value in parameters.items() if name in known}
        return DiscriminantProbe(shrinkage=recipe.shrinkage, **parameters)
    parameters |= {"loss": recipe.loss.name, **asdict(recipe.loss), "whiten": recipe.whiten}
    return LinearProbe(ridge=recipe.ridge, l2=recipe.l2, **parameters)
