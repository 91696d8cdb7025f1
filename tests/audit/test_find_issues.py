"""`find_label_issues`: accuracy, consistent counts, all arguments, and the returned table."""

import dask.array as da
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
JUDGE = LinearProbe(ridge=5).fit(DATA.X_test, DATA.test_labels)  # not fitted on X

# Probabilities of three classes, sixty times the same six rows. The labels of the fourth and the
# fifth row are wrong; other rows have the same probabilities and a right label.
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
        else:
            np.testing.assert_array_equal(found[name], expected[name])


def assert_same(found, expected):
    assert_same_rows(found, expected)
    assert found.noise_rate == expected.noise_rate
    np.testing.assert_array_equal(found.corruption, expected.corruption)
    assert found.messages == expected.messages


# Accuracy ----------------------------------------------------------------------------------------


def test_beats_cross_validation_on_digits():
    data = problems.digits(0.3, 1257)
    wrong = data.given_labels != data.true_labels
    issues = find_label_issues(data.X, data.given_labels)
    with one_blas_thread():  # small products: threads would wait for each other most of the time
        plain = cross_val_predict(
            LogisticRegression(max_iter=1000), data.X / 16, data.given_labels, cv=5
        )
    found = f1_score(wrong, issues["is_label_issue"])
    assert found > 0.93  # CleanLearning of cleanlab reaches .918
    assert found > f1_score(wrong, plain != data.given_labels)
    assert issues.noise_rate == pytest.approx(wrong.mean(), abs=0.02)
    assert (issues.corrected_labels() == data.true_labels).mean() > 0.95
    # Nearly all of the lowest qualities belong to wrong labels.
    assert wrong[np.argsort(issues["label_quality"])[:200]].mean() > 0.98
    assert np.diag(issues.corruption) == pytest.approx(np.full(10, 0.7), abs=0.1)


@pytest.mark.parametrize("asked", [0.8, 0.9, 0.95])
def test_reaches_the_requested_precision(asked):
    data = problems.digits(0.3, 1257)
    wrong = data.given_labels != data.true_labels
    issues = find_label_issues(data.X, data.given_labels, precision=asked)
    found = wrong[issues["is_label_issue"]].mean()
    assert found > asked - 0.05
    # The precision is higher only if all labels with a more probable class are flagged.
    likelier = issues["predicted_label"] != data.given_labels
    assert found < asked + 0.05 or issues.n_issues == np.count_nonzero(likelier)


def test_rows_may_have_few_labels_of_each_class_of_a_probe():
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


# Consistent counts -------------------------------------------------------------------------------


def test_flags_a_table_written_by_hand():
    issues = find_label_issues(None, GIVEN, probabilities=ROWS)
    assert issues["is_label_issue"].tolist() == [False, False, False, True, True, False] * 60
    assert issues["predicted_label"].tolist() == [*"ababcc"] * 60
    assert issues["second_label"].tolist() == [*"bacaaa"] * 60
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
    assert issues.corrected_labels(undecided=True).tolist() == [*"ababcc"] * 60
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
    assert said.startswith("The features predict these labels no better")
    assert issues.noise_interval == (0, 1)
    np.testing.assert_array_equal(issues.corrected_labels(), labels)  # none automatically
    assert np.isfinite(issues.probability_wrong).all()


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
    assert least >= wrong[rows].sum() / len(Y)  # so many labels are known to be wrong
    assert most <= 1 - (~wrong[rows]).sum() / len(Y)
    assert least <= issues.noise_rate <= most
    assert least <= wrong.mean() <= most


