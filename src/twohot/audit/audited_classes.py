"""The classes that an audit offers: those of the labels, and those that a probe alone knows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from twohot._checks.column_cells import as_text
from twohot._checks.labels import NO_LABEL, Labels
from twohot._types import IntArray, Matrix


@dataclass(frozen=True, eq=False)
class OfferedClasses:
    """Names of the classes, and where those of a probe stand among them."""

    names: NDArray[Any]  # (n_classes,)
    place: IntArray  # (n_known,), of each class that the probe knows

    def codes(self, codes: IntArray) -> IntArray:
        """Return positions among the probe's classes as positions among all."""
        return np.append(self.place, NO_LABEL)[codes]

    def corruption(self, corruption: Matrix) -> Matrix:
        """Return the corruption of all classes: what the probe does not know has no noise."""
        if sp.issparse(corruption):
            found = corruption.tocoo()
            n_classes = len(self.names)
            others = np.setdiff1d(np.arange(n_classes), self.place)
            places = [np.append(self.place[each], others) for each in found.coords]
            shares = np.append(found.data, np.ones(len(others)))
            return sp.csr_array((shares, tuple(places)), shape=(n_classes, n_classes))
        whole = np.eye(len(self.names))
        whole[np.ix_(self.place, self.place)] = corruption
        return whole


def offered_classes(labels: Labels, known: NDArray[Any], *, in_order: bool) -> OfferedClasses:
    """Return the classes to choose from, told apart by their text and named as the labels are.

    With `in_order` the labels' own classes come first, with rows or without, and what the probe
    alone knows behind them; else there are the probe's, in its order.

    Examples
    --------
    >>> labels = Labels(np.array([1, 0]), np.array(["2", "10"], dtype=object))
    >>> offered_classes(labels, np.array([1, 2, 10]), in_order=True)
    OfferedClasses(names=array(['2', '10', '1'], dtype=object), place=array([2, 0, 1]))
    """
    own = {as_text(label): label for label in labels.classes.tolist()}
    is_text = all(isinstance(label, str) for label in own.values())
    others = {as_text(label): label for label in known.tolist()}
    named = {text: text if is_text else label for text, label in others.items()} | own
    texts = dict.fromkeys([*own, *others] if in_order else others)
    place = {text: number for number, text in enumerate(texts)}
    names = [named[text] for text in texts]
    # Arrays that say the same keep their type; numbers beside text are not to become text.
    same = [kept for kept in (labels.classes, known) if names == kept.tolist()]
    of_one_type = len({type(name) for name in names}) == 1 and not is_text
    return OfferedClasses(
        same[0] if same else np.array(names, dtype=None if of_one_type else object),
        np.array([place[text] for text in others]),
    )
