"""Costs by the objective: whoever improves the best known, all that are compared are measured by it."""

from dataclasses import replace

import pytest

from bife_core.measure.config import EvaluationConfig, HighFidelityConfig
from bife_core.measure.context import Reference, SolveContext, cost_of, measure_reference
from bife_core.measure.evaluation.choice import choose
from bife_core.measure.evaluation.comparison import statement
from bife_core.measure.evaluation.summary import evaluate, summarise
from bife_core.measure.high import high_fidelity, score_high
from bife_core.measure.solves import Solved, SolveJob
from bife_core.measure.trials import TrialRace
from bife_core.solver.methods.base import RPB
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.scip.settings import SolverConfig
from bife_core.solver.scip.solve import SolveSettings
from bife_core.store import Store
from bife_core.tuning.space import Space
from bife_core.tuning.tuner import tune
from tests.support.measured import BASELINE, METHODS, RULE, result
from tests.support.raced import INSTANCES, context, invent

LIMIT_S = 60.0
QUICK, GOOD = (Configuration(name=name, params={"lp/pricing": name[0]}) for name in ("dantzig", "steep"))


def ends(*incumbents, **more):
    """Return fields of a solve that ran into the limit."""
    last = incumbents[-1][1] if incumbents else None
    facts = {"status": "timelimit", "cpu_s": LIMIT_S, "primal_bound": last, "dual_bound": 1.0}
    return facts | {"incumbents": incumbents} | more


def outcome(method, place, seed=0):
    """QUICK has a fair solution at once, GOOD the best one late, and RPB a poor one."""
    if method.identity == RPB:
        return ends((10.0, 40.0))
    pricing = getattr(method, "params", {}).get("lp/pricing")
    return {"d": ends((1.0, 30.0)), "s": ends((5.0, 30.0), (30.0, 10.0))}.get(pricing, ends((1.0, 40.0)))


def integral(best, *incumbents):
    return result(**ends(*incumbents)).cost("primal_integral", best, LIMIT_S)


@pytest.fixture
def solving(monkeypatch, tmp_path):
    invent(monkeypatch, outcome)
    return context(tmp_path, time_limit_s=LIMIT_S, cost="primal_integral")


def test_a_better_solution_measures_all_that_was_raced_before_anew(solving):
    race = TrialRace(INSTANCES[:4], solving)
    race.begin()
    assert race.costs == [10.0] * 4, "RPB's own solution is the best known"
    first = race.run(QUICK)
    assert (first.won, first.costs) == (True, (1.0,) * 4)
    second = race.run(GOOD)
    assert second.won
    assert second.costs == pytest.approx([integral(10.0, (5.0, 30.0), (30.0, 10.0))] * 4)
    assert race.raced[0].costs == pytest.approx([integral(10.0, (1.0, 30.0))] * 4)
    assert race.costs == pytest.approx([integral(10.0, (10.0, 40.0))] * 4)
    assert race.raced[0].won
    assert race.ratio_of(race.best) == pytest.approx(second.ratio)
    assert second.ratio == pytest.approx(second.costs[0] / race.costs[0])


def test_who_led_by_a_poorer_best_known_does_not_lead_by_a_better_one(monkeypatch, solving):
    """A at once finds what is poor, B later what is a little better, C never anything but the best: then B leads A."""
    solves = {
        RPB: ends((10.0, 40.0)), "d": ends((1.0, 41.0), (2.0, 40.0)), "s": ends((59.9, 1.0)), "q": ends((20.0, 5.0))
    }  # fmt: skip

    def made(method, place, seed=0):
        return solves[RPB if method.identity == RPB else method.params["lp/pricing"]]

    invent(monkeypatch, made)
    race = TrialRace(INSTANCES[:4], solving)
    race.begin()
    assert race.run(QUICK).won
    last = race.run(Configuration(name="q", params={"lp/pricing": "q"}))
    assert last.won
    assert last.ratio == pytest.approx(integral(5.0, (20.0, 5.0)) / integral(5.0, (10.0, 40.0)))
    solves["d"] = ends((1.0, 40.0))
    late = race.run(GOOD)
    assert (late.won, race.leader) == (False, 1)
    assert race.best == pytest.approx([integral(1.0, (20.0, 5.0))] * 4)


