"""F_HF is minus a mean cost of real solves, each computed once, and does not move with the load of the machine.

A rule that cannot win its race is eliminated early and never ranked.
"""

from dataclasses import replace

import pytest

from bife_core.base.errors import SolverError
from bife_core.instances.base import Instance
from bife_core.language.rules import REFERENCE_RULES
from bife_core.measure.config import HighFidelityConfig
from bife_core.measure.context import Reference, SolveContext, cost_of, load_factors, measure_reference
from bife_core.measure.high import high_fidelity, score_high
from bife_core.measure.race import RULES
from bife_core.solver.methods.attach import solve
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.scorer import RuleMethod
from bife_core.solver.scip.settings import SolverConfig
from bife_core.store import Store
from tests.support.measured import result

SOURCE = REFERENCE_RULES["pseudocost_product"].source
RULE = RuleMethod(name="rule", source=SOURCE)
NODES = HighFidelityConfig(instances=3, cost="nodes", time_limit_s=30)
TIME = HighFidelityConfig(instances=3, cost="time", time_limit_s=30)


@pytest.fixture
def scored(pool, tmp_path):
    """Return a function that scores a method, by default `RULE`, with the solves of this test."""

    def score(instances, config=NODES, method=RULE, **more):
        return score_high(method, instances, context(config), **more)

    def context(config):
        return SolveContext(config, SolverConfig(), pool, Store(tmp_path / "solves"))

    score.reference = lambda instances, config: measure_reference(instances, context(config))
    return score


@pytest.fixture
def broken(tmp_path):
    path = tmp_path / "broken.mps"
    path.write_text("NAME broken\nROWS\n N obj\n")
    return Instance("broken", path, "f" * 16)


def rooted(root_s, cpu_s=1.0):
    return result(cpu_s=cpu_s, root_s=root_s)


def test_means_and_costs():
    results = [result(nodes=10, cpu_s=1.0), result(nodes=1000, cpu_s=4.0)]
    assert [high_fidelity(results, config) for config in (NODES, TIME)] == [-505.0, -2.5]
    with pytest.raises(ValueError, match="at least one"):
        high_fidelity([], NODES)


@pytest.mark.parametrize(("cpu_s", "status"), [(30.0, "timelimit"), (3.0, "memlimit")])
def test_a_slow_rule_does_not_look_lean_by_being_cut_off(cpu_s, status):
    cut_off = result(nodes=10, cpu_s=cpu_s, status=status)
    assert [cost_of(cut_off, config) for config in (NODES, TIME)] == [100.0, 30.0]


def test_solves_in_workers_equal_solves_here_and_are_reused(knapsacks, scored):
    first = scored(knapsacks)
    here = [solve(instance.path, "pseudocost_product", time_limit_s=30).nodes for instance in knapsacks]
    assert [solved.nodes for solved in first.results] == here
    assert first.f_hf == -sum(here) / 3
    assert first.seconds > 0
    again = scored(knapsacks, method=RuleMethod(name="another name", source=SOURCE + "\n# a comment"))
    renamed = tuple(solved.model_copy(update={"method": "another name"}) for solved in first.results)
    assert again.results == renamed, "seconds included: nothing was solved again"


@pytest.mark.parametrize(
    ("source", "failure", "solves"),
    [
        ("import os", "", 0),
        ("import math\ndef candidate_variable_score(f):\n    return math.nan\n", "no usable score at", 3),
    ],
)
def test_a_rule_that_is_rejected_or_leaves_its_branchings_to_scip_has_no_score(
    knapsacks, scored, source, failure, solves
):
    score = scored(knapsacks, method=RuleMethod(name="rule", source=source))
    assert (score.f_hf, len(score.results)) == (None, solves)
    assert score.failure
    assert failure in score.failure


def test_an_instance_that_fails_under_rpb_too_is_set_aside_and_no_rules_fault(knapsacks, broken, scored):
    score, alone = scored([broken, knapsacks[0]]), scored(knapsacks[:1])
    assert (score.failure, score.f_hf, len(score.results)) == (None, alone.f_hf, 1)
    assert score.notes[0].startswith(
        "broken is set aside, because RPB fails on it too: broken.mps is cut off"
    )
    with pytest.raises(SolverError, match="None of the 1 design instances can be solved"):
        scored([broken])


