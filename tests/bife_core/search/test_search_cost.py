"""What a search cost: sums that add up, and a curve that only rises."""

import pytest

from bife_core.search import PARTS, SearchCost


def spent():
    cost = SearchCost(search="reevo", collection_s=10.0)
    cost = cost.plus("samples", generation=1.0, f_lf=0.5)
    return cost.plus("reflections", generation=2.0).plus("trials", tuning=3.0)


def test_every_second_is_in_exactly_one_part():
    cost = spent().plus(f_hf=4.0).reaching(-2.0, "g00-c00").plus(other=0.25)
    assert tuple(cost.parts) == PARTS
    assert list(cost.parts.values()) == [10.0, 3.0, 0.5, 3.0, 4.0, 0.25]
    assert (cost.work_s, cost.solver_s) == (20.75, 17.0)
    assert (cost.samples, cost.reflections, cost.calls) == (1, 1, 2)
    assert SearchCost.model_validate_json(cost.model_dump_json()) == cost


def test_the_curve_has_a_point_for_every_rule_better_than_all_before():
    cost = spent()
    assert cost.curve == ()
    for name, f_hf in (("a", -5.0), ("b", -6.0), ("c", None), ("d", -5.0), ("e", -4.0)):
        cost = cost.plus(f_hf=1.0)
        cost = cost if f_hf is None else cost.reaching(f_hf, name)
    cost = cost.plus(other=7.0)
    points = [(point.sample, point.f_hf, point.solver_s) for point in cost.curve]
    assert points == [("a", -5.0, 14.0), ("e", -4.0, 18.0)]
    assert cost.curve[-1].work_s == pytest.approx(cost.work_s - cost.other_s)
    assert cost.solved == 4
    assert cost.f_hf_s == 5.0, "failed solves cost as much as others"
