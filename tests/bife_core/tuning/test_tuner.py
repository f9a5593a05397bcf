"""Settings and branching are tuned together: never to harm, the same each time, no further than the budget."""

import sys

import pytest

from bife_core.base.errors import ConfigError
from bife_core.measure.config import HighFidelityConfig
from bife_core.measure.context import SolveContext, solve_each
from bife_core.measure.trials import Raced, TrialRace
from bife_core.solver.methods.base import RPB, ScipMethod
from bife_core.solver.methods.references import load_method
from bife_core.solver.scip.settings import SolverConfig
from bife_core.store import Store
from bife_core.tuning.proposals import Tpe
from bife_core.tuning.space import FamilyFacts, Space
from bife_core.tuning.starting import FEW_ROUNDS, STARTING_SETTINGS
from bife_core.tuning.tuner import Trial, Tuning, tune
from bife_core.workers import InProcess
from tests.support.stored import counts

NODES = HighFidelityConfig(instances=3, cost="nodes", time_limit_s=30)
METHODS = {"general": load_method("general"), "pscost": load_method("pscost")}
LEAN = {"separating": "off", "heuristics": "off"}


def solving(pool, folder):
    return SolveContext(NODES, SolverConfig(), pool, Store(folder))


def tuned(instances, with_, budget_s=1e3, **how):
    return tune(instances, with_, Space(METHODS), budget_s, **how)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tuned")


@pytest.fixture(scope="module")
def found(knapsacks, pool, folder):
    return tuned(knapsacks[:1], solving(pool, folder), trials=27)


def test_it_goes_on_where_it_stopped_and_is_the_same_each_time(knapsacks, pool, found, folder, tmp_path):
    assert [trial.choices for trial in found.trials[:2]] == [{}, LEAN | {"branching": "general"}]
    assert (len(found.trials), found.trials[0].raced.ratio, found.instances) == (27, 1.0, 1)
    solves = counts(folder)["solves"]
    assert tuned(knapsacks[:1], solving(pool, folder), trials=27) == found
    assert tuned(knapsacks[:1], solving(pool, folder), trials=18).trials == found.trials[:18]
    assert counts(folder)["solves"] == solves
    elsewhere = tuned(knapsacks[:1], solving(pool, tmp_path), trials=26)
    timeless = [[(one.choices, one.raced.ratio) for one in some.trials[:26]] for some in (found, elsewhere)]
    assert timeless[0] == timeless[1]
    other = tuned(knapsacks[:1], solving(pool, tmp_path), trials=26, seed=1)
    assert other.trials[:5] == elsewhere.trials[:5]
    assert other.trials != elsewhere.trials


def test_what_it_returns_solves_as_it_says_and_no_worse_than_scip(knapsacks, pool, found, folder):
    ratio = 1.0
    for method, power in ((found.configuration, 1), (ScipMethod(name=RPB), -1)):
        for one in solve_each(method, knapsacks[:1], solving(pool, folder)):
            assert one.reused
            assert one.result is not None
            ratio *= one.result.nodes**power
    assert found.best.raced.ratio == pytest.approx(ratio)
    assert ratio <= 1.0
    assert found.configuration == Space(METHODS).configuration(found.best.choices)
    assert f"SCIP takes {ratio:.3f} of its nodes" in found.sentence or not found.best.choices


def test_no_trial_begins_beyond_the_budget(knapsacks, pool, tmp_path):
    (usual,) = tuned(knapsacks[:1], solving(pool, tmp_path), 0.0).trials
    shown = []
    budget_s = 1.5 * usual.raced.cpu_s
    found = tuned(knapsacks[:1], solving(pool, tmp_path), budget_s, shown=shown.append)
    assert [len(one.trials) for one in shown] == list(range(2, len(found.trials) + 1))
    assert all(one.tuned_s < budget_s for one in shown[:-1])
    assert found.tuned_s >= budget_s


def test_the_default_settings_count_where_they_have_a_part_of_the_budget(knapsacks, tmp_path, monkeypatch):
    raced = Raced(costs=(0.001,), ratio=1.0, seen=1, cpu_s=1.0)
    monkeypatch.setattr("bife_core.measure.trials.TrialRace.run", lambda self, method: raced)
    begin = TrialRace.begin
    monkeypatch.setattr(
        TrialRace, "begin", lambda self, usual_s: begin(self, usual_s) or setattr(self, "cpu_s", 2.5)
    )
    for usual_s, trials in ((None, 9), (4.0, 7), (1.0, 8)):
        found = tuned(knapsacks[:1], solving(InProcess(), tmp_path), 8.0, usual_s=usual_s)
        assert len(found.trials) == trials