def test_shares_flags_and_probabilities_agree():
    issues = find_label_issues(X, NAMES[Y])
    assert not any("no better" in text for text in issues.messages)
    n_issues = issues["is_label_issue"].sum()
    assert issues.n_issues == len(issues.rows) == n_issues > 0
    assert issues.noise_rate == pytest.approx(issues["probability_wrong"].mean())
    assert issues.noise_interval[0] <= issues.noise_rate <= issues.noise_interval[1]
    np.testing.assert_array_equal(issues["probability_wrong"], 1 - issues["label_quality"])
    changed = issues.corrected_labels(undecided=True) != NAMES[Y]
    np.testing.assert_array_equal(changed, issues["is_label_issue"])
    corrected = issues.corrected_labels() != NAMES[Y]
    likely = issues["is_label_issue"] & (issues["probability_wrong"] > 0.5)
    np.testing.assert_array_equal(corrected, likely & ~issues["is_undecided"])
    assert corrected.sum() < n_issues
    assert np.all(np.diff(issues["label_quality"][issues.rows]) >= 0)
    n_close = np.count_nonzero(issues["is_label_issue"] & issues["is_undecided"])
    assert issues.answer() == (
        f"Of {len(X):,} labels, {issues.share_in_words()}. The audit flags {n_issues} labels, "
        f"{n_close} of them as close calls."
    )
    assert str(issues).startswith(f"{issues.answer()}\n")


def test_rows_are_held_out():
    # With more features than rows, a fit on a row with a wrong label memorises the label.
    rows = np.random.default_rng(0).normal(size=(200, 300))
    rows[:100, 0] += 30
    labels = np.repeat([0, 1], 100)
    labels[:10] = 1
    memorised = LinearProbe(ridge=1e-3).fit(rows, labels).predict(rows)
    assert memorised[:10].tolist() == [1] * 10
    issues = find_label_issues(rows, labels)
    assert issues["predicted_label"][:10].tolist() == [0] * 10
    # The ten wrong labels are the most suspicious; how many of them are flagged may vary.
    assert sorted(np.argsort(-issues["probability_wrong"])[:10]) == list(range(10))
    assert not issues["is_label_issue"][10:].any()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda outputs: np.where(np.arange(300)[:, None] == 7, np.nan, outputs), "row 7"),
        (lambda outputs: outputs - 0.5, "-0.* instead of a probability"),
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
    issues = find_label_issues(X, np.where(ABSENT, None, labels.astype(object)).tolist())
    assert not issues["is_label_issue"][ABSENT].any()
    assert np.isnan(issues["label_quality"][ABSENT]).all()
    assert set(issues["given_label"][ABSENT]) == {None}
    assert set(issues.corrected_labels()[ABSENT]) == {None}
    filled = issues.corrected_labels(unlabelled=True)
    np.testing.assert_array_equal(filled[ABSENT], issues["predicted_label"][ABSENT])
    assert filled.dtype == issues.classes.dtype
    unlabelled = "Rows without a label: 75. They are predicted, but not counted as right or wrong."
    assert unlabelled in issues.messages
    assert f"Of {np.count_nonzero(~ABSENT)} labels, " in repr(issues)


def test_message_for_a_class_that_looks_missing():
    labels = np.where(ABSENT, "NA", NAMES[Y])
    probe = LinearProbe(ridge=5).fit(X, labels)
    assert "NA" in probe.classes_
    issues = find_label_issues(X, labels, probe=probe)
    assert issues.messages[-1].startswith("'NA' is a class here: if such a text means")
    named = find_label_issues(X, labels, probe=probe, missing=["NA"])
    assert named.given_label[ABSENT].tolist() == [None] * ABSENT.sum()
    assert named.messages[-1].startswith("Rows without a label: 75. They are predicted, but not")


class CountedRows(np.ndarray):
    """An array that records the largest number of rows that were copied at once."""

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
    # np.asarray(rows) would be a plain array, which records nothing; SelectedRows prevents it.
    audit(SelectedRows(rows, np.arange(700)), y, n_jobs=1)
    assert 0 < CountedRows.most <= 200  # of 600