def test_a_leader_that_is_no_better_than_scip_by_what_is_known_now_leads_no_more(monkeypatch, solving):
    def made(method, place, seed=0):
        pricing = "" if method.identity == RPB else method.params["lp/pricing"]
        return {"": ends((2.0, 40.0), (40.0, 10.0)), "d": ends((1.0, 10.5)), "s": ends((61.0, -1.0))}[pricing]

    invent(monkeypatch, made)
    race = TrialRace(INSTANCES[:4], solving)
    race.begin()
    assert race.run(QUICK).won
    assert not race.run(GOOD).won
    assert race.costs == [LIMIT_S] * 4
    assert race.raced[0].ratio == 1.0
    assert not race.raced[0].won
    assert (race.leader, race.best) == (None, race.costs)


def test_tuning_reports_all_trials_by_the_best_known_at_its_end(solving):
    space = Space({})
    starts = [{"lp/pricing": "d"}, {"lp/pricing": "s"}]
    found = tune(INSTANCES[:4], solving, space, 1e6, first=starts, seed=None)
    tried = {trial.choices.get("lp/pricing", ""): trial.raced for trial in found.trials[:3]}
    assert found.trials[0].raced.costs == pytest.approx([integral(10.0, (10.0, 40.0))] * 4)
    assert tried["d"].costs == pytest.approx([integral(10.0, (1.0, 30.0))] * 4)
    assert found.best.choices == {"lp/pricing": "s"}
    assert found.configuration == space.configuration({"lp/pricing": "s"})
    assert "SCIP takes 0.456 of its primal integral on 4 design instances" in found.sentence


@pytest.mark.parametrize("cost", ["primal_integral", "objective"])
def test_a_search_measures_its_rules_by_what_rpb_found(solving, cost):
    config = HighFidelityConfig(cost=cost, time_limit_s=LIMIT_S)
    reference = Reference(results=(result(digest="digest0", **ends((10.0, 40.0))),))
    poor = result(digest="digest0", **ends((10.0, 80.0)))
    expected = {"primal_integral": 10.0 + 0.5 * 50.0, "objective": 2.0}[cost]
    assert cost_of(poor, config, reference.objectives) == expected
    assert high_fidelity([poor], config, reference.objectives) == -expected
    assert cost_of(poor, config) == {"primal_integral": 10.0, "objective": 1.0001}[cost], (
        "the least that counts"
    )
    score = score_high(QUICK, INSTANCES[:1], solving, reference=reference)
    assert score.costs == (1.0,), "what is better than the best known has no gap"


def test_finalists_are_chosen_by_the_best_of_them_all(monkeypatch, solving):
    monkeypatch.setattr("bife_core.measure.evaluation.choice.run_solves", _made)
    choice = choose([QUICK, GOOD], INSTANCES[:3], solving)
    assert choice.chosen == "steep"
    assert choice.scores["dantzig"] == pytest.approx(-integral(10.0, (1.0, 30.0)))


def _made(groups, *_, **__):
    return [Solved(job, result(**outcome(job.method, 0))) for group in groups for job in group]


def evaluated(metric, ours, theirs):
    """Return an evaluation in which a rule and RPB end on each instance as given, or not at all."""
    measured = []
    for method, each in ((RULE.name, ours), (BASELINE.name, theirs)):
        for number, fields in enumerate(each):
            job = SolveJob(instance=INSTANCES[number], method=METHODS[method], settings=SolveSettings())
            failed = {"failure": "it hung.", "cause": "rule"}
            measured.append(Solved(job, result(nodes=9, **fields)) if fields else Solved(job, **failed))
    config = EvaluationConfig(seeds=(0,), time_limit_s=LIMIT_S, metric=metric)
    return summarise(measured, METHODS, BASELINE.name, config, "BIP test", use=1)


