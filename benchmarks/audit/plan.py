"""Which runs there are, and in which order: what is cheap comes first."""

from collections.abc import Iterable, Iterator

from benchmarks.audit.data import DIGITS
from benchmarks.audit.families import AUTO_PROBE
from benchmarks.audit.generated import GAUSSIANS, GENERATED
from benchmarks.audit.runs import AuditRun, Setting

SEEDS = (0, 1, 2)
# A run on digits takes seconds and has 540 test rows: three draws say little, and more cost little.
MANY_SEEDS = tuple(range(12))
RATES = (0.1, 0.3, 0.6, 0.8)
# Inside superclasses: of five classes, as CIFAR-100 has them, 0.8 would leave nothing to learn.
COARSE_RATES, CLUSTERED_RATES = (0.3, 0.6), (0.3, 0.6, 0.8)
HUMAN_RATE = 0.402  # of CIFAR-100N's labels
HUMAN = "human"
CLEAN = "clean"
IDN_RATES, PAIR_RATE = (0.2, 0.4), 0.4
THINNED_RATE = 0.3  # symmetric, beside clean labels
OVERLAP_RATES, GAUSSIAN_RATES = (0.05, 0.1, 0.2, 0.4), (0.2, 0.5)  # uniform, beside clean labels
# A run on one of these takes minutes, and of the last, with all rows, one draw of three settings is
# made.
DEAR = ("Flowers-102", "Caltech-101", "StanfordCars", "CIFAR-100, 100 a class", "CIFAR-100")
OF_ALL_ROWS = ((HUMAN, HUMAN_RATE), ("symmetric", 0.6), ("superclass", 0.6))
# LogisticRegression and cleanlab take minutes on each draw of these: of them, every kind of noise
# once or twice is planned. One draw is made for all but AutoProbe and LDA, which is mostly the best
# of the others there. (Runs beyond the plan stay on the page.)
LOGISTIC, LDA = "logistic", "lda"
OF_DEAR = (*OF_ALL_ROWS, ("symmetric", 0.3), (CLEAN, 0.0), ("idn", 0.4), ("pair", PAIR_RATE))
# A probe fitted alone starts from nothing, so a whole grid of them takes many times what AutoProbe
# does: it is asked about drawn noise only, and where runs are cheap.
GRID = "grid"
GRID_NOISE = ("symmetric", "asymmetric", "superclass")


def settings(data: str) -> Iterator[Setting]:
    """Yield the settings of a data set."""
    yield from _generated_settings(data) if data in GENERATED else _stored_settings(data)


def _stored_settings(data: str) -> Iterator[Setting]:
    if data == DEAR[-1]:
        yield from (Setting(data, *noise) for noise in OF_ALL_ROWS)
        return
    has_people = data.startswith("CIFAR")
    for noise in ("symmetric", "asymmetric"):
        yield from (Setting(data, noise, rate) for rate in RATES)
    rates = COARSE_RATES if has_people else CLUSTERED_RATES
    yield from (Setting(data, "superclass", rate) for rate in rates)
    if has_people:
        yield Setting(data, HUMAN, HUMAN_RATE)
    yield Setting(data, CLEAN, 0.0)
    yield from (Setting(data, "idn", rate) for rate in IDN_RATES)
    yield Setting(data, "pair", PAIR_RATE)
    for thinning in ("few", "tail"):
        yield Setting(data, f"{thinning}, {CLEAN}", 0.0)
        yield Setting(data, f"{thinning}, symmetric", THINNED_RATE)


def _generated_settings(data: str) -> Iterator[Setting]:
    yield Setting(data, CLEAN, 0.0)
    rates = GAUSSIAN_RATES if data == GAUSSIANS else OVERLAP_RATES
    yield from (Setting(data, "uniform", rate) for rate in rates)


def plan(names: Iterable[str], families: Iterable[str]) -> list[AuditRun]:
    """Return all runs of some data sets, what is cheap first."""
    families = list(families)
    return [
        AuditRun(setting, seed, family)
        for name in sorted(names, key=DEAR.__contains__)
        for setting in settings(name)
        for seed in _seeds(name)
        for family in families
        if _is_planned(family, setting, seed)
    ]


def _is_planned(family: str, setting: Setting, seed: int) -> bool:
    if setting.data not in DEAR:
        return family != GRID or setting.noise in GRID_NOISE
    if family == LOGISTIC:
        return seed == SEEDS[0] and (setting.noise, setting.rate) in OF_DEAR
    return family in (AUTO_PROBE, LDA) or (family != GRID and seed == SEEDS[0])


def _seeds(data: str) -> tuple[int, ...]:
    if data == DIGITS:
        return MANY_SEEDS
    return SEEDS[:1] if data == DEAR[-1] else SEEDS
