"""Formulas of the grammar fitted to decisions: exponents by maximum likelihood, parts one after the other.

The conditional logit (McFadden, 1974) says which of several candidates is chosen, by a weighted sum of their
attributes. A product of powers is linear in the logarithms of its factors, so its exponents are the weights of such a
model, and the likeliest ones are found by convex optimisation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from bife_core.language.components import BRANCHING
from bife_core.measure.decisions.recorded import Decisions
from bife_core.search.generators.offline.expression import (
    FLOOR,
    CancelledError,
    Kind,
    Leaf,
    Node,
    Operation,
    centred,
    join_of,
    leaves,
    leaves_of,
    normalised,
    product,
    role,
    signed,
    terms_of,
    tidy,
    walk,
)

Floats: TypeAlias = npt.NDArray[np.float64]

CACHE_BYTES: Final = 2**28
_KEPT: Final = 256  # formulas whose values are kept at most, as far as `CACHE_BYTES` hold them

_STEPS: Final = 15
_ACCURACY: Final = 1e-7  # Newton's method stops when a step promises less than this of the loss

RIDGE: Final = 1e-3
"""Of exponents per standard deviation of a factor's logarithm within decisions."""

_SCALES: Final = (0.1, 0.5, 0.9)
"""Quantiles of a feature's values above zero, which 1 + c x and tanh(c x) are scaled by."""

_TRIED: Final = 8  # factors whose exponents are fitted before one is chosen, those that promise most

_OPERATIONS: Final[dict[str, Callable[[Floats, Floats, float], Floats]]] = {
    "min": lambda x, y, c: np.minimum(x, y),
    "max": lambda x, y, c: np.maximum(x, y),
    "geometric": lambda x, y, c: np.sqrt(x * y),
    "harmonic": lambda x, y, c: 2.0 / (1.0 / x + 1.0 / y),
    "log1p": lambda x, y, c: np.log1p(c * x),
    "tanh": lambda x, y, c: np.tanh(c * x),
    "saturation": lambda x, y, c: x / (x + c),
    "bonus": lambda x, y, c: 1.0 + c * x,
}
"""What an operation of parts x and y with the number c gives; products and sums have any number of parts."""


class Columns:
    """Values of formulas, one per candidate, as the rule that `write` makes of a formula gives them.

    `starts` and `sizes` (n_decisions,) are first rows of decisions and numbers of candidates, `best` (n_rows,) says
    which candidates the expert scores best, and `offered` which features were recorded.
    """

    def __init__(self, decisions: Decisions) -> None:
        self.starts = decisions.offsets[:-1]
        self.sizes = np.diff(decisions.offsets)
        self.best = decisions.best
        self._features = decisions.columns
        self.offered = leaves_of(BRANCHING)[: len(decisions.columns)]
        kept = min(_KEPT, held_by_cache(decisions.n_candidates))
        self.value: Callable[[Node], Floats] = lru_cache(kept)(self._value)
        """What a formula gives for each candidate; not to be changed."""

    def _value(self, node: Node) -> Floats:
        if isinstance(node, Leaf):
            column = self._features[node.feature]
            size = np.abs(column) if signed(node) else column + centred(node)
            return np.asarray(np.maximum(size, FLOOR))
        parts, numbers = [self.value(part) for part in node.parts], node.numbers
        if node.kind in _OPERATIONS:
            return np.asarray(_OPERATIONS[node.kind](parts[0], parts[-1], numbers[0] if numbers else 0.0))
        if node.kind == "sum":
            return np.asarray(sum(weight * part for part, weight in zip(parts, numbers, strict=True)))
        powers = zip(parts, numbers, strict=True)
        return np.asarray(np.exp(sum(power * np.log(part) for part, power in powers)))

    def over_decisions(self, values: Floats) -> Floats:
        """Return one value per decision at each of its candidates."""
        return np.repeat(values, self.sizes, axis=-1)