def test_an_evaluation_measures_by_the_best_of_all_methods():
    eight = [(ends((2.0, 10.0 + number)), ends((20.0, 20.0 + 2 * number))) for number in range(8)]
    ours, theirs = zip(*eight, strict=True)
    by_objective = evaluated("objective", ours, theirs)
    assert by_objective.lead.ratio == pytest.approx(0.5, rel=1e-3)
    assert by_objective.lead.finding == "better"
    assert "it takes 50 % less objective over the best known (ratio 0.500" in statement(by_objective.lead)
    by_integral = evaluated("primal_integral", ours, theirs)
    frame = by_integral.frame
    assert frame[frame["method"] == BASELINE.name]["primal_integral"].tolist() == [20.0 + 0.5 * 40.0] * 8
    assert by_integral.lead.ratio == pytest.approx(2.0 / 40.0)
    assert by_integral.judged == by_integral.lead, "a champion may be made by it"


@pytest.mark.parametrize(("metric", "charge"), [("primal_integral", LIMIT_S), ("objective", 10.0)])
def test_a_missing_solve_has_no_solution_for_all_its_time(metric, charge):
    found = evaluated(metric, [ends((2.0, 10.0)), None], [ends((2.0, 10.0)), ends((2.0, 10.0))])
    frame = found.frame
    assert frame[frame["missing"]][f"cost_{metric}"].tolist() == [charge]
    assert found.lead.missing == 1
    assert found.lead.finding != "better"


def test_a_better_objective_that_the_store_has_counts_for_search_choice_and_evaluation(
    knapsacks, pool, tmp_path
):
    store = Store(tmp_path)
    config = HighFidelityConfig(cost="objective", time_limit_s=30.0)
    solving = SolveContext(config, SolverConfig(), pool, store)
    reference = measure_reference(knapsacks[:1], solving)
    (digest, optimum), (solved,) = *reference.stored.items(), reference.results
    assert (digest, optimum) == (knapsacks[0].digest, solved.primal_bound)
    assert solved.maximise
    store.improve_objective(digest, optimum - 1.0, maximise=True)
    assert store.best_objectives([digest, "none"]) == {digest: optimum}
    store.improve_objective(digest, 2.0 * optimum, maximise=True)  # as if another solve had found it
    again = measure_reference(knapsacks[:1], solving)
    assert cost_of(solved, config, again.objectives) == pytest.approx(2.0)
    assert score_high(QUICK, knapsacks[:1], solving, reference=again).f_hf == pytest.approx(-2.0)
    assert choose([BASELINE, QUICK], knapsacks[:1], solving).scores["relpscost"] == pytest.approx(-2.0)
    protocol = EvaluationConfig(seeds=(0,), time_limit_s=30.0, metric="objective")
    found = evaluate([QUICK], knapsacks[:1], protocol, pool, store)
    assert found.frame["objective"].tolist() == pytest.approx([2.0, 2.0])
    timed = evaluate([QUICK], knapsacks[:1], protocol.model_copy(update={"metric": "time"}), pool, store)
    assert (
        timed.objectives,
        measure_reference(knapsacks[:1], replace(solving, config=HighFidelityConfig())).stored,
    ) == ({}, {})


def test_a_wrong_or_unsound_solution_is_not_the_best_known():
    unsound = ends((2.0, 5.0), violation="r by 1")
    found = evaluated("objective", [ends((2.0, 10.0)), unsound], [ends((2.0, 10.0)), ends((2.0, 10.0))])
    assert found.frame["objective"].tolist() == [1.0] * 4
    proven = {"status": "optimal", "cpu_s": 3.0, "dual_bound": 10.0, "gap": 0.0}
    wrong = proven | {"primal_bound": 5.0, "dual_bound": 5.0, "incumbents": ((1.0, 5.0),)}
    right = proven | {"primal_bound": 10.0, "incumbents": ((1.0, 10.0),)}
    found = evaluated("objective", [wrong], [right])
    assert (found.lead.missing, found.frame["cost_objective"].tolist()) == (1, [10.0, 1.0])


def test_solves_recorded_without_incumbents_have_neither_metric():
    plain = {"status": "optimal", "cpu_s": 2.0}
    found = evaluated("time", [plain] * 2, [plain] * 2)
    assert found.frame[["cost_primal_integral", "cost_objective"]].isna().all().all()