@pytest.mark.parametrize(
    ("long_s", "second"), [(0.0, FEW_ROUNDS | {"branching": "pscost"}), (1e3, LEAN | {"branching": RPB})]
)
def test_rows_on_demand_come_early_after_a_few_cuts_where_solves_are_long_and_then_beside_what_is_best(
    long_s, second, knapsacks, tmp_path, monkeypatch
):
    monkeypatch.setattr("bife_core.tuning.tuner._LONG_S", long_s)

    def run(_, method):
        plain = not method.on_demand and method.start is None
        won = method.params == lean and plain and method.branching.identity == "pscost"
        return Raced(costs=(1.0,), ratio=0.5 if won else 2.0, seen=2, cpu_s=1.0, won=won)

    monkeypatch.setattr("bife_core.measure.trials.TrialRace.run", run)
    rows = ("rows/link/c_minus_b_le_0", "rows/2b_le_pos")
    space = Space({"pscost": METHODS["pscost"]}, facts=FamilyFacts(classes=dict.fromkeys(rows, "")))
    lean = space.configuration(LEAN).params
    found = tune(knapsacks[:1], solving(InProcess(), tmp_path), space, 1e3, seed=None)
    choices = [trial.choices for trial in found.trials[1:]]
    assert {"branching": RPB, **choices[1]}.items() >= second.items()
    early = [] if long_s else [LEAN | {"branching": "pscost", "start": "restricted"}]
    assert choices[2 : 2 + len(early)] == early
    assert [rows[0] in each for each in choices[2 + len(early) :][:2]] == [True, True]
    assert choices[2 + len(early)]["branching"] == "pscost"
    beside = [each for each in choices if each.keys() & set(rows) and each.get("separating") == "off"]
    assert beside == [LEAN | {"branching": "pscost", name: "on_demand"} for name in rows]


@pytest.mark.parametrize(
    ("methods", "rows", "first"),
    [
        (METHODS, (), [LEAN | {"branching": name} for name in METHODS] + [LEAN]),
        (
            {},
            ("rows/link/c_minus_b_le_0",),
            [{"start": "restricted"}, {"heuristics": "off", "rows/link/c_minus_b_le_0": "on_demand"}],
        ),
    ],
)
def test_where_solves_are_long_what_has_no_place_moves_nothing(
    methods, rows, first, knapsacks, tmp_path, monkeypatch
):
    monkeypatch.setattr("bife_core.tuning.tuner._LONG_S", 0.0)
    worse = Raced(costs=(1.0,), ratio=2.0, seen=2, cpu_s=1.0)
    monkeypatch.setattr("bife_core.measure.trials.TrialRace.run", lambda self, method: worse)
    space = Space(methods, facts=FamilyFacts(classes=dict.fromkeys(rows, "")))
    named = [{"branching": RPB, "heuristics": "off"}] if rows else []
    found = tune(knapsacks[:1], solving(InProcess(), tmp_path), space, 1e3, seed=None, first=named)
    choices = [trial.choices for trial in found.trials[1 + len(named) :]]
    assert [{name: each.get(name) for name in of} for of, each in zip(first, choices, strict=False)] == first


def test_trials_that_take_nothing_end_too(knapsacks, tmp_path, monkeypatch):
    raced = Raced(costs=(0.001,), ratio=1.0, seen=1, cpu_s=0.0)
    monkeypatch.setattr("bife_core.measure.trials.TrialRace.run", lambda self, method: raced)
    assert len(tuned(knapsacks[:1], solving(InProcess(), tmp_path), 0.45).trials) == 6


def test_where_nothing_is_better_it_is_scip_as_it_comes():
    usual = Raced(costs=(1.0,), ratio=1.0, seen=1, cpu_s=1.0, won=True)
    worse = Trial(choices={"heuristics": "off"}, raced=Raced(costs=(2.0,), ratio=2.0, seen=1, cpu_s=2.0))
    trials, nothing = (Trial(choices={}, raced=usual), worse), Space({}).configuration({})
    none = Tuning(trials=trials, instances=1, cost="time", configuration=nothing)
    assert none.configuration.identity == RPB
    few = none.model_copy(update={"starting": 12})
    assert few.sentence.endswith(
        "1 configuration in 3 CPU seconds. To try all 12 that come first takes about 25 CPU seconds in all, 2 each."
    )
    assert "takes about" not in none.model_copy(update={"starting": 1}).sentence
    early = few.model_copy(update={"trials": few.trials[:1]})
    assert early.sentence.endswith("To try all 12 that come first takes about 13 CPU seconds in all, 1 each.")
    assert none.sentence == (
        "No better settings than SCIP's defaults were found on 1 design instance, by trying 1 configuration in 3 CPU "
        "seconds."
    )
    assert worse.line(1, {}) == "   1   1   2.000   heuristics off"