def held_by_cache(n_rows: int) -> int:
    """Return how many columns of values a cache may hold."""
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
        """Return how likely each candidate is to be chosen."""
        return np.exp(self._log_probabilities(utility))

    def loss(self, utility: Floats) -> float:
        """Return the mean negative log-likelihood of a decision."""
        return -float(self.target @ self._log_probabilities(utility)) / len(self._columns.starts)

    def _log_probabilities(self, utility: Floats) -> Floats:
        columns = self._columns
        below = utility - columns.over_decisions(np.maximum.reduceat(utility, columns.starts))
        total = np.add.reduceat(np.exp(below), columns.starts)
        return np.asarray(below - columns.over_decisions(np.log(total)))

    def fit(self, attributes: Floats, start: Floats) -> tuple[Floats, float]:
        """Return the likeliest weights (k,) of attributes (k, n_rows) and their loss, ridge included."""
        count, starts = len(self._columns.starts), self._columns.starts
        weights = np.asarray(start, dtype=np.float64)
        loss = self._penalised(attributes, weights)
        for _ in range(_STEPS):
            likely = self.probabilities(weights @ attributes)
            slope = attributes @ (likely - self.target) / count + 2.0 * self._ridge * weights
            expected = np.add.reduceat(attributes * likely, starts, axis=1)
            curvature = ((attributes * likely) @ attributes.T - expected @ expected.T) / count
            curvature[np.diag_indices_from(curvature)] += 2.0 * self._ridge + 1e-12
            step = np.linalg.solve(curvature, slope)
            promise = float(slope @ step)
            if promise < _ACCURACY:
                break
            size = 1.0
            while size > 1e-3:
                tried = weights - size * step
                reached = self._penalised(attributes, tried)
                if reached <= loss - 1e-4 * size * promise:
                    break
                size /= 2.0
            else:
                break
            weights, loss = tried, reached
        return weights, loss

    def _penalised(self, logarithms: Floats, weights: Floats) -> float:
        return self.loss(weights @ logarithms) + self._ridge * float(weights @ weights)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A formula with its numbers fitted."""

    root: Node
    loss: float  # mean negative log-likelihood of the expert's choices per decision
    information: float  # half the Bayesian information criterion per decision: loss, and log(n) / 2n a number


class Fitter:
    """Fits formulas to decisions."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self._logit = ConditionalLogit(columns, RIDGE)
        kept = min(1024, held_by_cache(len(columns.best)))
        self._logarithm: Callable[[Node], tuple[Floats, float]] = lru_cache(kept)(self._scaled)
        self._paths: dict[tuple[Leaf, ...], tuple[int, list[Fitted]]] = {}

    def fit(self, root: Node) -> Fitted | None:
        """Return the formula with the likeliest exponents; None if it distinguishes no candidates.

        The factors of a product get an exponent each; any other formula is raised to one power, which changes no
        choice but says how sure it is of them.
        """
        parts = [part for part, _ in (terms_of(root) if join_of(root) == "product" else ((root, 1.0),))]
        attributes, spreads = self._logarithms(parts)
        telling = [i for i, spread in enumerate(spreads) if spread > 0.0]
        if not telling:
            return None
        weights, _ = self._logit.fit(attributes[telling], np.zeros(len(telling)))
        return self._fitted([parts[i] for i in telling], weights / spreads[telling])

    def offered(self, niche: int, terms: int = 1) -> tuple[Leaf, ...]:
        """Return the features of other roles than niches before begin with; niches start again at the end."""
        niches: list[tuple[Leaf, ...]] = []
        offered = self.columns.offered
        while path := self._path(offered, terms if len(niches) == niche else 1):
            if len(niches) == niche:
                return offered
            niches.append(offered)
            first = role(leaves(path[0].root)[0])
            offered = tuple(leaf for leaf in offered if role(leaf) != first)
        return niches[niche % len(niches)] if niches else offered

    def select(self, terms: int, niche: int = 0) -> list[Fitted]:
        """Return products of one, two, ... factors: each time the factor is added that gains most."""
        return self._path(self.offered(niche, terms), terms)

    def _path(self, offered: tuple[Leaf, ...], terms: int) -> list[Fitted]:
        made, path = self._paths.get(offered, (0, []))
        if made < terms:
            made, path = self._paths[offered] = terms, self._selected(offered, terms)
        return path[:terms]

    def _selected(self, leaves: Sequence[Leaf], terms: int) -> list[Fitted]:
        offered = [part for leaf in leaves for part in self._shapes(leaf)]
        telling, roughly = self._roughly(offered)
        chosen: list[int] = []
        weights, utility = np.zeros(0), np.zeros(roughly.shape[1])
        path: list[Fitted] = []
        for _ in range(min(terms, len(telling))):
            promise = self._promise(roughly, utility)
            promise[chosen] = -1.0
            fits = []
            for place in np.argsort(-promise, kind="stable")[:_TRIED]:
                tried = [*chosen, int(place)]
                columns, spreads = self._logarithms([telling[i] for i in tried])
                fitted_weights, loss = self._logit.fit(columns, np.append(weights, 0.0))
                fits.append((loss, tried, fitted_weights, columns, fitted_weights / spreads))
            for _, tried, fitted_weights, columns, powers in sorted(fits, key=lambda fit: fit[0]):
                fitted = self._fitted([telling[i] for i in tried], powers)
                if fitted is not None:  # else its exponents are too large for any number
                    path.append(fitted)
                    chosen, weights, utility = tried, fitted_weights, fitted_weights @ columns
                    break
            else:
                break
        return path

    def _roughly(self, offered: Sequence[Node]) -> tuple[list[Node], npt.NDArray[np.float32]]:
        """Return the parts that distinguish candidates with their logarithms, of so many in single precision."""
        roughly = np.empty((len(offered), len(self.columns.best)), dtype=np.float32)
        telling: list[Node] = []
        for part in offered:
            values, spread = self._logarithm(part)
            if spread > 0.0:
                roughly[len(telling)] = values
                telling.append(part)
        return telling, roughly[: len(telling)]

    def _promise(self, roughly: npt.NDArray[np.float32], utility: Floats) -> Floats:
        """Return the score statistic of each column: about what the likelihood gains if it is let in."""
        columns, likely = self.columns, self._logit.probabilities(utility)
        promise = np.empty(len(roughly))
        block = held_by_cache(roughly.shape[1])
        for first in range(0, len(roughly), block):
            logarithms = roughly[first : first + block].astype(np.float64)
            slope = logarithms @ (self._logit.target - likely)
            expected = np.add.reduceat(logarithms * likely, columns.starts, axis=1)
            variance = (logarithms * logarithms) @ likely - (expected * expected).sum(axis=1)
            promise[first : first + block] = slope * slope / np.maximum(variance, 1e-9 * len(columns.starts))
        return promise

    def _logarithms(self, parts: Sequence[Node]) -> tuple[Floats, Floats]:
        """Return the parts' logarithms, centred in each decision and of one scale, and that scale."""
        pairs = [self._logarithm(part) for part in parts]
        return np.array([values for values, _ in pairs]), np.array([spread for _, spread in pairs])

    def _scaled(self, part: Node) -> tuple[Floats, float]:
        columns, values = self.columns, self._log_value(part)
        if not np.isfinite(values).all():
            values = np.zeros_like(values)  # beyond what a number holds: no part of any rule
        values -= columns.over_decisions(np.add.reduceat(values, columns.starts) / columns.sizes)
        spread = float(values.std())
        # What is the same for all candidates of a decision but for rounding carries no information.
        return (values / spread, spread) if spread > 1e-9 else (values, 0.0)

    def _log_value(self, node: Node) -> Floats:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return np.asarray(np.log(self.columns.value(node)))

    def _fitted(self, parts: Sequence[Node], powers: Floats) -> Fitted | None:
        """Return the product with numbers of two digits and its loss; None if its values are beyond floats."""
        try:
            root = normalised(product(*zip(parts, map(float, powers), strict=True)))
        except CancelledError:
            return None
        if not np.isfinite(self._log_value(root)).all():
            return None
        weighed = zip(parts, powers, strict=True)
        utility = sum(tidy(float(power)) * np.log(self.columns.value(part)) for part, power in weighed)
        loss = self._logit.loss(np.asarray(utility))
        count = len(self.columns.starts)
        # Choices depend on ratios of exponents alone: the first, which `normalised` makes 1, is no number of the rule.
        numbers = sum(len(part.numbers) for part in walk(root) if isinstance(part, Operation))
        numbers += len(leaves(root))
        numbers -= isinstance(root, Operation) and root.kind in ("product", "sum")
        return Fitted(root, loss, loss + numbers * math.log(count) / (2.0 * count))

    def _shapes(self, leaf: Leaf) -> list[Node]:
        values = self.columns.value(leaf)
        above = values[values > values.min()]
        if len(above) == 0:
            return []
        scales = dict.fromkeys(tidy(1.0 / float(np.quantile(above, share))) for share in _SCALES)
        kinds: tuple[Kind, ...] = ("bonus", "tanh")
        return [leaf, *(Operation(kind, (leaf,), (scale,)) for kind in kinds for scale in scales)]