def test_a_class_with_one_row_is_kept_and_never_flagged():
    labels = NAMES[Y].astype(object)
    labels[labels == "eel"] = "dog"
    labels[11] = "eel"
    issues = find_label_issues(X, labels)
    assert not issues["is_label_issue"][11]
    assert issues["probability_wrong"][11] > 0.1
    assert issues.corrected_labels()[11] == "eel"
    assert issues.messages[-1] == (
        "Classes with only one labelled row: 1 ('eel'). Their labels are never flagged, because no "
        "other row shows what these classes look like."
    )
    assert not find_label_issues(X, labels, budget=len(X))["is_label_issue"][11]
    assert not find_label_issues(X, labels, precision=0)["is_label_issue"][11]


# How many to flag --------------------------------------------------------------------------------


def test_a_budget_flags_the_most_suspicious_labels():
    plain = find_label_issues(X, Y, probe=JUDGE)
    likelier = plain["predicted_label"] != Y
    for budget in (0, 5, plain.n_issues, 290, 10_000):
        issues = find_label_issues(X, Y, probe=JUDGE, budget=budget)
        flagged, quality = issues["is_label_issue"], issues["label_quality"]
        assert issues.n_issues == min(budget, np.count_nonzero(likelier))
        assert likelier[flagged].all()
        if 0 < budget < np.count_nonzero(likelier):
            assert quality[flagged].max() <= quality[~flagged].min()
        # The budget does not change the estimated number of wrong labels.
        assert issues.noise_rate == plain.noise_rate
        np.testing.assert_array_equal(issues.corruption, plain.corruption)
    head = str(find_label_issues(X, Y, probe=JUDGE, budget=5)).splitlines()[0]
    assert head.startswith(f"Of {len(X):,} labels, {plain.share_in_words()}. The audit flags 5")


# Probes and probabilities ------------------------------------------------------------------------


def test_a_probe_gives_the_verdicts_of_its_probabilities():
    expected = find_label_issues(None, Y, probabilities=JUDGE.predict_proba(X))
    assert_same(find_label_issues(X, Y, probe=JUDGE), expected)
    sparse = sp.csr_array(np.round(JUDGE.predict_proba(X), 1) + 0.0)
    dense = sparse.toarray() / sparse.toarray().sum(axis=1, keepdims=True)
    expected = find_label_issues(None, Y, probabilities=dense)
    assert_same(find_label_issues(None, Y, probabilities=sp.csc_array(dense)), expected)


def test_a_probe_gets_the_rows_in_their_container():
    texts = ["good fine nice", "bad poor awful"] * 6000  # more than one block
    labels = np.array(["+", "-"] * 6000)
    labels[7] = "+"
    judge = make_pipeline(CountVectorizer(), MultinomialNB()).fit(texts, labels)
    assert find_label_issues(texts, labels, probe=judge).rows.tolist() == [7]
    # A frame stays a frame. Without its column names the probe would warn; warnings are errors.
    expected = find_label_issues(X, Y, probe=JUDGE)
    for make in (lambda rows: pd.DataFrame(rows).add_prefix("x"), pl.DataFrame):
        probe = LinearProbe(ridge=5).fit(make(DATA.X_test), DATA.test_labels)
        assert_same(find_label_issues(make(X), Y, probe=probe), expected)
        fitted_on_X = LogisticRegression().fit(make(X), Y)  # replaced by clones
        assert find_label_issues(make(X), Y, probe=fitted_on_X).n_issues


def test_classes_name_the_columns_in_any_order():
    backwards = find_label_issues(None, GIVEN, probabilities=ROWS[:, ::-1], classes=list("cba"))
    expected = find_label_issues(None, GIVEN, probabilities=ROWS)
    np.testing.assert_array_equal(backwards["is_label_issue"], expected["is_label_issue"])
    np.testing.assert_array_equal(backwards["predicted_label"][:2], ["a", "b"])
    np.testing.assert_allclose(backwards.corruption[::-1, ::-1], expected.corruption)
    # A class without labels; and a probe whose classes are not sorted.
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
    # The corrected labels have the same classes.
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


