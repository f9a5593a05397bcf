"""Formulas fitted to decisions: their exponents by maximum likelihood, their parts one after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from bife_core.generators.offline.expression import (
    CancelledError,
    Leaf,
    Node,
    Operation,
    components,
    join_of,
    leaves,
    normalised,
    product,
    role_of_feature,
    tidy,
    walk,
)
from bife_core.symbolic.columns import Columns, ConditionalLogit, Floats, held_by_cache

RIDGE: Final = 1e-3
"""Of exponents per standard deviation of a factor's logarithm within decisions."""

_SCALES: Final = (0.1, 0.5, 0.9)
"""Quantiles of a feature's values above zero, which 1 + c x and tanh(c x) are scaled by."""

_TRIED: Final = 8
"""Factors whose exponents are fitted before one is chosen, those that promise most."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A formula with its numbers fitted, and the mean negative log-likelihood of the expert's choices per decision.

    `information` is the Bayesian information criterion per decision, halved: the loss, and log(n) / 2n for each number.
    """

    root: Node
    loss: float
    information: float


class Fitter:
    """Fits formulas to decisions."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self._logit = ConditionalLogit(columns, RIDGE)
        self._logarithms: dict[Node, tuple[Floats, float]] = {}
        self._kept = min(1024, held_by_cache(len(columns.best)))
        self._paths: dict[tuple[int, ...], tuple[int, list[Fitted]]] = {}

    def fit(self, root: Node) -> Fitted | None:
        """Return the formula with the likeliest exponents; None if it distinguishes no candidates.

        The factors of a product get an exponent each; any other formula is raised to one power, which changes no
        choice but says how sure it is of them.
        """
        parts = [part for part, _ in (components(root) if join_of(root) == "product" else ((root, 1.0),))]
        known, spreads = self._known(parts)
        telling = [i for i, spread in enumerate(spreads) if spread > 0.0]
        if not telling:
            return None
        weights, _ = self._logit.fit(known[telling], np.zeros(len(telling)))
        return self._fitted([parts[i] for i in telling], weights / spreads[telling])

    def offered(self, niche: int, terms: int = 1) -> tuple[int, ...]:
        """Return the features of a niche: those of other roles than the niches before it begin with.

        Where so many niches would leave nothing that distinguishes candidates, they are counted from 0 again. On the
        way `terms` factors of the niche are selected, for `select`.
        """
        niches: list[tuple[int, ...]] = []
        offered = tuple(self.columns.offered)
        while path := self._path(offered, terms if len(niches) == niche else 1):
            if len(niches) == niche:
                return offered
            niches.append(offered)
            first = role_of_feature(leaves(path[0].root)[0])
            offered = tuple(feature for feature in offered if role_of_feature(feature) != first)
        return niches[niche % len(niches)] if niches else offered

    def select(self, terms: int, niche: int = 0) -> list[Fitted]:
        """Return products of one, two, ... factors: each time the factor is added that gains most."""
        return self._path(self.offered(niche, terms), terms)

    def _path(self, offered: tuple[int, ...], terms: int) -> list[Fitted]:
        made, path = self._paths.get(offered, (0, []))
        if made < terms:
            made, path = self._paths[offered] = terms, self._selected(offered, terms)
        return path[:terms]

    def _selected(self, features: Sequence[int], terms: int) -> list[Fitted]:
        offered = [part for feature in features for part in self._shapes(feature)]
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
                known, spreads = self._known([telling[i] for i in tried])
                found, loss = self._logit.fit(known, np.append(weights, 0.0))
                fits.append((loss, tried, found, known, found / spreads))
            for _, tried, found, known, powers in sorted(fits, key=lambda fit: fit[0]):
                fitted = self._fitted([telling[i] for i in tried], powers)
                if fitted is not None:  # else its exponents are too large for any number
                    path.append(fitted)
                    chosen, weights, utility = tried, found, found @ known
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
            known = roughly[first : first + block].astype(np.float64)
            slope = known @ (self._logit.target - likely)
            expected = np.add.reduceat(known * likely, columns.starts, axis=1)
            variance = (known * known) @ likely - (expected * expected).sum(axis=1)
            promise[first : first + block] = slope * slope / np.maximum(variance, 1e-9 * len(columns.starts))
        return promise

    def _known(self, parts: Sequence[Node]) -> tuple[Floats, Floats]:
        """Return the parts' logarithms, centred in each decision and of one scale, and that scale."""
        pairs = [self._logarithm(part) for part in parts]
        return np.array([values for values, _ in pairs]), np.array([spread for _, spread in pairs])

    def _logarithm(self, part: Node) -> tuple[Floats, float]:
        if part not in self._logarithms:
            columns = self.columns
            values = self._log_value(part)
            if not np.isfinite(values).all():
                values = np.zeros_like(values)  # beyond what a number holds: no part of any rule
            values -= columns.over_decisions(np.add.reduceat(values, columns.starts) / columns.sizes)
            spread = float(values.std())
            # What is the same for all candidates of a decision but for rounding carries no information.
            spread = spread if spread > 1e-9 else 0.0
            if len(self._logarithms) >= self._kept:
                self._logarithms.clear()
            self._logarithms[part] = (values / spread if spread else values), spread
        return self._logarithms[part]

    def _log_value(self, node: Node) -> Floats:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return np.asarray(np.log(self.columns.value(node)))

    def _fitted(self, parts: Sequence[Node], powers: Floats) -> Fitted | None:
        """Return the product with numbers of two digits and its loss; None if its values are beyond floats."""
        try:
            root = normalised(
                product(*((part, float(power)) for part, power in zip(parts, powers, strict=True)))
            )
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
        numbers += len({part.feature for part in walk(root) if isinstance(part, Leaf)})
        numbers -= isinstance(root, Operation) and root.kind in ("product", "sum")
        return Fitted(root, loss, loss + numbers * math.log(count) / (2.0 * count))

    def _shapes(self, feature: int) -> list[Node]:
        leaf = Leaf(feature)
        values = self.columns.value(leaf)
        above = values[values > values.min()]
        if len(above) == 0:
            return []
        scales = dict.fromkeys(tidy(1.0 / float(np.quantile(above, share))) for share in _SCALES)
        return [
            leaf,
            *(Operation("bonus", (leaf,), (scale,)) for scale in scales),
            *(Operation("tanh", (leaf,), (scale,)) for scale in scales),
        ]
