"""What a search cost: sums that add up, and a curve that only rises."""

from __future__ import annotations

import pytest

from bife_core.search import PARTS, CostLedger, SearchCost


def spent() -> CostLedger:
    ledger = CostLedger("reevo", collection_s=10.0)
    ledger.sampled(1.0)
    ledger.scored(0.5)
    ledger.reflected(2.0)
    ledger.tried(3.0)
    return ledger


def test_nothing_spent_costs_nothing_but_the_collection() -> None:
    cost = CostLedger("bife", collection_s=10.0).total(other_s=0.0, wall_s=0.0)
    assert (cost.design_s, cost.solver_s, cost.calls, cost.curve) == (10.0, 10.0, 0, ())


def test_every_second_is_in_exactly_one_part() -> None:
    ledger = spent()
    ledger.solved("g00-c00", 4.0, -2.0)
    cost = ledger.total(other_s=0.25, wall_s=99.0)
    assert tuple(cost.parts) == PARTS
    assert list(cost.parts.values()) == [10.0, 3.0, 0.5, 3.0, 4.0, 0.25]
    assert cost.design_s == 20.75
    assert cost.solver_s == 17.0


def test_reflections_are_calls_but_no_samples() -> None:
    cost = spent().total(other_s=0.0, wall_s=0.0)
    assert (cost.samples, cost.reflections, cost.calls) == (1, 1, 2)


def test_the_curve_has_a_point_for_every_rule_better_than_all_before() -> None:
    ledger = spent()
    for name, f_hf in (("a", -5.0), ("b", -6.0), ("c", None), ("d", -5.0), ("e", -4.0)):
        ledger.solved(name, 1.0, f_hf)
    cost = ledger.total(other_s=7.0, wall_s=7.0)
    assert [(point.sample, point.f_hf, point.solver_s) for point in cost.curve] == [
        ("a", -5.0, 14.0),
        ("e", -4.0, 18.0),
    ]
    assert cost.curve[-1].design_s == pytest.approx(cost.design_s - cost.other_s)
    assert cost.solved == 4
    assert cost.f_hf_s == 5.0, "failed solves cost as much as others"


def test_a_search_that_never_solves_has_no_curve() -> None:
    assert spent().total(other_s=0.0, wall_s=0.0).curve == ()


def test_it_survives_json() -> None:
    ledger = spent()
    ledger.solved("g00-c00", 4.0, -2.0)
    cost = ledger.total(other_s=0.1, wall_s=0.2)
    assert SearchCost.model_validate_json(cost.model_dump_json()) == cost
