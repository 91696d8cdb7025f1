"""Label issues: found as well as promised, one count of them, and every way to ask."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import problems
import stored
from twohot import LinearProbe, find_label_issues, forecast
from twohot.audit.issues import COLUMNS
from twohot.base.labels import Labels
from twohot.noise import corrupt_labels, symmetric
from twohot.rows.selected import SelectedRows
from twohot.rows.threads import one_blas_thread

DATA = problems.synthetic()
X, Y = DATA.X, DATA.given_labels
NAMES = np.array(["ant", "bee", "cat", "dog", "eel"])
# It has not seen the rows that it judges.
JUDGE = LinearProbe(ridge=5).fit(DATA.X_test, DATA.test_labels)

# Rows of three classes, sixty times the same six: two of their labels are wrong, at rows that are
# as clear as some with a right label.
ROWS = np.tile(
    [
        [0.90, 0.06, 0.04],
        [0.06, 0.90, 0.04],
        [0.45, 0.10, 0.45],
        [0.06, 0.90, 0.04],
        [0.10, 0.06, 0.84],
        [0.10, 0.06, 0.84],
    ],
    (60, 1),
)
GIVEN = np.array(["a", "b", "a", "a", "a", "c"] * 60)


def assert_same_rows(found, expected):
    for name in COLUMNS:
        if name in {"label_quality", "confidence", "second_confidence"}:
            np.testing.assert_allclose(found[name], expected[name], atol=1e-12)
        else:  # a missing label depends on the type of the labels
            columns = (pd.Series(each[name]).astype(object) for each in (found, expected))
            np.testing.assert_array_equal(
                *(column.where(column.notna(), None) for column in columns)
            )


def assert_same(found, expected):
    assert_same_rows(found, expected)
    assert found.noise_rate == expected.noise_rate
    np.testing.assert_array_equal(found.corruption, expected.corruption)
    assert found.messages == expected.messages


# How well ----------------------------------------------------------------------------------------


def test_beats_cross_validation_on_digits():
    data = problems.digits(0.3, 1257)
    wrong = data.given_labels != data.true_labels
    issues = find_label_issues(data.X, data.given_labels)
    with one_blas_thread():  # small products: threads would wait for each other most of the time
        plain = cross_val_predict(
            LogisticRegression(max_iter=1000), data.X / 16, data.given_labels, cv=5
        )
    found = f1_score(wrong, issues["is_label_issue"])
    assert found > 0.93  # CleanLearning's is .918
    assert found > f1_score(wrong, plain != data.given_labels)
    assert issues.noise_rate == pytest.approx(wrong.mean(), abs=0.02)
    right = issues.corrected_labels() == data.true_labels
    assert right.mean() > 0.95
    # Quality ranks: a wrong label is below a right one, and the matrix is that of the noise.
    order = np.argsort(issues["label_quality"])
    assert wrong[order[:200]].mean() > 0.98
    assert np.diag(issues.corruption) == pytest.approx(np.full(10, 0.7), abs=0.1)


@pytest.mark.parametrize("asked", [0.8, 0.9, 0.95])
def test_reaches_the_requested_precision(asked):
    data = problems.digits(0.3, 1257)
    wrong = data.given_labels != data.true_labels
    issues = find_label_issues(data.X, data.given_labels, precision=asked)
    found = wrong[issues["is_label_issue"]].mean()
    assert found > asked - 0.05
    # More come only where every label with a likelier class is flagged.
    likelier = issues["predicted_label"] != data.given_labels
    assert found < asked + 0.05 or issues.n_issues == np.count_nonzero(likelier)


def test_zero_probabilities_are_not_certain():
    # Of ten neighbours none may have a label that is right. All labels are right.
    rng = np.random.default_rng(0)
    labels = np.arange(800) % 4
    X = np.array([[0, 0], [3, 0], [0, 3], [3, 3]])[labels] + rng.normal(size=(800, 2))
    neighbours = KNeighborsClassifier(10)
    p = cross_val_predict(neighbours, X, labels, method="predict_proba")
    assert (p[np.arange(800), labels] == 0).any()
    issues = find_label_issues(None, labels, probabilities=p)
    assert issues.probability_wrong.max() < 1
    assert issues.noise_interval[0] < 0.01
    assert issues.is_label_issue.mean() < 0.03


def test_judges_a_few_of_the_classes_of_a_probe():
    rng = np.random.default_rng(0)
    centres = 3 * rng.normal(size=(40, 64))
    true = np.arange(4160) % 40
    X = centres[true] + rng.normal(size=(4160, 64))
    probe = LinearProbe(n_jobs=1).fit(X[160:], true[160:])
    given = np.where(rng.random(160) < 0.2, (true[:160] + 7) % 40, true[:160])
    wrong = given != true[:160]
    for judged in ({"probe": probe}, {"probabilities": probe.predict_proba(X[:160])}):
        issues = find_label_issues(X[:160], given, precision=0.9, **judged)
        assert issues.is_label_issue[wrong].mean() > 0.9
        assert wrong[issues.is_label_issue].mean() > 0.9


# One count ---------------------------------------------------------------------------------------


def test_flags_a_table_written_by_hand():
    issues = find_label_issues(None, GIVEN, probabilities=ROWS)
    assert issues["is_label_issue"].tolist() == [False, False, False, True, True, False] * 60
    assert issues["predicted_label"].tolist() == ["a", "b", "a", "b", "c", "c"] * 60
    assert issues["second_label"].tolist() == ["b", "a", "c", "a", "a", "a"] * 60
    assert issues["is_undecided"].tolist() == [False, False, True, False, False, False] * 60
    assert issues["confidence"][2] < issues["confidence"][[0, 1, 3, 4, 5]].min()
    assert issues["second_confidence"][2] > issues["second_confidence"][[0, 1, 3, 4, 5]].max()
    assert np.all(issues["second_confidence"] <= issues["confidence"])
    assert np.all(issues["second_confidence"] + issues["confidence"] <= 1 + 1e-6)
    quality = issues["label_quality"]
    assert max(quality[[3, 4]]) < quality[2] < min(quality[[0, 1, 5]])
    assert issues.noise_rate == pytest.approx(np.mean(issues["probability_wrong"]))
    least, most = issues.noise_interval
    assert least < 2 / 6 < most
    np.testing.assert_allclose(issues.corruption, [[1, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5]])
    assert sorted(issues.rows.tolist()) == sorted([*range(3, 360, 6), *range(4, 360, 6)])
    assert issues.corrected_labels(undecided=True).tolist() == ["a", "b", "a", "b", "c", "c"] * 60
    assert issues.corrected_labels().dtype == GIVEN.dtype
    assert issues.probe is None
    assert len(issues) == 360


@pytest.mark.parametrize("noise_rate", [0.2, 0.4])
@pytest.mark.parametrize("shares", [(0.06, 0.77, 0.17), (0.85, 0.15)])
def test_unbalanced_classes_with_even_noise(shares, noise_rate):
    rng = np.random.default_rng(0)
    n_classes = len(shares)
    true = rng.choice(n_classes, 900, p=shares)
    rows = 3 * np.eye(n_classes, 8)[true] + rng.normal(size=(900, 8))
    given = corrupt_labels(true, symmetric(n_classes, noise_rate), random_state=0).given_labels
    issues = find_label_issues(rows, given, n_jobs=1)
    assert f1_score(given != true, issues.is_label_issue) > 0.7
    assert issues.noise_rate == pytest.approx(np.mean(given != true), abs=0.1)


def test_message_for_a_precision_that_no_label_reaches():
    labels = np.arange(600) % 3
    rows = np.eye(3)[labels] + 0.01 * np.random.default_rng(0).normal(size=(600, 3))
    found = find_label_issues(rows, labels, precision=0.9)
    assert not found.n_issues
    (said,) = (text for text in found.messages if text.startswith("No label is flagged for"))
    assert "an expected precision of 0.9: no row has a more probable class than its label." in said
    (said,) = find_label_issues(None, GIVEN, probabilities=ROWS, precision=1).messages
    assert "precision of 1: the most suspicious label is wrong with probability" in said


LEARNT_NOTHING = {
    "constant features": (np.ones((40, 3)), np.arange(40) % 2),
    "shuffled labels": (X, np.random.default_rng(0).permutation(Y)),
    "features of chance": (np.random.default_rng(1).normal(size=(90, 4)), np.arange(90) % 3),
}


@pytest.mark.parametrize("case", LEARNT_NOTHING)
@pytest.mark.parametrize("flagging", [{}, {"precision": 0.9}, {"budget": 5}])
def test_message_for_labels_that_cannot_be_learnt(case, flagging):
    rows, labels = LEARNT_NOTHING[case]
    issues = find_label_issues(rows, labels, n_jobs=1, **flagging)
    (said,) = (text for text in issues.messages if "these labels no better than" in text)
    assert said.startswith("The features explain these labels no better")
    assert issues.noise_interval == (0, 1)  # nothing is known
    # Nothing is corrected without a person who looks at it.
    np.testing.assert_array_equal(issues.corrected_labels(), labels)
    assert np.isfinite(issues.probability_wrong).all()
    assert not any("no better" in text for text in find_label_issues(X, Y, n_jobs=1).messages)


@pytest.mark.parametrize("how", [{}, {"probe": JUDGE}], ids=["label model", "probe"])
@pytest.mark.parametrize("verdicts", ["labels", "right or wrong"])
def test_checked_rows_bound_the_noise_rate(how, verdicts):
    wrong = DATA.true_labels != Y
    rows = find_label_issues(X, Y, n_jobs=1, **how).rows
    says = DATA.true_labels if verdicts == "labels" else np.where(wrong, "wrong", "right")
    checked = {int(row): says[row] for row in rows}
    issues = find_label_issues(X, Y, n_jobs=1, checked=checked, **how)
    least, most = issues.noise_interval
    assert 0 < wrong[rows].mean() < 1
    assert least >= wrong[rows].sum() / len(Y)  # as many are known
    assert most <= 1 - (~wrong[rows]).sum() / len(Y)
    assert least <= issues.noise_rate <= most
    assert least <= wrong.mean() <= most


def test_shares_flags_and_probabilities_agree():
    issues = find_label_issues(X, NAMES[Y])
    n_issues = issues["is_label_issue"].sum()
    assert issues.n_issues == len(issues.rows) == n_issues > 0
    assert issues.noise_rate == pytest.approx(issues["probability_wrong"].mean())
    assert issues.noise_interval[0] <= issues.noise_rate <= issues.noise_interval[1]
    np.testing.assert_array_equal(issues["probability_wrong"], 1 - issues["label_quality"])
    changed = issues.corrected_labels(undecided=True) != NAMES[Y]
    np.testing.assert_array_equal(changed, issues["is_label_issue"])
    surely = issues.corrected_labels() != NAMES[Y]
    likely = issues["is_label_issue"] & (issues["probability_wrong"] > 0.5)
    np.testing.assert_array_equal(surely, likely & ~issues["is_undecided"])
    assert surely.sum() < n_issues
    assert np.all(np.diff(issues["label_quality"][issues.rows]) >= 0)
    n_close = np.count_nonzero(issues["is_label_issue"] & issues["is_undecided"])
    assert issues.answer() == (
        f"Of {len(X):,} labels, {issues.share_in_words()}; {n_issues} flagged, {n_close} of them "
        "close calls."
    )
    assert str(issues).startswith(f"{issues.answer()}\n")


def test_no_row_is_judged_by_a_fit_that_has_seen_its_label():
    # With more features than rows, a fit that has seen a wrong label memorises it.
    rows = np.random.default_rng(0).normal(size=(200, 300))
    rows[:100, 0] += 30
    labels = np.repeat([0, 1], 100)
    labels[:10] = 1
    memorised = LinearProbe(ridge=1e-3).fit(rows, labels).predict(rows)
    assert memorised[:10].tolist() == [1] * 10
    issues = find_label_issues(rows, labels)
    assert issues["predicted_label"][:10].tolist() == [0] * 10
    # How many are flagged depends on ten rows; their order does not.
    assert sorted(np.argsort(-issues["probability_wrong"])[:10]) == list(range(10))
    assert not issues["is_label_issue"][10:].any()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda outputs: np.where(np.arange(300)[:, None] == 7, np.nan, outputs), "row 7"),
        (lambda outputs: outputs - 0.5, "NaN or negative"),
        (lambda outputs: outputs[:, :4], r"shape \(300, 4\) instead of \(300, 5\)"),
    ],
    ids=["no number", "below zero", "columns"],
)
def test_rejects_invalid_probabilities_of_a_probe(spoil, said):
    class Spoilt(LogisticRegression):
        def predict_proba(self, rows):
            return spoil(super().predict_proba(rows))

    with pytest.raises(ValueError, match=f"probe returns .*{said}"):
        find_label_issues(X, Y, probe=Spoilt().fit(X, Y))


# Rows without a label ----------------------------------------------------------------------------


ABSENT = np.arange(len(X)) % 4 == 0


@pytest.mark.parametrize("labels", [Y, NAMES[Y]], ids=["numbers", "text"])
def test_rows_without_a_label_are_predicted_and_never_counted(labels):
    absent = ABSENT
    issues = find_label_issues(X, np.where(absent, None, labels.astype(object)).tolist())
    alone = find_label_issues(X[~absent], labels[~absent])
    difference = np.abs(issues.probability_wrong[~absent] - alone.probability_wrong)
    assert difference.max() < 0.05
    assert (issues.is_label_issue[~absent] != alone.is_label_issue).sum() <= 3
    assert issues.noise_rate == pytest.approx(alone.noise_rate, abs=2e-3)
    assert not issues["is_label_issue"][absent].any()
    assert np.isnan(issues["label_quality"][absent]).all()
    assert set(issues["given_label"][absent]) == {None}
    predicted = issues["predicted_label"][absent]
    assert np.mean(predicted.astype(str) == alone.probe.predict(X[absent]).astype(str)) > 0.8
    assert set(issues.corrected_labels()[absent]) == {None}
    filled = issues.corrected_labels(unlabelled=True)
    np.testing.assert_array_equal(filled[absent], predicted)
    assert filled.dtype == issues.classes.dtype
    assert "Rows without a label: 75. They are predicted and not counted." in issues.messages
    assert f"Of {np.count_nonzero(~absent)} labels, " in repr(issues)


def test_message_for_a_class_that_looks_missing():
    labels = np.where(ABSENT, "NA", NAMES[Y])
    probe = LinearProbe(ridge=5).fit(X, labels)
    assert "NA" in probe.classes_
    issues = find_label_issues(X, labels, probe=probe)
    assert issues.messages[-1].startswith("'NA' is a class here: name such a text among `missing`")
    named = find_label_issues(X, labels, probe=probe, missing=["NA"])
    assert named.given_label[ABSENT].tolist() == [None] * ABSENT.sum()
    assert named.messages[-1] == "Rows without a label: 75. They are predicted and not counted."


class CountedRows(np.ndarray):
    """Rows that count how many of them are copied at once."""

    most = 0

    def __getitem__(self, rows):
        found = super().__getitem__(rows)
        if isinstance(rows, np.ndarray | slice):
            CountedRows.most = max(CountedRows.most, len(found))
        return found


@pytest.mark.parametrize("audit", [find_label_issues, forecast])
def test_labelled_rows_are_never_copied_all_at_once(audit, tmp_path):
    wide = np.random.default_rng(0).standard_normal((700, 4096), dtype=np.float32)
    labels = np.arange(700) % 2
    wide[:, 0] += 100 * labels
    rows = stored.memory_map(wide, tmp_path).view(CountedRows)
    y = np.where(np.arange(700) % 7 == 0, np.nan, labels)
    CountedRows.most = 0
    # An array of what is passed would not count any more.
    audit(SelectedRows(rows, np.arange(700)), y, n_jobs=1)
    assert 0 < CountedRows.most <= 200  # of 600


def test_a_class_with_one_row_is_kept_and_never_flagged():
    labels = NAMES[Y].astype(object)
    labels[labels == "eel"] = "dog"
    labels[11] = "eel"
    issues = find_label_issues(X, labels)
    assert not issues["is_label_issue"][11]
    assert issues["probability_wrong"][11] > 0.1  # what is thought of it is still said
    assert issues.corrected_labels()[11] == "eel"
    assert issues.messages[-1] == (
        "Classes with one label only: 1 ('eel'). They are kept and never flagged, because no other "
        "row shows what they look like."
    )
    assert not find_label_issues(X, labels, budget=len(X))["is_label_issue"][11]
    assert not find_label_issues(X, labels, precision=0)["is_label_issue"][11]


# How many to flag --------------------------------------------------------------------------------


def test_a_budget_flags_the_most_doubtful():
    plain = find_label_issues(X, Y, probe=JUDGE)
    for budget in (0, 5, plain.n_issues, 290, 10_000):
        issues = find_label_issues(X, Y, probe=JUDGE, budget=budget)
        likelier = issues["predicted_label"] != Y
        assert issues.n_issues == min(budget, np.count_nonzero(likelier))
        assert likelier[issues["is_label_issue"]].all()
        flagged = issues["is_label_issue"]
        if 0 < budget < np.count_nonzero(likelier):
            quality = issues["label_quality"]
            assert quality[flagged].max() <= quality[~flagged].min()
        # The estimate of how many are wrong is another matter.
        assert issues.noise_rate == plain.noise_rate
        np.testing.assert_array_equal(issues.corruption, plain.corruption)
    head = str(find_label_issues(X, Y, probe=JUDGE, budget=5)).splitlines()[0]
    assert head.startswith(f"Of {len(X):,} labels, {plain.share_in_words()}; 5 flagged")


# Who judges --------------------------------------------------------------------------------------


def test_a_probe_judges_as_its_probabilities_do():
    expected = find_label_issues(None, Y, probabilities=JUDGE.predict_proba(X))
    assert_same(find_label_issues(X, Y, probe=JUDGE), expected)
    sparse = sp.csr_array(np.round(JUDGE.predict_proba(X), 1) + 0.0)
    dense = sparse.toarray() / sparse.toarray().sum(axis=1, keepdims=True)
    expected = find_label_issues(None, Y, probabilities=dense)
    assert_same(find_label_issues(None, Y, probabilities=sp.csc_array(dense)), expected)


def test_a_probe_gets_the_rows_as_they_came():
    texts = ["good fine nice", "bad poor awful"] * 6000  # more than one block
    labels = np.array(["+", "-"] * 6000)
    labels[7] = "+"
    judge = make_pipeline(CountVectorizer(), MultinomialNB()).fit(texts, labels)
    assert find_label_issues(texts, labels, probe=judge).rows.tolist() == [7]
    # A frame keeps its names: the probe would warn, and warnings are errors here.
    expected = find_label_issues(X, Y, probe=JUDGE)
    for make in (lambda rows: pd.DataFrame(rows).add_prefix("x"), pl.DataFrame):
        probe = LinearProbe(ridge=5).fit(make(DATA.X_test), DATA.test_labels)
        assert_same(find_label_issues(make(X), Y, probe=probe), expected)
        seen = LogisticRegression().fit(make(X), Y)  # so that clones of it judge
        assert find_label_issues(make(X), Y, probe=seen).n_issues


def test_classes_name_the_columns_in_any_order():
    backwards = find_label_issues(None, GIVEN, probabilities=ROWS[:, ::-1], classes=list("cba"))
    expected = find_label_issues(None, GIVEN, probabilities=ROWS)
    np.testing.assert_array_equal(backwards["is_label_issue"], expected["is_label_issue"])
    np.testing.assert_array_equal(backwards["predicted_label"][:2], ["a", "b"])
    np.testing.assert_allclose(backwards.corruption[::-1, ::-1], expected.corruption)
    # A class that no label has; and a judge whose classes are not sorted.
    wider = np.hstack([ROWS, np.zeros((len(ROWS), 1))])
    issues = find_label_issues(None, GIVEN, probabilities=wider, classes=list("abcd"))
    assert issues.corruption[3].tolist() == [0, 0, 0, 1]

    class Judge:
        classes_ = np.array(["c", "b", "a"])

        def predict_proba(self, rows):
            return ROWS[rows[:, 0], ::-1]

    found = find_label_issues(np.arange(len(ROWS))[:, np.newaxis], GIVEN, probe=Judge())
    assert_same(found, backwards)


def test_labels_that_are_coded_keep_their_classes_and_their_order():
    order = np.array(["yak", "eel", "dog", "cat", "bee", "ant"])
    coded = Labels(5 - Y, order)
    plain, issues = find_label_issues(X, NAMES[Y]), find_label_issues(X, coded)
    assert issues.probe.classes_.tolist() == order[1:].tolist()
    assert issues.classes.tolist() == order.tolist()
    np.testing.assert_array_equal(issues.given, coded.codes)
    np.testing.assert_array_equal(issues.given_label, NAMES[Y])
    assert issues.corruption[0].tolist() == [1, 0, 0, 0, 0, 0]
    plain = find_label_issues(X, NAMES[Y], probe=plain.probe)
    judged = find_label_issues(X, coded, probe=plain.probe)
    assert_same_rows(judged, plain)
    np.testing.assert_array_equal(judged.corruption[:0:-1, :0:-1], plain.corruption)
    # The corrected labels are coded likewise: what a probe can be fitted on.
    assert judged.corrected().classes is order
    np.testing.assert_array_equal(judged.corrected().values, judged.corrected_labels())


def test_a_probe_knows_classes_by_their_text():
    issues = find_label_issues(X, Y.astype(str), probe=JUDGE)
    assert issues.classes.tolist() == [*"01234"]
    expected = find_label_issues(X, Y, probe=JUDGE).to_pandas().astype(str)
    pd.testing.assert_frame_equal(issues.to_pandas().astype(str), expected)
    partial = find_label_issues(X, np.where(Y == 4, "0", Y.astype(str)), probe=JUDGE)
    assert partial.classes.tolist() == [*"01234"]
    assert set(partial.predicted_label) == {*"01234"}


def test_any_classifier_is_asked_for_calibrated_probabilities():
    class Calibrated(LogisticRegression):
        def predict_calibrated_proba(self, rows):
            sharp = self.predict_proba(rows) ** 3
            return sharp / sharp.sum(axis=1, keepdims=True)

    probe = Calibrated().fit(X, Y)
    own = probe.predict_calibrated_proba(X)
    for arguments in ({}, {"precision": 0.8}):
        expected = find_label_issues(None, Y, probabilities=own, **arguments)
        assert_same(find_label_issues(X, Y, probe=probe, **arguments), expected)


def test_a_probe_judges_labels_of_one_class():
    issues = find_label_issues(X, np.zeros(len(X), dtype=int), probe=JUDGE)
    np.testing.assert_array_equal(issues["predicted_label"], JUDGE.predict(X))


def test_callback_gets_a_line_per_candidate():
    heard = []
    issues = find_label_issues(X, Y, callback=heard.append, n_jobs=1, random_state=3)
    assert len(heard) == len(issues.probe.choice_.tried)
    assert (issues.probe.n_jobs, issues.probe.random_state) == (1, 3)


@pytest.mark.parametrize(
    "frame",
    [
        lambda rows, names: pd.DataFrame(rows, columns=names),
        lambda rows, names: pl.DataFrame(rows, schema=[str(name) for name in names]),
        lambda rows, names: pl.LazyFrame(rows, schema=[str(name) for name in names]),
    ],
)
def test_a_frame_of_probabilities_names_its_columns(frame):
    outputs, names = JUDGE.predict_proba(X), [2, 0, 10, 1, 3]
    expected = find_label_issues(None, Y, probabilities=outputs)
    # As scikit-learn has them, which sorts text, and in no order at all.
    text = np.array([str(name) for name in names])[Y]
    order = np.argsort(names)[[0, 1, 4, 2, 3]]
    for labels, columns in ((text, order), (np.array(names)[Y], np.arange(5))):
        judged = frame(outputs[:, columns], [names[column] for column in columns])
        found = find_label_issues(None, labels, probabilities=judged)
        np.testing.assert_array_equal(found["is_label_issue"], expected["is_label_issue"])
        assert found["predicted_label"].tolist() == [
            labels.dtype.type(names[code]) for code in expected["predicted_label"]
        ]
    # Names that nobody chose say nothing; a record of labels has the order that somebody did.
    unnamed = find_label_issues(None, NAMES[Y], probabilities=pd.DataFrame(outputs))
    coded = Labels(Y, np.array([str(name) for name in names]))
    for found in (unnamed, find_label_issues(None, coded, probabilities=outputs)):
        np.testing.assert_array_equal(found["is_label_issue"], expected["is_label_issue"])


# Refused -----------------------------------------------------------------------------------------

UNKNOWN = np.where(np.arange(len(X)) == 3, "yak", NAMES[Y])
EVEN = np.full((300, 5), 0.2)
BACKWARDS = pl.DataFrame(EVEN, schema=list("43210"))
REFUSED = [
    ({"y": [None] * len(X)}, r"y has no label in any of its 300 rows: pass labels"),
    ({"y": ["a"] * len(X)}, r"y has only one class \('a'\): pass rows of at least"),
    ({"y": ["a", *Y[1:].tolist()]}, r"y mixes numbers and text"),
    ({"X": None}, r"X is None: pass features or probabilities"),
    ({"y": Y[1:]}, r"y has 299 labels and X has 300 rows: pass one label"),
    ({"y": Y.reshape(150, 2)}, r"y has shape \(150, 2\): pass one label"),
    ({"probe": JUDGE, "probabilities": EVEN}, r"probe and probabilities are both given: pass one"),
    ({"budget": 3, "precision": 0.5}, r"budget=3 and precision=0.5 both set the"),
    ({"budget": -1}, r"budget=-1 is not allowed: pass an integer of at least 0"),
    ({"budget": 1.5}, r"budget=1.5 is not allowed"),
    ({"precision": 1.5}, r"precision=1.5 is not allowed: pass a number from 0 to 1"),
    ({"probabilities": EVEN, "groups": Y}, r"groups has no effect on probabilities, which were"),
    ({"classes": NAMES}, r"classes names the columns of probabilities, which"),
    ({"probe": LinearProbe()}, r"probe=LinearProbe\(\) is not a fitted clas"),
    ({"probe": "me"}, r"probe='me' is not a fitted classifier with classes_ and"),
    (
        {"y": UNKNOWN, "probe": LinearProbe().fit(X, NAMES[Y])},
        r"y has 1 label that is not among the 5 classes \('yak'\): remove the labels of",
    ),
    ({"probabilities": EVEN[1:]}, r"probabilities has 299 rows and y has 300: pass one row of"),
    ({"probabilities": EVEN[:, 1:] * 1.25}, r"probabilities has 4 columns for 5 classes: pass one"),
    ({"probabilities": EVEN * 5}, r"probabilities has rows that do not sum to one \(row 0: 5\)"),
    ({"probabilities": EVEN - 0.5}, r"probabilities has the negative or missing value -0.3"),
    ({"probabilities": np.ones(300)}, r"probabilities has shape \(300,\)"),
    (
        {"probabilities": np.ma.masked_array(EVEN, np.eye(300, 5) > 0)},
        r"probabilities has masked cells, first at \(0, 0\): fill them",
    ),
    ({"probabilities": EVEN, "random_state": "x"}, r"random_state='x' is not a random state"),
    ({"probabilities": EVEN, "n_jobs": 0}, r"n_jobs=0 is not a number of threads"),
    ({"probabilities": EVEN, "classes": [0, 1, 2, 3, 3]}, "classes contains a class twice"),
    (
        {"probabilities": EVEN[:, 1:], "classes": [0, 1, 2, 3]},
        r"y has 1 label that is not among the 4 classes \(4\)",
    ),
    (
        {"y": (Y + 8).astype(str), "probabilities": EVEN},
        r"y has text that is a number \('8', '9', '10', .*columns by classes=…, for instance",
    ),
    (
        {"probabilities": pd.DataFrame(EVEN, columns=list("vwxyz"))},
        r"probabilities has the columns 'v', .*, which are not the labels of y: name the columns",
    ),
    (
        {"probabilities": BACKWARDS, "classes": [0, 1, 2, 3, 4]},
        r"probabilities has its columns in another order \('4', .* than classes: leave classes=… o",
    ),
    ({"X": np.where(np.eye(300, 12, 5) > 0, np.nan, X)}, r"X contains NaN at row 0, colu"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_rejects_invalid_arguments(changes, message):
    with pytest.raises(ValueError, match=message):
        find_label_issues(**({"X": X, "y": Y} | changes))


@pytest.mark.parametrize("arguments", [{"budget": -1}, {"precision": 2}, {"classes": NAMES}])
def test_checks_arguments_before_the_features(arguments):
    with pytest.raises(ValueError, match=r"is not allowed|names the columns"):
        find_label_issues(np.full(X.shape, np.nan), Y, **arguments)


# The table ---------------------------------------------------------------------------------------


@pytest.fixture
def table():
    given = [*GIVEN.tolist(), None]
    return find_label_issues(None, given, probabilities=np.vstack([ROWS, [[0.2, 0.7, 0.1]]]))


def test_frames_hold_every_column(table):
    pandas, polars = table.to_pandas(), table.to_polars()
    assert list(pandas.columns) == list(table.columns) == list(COLUMNS)
    assert list(polars.columns) == ["id", *COLUMNS]
    assert polars["id"].to_list() == [str(row) for row in range(361)]
    for name in COLUMNS:
        unknown = name in {"label_quality", "probability_wrong", "given_label"}
        assert pandas[name].isna().tolist() == [False] * 360 + [unknown]
        assert pandas[name].iloc[:360].tolist() == table[name][:360].tolist()
        assert polars[name].to_list()[:360] == table[name][:360].tolist()
    assert polars["given_label"].to_list()[360] is None
    assert polars.schema["is_label_issue"] == pl.Boolean
    assert polars.schema["given_label"] == polars.schema["predicted_label"] == pl.String
    assert pandas["label_quality"].dtype == np.float32


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        (GIVEN, "str"),
        (np.array([2.0, 7, 9])[np.unique(GIVEN, return_inverse=True)[1]], "float64"),
        (np.array([2, 7, 9], np.int8)[np.unique(GIVEN, return_inverse=True)[1]], "Int64"),
    ],
)
def test_labels_keep_their_type(given, missing):
    issues = find_label_issues(None, given, probabilities=ROWS)
    for column in ("given_label", "predicted_label", "second_label"):
        assert issues[column].dtype == given.dtype
    assert issues.corrected_labels().dtype == given.dtype
    # And with a label missing, as far as an array can say so.
    partly = pd.Series(given).convert_dtypes() if missing == "Int64" else pd.Series(given)
    partly[0] = None
    issues = find_label_issues(None, partly, probabilities=ROWS)
    assert issues.to_pandas()["given_label"].dtype == missing
    assert issues.to_pandas()["given_label"].isna().tolist() == [True] + [False] * 359
    if missing == "float64":
        assert issues["given_label"].dtype == float


@pytest.mark.parametrize("rows", [slice(5), slice(3, 90, 7), [7, 2], np.arange(361) % 2 == 0, 4])
def test_some_rows_are_issues_too(table, rows):
    some, whole = table[rows], table.to_pandas()
    expected = whole.iloc[[rows] if isinstance(rows, int) else rows]
    pd.testing.assert_frame_equal(some.to_pandas(), expected)
    assert list(some.ids) == [str(row) for row in expected.index]
    assert some.noise_rate == table.noise_rate


def test_a_frame_is_made_of_the_rows(table):
    frame = pd.DataFrame(table)
    assert frame["id"].tolist() == [str(row) for row in range(361)]
    expected = table.to_pandas().reset_index(drop=True)
    pd.testing.assert_frame_equal(frame[list(COLUMNS)], expected, check_dtype=False)


def test_notebook_table_escapes_markup():
    names = np.array(["<b>a", "b", "c"])[np.unique(GIVEN, return_inverse=True)[1]]
    issues = find_label_issues(None, names, probabilities=ROWS, classes=["<b>a", "b", "c"])
    shown = issues._repr_html_()
    assert shown.count("<tr>") == 11
    assert "<b>" not in shown
    assert "&lt;b&gt;a" in shown
    assert issues.answer() in shown
    # What is no finding is counted, and not in the way.
    assert "issues.review() shows all" in shown
    assert not any(message in shown for message in issues.messages)


# Ids ---------------------------------------------------------------------------------------------

ORDER = np.random.default_rng(1).permutation(len(GIVEN))


@pytest.mark.parametrize("index", [ORDER + 1000, [f"T{row}" for row in ORDER], ORDER])
def test_the_index_of_a_frame_joins_what_was_found(index):
    frame = pd.DataFrame({"y": GIVEN, "mine": np.arange(len(GIVEN))}, index=index)
    issues = find_label_issues(None, frame["y"], probabilities=ROWS)
    # The same rows in another order: a join by position would be wrong.
    joined = frame.sort_index().join(issues.to_pandas())
    assert (joined["given_label"] == joined["y"]).all()
    plain = find_label_issues(None, GIVEN, probabilities=ROWS)
    np.testing.assert_array_equal(joined["confidence"], plain.confidence[joined["mine"]])
    assert list(issues.ids) == [str(name) for name in index]


def test_ids_may_be_given():
    names = [f"T{row}" for row in ORDER]
    issues = find_label_issues(None, GIVEN, probabilities=ROWS, ids=names)
    assert issues.to_polars()["id"].to_list() == names
    assert issues.to_pandas().index.tolist() == names
    assert f"{names[issues.rows[0]]:>8}  " in repr(issues)
    with pytest.raises(ValueError, match="ids has 2 ids for 360 rows: pass one id per row"):
        find_label_issues(None, GIVEN, probabilities=ROWS, ids=["a", "b"])
    with pytest.raises(ValueError, match=r"^ids holds 'a' more than once .*: pass a different id"):
        find_label_issues(None, GIVEN, probabilities=ROWS, ids=["a"] * 360)


OWN = pd.RangeIndex(7, 307)
OTHER = OWN[::-1]
FRAME = pd.DataFrame(X, index=OWN)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"y": pd.Series(Y, OTHER)}, r"y has another index than X.*pass y.loc\[X.index\], or"),
        ({"y": pd.Series(Y, OTHER), "ids": range(300)}, "y has another index than X"),
        ({"ids": pd.Series(range(300), OTHER)}, "ids has another index than X"),
        ({"groups": pd.Series(range(300), OTHER)}, "groups has another index than X"),
        ({"X": X, "y": pd.Series(Y, OTHER), "groups": FRAME[0]}, "groups has another index than y"),
    ],
)
def test_rejects_data_with_another_index(data, message):
    with pytest.raises(ValueError, match=message):
        find_label_issues(**({"X": FRAME, "y": Y, "probe": JUDGE} | data))


def test_compares_the_index_of_probabilities_and_ignores_a_default_index():
    labels = pd.Series(Y, OTHER)
    with pytest.raises(ValueError, match="probabilities has another index than y"):
        find_label_issues(None, labels, probabilities=pd.DataFrame(np.eye(5)[Y], index=OWN))
    bare = find_label_issues(FRAME.reset_index(drop=True), labels, probe=JUDGE)
    assert bare.to_pandas().index.equals(labels.index)


def test_an_index_of_several_levels_stays_one(tmp_path):
    levels = pd.MultiIndex.from_product([range(60), list("uvwxyz")], names=["page", "place"])
    labels = pd.Series(GIVEN, index=levels)
    issues = find_label_issues(None, labels, probabilities=ROWS)
    assert issues.to_pandas().index.equals(levels)
    assert issues.to_pandas().index.names == ["page", "place"]
    assert issues[:5].to_pandas().index.equals(levels[:5])
    first = issues.rows[0]
    lines = ["report,id,given_label,suggested_label,decision,label"]
    (tmp_path / "d.csv").write_text("\n".join([*lines, f'r,"{levels[first]}",a,b,accept,b']))
    expected = labels.copy()
    expected.iloc[first] = issues.predicted_label[first]
    pd.testing.assert_series_equal(
        issues.apply(tmp_path / "d.csv").astype(object), expected.astype(object), check_names=False
    )


def test_message_for_a_repeated_index():
    labels = pd.Series(GIVEN, index=np.arange(len(GIVEN)) // 2)
    messages = find_label_issues(None, labels, probabilities=ROWS).messages
    (said,) = [text for text in messages if "join" in text]
    assert said.startswith("Rows share names: the index repeats 0, 1, 2, 3, 4 and 175 more,")
    unique = find_label_issues(None, labels, probabilities=ROWS, ids=range(len(GIVEN)))
    assert said not in unique.messages


@pytest.mark.parametrize(
    "make", [np.asarray, pd.DataFrame, pl.DataFrame, pl.LazyFrame, sp.csr_array, np.ndarray.tolist]
)
@pytest.mark.parametrize("judge", [None, JUDGE])
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_names_the_row_of_a_missing_number(make, judge):
    rows, labels = X[:60].copy(), Y[:60].astype(float)
    labels[:10] = np.nan
    rows[25, 2] = np.nan
    with pytest.raises(ValueError, match="X contains NaN at row 25, column 2"):
        find_label_issues(make(rows), labels, probe=judge)
    with pytest.raises(ValueError, match="X contains NaN at row T25, column 2"):
        find_label_issues(make(rows), labels, probe=judge, ids=[f"T{row}" for row in range(60)])


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_missing_package_is_named_with_its_extra(table, package, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(ImportError, match=rf'need {package}: pip install "twohot\[frames\]"'):
        getattr(table, f"to_{package}")()


def test_rejects_an_unknown_column(table):
    with pytest.raises(KeyError, match="'quality' is not a column: pass one of is_label_issue,"):
        table["quality"]


def test_prints_the_most_suspicious_rows(table):
    head, headings, first, *_, last = str(table).splitlines()
    assert head.startswith(f"Of 360 labels, {table.share_in_words()}; 120 flagged")
    assert headings.split() == ["id", "wrong", "given", "suggested", "second"]
    row = table.rows[0]
    labels = (table.given_label[row], table.predicted_label[row], table.second_label[row])
    assert first.split() == [str(row), f"{table.probability_wrong[row]:.1%}", *labels]
    assert last == "Rows without a label: 1. They are predicted and not counted."
    assert len(str(table).splitlines()) == 12 + len(table.messages)
    none = find_label_issues(None, ["a", "b"] * 30, probabilities=np.eye(2)[[0, 1] * 30])
    assert str(none).splitlines()[0] == f"Of 60 labels, {none.share_in_words()}; 0 flagged."
    assert none.share_in_words().startswith("about 0.0% are wrong")


@pytest.mark.parametrize("make", [pd.DataFrame, np.asarray, lambda frame: frame[::-1][::-1]])
def test_names_features_that_are_the_label(make):
    frame = pd.DataFrame(X).add_prefix("x").assign(target=Y)
    (said,) = (text for text in find_label_issues(make(frame), Y).messages if "one value" in text)
    named = "'target'" if hasattr(make(frame), "columns") else str(X.shape[1])
    assert said.startswith(f"Features with one value for each label: {named}. If they contain")


@pytest.mark.parametrize("rows", [X, np.column_stack([X, Y == 0]), sp.csr_array(X)])
def test_other_features_are_not_named(rows):
    assert not any("one value" in text for text in find_label_issues(rows, Y).messages)
