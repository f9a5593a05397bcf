"""The conditional logit (McFadden, 1974): which of several candidates is chosen, by a weighted sum of what is known.

A product of powers is linear in the logarithms of its factors, so its exponents are the weights of such a model, and
the likeliest ones are found by convex optimisation.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from bife_core.symbolic.columns import Columns, Floats

_STEPS: Final = 15
_ACCURACY: Final = 1e-7
"""Newton's method stops when a step promises less than this of the loss."""


class ConditionalLogit:
    """The likelihood of the expert's choices; where the expert's best candidates tie, each is as likely.

    Parameters
    ----------
    columns : Columns
    ridge : float
        Weight of the squared weights beside the mean loss of a decision; columns should be of one scale.
    """

    def __init__(self, columns: Columns, ridge: float) -> None:
        self._columns = columns
        self._ridge = ridge
        chosen = columns.best.astype(np.float64)
        self.target = chosen / columns.over_decisions(np.add.reduceat(chosen, columns.starts))

    def probabilities(self, utility: Floats) -> Floats:
        """Return how likely each candidate is to be chosen in its decision."""
        return np.exp(self._log_probabilities(utility))

    def loss(self, utility: Floats) -> float:
        """Return the mean negative log-likelihood of a decision."""
        return -float(self.target @ self._log_probabilities(utility)) / len(self._columns.starts)

    def _log_probabilities(self, utility: Floats) -> Floats:
        columns = self._columns
        below = utility - columns.over_decisions(np.maximum.reduceat(utility, columns.starts))
        total = np.add.reduceat(np.exp(below), columns.starts)
        return np.asarray(below - columns.over_decisions(np.log(total)))

    def fit(self, known: Floats, start: Floats) -> tuple[Floats, float]:
        """Return the likeliest weights and their loss, ridge included.

        Parameters
        ----------
        known : (k, n_rows)
            What is known of each candidate.
        start : (k,)
            Weights to begin with.
        """
        count, starts = len(self._columns.starts), self._columns.starts
        weights = np.asarray(start, dtype=np.float64)
        loss = self._penalised(known, weights)
        for _ in range(_STEPS):
            likely = self.probabilities(weights @ known)
            slope = known @ (likely - self.target) / count + 2.0 * self._ridge * weights
            expected = np.add.reduceat(known * likely, starts, axis=1)
            curvature = ((known * likely) @ known.T - expected @ expected.T) / count
            curvature[np.diag_indices_from(curvature)] += 2.0 * self._ridge + 1e-12
            step = np.linalg.solve(curvature, slope)
            promise = float(slope @ step)
            if promise < _ACCURACY:
                break
            size = 1.0
            while size > 1e-3:
                tried = weights - size * step
                reached = self._penalised(known, tried)
                if reached <= loss - 1e-4 * size * promise:
                    break
                size /= 2.0
            else:
                break
            weights, loss = tried, reached
        return weights, loss

    def _penalised(self, known: Floats, weights: Floats) -> float:
        return self.loss(weights @ known) + self._ridge * float(weights @ weights)
