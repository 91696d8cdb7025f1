"""The methods that AutoProbe chooses from, each defined by the one it grows out of.

    teacher         cross-entropy on the given labels
    rounds          students of the teacher, on its soft outputs
    two-hot         the paper's partial-label student
    robust          generalised cross-entropy on the given labels
    robust rounds   a robust student of the robust probe, on its soft outputs, or on half its most
                    likely label and half the given one

A candidate starts from the solution of another one, which is already there: with coarse tolerances
each takes a few passes.
"""

from dataclasses import dataclass
from typing import Any

from twohot.distill.estimators import DistilledProbe, LinearProbe, PartialLabelProbe
from twohot.distill.rounds import Plan
from twohot.rows.coordinates import Coordinates, unit_penalty

TEACHER, ROUNDS, TWO_HOT = "teacher", "rounds", "two-hot"
ROBUST, ROBUST_ROUNDS = "robust", "robust rounds"

# Methods, and whether they keep a share of the given label, from worst to best on real features
# under many kinds of noise.
PREFERENCE = (
    (TEACHER, False),
    (ROUNDS, False),
    (TWO_HOT, False),
    (ROBUST_ROUNDS, False),
    (ROBUST, False),
    (ROBUST_ROUNDS, True),
)

# Relative gradients at which candidates are compared. Tighter ones change no comparison: on real
# features test accuracy moves by about 0.1 points. Students differ from their teacher by little,
# so theirs is tighter.
COARSE = {"ce": 3e-2, "gce": 3e-1}
COARSE_STUDENT = 1e-2
# A candidate that starts within its tolerance would be its start under another name.
LEAST_STEPS = 1


@dataclass(frozen=True)
class Candidate:
    """One way to fit a probe, and where its last round starts."""

    method: str
    loss: str
    ridge: float
    teacher: "Candidate | None" = None  # whose outputs are fitted; None: the given labels
    start: "Candidate | None" = None  # whose coefficients the fit starts from; None: the teacher's
    n_candidates: int | None = None  # of the teacher's outputs that are kept; None: all
    given_share: float = 0.0  # of the weight of the candidates that goes to the given label

    @property
    def n_rounds(self) -> int:
        """Number of rounds, the teacher included."""
        return 1 if self.teacher is None else self.teacher.n_rounds + 1

    @property
    def preference(self) -> int:
        """Place among candidates that cannot be told apart: larger is better."""
        return PREFERENCE.index((self.method, self.given_share > 0))

    @property
    def tol(self) -> float:
        """Relative gradient to compare at."""
        if self.loss == "ce" and self.teacher is not None:
            return COARSE_STUDENT
        return COARSE[self.loss]

    def plan(self, coordinates: Coordinates) -> Plan:
        """Return the last round, on given rows."""
        n_candidates = self.n_candidates
        if n_candidates is not None:
            # As PartialLabelProbe does: all classes as candidates would say nothing.
            n_candidates = min(n_candidates, coordinates.features.n_classes - 1)
        l2 = self.ridge * unit_penalty(coordinates)
        return Plan(self.loss, l2, n_candidates, self.given_share)

    def estimator(self, **parameters: Any) -> Any:
        """Return the probe of twohot that fits this candidate alone.

        Examples
        --------
        >>> Candidate("robust", "gce", 4.0).estimator()
        LinearProbe(loss='gce', ridge=4.0)
        """
        if self.teacher is None:
            return LinearProbe(loss=self.loss, ridge=self.ridge, **parameters)
        parameters |= {"loss": self.loss, "teacher_loss": self.teacher.loss}
        parameters["ridge"] = tuple(step.ridge for step in self.chain())
        if self.n_candidates is None:
            return DistilledProbe(n_rounds=self.n_rounds, **parameters)
        return PartialLabelProbe(
            n_candidates=self.n_candidates, given_share=self.given_share, **parameters
        )

    def chain(self) -> list["Candidate"]:
        """Return the rounds, the teacher first."""
        return [*([] if self.teacher is None else self.teacher.chain()), self]

    def __str__(self) -> str:
        made = "" if self.teacher is None else f", round {self.n_rounds}"
        if self.given_share:
            made += f", {self.given_share:.0%} given"
        return f"{self.method} (ridge {self.ridge:g}{made})"


# The strengths around which every method is at its best on the sets it was measured on; a robust
# probe is the one whose strength matters most, so it is searched further (see `search`).
TEACHER_30 = Candidate(TEACHER, "ce", 30.0)
TEACHER_10 = Candidate(TEACHER, "ce", 10.0, start=TEACHER_30)
TEACHER_100 = Candidate(TEACHER, "ce", 100.0, start=TEACHER_30)

ROUND_2 = Candidate(ROUNDS, "ce", 10.0, teacher=TEACHER_10)
ROUND_3 = Candidate(ROUNDS, "ce", 10.0, teacher=ROUND_2)

PARTIAL = Candidate(TWO_HOT, "gce", 10.0, teacher=TEACHER_10, n_candidates=2)

STEP = 2.5  # between neighbouring strengths of one method
LEAST_RIDGE = 0.5  # below it a probe learns single labels by heart, at any noise
FIRST_ROBUST = Candidate(ROBUST, "gce", 10.0, start=TEACHER_30)


def can_be_weaker(candidate: Candidate) -> bool:
    """Return whether a smaller penalty is worth trying."""
    return candidate.ridge / STEP >= LEAST_RIDGE


def weaker(candidate: Candidate) -> Candidate:
    """Return the teacher or robust probe with the next smaller penalty."""
    ridge = candidate.ridge / STEP
    return Candidate(candidate.method, candidate.loss, ridge, start=candidate)


def stronger(robust: Candidate) -> Candidate:
    """Return the robust probe with the next larger penalty.

    It starts from the teacher: what a large penalty has flattened does not rise again.
    """
    return Candidate(ROBUST, "gce", robust.ridge * STEP, start=TEACHER_30)


def robust_rounds(robust: Candidate) -> tuple[Candidate, ...]:
    """Return the second rounds of a robust probe."""
    return (
        Candidate(
            ROBUST_ROUNDS, "gce", robust.ridge, teacher=robust, n_candidates=1, given_share=0.5
        ),
        Candidate(ROBUST_ROUNDS, "gce", robust.ridge / 2, teacher=robust),
    )


# Of one search: teachers, students, the two-hot student, four robust probes and their rounds.
MOST_TRIALS = 5 + 2 + 1 + 4 + len(robust_rounds(FIRST_ROBUST))