def test_calibrated_probabilities_of_a_classifier_are_preferred():
    class Calibrated(LogisticRegression):
        def predict_calibrated_proba(self, rows):
            sharp = self.predict_proba(rows) ** 3
            return sharp / sharp.sum(axis=1, keepdims=True)

    probe = Calibrated().fit(X, Y)
    calibrated = probe.predict_calibrated_proba(X)
    for arguments in ({}, {"precision": 0.8}):
        expected = find_label_issues(None, Y, probabilities=calibrated, **arguments)
        assert_same(find_label_issues(X, Y, probe=probe, **arguments), expected)


def test_labels_may_have_one_class_of_a_probe():
    issues = find_label_issues(X, np.zeros(len(X), dtype=int), probe=JUDGE)
    np.testing.assert_array_equal(issues["predicted_label"], JUDGE.predict(X))


def test_callback_gets_a_line_per_candidate():
    lines = []
    issues = find_label_issues(X, Y, callback=lines.append, n_jobs=1, random_state=3)
    assert len(lines) == len(issues.probe.choice_.tried)
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
    # Columns in the order of scikit-learn, which sorts text, and in another order.
    text = np.array([str(name) for name in names])[Y]
    order = np.argsort(names)[[0, 1, 4, 2, 3]]
    for labels, columns in ((text, order), (np.array(names)[Y], np.arange(5))):
        judged = frame(outputs[:, columns], [names[column] for column in columns])
        found = find_label_issues(None, labels, probabilities=judged)
        np.testing.assert_array_equal(found["is_label_issue"], expected["is_label_issue"])
        assert found["predicted_label"].tolist() == [
            labels.dtype.type(names[code]) for code in expected["predicted_label"]
        ]
    # Default names of columns are ignored. The classes of a `Labels` record name the columns.
    unnamed = find_label_issues(None, NAMES[Y], probabilities=pd.DataFrame(outputs))
    coded = Labels(Y, np.array([str(name) for name in names]))
    for found in (unnamed, find_label_issues(None, coded, probabilities=outputs)):
        np.testing.assert_array_equal(found["is_label_issue"], expected["is_label_issue"])


# Refused -----------------------------------------------------------------------------------------

