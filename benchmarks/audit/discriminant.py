"""Linear discriminant analysis with shrinkage, as scikit-learn has it: nothing is chosen."""

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from benchmarks.audit.noisy_data import NoisyData
from benchmarks.audit.runs import Outcome, Score
from benchmarks.audit.stages import Stages

LDA = "LDA"


def discriminant(noisy: NoisyData) -> Outcome:
    stages = Stages()
    with stages.measure("fit"):
        fitted = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
        fitted.fit(noisy.data.X, noisy.given_labels)
    score = Score(accuracy=noisy.accuracy(fitted.predict(noisy.data.X_test)))
    return Outcome({LDA: score}, stages.seconds, {})
