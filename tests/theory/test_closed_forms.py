"""Cases I-V: closed forms and models against dense solves."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theory.dense import Problem, block_correlation, random_problem, rounds
from theory.problems import ROUNDS, SEEDS, examples
from twohot.theory import (
    CorrelationModel,
    Shrinkage,
    case_1_outputs,
    case_2_outputs,
    case_3_outputs,
    case_4_outputs,
    case_5_outputs,
    shrinkage,
    type_outputs,
)

SUPERCLASSES = st.sampled_from([[0, 0, 1, 1], [0, 0, 0, 1, 1, 2], [0, 1, 2], [0, 0, 0], [0, 1, 0]])


def setting(seed: int, kind: int, groups: list[int]) -> tuple[Problem, dict[str, Any]]:
    """Draw a problem of a case, with the arguments that its formula takes."""
    rng = np.random.default_rng(seed)
    e, d, c = np.sort(rng.uniform(0, 0.95, size=3))
    if kind == 2:
        levels = rng.uniform(0.01, 0.95, size=len(groups))
        correlation, known = np.diag(levels), {"same_class": levels}
    else:
        groups = {1: list(range(len(groups))), 3: [0] * len(groups)}.get(kind, groups)
        names = ("same_class", "same_superclass", "elsewhere", "superclass")
        of_kind = {1: names[:1], 3: names[:2], 4: [*names[:2], names[3]], 5: names}[kind]
        known = {name: dict(zip(names, (c, d, e, groups), strict=True))[name] for name in of_kind}
        correlation = block_correlation(groups, c, d, e if kind == 5 else 0.0)
    problem = random_problem(seed, balanced_classes=True, correlation=correlation)
    return problem, {**known, "n_per_class": int(problem.class_sizes[0])}


FORMS: dict[int, Callable[..., np.ndarray]] = {
    1: case_1_outputs,
    2: case_2_outputs,
    3: case_3_outputs,
    4: case_4_outputs,
    5: case_5_outputs,
}


@pytest.mark.parametrize("kind", FORMS)
@examples
@given(seed=SEEDS, superclass=SUPERCLASSES, n_rounds=ROUNDS)
def test_closed_forms_and_models_match_dense_solves(
    kind: int, seed: int, superclass: list[int], n_rounds: int
) -> None:
    problem, known = setting(seed, kind, superclass)
    truth = rounds(problem.gram, problem.one_hot, problem.ridge, n_rounds)
    types = (problem.true_labels, problem.given_labels)
    form = FORMS[kind](problem.corruption, l2=problem.l2, n_rounds=n_rounds, **known)
    np.testing.assert_allclose(form[types], truth, rtol=0, atol=problem.tolerance())
    if kind in {1, 3}:
        known["n_classes"] = problem.n_classes
    model = getattr(CorrelationModel, f"case_{kind}")(**known)
    general = type_outputs(model, problem.corruption, l2=problem.l2, n_rounds=n_rounds)
    np.testing.assert_allclose(general.of(*types), truth, rtol=0, atol=problem.tolerance())
    np.testing.assert_allclose(model.gram(), problem.gram, rtol=0, atol=1e-15)


def test_case_5_with_equal_superclasses_is_the_five_term_formula() -> None:
    groups, c, d, e, n, l2, t = np.array([0, 0, 1, 1, 2, 2]), 0.6, 0.3, 0.07, 9, 0.002, 3
    corruption = np.random.default_rng(0).dirichlet(np.ones(6), size=6)
    ridge = 36 * n * l2
    eigenvalues = np.cumsum([1 - c, n * (c - d), 2 * n * (d - e), 6 * n * e])
    p, q, r, s = (eigenvalues / (ridge + eigenvalues)) ** t
    superclass_mean = np.array([corruption[groups == g].mean(axis=0) for g in groups])
    by_class = (q - p) * corruption + (r - q) * superclass_mean
    by_class += (s - r) * corruption.mean(axis=0) + (1 - s) / 6
    truth = p * np.eye(6) + by_class[:, None, :]
    form = case_5_outputs(
        corruption,
        superclass=groups,
        same_class=c,
        same_superclass=d,
        elsewhere=e,
        n_per_class=n,
        l2=l2,
        n_rounds=t,
    )
    np.testing.assert_allclose(form, truth, rtol=0, atol=1e-14)


def test_shrinkage_orders_and_composes() -> None:
    known = {"superclass": [0, 0, 1], "same_superclass": 0.1, "n_per_class": 20, "l2": 1e-3}
    one, other = (shrinkage(same_class=same_class, **known) for same_class in (0.4, 0.6))
    assert 0 < one.own < one.class_mean < one.superclass_mean.min() < 1
    assert other.separation > one.separation
    both, twice = Shrinkage.product([one, one, other]), one.after(2)
    assert both.own == pytest.approx(twice.own * other.own)
    np.testing.assert_allclose(both.superclass_mean, twice.superclass_mean * other.superclass_mean)
