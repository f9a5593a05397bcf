"""What brought a configuration: factors that multiply to its ratio, the greatest first, within caps and a budget."""

import math
from pathlib import Path

import pytest

import bife_core.measure.context as measuring
import bife_core.measure.race as racing
from bife_core.instances.base import Instance
from bife_core.measure.config import HighFidelityConfig
from bife_core.measure.context import SolveContext
from bife_core.measure.race import CAP, USUAL
from bife_core.measure.solves import Solved, SolveJob
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.loading import load_method
from bife_core.solver.scip.settings import SolverConfig
from bife_core.solver.scip.solve import SolveResult, SolveSettings
from bife_core.store import Store
from bife_core.tuning.ablation import ablate
from bife_core.tuning.space import BRANCHING, Space
from bife_core.workers import InProcess

INSTANCES = [Instance(f"i{number}", Path(f"i{number}.mps"), f"digest{number}") for number in range(9)]
GENERAL = load_method("general")
CHOICES = {"conflict/enable": "FALSE", "lp/pricing": "d", BRANCHING: "found", "propagating/maxrounds": "0"}
WINNER = Space({"found": GENERAL}).configuration(CHOICES).model_copy(update={"name": "winner"})

FACTORS = {"conflict/enable": 0.5, "lp/pricing": 0.8, "propagating/maxrounds": 1.1, BRANCHING: 0.4}
"""What each of the winner's settings does to the CPU time."""

ALL = frozenset(FACTORS)

Calls = list[tuple[frozenset[str], str, float, float]]
"""Of each solve what was set, the instance, the limit and the CPU seconds."""


def ablated(
    monkeypatch,
    tmp_path,
    ratio=lambda given: math.prod(FACTORS[name] for name in given),
    budget_s=1e6,
    breaks=None,
    winner=WINNER,
):
    """The winner's ablation where a solve takes 10 s or more times the `ratio` of what is set, and `breaks` fails."""
    calls = []

    def solve_each(method, instances, solving, limits_s=None):
        params = method.params if isinstance(method, Configuration) else {}
        given = frozenset([*params, *([BRANCHING] if not method.by_scip else [])])
        found = []
        for one, limit_s in zip(instances, limits_s or [100.0] * len(instances), strict=True):
            job = SolveJob(instance=one, method=method, settings=SolveSettings())
            if given == breaks:
                found.append(Solved(job, failure="boom", cause="rule"))
                continue
            whole_s = (10.0 + INSTANCES.index(one)) * ratio(given)
            cpu_s = min(whole_s, limit_s)
            calls.append((given, one.name, limit_s, cpu_s))
            result = SolveResult(
                instance=one.name, method=method.name, seed=0, nodes=1, lp_iterations=1, cpu_s=cpu_s, wall_s=1.0,
                status="optimal" if whole_s <= limit_s else "timelimit", gap=0.0, primal_bound=1.0, dual_bound=1.0,
                primal_dual_integral=0.0, versions={},
            )  # fmt: skip
            found.append(Solved(job, result))
        return found

    for module in (racing, measuring):
        monkeypatch.setattr(module, "solve_each", solve_each)
    choices = CHOICES if winner is WINNER else {}
    solving = SolveContext(
        HighFidelityConfig(time_limit_s=100.0), SolverConfig(), InProcess(), Store(tmp_path / "solves")
    )
    return ablate(winner, choices, INSTANCES, solving, budget_s), calls


