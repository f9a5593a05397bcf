"""Primal and dual bound over time, and the integral of what lies between them (paper, section Metrics)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple

import pyscipopt
from pyscipopt import SCIP_EVENTTYPE

_POINTS_KEPT: Final = 64
"""Points a stored trace has at most; the integral is taken over all of them first."""


class BoundPoint(NamedTuple):
    """Both bounds from a moment on, until the next point.

    Attributes
    ----------
    time_s : float
        Seconds on SCIP's clock since the start of the solve.
    primal, dual : float or None
        In the sense of the model's objective; None while infinite.
    """

    time_s: float
    primal: float | None
    dual: float | None


def known_bounds(model: pyscipopt.Model) -> tuple[float, float]:
    """Return a dual and a primal bound that hold before anything is solved.

    They are the best and the worst objective value over the box of the variables' bounds; where a variable with a
    coefficient has no bound, they are infinite on that side.

    Returns
    -------
    dual, primal : float
        Dual is the smaller one when minimising, the greater one when maximising.
    """
    low = high = float(model.getObjoffset())
    for variable in model.getVars():
        coefficient = float(variable.getObj())
        if coefficient:
            ends = [
                math.copysign(math.inf, end) if model.isInfinity(abs(end)) else end
                for end in (variable.getLbOriginal(), variable.getUbOriginal())
            ]
            low += min(coefficient * end for end in ends)
            high += max(coefficient * end for end in ends)
    return (low, high) if model.getObjectiveSense() == "minimize" else (high, low)


def primal_dual_integral(
    points: Sequence[BoundPoint], known: tuple[float, float], limit_s: float
) -> float | None:
    """Return the integral of |primal - dual| from 0 to `limit_s`, a step function of the last known bounds.

    Both bounds are clipped to those known at the start, so that it is finite before the first solution. After
    the last point its distance counts for the time that is left, which is nothing after a proof.

    Parameters
    ----------
    points : sequence of BoundPoint
        In the order of time.
    known : (float, float)
        Dual and primal bound at the start.
    limit_s : float
        Seconds to integrate over.

    Returns
    -------
    float or None
        In units of the objective times seconds; None where a bound known at the start is infinite.

    Examples
    --------
    >>> points = [BoundPoint(1.0, None, 2.0), BoundPoint(3.0, 5.0, 2.0), BoundPoint(4.0, 5.0, 5.0)]
    >>> primal_dual_integral(points, known=(0.0, 10.0), limit_s=10.0)  # 10 + 2 * 8 + 3
    29.0
    """
    if not all(map(math.isfinite, known)):
        return None
    known_dual, known_primal = known
    low, high = min(known), max(known)
    steps = [BoundPoint(0.0, None, None), *points]
    ends = [point.time_s for point in points] + [limit_s]
    total = 0.0
    for point, end in zip(steps, ends, strict=True):
        span = min(end, limit_s) - point.time_s
        if span <= 0.0:
            continue
        primal = known_primal if point.primal is None else min(max(point.primal, low), high)
        dual = known_dual if point.dual is None else min(max(point.dual, low), high)
        total += span * abs(primal - dual)
    return total


def thinned(points: Sequence[BoundPoint], keep: int = _POINTS_KEPT) -> tuple[BoundPoint, ...]:
    """Return at most `keep` of the points, the first and the last among them, the rest evenly spread."""
    if len(points) <= keep:
        return tuple(points)
    chosen = {round(k * (len(points) - 1) / (keep - 1)) for k in range(keep)}
    return tuple(points[k] for k in sorted(chosen))


class BoundTrace(pyscipopt.Eventhdlr):  # type: ignore[misc]
    """Writes both bounds down whenever one of them has improved; include it before `optimize`."""

    NAME: Final = "bife_bounds"
    model: pyscipopt.Model

    def __init__(self) -> None:
        self.points: list[BoundPoint] = []

    @classmethod
    def attach(cls, model: pyscipopt.Model) -> BoundTrace:
        """Return a trace that follows the solve of `model`."""
        trace = cls()
        model.includeEventhdlr(trace, cls.NAME, "keeps primal and dual bound over time")
        return trace

    def eventinit(self) -> None:
        """Ask SCIP to be told of improvements."""
        self.model.catchEvent(SCIP_EVENTTYPE.GAPUPDATED, self)

    def eventexit(self) -> None:
        """Ask no longer."""
        self.model.dropEvent(SCIP_EVENTTYPE.GAPUPDATED, self)

    def eventexec(self, event: object) -> None:
        """Keep the bounds of this moment."""
        self.keep()

    def release(self) -> None:
        """Free the problem and let go of the model, once nothing more is asked of it.

        Model and handler hold each other: without this a solved problem keeps its memory until the garbage
        collector comes by, and the next solve pays for pages of its own.
        """
        with suppress(Exception):  # SCIP frees no solve that failed while it was set up
            self.model.freeProb()
        self.model = None

    def keep(self) -> None:
        """Keep the bounds of this moment, if they are other than the last."""
        model = self.model
        primal, dual = (
            None if model.isInfinity(abs(value)) else float(value)
            for value in (model.getPrimalbound(), model.getDualbound())
        )
        if not self.points or self.points[-1][1:] != (primal, dual):
            self.points.append(BoundPoint(float(model.getSolvingTime()), primal, dual))
