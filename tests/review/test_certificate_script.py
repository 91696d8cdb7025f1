"""The arithmetic of certificates in JavaScript agrees with `twohot.audit.review_bound`."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page_script import run_node

from twohot.audit.guaranteed_list import seeded_order
from twohot.audit.review_bound import (
    CertifiedReview,
    SecondLooks,
    corrected_bound,
    rows_again,
    second_looks,
)
from twohot.base import ArgumentError
from twohot.review import page

SCRIPT = Path(page.__file__).parent / "templates" / "certificate.mjs"
N_LOGS = 1_000
VERDICTS = ("right", "wrong", "unsure")
# Replays each log and returns the next row and the bound after each look, and all final results.
REPLAY = """
const { CheckedReview, CertifiedReview, seededOrder, rowsAgain } = await import(process.argv[1]);
const { readFileSync } = await import("fs");
const logs = JSON.parse(readFileSync(0, "utf8"));
const answers = logs.map(({ rows, target, seed, alpha, verdicts, twice }) => {
  const review = new CertifiedReview(rows, { target, seed, alpha });
  const seen = verdicts.map((verdict, k) => {
    const { i, isRandom } = review.next();
    review.decide(verdict);
    return [rows[i], isRandom, review.bound];
  });
  const { remaining } = review;
  const evidence = Array.from(remaining.logLikelihood, (_, w) => remaining.evidence(w));
  const checked = new CheckedReview(rows, { target, seed, alpha, twice });
  const given = new Map();
  for (let k = 0, i; k < 3 * verdicts.length && (i = checked.next()) !== null; k++) {
    checked.take(i, verdicts[k % verdicts.length]);
  }
  const { looks } = checked.review;
  const first = looks.map(({ i, isRandom, verdict }) => [rows[i], isRandom, verdict]);
  const second = checked.again().map(([i, all]) => [rows[i], all.slice(1)]);
  return {
    seen, evidence, logLikelihood: [...remaining.logLikelihood],
    needed: remaining.looksNeeded(target), again: rowsAgain(rows, seed, twice).size,
    corrected: checked.corrected(), first, second,
  };
});
process.stdout.write(JSON.stringify(answers));
"""


def run_module(code: str, argument: Any) -> Any:
    return run_node(argument, "--input-type=module", "-e", code, SCRIPT.as_uri())


def random_log(rng: np.random.Generator) -> dict[str, Any]:
    """Return a review of up to 250 rows, with verdicts that depend on the place in the list."""
    n_rows = int(rng.integers(2, 250))
    target = int(rng.integers(1, max(2, n_rows // 8)))
    n_looks = int(rng.integers(1, n_rows + 1))
    shares = [0.985, 0.01, 0.005] if rng.random() < 0.8 else rng.dirichlet([2, 2, 0.3])
    n_first = int(rng.integers(0, n_looks // 4 + 1))
    verdicts = ["wrong"] * n_first + rng.choice(VERDICTS, n_looks - n_first, p=shares).tolist()
    return {
        "rows": rng.permutation(3 * n_rows)[:n_rows].tolist(),
        "target": target,
        "seed": int(rng.integers(0, 2**31)),
        "alpha": float(rng.choice([0.05, 0.01, 0.2])),
        "verdicts": verdicts,
        "twice": float(rng.choice([0.0, 0.1, 0.5])),
    }


def review_of(log: dict[str, Any]) -> CertifiedReview:
    doubt = np.full(3 * len(log["rows"]), np.nan)
    doubt[log["rows"]] = np.arange(len(log["rows"]), 0, -1)
    until = (log["target"] + 0.5) / len(log["rows"])
    review = CertifiedReview(doubt, until=until, seed=log["seed"], alpha=log["alpha"])
    assert review.target == log["target"]
    return review


@pytest.fixture(scope="module")
def logs():
    rng = np.random.default_rng(35)
    found = [random_log(rng) for _ in range(N_LOGS)]
    return list(zip(found, run_module(REPLAY, found), strict=True))


def test_both_languages_agree_on_random_logs(logs) -> None:
    n_random = 0
    for log, found in logs:
        review = review_of(log)
        for (row, is_random, bound), verdict in zip(found["seen"], log["verdicts"], strict=True):
            look = review.next()
            assert (look.row, look.is_random) == (row, is_random)
            review.decide(verdict)
            assert review.bound == bound
            n_random += is_random
        remaining = review.remaining
        likelihood = remaining._log_likelihood
        np.testing.assert_allclose(found["logLikelihood"], likelihood, rtol=1e-9, atol=1e-9)
        evidence = remaining._evidence(likelihood)
        np.testing.assert_allclose(found["evidence"], evidence, rtol=1e-9, atol=1e-9)
        is_possible = log["target"] >= remaining.unsure
        needed = remaining.looks_needed(log["target"]) if is_possible else None
        assert found["needed"] == needed
    assert n_random > 10_000


def test_both_languages_agree_on_second_looks(logs) -> None:
    n_corrected = 0
    for log, found in logs:
        sample = rows_again(np.array(log["rows"]), log["seed"], log["twice"])
        assert len(sample) == found["again"]
        if not log["twice"]:
            assert found["corrected"] is None
            continue
        review = review_of(log)
        for row, is_random, verdict in found["first"]:
            assert (review.next().row, review.next().is_random) == (row, is_random)
            review.decide(verdict)
        counts = second_looks(review.looks, dict(found["second"]), sample)
        assert (counts is None) == (found["corrected"] is None)
        if counts is None:
            continue
        n_corrected += 1
        try:
            corrected = corrected_bound(review.bound, *counts)
        except ArgumentError:
            assert found["corrected"]["bound"] is None
            continue
        assert corrected.bound == found["corrected"]["bound"]
        rates = [found["corrected"][name] for name in ("errorRate", "disagreement")]
        assert rates == pytest.approx([corrected.error_rate, corrected.disagreement], abs=1e-9)
    assert n_corrected > 20


@pytest.mark.parametrize("seed", [7, 2**53 - 2])
def test_both_languages_draw_the_same_order_and_write_the_same_digest(seed) -> None:
    code = """
    const { canonical, rowsAgain, seededOrder, sha256 } = await import(process.argv[1]);
    const { readFileSync } = await import("fs");
    const [rows, value, seed] = JSON.parse(readFileSync(0, "utf8"));
    process.stdout.write(JSON.stringify([
      seededOrder(rows, seed).map((place) => rows[place]),
      [...rowsAgain(rows, seed, 0.1)].map((place) => rows[place]),
      canonical(value), sha256(canonical(value))]));
    """
    rows = np.arange(0, 5_000, 3)
    value = {"b": [0.01, 2e-05, 0, 45, None, True], "a": 'é "\u2028\u007f\n\ud83d', "Z": {"k": []}}
    order, again, text, digest = run_module(code, [rows.tolist(), value, seed])
    assert order == seeded_order(rows, seed).tolist()
    assert again == rows_again(rows, seed, 0.1).tolist()
    assert text == json.dumps(value, sort_keys=True)
    assert digest == sha256(text.encode()).hexdigest()


def test_second_looks_that_were_not_due_are_refused() -> None:
    review = CertifiedReview(np.linspace(1, 0, 60), until=0.1)
    review.decide("right")
    with pytest.raises(ArgumentError, match="has 1 row that needed no second look"):
        second_looks(review.looks, {0: ["right"]}, sample=np.array([5]))
    assert second_looks(review.looks, {}, sample=np.array([0])) is None
    none = SecondLooks(0, 0, 0)
    assert second_looks(review.looks, {}, sample=np.array([5])) == (SecondLooks(1, 0, 0), none)
