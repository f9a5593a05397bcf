"""Rival searches as whole runs: the same layout in MLflow as every search, the same account of their cost."""

import json

import pytest
from mlflow import MlflowClient

from bife_core.run.presets import preset, with_overrides
from bife_core.run.stages.records import SEARCH
from bife_core.search import PARTS, SearchCost
from bife_flows.operate.running import ready
from bife_flows.stages import collection, search
from bife_tasks.tracking.mlflow_runs import experiment_id
from tests.support.tracked import artifacts

SPENDS = {
    "eoh": {"collection", "generation", "f_lf"},
    "llm4branch": {"generation", "f_lf", "tuning", "f_hf"},
    "reevo": {"collection", "generation", "f_lf"},
}
"""What each search's design time goes on; checking a rule counts as f_lf even where F_LF is not measured."""

SMALL = {"instances.size": "tiny", "collection.decisions": 20, "search.initial": 2, "high.instances": 1}
TRIALS = {"training_instances": 1, "tuning_instances": 1}
TRIALS |= dict.fromkeys(("islands", "tuning_calls", "tuning_initial"), 2)


def children(run_id, kind):
    chosen = f"tags.`mlflow.parentRunId` = '{run_id}' and tags.kind = '{kind}'"
    return MlflowClient().search_runs([experiment_id(SEARCH)], chosen)


@pytest.mark.parametrize(
    "method",
    [
        "reevo",
        pytest.param("eoh", marks=pytest.mark.long),
        # It solves with every rule; the library runs it in `test_runs_of_a_study.py`.
        pytest.param("llm4branch", marks=pytest.mark.long),
    ],
)
def test_a_rival_leaves_the_layout_of_every_search_and_splits_its_cost(prepared, method):
    decisions = ready()(collection)(with_overrides(preset("smoke"), SMALL)).summary
    samples, options = (4, TRIALS) if method == "llm4branch" else (6, {})
    wanted = {"search.algorithm": method, "search.samples": samples, "search.options": options}
    result = ready()(search)(with_overrides(preset("smoke"), SMALL | wanted), decisions)

    parent, cost = MlflowClient().get_run(result.run.run_id), result.cost
    assert (parent.info.status, parent.data.tags["search"]) == ("FINISHED", method)
    assert parent.data.tags["best_sample"] == result.best.id
    assert {"samples.json", "search_cost.json", "best_rule.py"} <= artifacts(result.run.run_id)
    tracked = {one.data.tags["sample_id"]: one for one in children(result.run.run_id, "sample")}
    rows = json.loads((result.folder / "samples.json").read_text())
    assert set(tracked) == {row["id"] for row in rows}
    for row in rows:
        assert tracked[row["id"]].data.params["operator"] == row["operator"]
        failed = row["failure"] is not None
        assert tracked[row["id"]].info.status == ("FAILED" if failed else "FINISHED")

    assert {part for part, seconds in cost.parts.items() if seconds > 0} - {"other"} == SPENDS[method]
    metrics = parent.data.metrics
    assert {part: metrics[f"{part}_s"] for part in PARTS} == pytest.approx(cost.parts)
    assert SearchCost.model_validate_json((result.folder / "search_cost.json").read_text()) == cost
    assert cost.samples == samples, "rules the search brings along are not counted"
    used, unused = ("f_hf", "f_lf") if method == "llm4branch" else ("f_lf", "f_hf")
    assert all(row[unused] is None for row in rows)
    assert getattr(result.best, used) == max(row[used] for row in rows if row[used] is not None)
    assert (bool(cost.curve), result.best.f_lf is None) == (method == "llm4branch",) * 2

    if method == "reevo":
        texts = [one.data.params["operator"] for one in children(result.run.run_id, "reflection")]
        assert sorted(texts) == ["long_term_reflection"] + ["short_term_reflection"] * 3
        assert (cost.reflections, cost.calls, metrics["reflections"]) == (4, 10, 4)
        made = ["elitist_mutation"] + ["improve_seed"] * 3 + ["reflective_crossover"] * 3
        assert sorted(row["operator"] for row in rows) == made