UNKNOWN = np.where(np.arange(len(X)) == 3, "yak", NAMES[Y])
EVEN = np.full((300, 5), 0.2)
BACKWARDS = pl.DataFrame(EVEN, schema=list("43210"))
CHUNKED = da.from_array(X, chunks=(100, -1))
NAN = np.full(X.shape, np.nan)  # the features are checked after other arguments
INDEX = pd.RangeIndex(7, 307)
OTHER = INDEX[::-1]
FRAME = pd.DataFrame(X, index=INDEX)
REFUSED = [
    ({"y": [None] * len(X)}, r"y has no label in any of its 300 rows: pass labels"),
    ({"y": ["a"] * len(X)}, r"y has only one class \('a'\): pass rows of at least"),
    ({"y": ["a", *Y[1:].tolist()]}, r"y mixes numbers and text"),
    ({"X": None}, r"X is None: pass features or probabilities"),
    ({"y": Y[1:]}, r"y has 299 labels and X has 300 rows: pass one label"),
    ({"y": Y.reshape(150, 2)}, r"y has shape \(150, 2\): pass one label"),
    ({"probe": JUDGE, "probabilities": EVEN}, r"probe and probabilities are both given: pass one"),
    ({"budget": 3, "precision": 0.5}, r"budget=3 and precision=0.5 both set the"),
    ({"X": NAN, "budget": -1}, r"budget=-1 is not allowed: pass an integer of at least 0"),
    ({"budget": 1.5}, r"budget=1.5 is not allowed"),
    ({"X": NAN, "precision": 1.5}, r"precision=1.5 is not allowed: pass a number from 0 to 1"),
    ({"probabilities": EVEN, "groups": Y}, r"groups has no effect on probabilities, which were"),
    ({"X": NAN, "classes": NAMES}, r"classes names the columns of probabilities, which"),
    ({"X": CHUNKED, "probe": JUDGE}, "probe is given, and X is in chunks of Dask"),
    ({"X": CHUNKED, "probabilities": EVEN}, "probabilities is given, and X is in chunks of Dask"),
    ({"X": CHUNKED, "ids": ["a", "b", "c"]}, "ids has 3 ids for 300 rows"),
    ({"ids": ["a", "b"]}, "ids has 2 ids for 300 rows: pass one id per row"),
    ({"ids": ["a"] * 300}, r"^ids holds 'a' more than once .*: pass a different id"),
    (
        {"X": FRAME, "y": pd.Series(Y, OTHER)},
        r"y has another index than X.*pass y.loc\[X.index\], or",
    ),
    ({"X": FRAME, "y": pd.Series(Y, OTHER), "ids": range(300)}, "y has another index than X"),
    ({"X": FRAME, "ids": pd.Series(range(300), OTHER)}, "ids has another index than X"),
    ({"X": FRAME, "groups": pd.Series(range(300), OTHER)}, "groups has another index than X"),
    ({"y": pd.Series(Y, OTHER), "groups": FRAME[0]}, "groups has another index than y"),
    (
        {"X": None, "y": pd.Series(Y, OTHER), "probabilities": pd.DataFrame(EVEN, INDEX)},
        "probabilities has another index than y",
    ),
    ({"probe": LinearProbe()}, r"probe=LinearProbe\(\) has no classes_: pass"),
    ({"probe": "me"}, r"probe='me' has no predict_proba and no classes_"),
    (
        {"y": UNKNOWN, "probe": LinearProbe().fit(X, NAMES[Y])},
        r"y has 1 label that is not among the 5 classes \('yak'\): set these labels to None",
    ),
    ({"probabilities": EVEN[1:]}, r"probabilities has 299 rows and y has 300: pass one row of"),
    ({"probabilities": EVEN[:, 1:] * 1.25}, r"probabilities has 4 columns for 5 classes: pass one"),
    ({"probabilities": EVEN * 5}, r"probabilities has rows that do not sum to one \(row 0: 5\)"),
    ({"probabilities": EVEN - 0.5}, r"probabilities has the negative value -0.3"),
    ({"probabilities": np.ones(300)}, r"probabilities has shape \(300,\)"),
    (
        {"probabilities": np.ma.masked_array(EVEN, np.eye(300, 5) > 0)},
        r"probabilities has masked cells, first at index \(0, 0\): fill these",
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
        r"y has classes that are numbers as text \('8', '9', .*columns by classes=…, for instance",
    ),
    (
        {"probabilities": pd.DataFrame(EVEN, columns=list("vwxyz"))},
        r"probabilities has the columns 'v', .*, but no column for the label 0, .* of y: name the",
    ),
    (
        {"probabilities": BACKWARDS, "classes": [0, 1, 2, 3, 4]},
        r"probabilities has its columns in another order \('4', .* than classes: omit class",
    ),
    ({"X": np.where(np.eye(300, 12, 5) > 0, np.nan, X)}, r"X contains NaN at row 0, colu"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_rejects_invalid_arguments(changes, message):
    with pytest.raises(ValueError, match=message):
        find_label_issues(**({"X": X, "y": Y} | changes))


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
    of_rows = pd.DataFrame(table)  # a loop over the table yields rows
    assert of_rows["id"].tolist() == polars["id"].to_list()
    expected = pandas.reset_index(drop=True)
    pd.testing.assert_frame_equal(of_rows[list(COLUMNS)], expected, check_dtype=False)


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
    # The same if a label is missing.
    partly = pd.Series(given).convert_dtypes() if missing == "Int64" else pd.Series(given)
    partly[0] = None
    issues = find_label_issues(None, partly, probabilities=ROWS)
    assert issues.to_pandas()["given_label"].dtype == missing
    assert issues.to_pandas()["given_label"].isna().tolist() == [True] + [False] * 359
    if missing == "float64":
        assert issues["given_label"].dtype == float


@pytest.mark.parametrize("rows", [slice(5), slice(3, 90, 7), [7, 2], np.arange(361) % 2 == 0, 4])
def test_selected_rows_are_label_issues(table, rows):
    some, whole = table[rows], table.to_pandas()
    expected = whole.iloc[[rows] if isinstance(rows, int) else rows]
    pd.testing.assert_frame_equal(some.to_pandas(), expected)
    assert list(some.ids) == [str(row) for row in expected.index]
    assert some.noise_rate == table.noise_rate


def test_notebook_table_escapes_markup():
    names = np.array(["<b>a", "b", "c"])[np.unique(GIVEN, return_inverse=True)[1]]
    issues = find_label_issues(None, names, probabilities=ROWS, classes=["<b>a", "b", "c"])
    shown = issues._repr_html_()
    assert shown.count("<tr>") == 11
    assert "<b>" not in shown
    assert "&lt;b&gt;a" in shown
    assert issues.answer() in shown
    # The notes are counted, and not shown.
    assert "issues.review() shows all" in shown
    assert not any(message in shown for message in issues.messages)


# Ids ---------------------------------------------------------------------------------------------

ORDER = np.random.default_rng(1).permutation(len(GIVEN))


@pytest.mark.parametrize("index", [ORDER + 1000, [f"T{row}" for row in ORDER], ORDER])
def test_the_index_of_a_frame_joins_what_was_found(index):
    frame = pd.DataFrame({"y": GIVEN, "mine": np.arange(len(GIVEN))}, index=index)
    issues = find_label_issues(None, frame["y"], probabilities=ROWS)
    # The rows are in another order, so that a join by position would be wrong.
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


def test_a_default_index_of_the_features_is_ignored():
    labels = pd.Series(Y, OTHER)
    issues = find_label_issues(FRAME.reset_index(drop=True), labels, probe=JUDGE)
    assert issues.to_pandas().index.equals(labels.index)


def test_an_index_of_several_levels_is_kept(tmp_path):
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
    assert said.startswith(
        "Several rows have the same name, because the index repeats 0, 1, 2, 3, 4 and 175 more."
    )
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
    assert head.startswith(f"Of 360 labels, {table.share_in_words()}. The audit flags 120")
    assert headings.split() == ["id", "wrong", "given", "suggested", "second"]
    row = table.rows[0]
    labels = (table.given_label[row], table.predicted_label[row], table.second_label[row])
    assert first.split() == [str(row), f"{table.probability_wrong[row]:.1%}", *labels]
    assert last.startswith("Rows without a label: 1. They are predicted, but not counted")
    assert len(str(table).splitlines()) == 12 + len(table.messages)
    none = find_label_issues(None, ["a", "b"] * 30, probabilities=np.eye(2)[[0, 1] * 30])
    said = f"Of 60 labels, {none.share_in_words()}. The audit flags 0 labels."
    assert str(none).splitlines()[0] == said
    assert none.share_in_words().startswith("about 0.0% are wrong")


LEAKING = pd.DataFrame(X).add_prefix("x").assign(target=Y)


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        (LEAKING, ["'target'"]),
        (LEAKING[::-1][::-1], ["'target'"]),
        (LEAKING.to_numpy(), [str(X.shape[1])]),
        *[(rows, []) for rows in (X, np.column_stack([X, Y == 0]), sp.csr_array(X))],
    ],
)
def test_message_for_features_that_are_the_label(rows, named):
    notes = [text for text in find_label_issues(rows, Y).messages if "one value" in text]
    said = "Features with one value for each label: "
    assert [text.partition(". If they contain")[0] for text in notes] == [said + n for n in named]
