"""What brought a configuration: factors that multiply to its ratio, the greatest first, within caps and a budget."""

import math

import pytest

from bife_core.base.stats import geometric_mean
from bife_core.measure.race import SETTINGS
from bife_core.measure.trials import USUAL
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import load_method
from bife_core.tuning.ablation import ablate
from bife_core.tuning.space import BRANCHING, Space
from tests.support.raced import INSTANCES, context, invent

GENERAL = load_method("general")
CHOICES = {"conflict/enable": "FALSE", "lp/pricing": "d", BRANCHING: "found", "propagating/maxrounds": "0"}
WINNER = Space({"found": GENERAL}).configuration(CHOICES).model_copy(update={"name": "winner"})

FACTORS = {"conflict/enable": 0.5, "lp/pricing": 0.8, "propagating/maxrounds": 1.1, BRANCHING: 0.4}
"""What each of the winner's settings does to the CPU time."""

ALL = frozenset(FACTORS)


def ablated(
    monkeypatch,
    tmp_path,
    ratio=lambda given: math.prod(FACTORS[name] for name in given),
    budget_s=1e6,
    breaks=None,
    winner=WINNER,
):
    """The winner's ablation where a solve takes 10 s or more times the `ratio` of what is set, and `breaks` fails.

    With it of each solve what was set, the instance, the limit and the CPU seconds.
    """

    def settings(method):
        params = method.params if isinstance(method, Configuration) else {}
        return frozenset([*params, *([BRANCHING] if not method.by_scip else [])])

    def outcome(method, place, _):
        return "boom" if settings(method) == breaks else (10.0 + place) * ratio(settings(method))

    jobs = invent(monkeypatch, outcome)
    choices = CHOICES if winner is WINNER else {}
    found = ablate(winner, choices, INSTANCES, context(tmp_path / "solves", time_limit_s=100.0), budget_s)
    calls = []
    for job in jobs:
        given, limit_s = settings(job.method), job.settings.time_limit_s
        if given != breaks:
            cpu_s = min((10.0 + INSTANCES.index(job.instance)) * ratio(given), limit_s)
            calls.append((given, job.instance.name, limit_s, cpu_s))
    return found, calls


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
    assert max(part for given, part in parts if given and given != ALL) == pytest.approx(SETTINGS.cap)
    first, second, *rest = found.steps
    assert {first.group, second.group} == {"branching", "conflict"}
    assert (first.alone, second.alone) == pytest.approx((SETTINGS.cap,) * 2), (
        "and no more, as far as was measured"
    )
    # On all instances, though the first is clear enough: all steps are measured on the same.
    capped = geometric_mean([min(SETTINGS.cap, 1 + SETTINGS.beyond_s / (10.0 + k)) for k in range(USUAL)])
    assert (first.factor, second.factor) == pytest.approx((capped, 0.2 / capped))
    assert first.note == "at least, as solves were cut short"
    assert second.note == "at most, as solves of the step before were cut short"
    assert f"x{capped:.3g} at least, as solves were cut short;" in found.sentence
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
    six, _ = ablated(monkeypatch, tmp_path, budget_s=200.0)
    assert [each.instances for each in (none, some, six)] == [1, 4, USUAL]


def test_a_factor_is_of_the_same_instances_as_those_beside_it(monkeypatch, tmp_path):
    """On the instance that is solved first a step is far worse than on all others."""

    def outcome(method, place, _):
        given = [
            *(method.params if isinstance(method, Configuration) else ()),
            *([] if method.by_scip else [BRANCHING]),
        ]
        factors = {"conflict/enable": 0.3 if place else 2.5, "lp/pricing": 0.8}
        return (10.0 + place) * math.prod(factors.get(name, 0.9) for name in given)

    invent(monkeypatch, outcome)
    found = ablate(WINNER, CHOICES, INSTANCES, context(tmp_path, time_limit_s=100.0), 1e6)
    factors = {step.group: step.factor for step in found.steps}
    assert factors["conflict"] == pytest.approx(geometric_mean([2.5, *[0.3] * (USUAL - 1)]))
    assert factors["LP"] == pytest.approx(0.8)


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


SOURCE = "def start(problem):\n    return []\n"
PARTS = {"rows on demand": 0.8, "inequalities": 0.4, "starts": 0.61}


@pytest.mark.parametrize("start", [{"name": "restricted"}, {"name": "g01-c03", "source": SOURCE}])
def test_rows_on_demand_inequalities_and_a_start_have_a_factor_each(start, monkeypatch, tmp_path):
    choices = {"rows/link/c_minus_b_le_0": "on_demand", "inequalities": "knapsack", "start": "found"}
    winner = Configuration(on_demand=(next(iter(choices)),), inequalities="knapsack", start=start)

    def seconds(method, place, _):
        if not isinstance(method, Configuration):
            return 10.0 + place
        assert method.start in (None, winner.start)
        parts = dict(zip(PARTS, (method.on_demand, method.inequalities, method.start), strict=True))
        return (10.0 + place) * math.prod(PARTS[part] for part, has in parts.items() if has)

    invent(monkeypatch, seconds)
    found = ablate(winner, choices, INSTANCES, context(tmp_path, time_limit_s=100.0), 1e6)
    assert found.factors == "inequalities x0.4, starts x0.61, rows on demand x0.8"
    assert found.sentence.endswith(
        f"inequalities knapsack: x0.4; start {start['name']}: x0.61; rows/link/c_minus_b_le_0 on demand: x0.8."
    )