def test_factors_multiply_to_the_ratio_and_the_greatest_comes_first(monkeypatch, tmp_path):
    found, calls = ablated(monkeypatch, tmp_path)
    assert [step.group for step in found.steps] == ["branching", "conflict", "LP", "propagation"]
    assert [step.factor for step in found.steps] == pytest.approx([0.4, 0.5, 0.8, 1.1])
    assert [step.alone for step in found.steps] == pytest.approx([1 / 0.4, 1 / 0.5, 1 / 0.8, 1 / 1.1])
    assert found.steps[-1].ratio == pytest.approx(math.prod(FACTORS.values()))
    assert found.sentence == (
        "From SCIP's default settings to what was found, by CPU time on 6 design instances: branching general instead "
        "of RPB: x0.4; conflict/enable = FALSE: x0.5; lp/pricing = d: x0.8; propagating/maxrounds = 0: x1.1."
    )
    assert {name for _, name, _, _ in calls} == {f"i{place}" for place in range(USUAL)}


def test_no_solve_goes_beyond_its_cap_and_what_does_says_so(monkeypatch, tmp_path):
    def seconds(given):
        """Of branching and conflict analysis either alone is ruinous."""
        return {0: 1.0, 1: 50.0, 2: 0.2}[len(given & {BRANCHING, "conflict/enable"})]

    found, calls = ablated(monkeypatch, tmp_path, seconds)
    parts = [(given, limit_s / (10.0 + int(name[1:]))) for given, name, limit_s, _ in calls]
    assert max(part for given, part in parts if given and given != ALL) == pytest.approx(CAP)
    first, second, *rest = found.steps
    assert {first.group, second.group} == {"branching", "conflict"}
    assert (first.alone, second.alone) == pytest.approx((CAP, CAP)), "and no more, as far as was measured"
    assert (first.factor, second.factor) == pytest.approx((CAP, 0.2 / CAP))
    assert (first.note, second.note) == ("at least, as solves were cut short", "")
    assert "x3 at least, as solves were cut short;" in found.sentence
    assert [(step.factor, step.note) for step in rest] == [(pytest.approx(1.0), "")] * 2


def test_a_step_that_cannot_be_measured_says_so_and_the_next_has_its_part(monkeypatch, tmp_path):
    found, _ = ablated(monkeypatch, tmp_path, breaks=frozenset({BRANCHING, "conflict/enable"}))
    assert [step.group for step in found.steps] == ["branching", "conflict", "LP", "propagation"]
    assert [step.factor for step in found.steps] == pytest.approx([0.4, None, 0.4, 1.1])
    assert found.steps[1].note == "i0: boom"
    assert "conflict/enable = FALSE: not measured, i0: boom; lp/pricing = d: x0.4;" in found.sentence


def test_no_measurement_begins_beyond_the_budget(monkeypatch, tmp_path):
    none, calls = ablated(monkeypatch, tmp_path, budget_s=1.0)
    assert {given for given, *_ in calls} == {frozenset(), ALL}
    assert [step.note for step in none.steps] == ["the budget was spent"] * 3 + [""]
    assert [step.factor for step in none.steps] == [None] * 3 + [pytest.approx(none.steps[-1].ratio)]

    some, calls = ablated(monkeypatch, tmp_path, budget_s=60.0)
    assert math.fsum(cpu_s for given, *_, cpu_s in calls if given) > 60.0
    last = calls[-1][0]
    assert math.fsum(cpu_s for given, *_, cpu_s in calls if given and given != last) < 60.0
    assert math.prod(step.factor or 1.0 for step in some.steps) == pytest.approx(some.steps[-1].ratio)


def test_one_group_has_the_whole_ratio_and_needs_no_further_solve(monkeypatch, tmp_path):
    one, calls = ablated(monkeypatch, tmp_path, winner=GENERAL)
    assert [(step.group, step.factor, step.alone) for step in one.steps] == [
        ("branching", pytest.approx(0.4), None)
    ]
    assert len(calls) == 2 * USUAL


def test_a_winner_that_fails_leaves_the_other_steps(monkeypatch, tmp_path):
    found, _ = ablated(monkeypatch, tmp_path, breaks=ALL)
    assert (found.steps[-1].ratio, found.steps[-1].factor, found.steps[-1].note) == (None, None, "i0: boom")
    assert all(step.factor for step in found.steps[:-1])
