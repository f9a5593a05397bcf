"""Where SCIP's time goes, in a sentence."""

from pathlib import Path

import pytest

from bife_core.measure.context import Reference
from bife_core.run.presets import preset, with_overrides
from bife_core.run.stages.precheck import ends_sentence, fewer_samples, precheck, time_sentence, tuned_before
from bife_core.solver.methods.configuration import Configuration
from tests.support import measured


def result(cpu_s, **parts_s):
    return measured.result(cpu_s=cpu_s, **{f"{part}_s": seconds for part, seconds in parts_s.items()})


def test_seconds_are_pooled_and_what_is_left_is_said():
    first = result(10.0, presolving=1.0, separation=2.0, branching=1.0)
    second = result(30.0, presolving=1.0, heuristics=9.0, propagation=2.0, branching=15.0)
    assert time_sentence([first, None, second]) == (
        "SCIP's CPU time goes into presolving 5 %, separation 5 %, heuristics 22 %, propagation 5 %, branching 40 %, "
        "and LPs at nodes and the rest 22 % (2 of 3 instances, RPB branches)."
    )


def test_clocks_that_count_the_same_seconds_leave_no_less_than_nothing():
    found = time_sentence([result(1.0, presolving=0.1, heuristics=0.8, propagation=1.6)])
    assert "presolving 4 %, separation 0 %, heuristics 32 %, propagation 64 %, branching 0 %" in found
    assert "the rest 0 %" in found


def test_ticks_of_scips_clock_are_no_shares():
    short = result(0.013, presolving=0.0, propagation=0.02)
    assert time_sentence([short] * 3) == (
        "Solves are too short to say where SCIP's time goes: 0.04 CPU seconds on 3 of 3 instances."
    )


def test_without_a_solve_it_is_not_known():
    for results in ([None, None], [result(1.0)]):
        assert time_sentence(results).startswith("Where SCIP's time goes is not known: RPB has a result on ")


def test_it_says_what_methods_are_compared_by(runtime, monkeypatch):
    config = with_overrides(preset("quick"), {"instances.size": "tiny", "high.instances": 1})
    goes = precheck(config, runtime)
    assert (
        " 1 of 1 solve ended within 60 CPU seconds: methods are compared by CPU time. A run takes"
        in goes.sentence
    )
    assert goes.put_into(config) == config
    stuck = measured.result(
        status="timelimit", cpu_s=60.0, root_s=1.0, primal_bound=9.0, root_bound=1.0, dual_bound=1.0
    )
    monkeypatch.setattr(
        "bife_core.run.stages.precheck.measure_reference", lambda *_: Reference(results=(stuck,))
    )
    goes = precheck(config, runtime)
    assert (
        "0 of 1 solve ended within 60 CPU seconds, and the dual bound stands still: methods are"
        in goes.sentence
    )
    assert goes.put_into(config).evaluation.metric == "primal_integral"
    given = with_overrides(config, {"high.cost": "time"})
    assert "compared" not in precheck(given, runtime).sentence
    assert precheck(given, runtime).put_into(given) == given


def test_what_no_rule_can_change_is_tuned_first():
    long_root, tree = result(30.0), result(10.0)
    roots = [long_root.model_copy(update={"root_s": 27.0}), tree.model_copy(update={"root_s": 1.0})]
    share, why = tuned_before(roots)
    assert share == 0.7
    assert why.startswith("70 % of it is over before SCIP branches, where no rule helps")
    assert tuned_before(roots[1:]) == (0.5, "")
    assert tuned_before([long_root.model_copy(update={"root_s": None})])[0] == 0.9


STUCK = {"primal_bound": 9.0, "root_bound": 1.0, "dual_bound": 1.0, "incumbents": ((3.0, 12.0), (45.0, 9.0))}
STUCK = measured.result(status="timelimit", cpu_s=60.0, root_s=1.0, gap=0.5, **STUCK)
QUICK = with_overrides(preset("quick"), {"instances.size": "tiny", "high.instances": 1})
ANSWERS = Path(__file__).parents[4] / "docs/research/answers/item_placement/0"


@pytest.fixture
def usual(monkeypatch):
    """Have the usual solves be these."""

    def go(*results):
        reference = Reference(results=results)
        monkeypatch.setattr("bife_core.run.stages.precheck.measure_reference", lambda *_: reference)

    return go


def test_it_says_when_the_best_solution_comes_and_the_gap_at_the_end(usual, runtime):
    ended = measured.result(cpu_s=10.0, gap=0.0, incumbents=((2.5, 9.0),))
    assert ends_sentence([STUCK, ended]) == (
        "The best solution comes after 50 % of it, and the gap at the end is 25 %."
    )
    assert ends_sentence([measured.result(gap=1.0)]).startswith("It finds no solution, and the gap")
    usual(STUCK)
    assert " The best solution comes after 75 % of it, and the gap at the end is 50 %. 0 of 1 " in (
        precheck(QUICK, runtime).sentence
    )


def test_where_the_dual_bound_stands_still_starts_are_searched_for_by_the_primal_integral(usual, runtime):
    usual(STUCK)
    writing = {"generator.kind": "replay", "generator.replay_from": str(ANSWERS), "search.algorithm": "bife"}
    model = with_overrides(QUICK, {**writing, "search.seed": None})
    goes = precheck(model, runtime)
    assert (
        "No rule helps where the dual bound stands still: start methods are searched for. A run"
        in goes.sentence
    )
    run = goes.put_into(model)
    assert (run.search.component, run.high.cost, goes.before) == ("start", "primal_integral", 0.5)
    assert "collection" not in dict(goes.expected.stages)
    alone = precheck(QUICK, runtime)
    assert (
        "and built-in starts; a language model would write start methods (--generator openai)."
        in alone.sentence
    )
    assert (alone.put_into(QUICK).search.component, alone.before) == ("branching", 0.9)
    assert not preset("paper").search.choose
    for name, value in (("search.component", "branching"), ("high.cost", "time"), ("search.choose", False)):
        assert precheck(with_overrides(model, {name: value}), runtime).component is None


@pytest.mark.parametrize(("root_s", "samples"), [(1.0, 32), (9.0, 19), (19.0, 16)])
def test_fewer_rules_are_sampled_where_they_can_change_little(usual, runtime, root_s, samples):
    usual(result(20.0).model_copy(update={"root_s": root_s + 5.0}))
    rest = Configuration(start="restricted")
    config, why = fewer_samples(QUICK, runtime, rest)
    assert config.search.samples == samples
    assert (samples < 32) == why.endswith(f"so {samples} are sampled, not 32.")
    chosen = with_overrides(QUICK, {"search.samples": 32})
    assert fewer_samples(chosen, runtime, rest) == (chosen, "")
    usual(result(0.2))
    assert fewer_samples(QUICK, runtime, rest) == (QUICK, ""), "which is too short to say"
