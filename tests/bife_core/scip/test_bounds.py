"""Bounds over time and their integral, worked by hand and on real solves."""

from __future__ import annotations

import math

import pyscipopt
import pytest

from bife_core.benchmarks.base import Instance
from bife_core.methods.using import solve
from bife_core.scip.bounds import BoundPoint, known_bounds, primal_dual_integral, thinned

STEPS = [BoundPoint(1.0, None, 2.0), BoundPoint(3.0, 5.0, 2.0), BoundPoint(4.0, 5.0, 4.0)]


@pytest.mark.parametrize(
    ("points", "known", "limit", "area"),
    [
        ([], (0.0, 10.0), 7.0, 70.0),
        (STEPS, (0.0, 10.0), 4.0, 10 + 2 * 8 + 3),
        (STEPS, (0.0, 10.0), 10.0, 10 + 2 * 8 + 3 + 6 * 1),  # the distance that is left counts to the limit
        (STEPS, (0.0, 10.0), 2.0, 10 + 8),
        (STEPS, (3.0, 4.0), 10.0, 10 * 1.0 - 6 * 1.0),  # both bounds are clipped to what was known
        ([BoundPoint(t, p and -p, d and -d) for t, p, d in STEPS], (0.0, -10.0), 10.0, 35.0),  # maximising
        (STEPS, (-math.inf, 10.0), 10.0, None),
        # Whether the first solution came within the first tick of a clock is no reason to know the integral.
        ([BoundPoint(0.0, 5.0, 5.0)], (-math.inf, math.inf), 10.0, None),
    ],
)
def test_the_integral_worked_by_hand(points, known, limit, area) -> None:
    found = primal_dual_integral(points, known, limit)
    assert found == (None if area is None else pytest.approx(area))


def test_known_bounds_are_the_objectives_range_over_the_box() -> None:
    model = pyscipopt.Model()
    x = model.addVar(lb=-1, ub=2)
    y = model.addVar(lb=0, ub=None)
    model.setObjective(3 * x + 5)
    assert known_bounds(model) == (2.0, 11.0)
    model.setObjective(-2 * x + y, "maximize")
    assert known_bounds(model) == (math.inf, -4.0)


def test_a_thinned_trace_keeps_both_ends() -> None:
    points = [BoundPoint(float(k), 1.0, 0.0) for k in range(1000)]
    kept = thinned(points, keep=10)
    assert len(kept) == 10
    assert (kept[0], kept[-1]) == (points[0], points[-1])
    assert thinned(points[:3]) == tuple(points[:3])


@pytest.mark.parametrize("method", ["relpscost", "pseudocost_product"])
def test_a_solve_ends_with_its_bounds_together(tiny_auctions: list[Instance], method: str) -> None:
    result = solve(tiny_auctions[0].path, method, time_limit_s=60)
    assert result.bounds[-1].primal == pytest.approx(result.primal_bound)
    assert result.bounds[-1].dual == pytest.approx(result.dual_bound)
    times = [point.time_s for point in result.bounds]
    assert times == sorted(times)
    assert result.bound_integral is not None
    assert result.bound_integral > 0
    assert result.branching_s is not None
    assert 0 <= result.branching_s <= result.cpu_s + 0.05


def test_only_branching_with_side_effects_has_fewer_nodes_than_are_fair(
    tiny_auctions: list[Instance],
) -> None:
    """Strong branching tightens bounds while it tries candidates out; a scoring rule never does."""
    lookahead, scored = (
        solve(tiny_auctions[0].path, who, time_limit_s=60) for who in ("vanillafullstrong", "most_fractional")
    )
    assert scored.fair_nodes == scored.nodes
    assert lookahead.fair_nodes is not None
    assert lookahead.fair_nodes >= lookahead.nodes


def test_of_a_solve_cut_off_the_rest_of_the_time_counts(tiny_auctions: list[Instance]) -> None:
    cut = solve(tiny_auctions[0].path, "most_fractional", node_limit=1, time_limit_s=1000)
    assert cut.bound_integral is not None
    last = cut.bounds[-1]
    assert cut.bound_integral >= 0.9 * 1000 * abs(last.primal - last.dual)


def test_the_integral_starts_from_the_bounds_given_with_a_model(tiny_auctions: list[Instance]) -> None:
    path = tiny_auctions[0].path
    own, given = (
        solve(path, "most_fractional", node_limit=1, time_limit_s=1000, start=start)
        for start in (None, (1.0, 0.0))  # a maximisation: from a dual bound of 1 down to a primal one of 0
    )
    assert own.bound_integral is not None
    assert given.bound_integral is not None
    assert given.bounds[-1] == own.bounds[-1]._replace(time_s=given.bounds[-1].time_s)
    assert given.bound_integral <= 1000 < own.bound_integral