def test_the_line_of_a_trial_says_what_the_best_before_had_and_it_has_not():
    raced = Raced(costs=(1.0,), ratio=0.5, seen=1, cpu_s=1.0, won=True)
    before = {"heuristics": "off", "rows/link": "on demand", "variables/x": "first"}
    line = Trial(choices={"separating": "off", "rows/link": "on demand"}, raced=raced).line(2, before)
    assert line.endswith("separating off, heuristics SCIP default, variables/x SCIP default")


def test_without_a_seed_only_the_starts_are_tried_and_optuna_is_not_needed(
    knapsacks, pool, folder, monkeypatch
):
    monkeypatch.setitem(sys.modules, "optuna", None)
    found = tuned(knapsacks[:1], solving(pool, folder), seed=None)
    assert len(STARTING_SETTINGS) <= len(found.trials) <= 25
    tried = [trial.choices for trial in found.trials]
    assert all(any(start.items() <= choices.items() for choices in tried) for start in STARTING_SETTINGS)


def test_a_seed_of_any_size_is_taken_and_a_small_one_is_itself():
    space = Space({})
    first = [Tpe(space, seed).ask([]) for seed in (0, 2**32, 2**32 - 1, 20261128020000, 3**80)]
    assert first[0] == first[1] == Tpe(space, 0).ask([])
    assert len({str(choices) for choices in first}) == 4


def test_without_optuna_it_says_what_to_install(knapsacks, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ConfigError, match=r"Optuna, which is not installed; run pip install"):
        tuned(knapsacks[:1], solving(InProcess(), tmp_path), 1.0)


@pytest.mark.parametrize("seen", [0, 1])
def test_settings_that_are_hopeless_with_one_method_are_not_tried_with_others(
    seen, knapsacks, tmp_path, monkeypatch
):
    raced = Raced(costs=(None,), ratio=3.0, seen=seen, cpu_s=0.0, eliminated="3.00 times as much")
    monkeypatch.setattr("bife_core.measure.trials.TrialRace.run", lambda self, method: raced)
    found = tuned(knapsacks[:1], solving(InProcess(), tmp_path), trials=13)
    general, pscost = {"branching": "general"}, {"branching": "pscost"}
    first = [start | general for start in STARTING_SETTINGS[:2]]
    bases = [{"lp/rowrepswitch": "0"}, {"lp/rowrepswitch": "-1"}]
    tried = [trial.choices for trial in found.trials[1:]]
    assert tried == [*first, *bases, *STARTING_SETTINGS[2:8], general, pscost]


def test_rounding_and_the_basis_that_pay_are_carried_to_what_is_tried_after(knapsacks, tmp_path, monkeypatch):
    good = [0]

    def run(_, method):
        params, before = method.params, max(good)
        rounding = "heuristics/rins/freq" in params and "heuristics/simplerounding/freq" not in params
        good.append(("separating/gomory/freq" in params) + rounding + (params.get("lp/rowrepswitch") == 0))
        return Raced(costs=(1.0,), ratio=0.9 ** good[-1], seen=2, cpu_s=1.0, won=good[-1] > before)

    monkeypatch.setattr("bife_core.measure.trials.TrialRace.run", run)
    found = tuned(knapsacks[:1], solving(InProcess(), tmp_path), seed=None)
    best = LEAN | {"branching": "general", "rounding": "simple", "lp/rowrepswitch": "0"}
    assert found.best.choices == best
    others = best | {"separators": "cmir", "separating/maxroundsroot": "10"}
    assert others in [trial.choices for trial in found.trials]
    assert {"branching": "general", "lp/rowrepswitch": "0"} in [trial.choices for trial in found.trials]