def test_what_rpb_fails_on_is_set_aside_for_every_rule(knapsacks, broken, scored):
    instances = [broken, *knapsacks[:2]]
    reference = scored.reference(instances, NODES)
    assert [solved is None for solved in reference.results] == [True, False, False]
    score = scored(instances, reference=reference)
    assert (score.f_hf, score.costs[0]) == (scored(knapsacks[:2]).f_hf, None)
    assert score.notes[0].startswith("broken is set aside for the whole search")


def test_instances_without_branching_are_noted(knapsacks, scored, tmp_path):
    path = tmp_path / "trivial.lp"
    path.write_text("Maximize\n obj: x + y\nSubject To\n c: x + y <= 1\nBinary\n x y\nEnd\n")
    trivial = Instance("trivial", path, "e" * 16)
    score = scored([trivial, knapsacks[0]])
    assert score.f_hf is not None
    assert "1 of 2 design instances needed no branching" in score.notes[0]
    settings = Configuration(params={"separating/maxrounds": 0}, branching=RULE)
    assert scored([trivial], method=settings).notes == ()


def test_a_slow_machine_is_told_by_the_roots():
    reference = [rooted(2.0), rooted(4.0)]
    assert load_factors({0: rooted(3.0), 1: rooted(6.0)}, reference) == pytest.approx({0: 1.5, 1: 1.5})
    assert load_factors({1: rooted(4.0), 2: rooted(9.0)}, [*reference, None]) == pytest.approx({1: 1.0})
    noisy, other = load_factors({0: rooted(0.02), 1: rooted(6.0)}, [rooted(0.01), rooted(4.0)]).values()
    assert 1.45 < noisy < 1.55, "a short root says little; the others say more"
    assert 1.45 < other < 1.55
    assert load_factors({0: rooted(None)}, [rooted(2.0)]) == pytest.approx({0: 1.0})
    assert load_factors({0: rooted(0.003)}, [rooted(0.001)]) == {0: 1.0}, "nor does one of milliseconds alone"


def test_seconds_are_counted_as_on_the_machine_of_the_reference(knapsacks, scored):
    reference = scored.reference(knapsacks, TIME)
    usual = scored(knapsacks, TIME, reference=reference)
    assert usual.raw_f_hf == scored(knapsacks, TIME).f_hf
    # As if RPB had been measured on a machine twice as fast: all solves are the same, and count half.
    fast = [solved.model_copy(update={"root_s": (solved.root_s or 0.0) / 2}) for solved in reference.results]
    halved = Reference(results=tuple(fast))
    slow = scored(knapsacks, TIME, reference=halved)
    assert slow.raw_f_hf == usual.raw_f_hf
    assert slow.load_factor > usual.load_factor
    assert slow.f_hf > usual.f_hf
    without = TIME.model_copy(update={"load_correction": False})
    assert scored(knapsacks, without, reference=halved).f_hf == usual.raw_f_hf


def test_a_solve_at_its_limit_costs_the_limit_however_slow_the_machine(knapsacks, scored):
    slow = Reference(results=tuple(rooted(1e-3) for _ in knapsacks))
    score = scored(knapsacks, TIME.model_copy(update={"time_limit_s": 0.02}), reference=slow)
    ended = [solved.finished for solved in score.results]
    assert not all(ended)
    assert all(cost >= 0.02 for cost, end in zip(score.costs, ended, strict=True) if cost and not end)


def test_a_rule_that_cannot_win_is_eliminated_and_has_no_score(knapsacks, scored):
    beaten = {"to_beat": [0.01] * 3, "best": [0.01] * 3}
    score, whole = scored(knapsacks, **beaten), scored(knapsacks)
    assert (score.f_hf, score.failure, len(score.results)) == (None, None, 2)
    assert (score.eliminated or "").startswith("it took")
    assert sum(cost is not None for cost in score.costs) == 2
    winner = scored(knapsacks, to_beat=[1e9] * 3)
    assert (winner.f_hf, winner.costs) == (whole.f_hf, whole.costs)
    assert scored(knapsacks, NODES.model_copy(update={"race": False}), **beaten).f_hf == whole.f_hf


def test_a_solve_cut_short_is_solved_to_its_end_if_the_rule_may_still_win(knapsacks, scored, monkeypatch):
    monkeypatch.setattr("bife_core.measure.high.RULES", replace(RULES, cap=1.01, least_s=0.001))
    score = scored(knapsacks, TIME, to_beat=[1e6] * 3, best=[0.001] * 3)
    assert score.f_hf is not None
    assert all(solved.finished for solved in score.results)
    assert score.seconds >= sum(solved.cpu_s for solved in score.results)
