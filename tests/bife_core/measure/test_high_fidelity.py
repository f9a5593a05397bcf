"""F_HF is minus a mean cost of real solves, each of which is paid for once."""

import pytest

from bife_core.base.errors import SolverError
from bife_core.instances.base import Instance
from bife_core.language.rules import REFERENCE_RULES
from bife_core.measure.context import SolveContext
from bife_core.measure.high import cost_of, high_fidelity, score_high
from bife_core.run.config import HighFidelityConfig
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.scorer import RuleMethod
from bife_core.solver.methods.using import solve
from bife_core.solver.scip.settings import SolverConfig
from bife_core.store import Store
from tests.support.measured import result

SOURCE = REFERENCE_RULES["pseudocost_product"].source
NODES = HighFidelityConfig(instances=3, cost="nodes", time_limit_s=30)


def rule(source=SOURCE, name="rule"):
    return RuleMethod(name=name, source=source)


def solving(pool, folder):
    return SolveContext(NODES, SolverConfig(), pool, Store(folder))


def test_means_and_costs():
    results = [result(nodes=10, cpu_s=1.0), result(nodes=1000, cpu_s=4.0)]
    assert high_fidelity(results, HighFidelityConfig(cost="nodes")) == -505.0
    assert high_fidelity(results, HighFidelityConfig(cost="time")) == -2.5
    with pytest.raises(ValueError, match="at least one"):
        high_fidelity([], NODES)


def test_a_slow_rule_does_not_look_lean_by_being_cut_off():
    cut_off = result(nodes=10, cpu_s=60.0, status="timelimit")
    assert cost_of(cut_off, NODES) == 100.0
    assert cost_of(cut_off, HighFidelityConfig(cost="time")) == 60.0
    out_of_memory = result(nodes=10, cpu_s=3.0, status="memlimit")
    assert cost_of(out_of_memory, HighFidelityConfig(cost="time")) == 60.0
    assert cost_of(out_of_memory, NODES) == 100.0


def test_solves_in_workers_equal_solves_here_and_are_reused(knapsacks, pool, tmp_path):
    first = score_high(rule(), knapsacks, solving(pool, tmp_path))
    here = [solve(instance.path, "pseudocost_product", time_limit_s=30).nodes for instance in knapsacks]
    assert [one.nodes for one in first.results] == here
    assert first.f_hf == -sum(here) / 3
    assert first.cpu_s > 0
    again = score_high(rule(SOURCE + "\n# a comment", "another name"), knapsacks, solving(pool, tmp_path))
    renamed = tuple(one.model_copy(update={"method": "another name"}) for one in first.results)
    assert again.results == renamed, "seconds included: nothing was solved again"


def test_a_rejected_rule_has_no_score_but_a_reason(knapsacks, pool, tmp_path):
    refused = score_high(rule("import os"), knapsacks, solving(pool, tmp_path))
    assert refused.f_hf is None
    assert refused.failure


def test_a_rule_that_leaves_its_branchings_to_scip_is_not_scored_for_scips_work(knapsacks, pool, tmp_path):
    silent = "import math\ndef candidate_variable_score(f):\n    return math.nan\n"
    score = score_high(rule(silent), knapsacks, solving(pool, tmp_path))
    assert score.f_hf is None
    assert "no usable score at" in (score.failure or "")
    assert len(score.results) == 3


def test_an_instance_that_fails_under_rpb_too_is_set_aside_and_no_rules_fault(knapsacks, pool, tmp_path):
    broken = tmp_path / "broken.mps"
    broken.write_text("NAME broken\nROWS\n N obj\n")
    lost = Instance("broken", broken, "f" * 16)
    score = score_high(rule(), [lost, knapsacks[0]], solving(pool, tmp_path))
    alone = score_high(rule(), knapsacks[:1], solving(pool, tmp_path))
    assert (score.failure, score.f_hf) == (None, alone.f_hf)
    assert len(score.results) == 1
    assert score.notes[0].startswith(
        "broken is set aside, because RPB fails on it too: broken.mps is cut off"
    )
    with pytest.raises(SolverError, match="None of the 1 design instances can be solved"):
        score_high(rule(), [lost], solving(pool, tmp_path))


def test_instances_without_branching_are_noted(knapsacks, pool, tmp_path):
    path = tmp_path / "trivial.lp"
    path.write_text("Maximize\n obj: x + y\nSubject To\n c: x + y <= 1\nBinary\n x y\nEnd\n")
    trivial = Instance("trivial", path, "e" * 16)
    score = score_high(rule(), [trivial, knapsacks[0]], solving(pool, tmp_path))
    assert score.f_hf is not None
    assert "1 of 2 design instances needed no branching" in score.notes[0]
    settings = Configuration(params={"separating/maxrounds": 0}, branching=rule())
    assert score_high(settings, [trivial], solving(pool, tmp_path)).notes == ()
