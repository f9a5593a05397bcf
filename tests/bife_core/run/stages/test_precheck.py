"""Where SCIP's time goes, in a sentence."""

from bife_core.measure.context import Reference
from bife_core.run.presets import preset, with_overrides
from bife_core.run.stages.collect import precheck, time_sentence, tuned_before
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
        "bife_core.run.stages.collect.measure_reference", lambda *_: Reference(results=(stuck,))
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
