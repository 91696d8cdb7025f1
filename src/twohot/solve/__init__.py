"""Minimise a loss over `Rows`; return the coefficients and the size of the final gradient."""

from twohot.solve.loss_kernels import Targets as Targets
from twohot.solve.loss_kernels import softmax as softmax
from twohot.solve.losses import CrossEntropy as CrossEntropy
from twohot.solve.losses import Evaluation as Evaluation
from twohot.solve.losses import GeneralizedCrossEntropy as GeneralizedCrossEntropy
from twohot.solve.losses import Loss as Loss
from twohot.solve.losses import LossParameters as LossParameters
from twohot.solve.losses import loss_from_json as loss_from_json
from twohot.solve.losses import make_loss as make_loss
from twohot.solve.solver import Settings as Settings
from twohot.solve.solver import Solution as Solution
from twohot.solve.solver import Solver as Solver
