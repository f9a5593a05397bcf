"""A search keeps what was tuned but for the part it looks for, and the second tuning begins from the whole."""

from pathlib import Path

import pytest

from bife_core.measure import context, solves
from bife_core.measure.decisions import collection
from bife_core.measure.trials import Raced
from bife_core.run.observer import TrackedRun
from bife_core.run.presets import preset, with_overrides
from bife_core.run.stages import pipeline
from bife_core.run.stages.results import TuningResult
from bife_core.solver.methods.base import RPB
from bife_core.solver.methods.references import load_method
from bife_core.tuning.space import FOUND, FamilyFacts, Space
from bife_core.tuning.tuner import Trial, Tuning

ROWS = {"combinatorial_auction": "rows/nb_le_pos", "item_placement": "rows/supply/nb_weighted_le_pos"}
CHOICES = {"separating": "off", "inequalities": "knapsack", "start": "restricted", "branching": "pscost"}
FACTS = FamilyFacts(classes=dict.fromkeys(ROWS.values(), ""), knapsacks=True, searchable=True)
REPLAY = {
    "search.elite_fraction": 1.0,
    "generator.kind": "replay",
    "generator.replay_from": str(Path(__file__).parents[4] / "docs/research/answers/item_placement/0"),
    "instances.benchmark": "item_placement",
    "search.component": "start",
    "high.cost": "primal_integral",
    "high.time_limit_s": 0.5,
    "low.start_s": 1.0,
}


class Finalists(Exception):  # noqa: N818
    """Ends a pipeline with what it would choose from."""


@pytest.fixture
def composed(runtime, monkeypatch):
    """Return what a run whose tuning ends with `choices` solves, collects, tunes and chooses from.

    The second tuning ends with what it is to begin with.
    """

    def go(choices, **settings):
        seen = {"solved": [], "collected": [], "tuned": []}

        def tune(
            config, runtime, seconds, methods=("pscost",), name="tuned", searched=None, first=(), beside=False
        ):
            methods = {reference: load_method(reference) for reference in methods}
            space = Space(({FOUND: searched} if searched else {}) | methods, facts=FACTS)
            best = first[1] if first else choices
            seen["tuned"].append(space.configuration(best))
            usual, won = (
                Raced(costs=(9.0,), ratio=ratio, seen=1, cpu_s=1.0, won=True) for ratio in (1.0, 0.5)
            )
            trials = (Trial(choices={}, raced=usual), Trial(choices=best, raced=won))
            configuration = space.configuration(best)
            tuning = Tuning(trials=trials, instances=1, cost="time", configuration=configuration)
            return TuningResult(tuning=tuning, path=Path(name), run=TrackedRun())

        def solve_all(groups, *args, **kwargs):
            seen["solved"] += [job.method for group in groups for job in group]
            return solves.run_solves(groups, *args, **kwargs)

        def record(*args):
            seen["collected"].append(args[-1])
            return collect_all(*args)

        def choose(config, runtime, methods):
            raise Finalists({method.name: method for method in methods})

        collect_all = collection.collect_decisions
        monkeypatch.setattr(pipeline, "tune", tune)
        monkeypatch.setattr(pipeline, "_chosen", choose)
        monkeypatch.setattr(context, "run_solves", solve_all)
        monkeypatch.setattr("bife_core.run.stages.collect.collect_decisions", record)
        few = {"search.seed": 0, "search.samples": 1, "search.initial": 1, "tune.seconds": 1.0}
        few |= {"high.instances": 1, "high.time_limit_s": 1.0}
        with pytest.raises(Finalists) as finalists:
            pipeline.run(with_overrides(preset("smoke"), few | settings), runtime)
        return finalists.value.args[0], seen

    return go


def parts(method):
    start, branching = method.start and method.start.name, method.branching.name
    return start, method.inequalities, branching


def test_a_search_of_rules_keeps_settings_rows_inequalities_and_start(composed):
    finalists, seen = composed(CHOICES | {ROWS["combinatorial_auction"]: "on_demand"})
    (first, second) = seen["tuned"]
    assert [parts(rest) for rest in seen["collected"]] == [("restricted", "knapsack", RPB)]
    searched = [method for method in seen["solved"] if method.kind == "configuration"]
    assert {parts(method) for method in searched} == {
        ("restricted", "knapsack", RPB),
        ("restricted", "knapsack", second.branching.name),
    }
    assert {method.changes for method in searched} == {first.changes}
    assert first.params
    assert first.on_demand
    assert second.branching.kind == "rule"
    assert second == first.model_copy(update={"branching": second.branching})
    assert finalists["tuned again"].identity == second.identity == finalists["g00-c00"].identity
    assert finalists["tuned"].identity == first.identity


def test_a_search_of_starts_keeps_the_rest_and_replaces_the_start(composed):
    finalists, seen = composed(CHOICES | {ROWS["item_placement"]: "on_demand"}, **REPLAY)
    (first, second) = seen["tuned"]
    assert seen["collected"] == []
    searched = [method for method in seen["solved"] if method.kind == "configuration"]
    starts = {parts(method) for method in searched}
    for method in searched:
        assert (method.params, method.on_demand) == (first.params, first.on_demand)
    assert (None, "knapsack", "pscost") in starts, "what starts are measured by"
    assert {part[1:] for part in starts} == {("knapsack", "pscost")}
    assert any(method.start is not None and method.start.source for method in searched)
    assert second.start in [method.start for method in searched]
    assert second == first.model_copy(update={"start": second.start})
    assert finalists["tuned again"].identity == second.identity
    assert {part[1:] for part in map(parts, finalists.values())} == {("knapsack", "pscost")}


def test_without_anything_tuned_a_rule_is_searched_for_alone_and_keeps_its_name(composed):
    finalists, seen = composed({})
    assert {(name.partition(",")[0], method.kind) for name, method in finalists.items()} == {
        ("g00-c00", "rule")
    }
    assert seen["collected"] == [None]
    assert {method.kind for method in seen["solved"]} == {"scip", "rule"}