def test_rounding_comes_again_once_heuristics_are_off_in_what_is_best(knapsacks, tmp_path, monkeypatch):
    def run(_, method):
        cycles = "separating/oddcycle/usegls" in method.params
        return Raced(costs=(1.0,), ratio=0.5 if cycles else 2.0, seen=2, cpu_s=1.0, won=cycles)

    monkeypatch.setattr("bife_core.measure.trials.TrialRace.run", run)
    tried = [
        trial.choices for trial in tuned(knapsacks[:1], solving(InProcess(), tmp_path), seed=None).trials
    ]
    assert tried[-1].items() >= {"separators": "clique+oddcycle", "rounding": "simple"}.items()


def test_what_a_model_proposes_is_raced_as_it_says(knapsacks, tmp_path, monkeypatch):
    won = Raced(costs=(1.0,), ratio=0.5, seen=2, cpu_s=1.0, won=True)
    monkeypatch.setattr("bife_core.measure.trials.TrialRace.run", lambda self, method: won)
    proposed = [
        {"heuristics": "off", "branching": "pscost", "rounding": "simple", "lp/rowrepswitch": "0"},
        {"heuristics": "off"},
        {"lp/rowrepswitch": "-1"},
    ]
    proposals = [(choices, "why not") for choices in proposed]
    found = tuned(knapsacks[:1], solving(InProcess(), tmp_path), proposals=proposals, trials=4)
    pscost = {"branching": "pscost"}  # which was the best by then
    assert [trial.choices for trial in found.trials[1:]] == [choices | pscost for choices in proposed]


def test_settings_that_are_hopeless_are_so_by_another_basis_too(knapsacks, tmp_path, monkeypatch):
    def run(_, method):
        lean, rows = "separating/gomory/freq" in method.params, method.params.get("lp/rowrepswitch") == 0
        how = {"eliminated": "3.00 times as much"} if lean else {"won": rows}
        return Raced(costs=(1.0,), ratio=0.5 if rows else 3.0, seen=1, cpu_s=1.0, **how)

    monkeypatch.setattr("bife_core.measure.trials.TrialRace.run", run)
    first = [{"branching": "general"} | LEAN, {"branching": "relpscost", "lp/rowrepswitch": "0"}]
    found = tuned(knapsacks[:1], solving(InProcess(), tmp_path), seed=None, first=first)
    tried = [trial.choices for trial in found.trials[1:]]
    assert LEAN | {"branching": "pscost", "lp/rowrepswitch": "0"} not in tried
    assert any(choices.get("separators") == "gomory" for choices in tried)


def test_facets_come_first_where_rows_are_knapsacks(knapsacks, tmp_path, monkeypatch):
    raced = Raced(costs=(None,), ratio=3.0, seen=1, cpu_s=0.0, eliminated="3.00 times as much")
    monkeypatch.setattr("bife_core.measure.trials.TrialRace.run", lambda self, method: raced)
    space = Space(METHODS, facts=FamilyFacts(knapsacks=True))
    first = tune(knapsacks[:1], solving(InProcess(), tmp_path), space, 1e3, trials=2).trials[1].choices
    assert first == LEAN | {"inequalities": "knapsack", "branching": "pscost"}


def test_start_methods_come_first_where_objectives_are_compared(knapsacks, tmp_path):
    config = NODES.model_copy(update={"cost": "objective"})
    context = SolveContext(config, SolverConfig(), InProcess(), Store(tmp_path))
    tried = tuned(knapsacks[:1], context, trials=3).trials[1:]
    assert [trial.choices for trial in tried] == [{"start": "local_search"}, {"start": "restricted"}]


def test_fewer_variables_and_orders_of_branching_are_tried_beside_what_is_best(
    knapsacks, tmp_path, monkeypatch
):
    def run(_, method):
        won = method.branching.identity == "pscost"
        return Raced(costs=(1.0,), ratio=0.5 if won else 2.0, seen=2, cpu_s=1.0, won=won)

    monkeypatch.setattr("bife_core.measure.trials.TrialRace.run", run)
    facts = FamilyFacts(classes={"variables/u": "", "variables/v": ""}, implied_free=True)
    space = Space({"pscost": METHODS["pscost"]}, facts=facts)
    found = tune(knapsacks[:1], solving(InProcess(), tmp_path), space, 1e3, seed=None)
    choices = [trial.choices for trial in found.trials[1:]]
    best = LEAN | {"branching": "pscost"}
    assert choices[0] == best
    # Each wins here, so that the next is tried beside it too.
    fewer = best | {"implied_free": "continuous"}
    both = fewer | {"variables/u": "first"}
    assert choices[2:5] == [fewer, both, both | {"variables/v": "first"}]
