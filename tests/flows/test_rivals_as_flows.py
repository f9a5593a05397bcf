"""Every rival search as a whole run: the same generator, the same layout in MLflow, the same account of its cost."""

from __future__ import annotations

import json
from functools import cache

import pytest
from mlflow import MlflowClient

from bife_core.presets import preset, with_overrides
from bife_core.search import PARTS, SearchCost
from bife_core.stages.records import EVOLUTION
from flows.operate.running import run
from flows.stages import collection, evolution
from tasks.tracking.store import experiment_id

RIVALS = ("eoh", "llm4branch", "reevo")
SPENDS = {
    "eoh": {"collection", "generation", "f_lf"},
    "llm4branch": {"generation", "f_lf", "tuning", "f_hf"},
    "reevo": {"collection", "generation", "f_lf"},
}
"""What each search's design time goes on; checking a rule counts as f_lf even where F_LF is not measured."""


SMALL = {
    "instances.size": "tiny",
    "collection.decisions": 20,
    "search.initial": 2,
    "high.instances": 1,
}
TRIALS = {
    "search.options": {
        "islands": 2,
        "training_instances": 1,
        "tuning_calls": 2,
        "tuning_initial": 2,
        "tuning_instances": 1,
    }
}
SAMPLES = {"eoh": 6, "llm4branch": 4, "reevo": 6}


@pytest.fixture(scope="module")
def decisions(prepared):
    return run(None, collection, with_overrides(preset("smoke"), SMALL)).summary


@pytest.fixture(scope="module")
def evolved(decisions):
    """Return a function that runs a search, once for the same settings."""

    @cache
    def evolve(method, *settings):
        wanted = {"search.method": method, "search.samples": SAMPLES[method], **dict(settings)}
        wanted |= TRIALS if method == "llm4branch" else {}
        return run(None, evolution, with_overrides(preset("smoke"), SMALL | wanted), decisions)

    return evolve


# Those that solve with every rule take longest; the library runs each of them in `test_evolve.py`.
@pytest.fixture(
    params=[
        pytest.param(rival, marks=pytest.mark.long if "f_hf" in SPENDS[rival] else ()) for rival in RIVALS
    ]
)
def result(request, evolved):
    return evolved(request.param)


def children(run_id, kind):
    chosen = f"tags.`mlflow.parentRunId` = '{run_id}' and tags.kind = '{kind}'"
    return MlflowClient().search_runs([experiment_id(EVOLUTION)], chosen)


def samples_of(result):
    return json.loads((result.folder / "samples.json").read_text())


def test_a_rival_leaves_the_layout_of_every_evolution(result):
    parent = MlflowClient().get_run(result.run.run_id)
    method = result.cost.search
    assert (parent.info.status, parent.data.tags["search"]) == ("FINISHED", method)
    assert parent.data.tags["best_sample"] == result.best.id
    files = {item.path for item in MlflowClient().list_artifacts(result.run.run_id)}
    assert {"samples.json", "search_cost.json", "best_rule.py"} <= files
    assert (result.folder / "best_rule.py").read_text().strip() == result.best.source.strip()
    tracked_runs = {run.data.tags["sample_id"]: run for run in children(result.run.run_id, "sample")}
    known = samples_of(result)
    assert len(known) >= SAMPLES[method]
    assert set(tracked_runs) == {row["id"] for row in known}
    for row in known:
        assert tracked_runs[row["id"]].data.params["operator"] == row["operator"]
        failed = row["failure"] is not None
        assert tracked_runs[row["id"]].info.status == ("FAILED" if failed else "FINISHED")


def test_its_design_time_is_split_by_what_it_went_on(result):
    cost = result.cost
    spent = {part for part, seconds in cost.parts.items() if seconds > 0}
    assert spent - {"other"} == SPENDS[cost.search]
    metrics = MlflowClient().get_run(result.run.run_id).data.metrics
    assert {part: metrics[f"{part}_s"] for part in PARTS} == pytest.approx(cost.parts)
    assert SearchCost.model_validate_json((result.folder / "search_cost.json").read_text()) == cost
    assert cost.samples == SAMPLES[cost.search], "rules the search brings along are not counted"
    solved = [row["f_hf"] for row in samples_of(result) if row["f_hf"] is not None]
    assert cost.solved == len(solved)
    assert bool(cost.curve) == ("f_hf" in SPENDS[cost.search])


def test_a_search_measures_only_what_it_goes_by(result):
    rows = samples_of(result)
    if "collection" in SPENDS[result.cost.search]:
        assert all(row["f_hf"] is None for row in rows)
        assert result.best.f_lf == max(row["f_lf"] or 0 for row in rows)
    else:
        assert all(row["f_lf"] is None for row in rows)
        assert result.decisions is None
        assert result.best.f_hf == max(row["f_hf"] for row in rows if row["f_hf"] is not None)


def test_reevos_reflections_calls_and_samples_are_counted_apart(evolved):
    result = evolved("reevo")
    texts = children(result.run.run_id, "reflection")
    operators = sorted(run.data.params["operator"] for run in texts)
    assert operators == ["long_term_reflection"] + ["short_term_reflection"] * 3
    cost = result.cost
    assert (cost.samples, cost.reflections, cost.calls) == (6, 4, 10)
    assert MlflowClient().get_run(result.run.run_id).data.metrics["reflections"] == 4
    made = [row["operator"] for row in samples_of(result)]
    assert sorted(made) == ["elitist_mutation"] + ["improve_seed"] * 3 + ["reflective_crossover"] * 3
