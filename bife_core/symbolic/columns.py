"""Formulas of the grammar at all recorded candidates at once, and the conditional logit of the expert's choices.

The conditional logit (McFadden, 1974) says which of several candidates is chosen, by a weighted sum of their
attributes. A product of powers is linear in the logarithms of its factors, so its exponents are the weights of such a
model, and the likeliest ones are found by convex optimisation.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from bife_core.decisions.recorded import Decisions
from bife_core.generators.offline.expression import FLOOR, Leaf, Node, Operation, centred, signed

Floats: TypeAlias = npt.NDArray[np.float64]

CACHE_BYTES: Final = 2**28
_KEPT: Final = 256
"""Formulas whose values are kept at most, as far as `CACHE_BYTES` hold them."""

_STEPS: Final = 15
_ACCURACY: Final = 1e-7
"""Newton's method stops when a step promises less than this of the loss."""


class Columns:
    """Values of formulas, one per candidate; they are those of the rule that `write` makes of a formula.

    `starts` and `sizes` (n_decisions,) are the first row of each decision and how many candidates it has, `best`
    (n_rows,) says which candidates the expert scores best, and `offered` which features were recorded.
    """

    def __init__(self, decisions: Decisions) -> None:
        self.starts = decisions.offsets[:-1]
        self.sizes = np.diff(decisions.offsets)
        self.best = decisions.best
        self._features = decisions.columns
        self._kept = min(_KEPT, held_by_cache(decisions.n_candidates))
        self.offered = range(len(decisions.columns))
        self._values: dict[Node, Floats] = {}

    def value(self, node: Node) -> Floats:
        """Return what a formula gives for each candidate; not to be changed."""
        if node not in self._values:
            found = self._leaf(node.feature) if isinstance(node, Leaf) else self._operation(node)
            if len(self._values) >= self._kept:
                self._values.clear()
            self._values[node] = found
        return self._values[node]

    def _leaf(self, feature: int) -> Floats:
        column = self._features[feature]
        size = np.abs(column) if signed(feature) else 1.0 + column if centred(feature) else column
        return np.asarray(np.maximum(size, FLOOR))

    def _operation(self, node: Operation) -> Floats:
        parts, numbers = [self.value(part) for part in node.parts], node.numbers
        x, y, c = parts[0], parts[-1], numbers[0] if numbers else 0.0
        match node.kind:
            case "product":
                powers = zip(parts, numbers, strict=True)
                return np.asarray(np.exp(sum(power * np.log(part) for part, power in powers)))
            case "sum":
                return np.asarray(sum(weight * part for part, weight in zip(parts, numbers, strict=True)))
            case "min" | "max":
                return np.asarray((np.minimum if node.kind == "min" else np.maximum)(x, y))
            case "geometric":
                return np.sqrt(x * y)
            case "harmonic":
                return 2.0 / (1.0 / x + 1.0 / y)
            case "log1p":
                return np.log1p(c * x)
            case "tanh":
                return np.tanh(c * x)
            case "saturation":
                return x / (x + c)
            case "bonus":
                return 1.0 + c * x

    def over_decisions(self, values: Floats) -> Floats:
        """Return one value per decision at each of its candidates."""
        return np.repeat(values, self.sizes, axis=-1)


def held_by_cache(n_rows: int) -> int:
    """Return how many columns of values a cache may hold; a few in any case."""
    return max(16, CACHE_BYTES // (8 * max(n_rows, 1)))


class ConditionalLogit:
    """The likelihood of the expert's choices; where the expert's best candidates tie, each is as likely.

    `ridge` weighs the squared weights beside the mean loss of a decision; columns should be of one scale.
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
        """Return the likeliest weights (k,) of attributes (k, n_rows) and their loss, ridge included."""
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
