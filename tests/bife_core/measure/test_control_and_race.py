"""F_HF does not move with the load of the machine, and a rule that cannot win is given up early and never ranked."""

from dataclasses import replace

import pytest

from bife_core.instances.base import Instance
from bife_core.measure.context import Reference, SolveContext, load_factors, measure_reference
from bife_core.measure.high import score_high
from bife_core.measure.race import RULES
from bife_core.run.config import HighFidelityConfig
from bife_core.solver.methods.loading import load_method
from bife_core.solver.scip.settings import SolverConfig
from bife_core.store import Store
from tests.support.measured import result

RULE = load_method("pseudocost_product")
NODES = HighFidelityConfig(instances=3, cost="nodes", time_limit_s=30)
TIME = HighFidelityConfig(instances=3, cost="time", time_limit_s=30)


def rooted(root_s, cpu_s=1.0):
    return result(cpu_s=cpu_s, root_s=root_s)


def scored(instances, config, pool, store, **more):
    return score_high(RULE, instances, SolveContext(config, SolverConfig(), pool, Store(store)), **more)


def test_a_slow_machine_is_told_by_the_roots():
    reference = [rooted(2.0), rooted(4.0)]
    assert load_factors({0: rooted(3.0), 1: rooted(6.0)}, reference) == pytest.approx({0: 1.5, 1: 1.5})
    assert load_factors({1: rooted(4.0), 2: rooted(9.0)}, [*reference, None]) == pytest.approx({1: 1.0})
    solves = {0: rooted(0.02), 1: rooted(6.0)}
    noisy, other = load_factors(solves, [rooted(0.01), rooted(4.0)]).values()
    assert 1.45 < noisy < 1.55, "a short root says little; the others say more"
    assert 1.45 < other < 1.55
    assert load_factors({0: rooted(None)}, [rooted(2.0)]) == pytest.approx({0: 1.0})
    assert load_factors({0: rooted(0.003)}, [rooted(0.001)]) == {0: 1.0}, "nor does one of milliseconds alone"


def test_seconds_are_counted_as_on_the_machine_of_the_reference(knapsacks, pool, tmp_path):
    reference = measure_reference(knapsacks, SolveContext(TIME, SolverConfig(), pool, Store(tmp_path)))
    usual = scored(knapsacks, TIME, pool, tmp_path, reference=reference)
    assert usual.raw_f_hf == scored(knapsacks, TIME, pool, tmp_path).f_hf
    assert usual.load_factor is not None
    # As if RPB had been measured on a machine twice as fast: all solves are the same, and count half.
    halved = Reference(
        results=tuple(
            one and one.model_copy(update={"root_s": (one.root_s or 0.0) / 2}) for one in reference.results
        )
    )
    slow = scored(knapsacks, TIME, pool, tmp_path, reference=halved)
    assert slow.raw_f_hf == usual.raw_f_hf
    assert slow.load_factor is not None
    assert slow.load_factor > usual.load_factor
    assert slow.f_hf is not None
    assert usual.f_hf is not None
    assert slow.f_hf > usual.f_hf
    without = TIME.model_copy(update={"load_correction": False})
    assert scored(knapsacks, without, pool, tmp_path, reference=halved).f_hf == usual.raw_f_hf


def test_a_solve_at_its_limit_costs_the_limit_however_slow_the_machine(knapsacks, pool, tmp_path):
    config = TIME.model_copy(update={"time_limit_s": 0.02})
    slow = Reference(results=tuple(rooted(1e-3) for _ in knapsacks))
    score = scored(knapsacks, config, pool, tmp_path, reference=slow)
    ended = [one.finished for one in score.results]
    assert not all(ended)
    assert all(cost >= 0.02 for cost, end in zip(score.costs, ended, strict=True) if cost and not end)


def test_what_rpb_fails_on_is_set_aside_for_every_rule(knapsacks, pool, tmp_path):
    broken = tmp_path / "broken.mps"
    broken.write_text("NAME broken\nROWS\n N obj\n")
    instances = [Instance("broken", broken, "f" * 16), *knapsacks[:2]]
    reference = measure_reference(
        instances, SolveContext(NODES, SolverConfig(), pool, Store(tmp_path / "solves"))
    )
    assert [result is None for result in reference.results] == [True, False, False]
    score = scored(instances, NODES, pool, tmp_path / "solves", reference=reference)
    assert score.f_hf == scored(knapsacks[:2], NODES, pool, tmp_path / "solves").f_hf
    assert score.costs[0] is None
    assert score.notes[0].startswith("broken is set aside for the whole search")


def test_a_rule_that_cannot_win_is_given_up_and_has_no_score(knapsacks, pool, tmp_path):
    whole = scored(knapsacks, NODES, pool, tmp_path / "whole")
    beaten = {"to_beat": [0.01] * 3, "best": [0.01] * 3}
    score = scored(knapsacks, NODES, pool, tmp_path / "raced", **beaten)
    assert (score.f_hf, score.failure, len(score.results)) == (None, None, 2)
    assert (score.eliminated or "").startswith("it took")
    assert sum(cost is not None for cost in score.costs) == 2
    winner = scored(knapsacks, NODES, pool, tmp_path / "won", to_beat=[1e9] * 3)
    assert (winner.f_hf, winner.costs) == (whole.f_hf, whole.costs)
    off = NODES.model_copy(update={"race": False})
    assert scored(knapsacks, off, pool, tmp_path / "whole", **beaten).f_hf == whole.f_hf


def test_a_solve_cut_short_is_solved_to_its_end_if_the_rule_may_still_win(
    knapsacks, pool, tmp_path, monkeypatch
):
    hasty = replace(RULES, cap=1.01, least_s=0.001)
    monkeypatch.setattr("bife_core.measure.high.RULES", hasty)
    score = scored(knapsacks, TIME, pool, tmp_path, to_beat=[1e6] * 3, best=[0.001] * 3)
    assert score.f_hf is not None
    assert all(result.finished for result in score.results)
    assert score.cpu_s >= sum(result.cpu_s for result in score.results)
