"""Every rival search as a whole run: the same generator, the same layout in MLflow, the same account of its cost."""

from __future__ import annotations

import json
from functools import cache

import pytest
from mlflow import MlflowClient

from bife_core.presets import preset, with_overrides
from bife_core.rules import REFERENCE_RULES
from bife_core.search import PARTS, SearchCost
from bife_core.study.journal import Tried, read_journal
from flows.collection import collection
from flows.evolution import evolution
from flows.operate.running import run
from tasks.stores import home_store
from tasks.tracking.store import EVOLUTION, experiment_id
from tests.support.model_answers import MODEL
from tests.support.model_api import ModelApi

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
    told = {run.data.tags["sample_id"]: run for run in children(result.run.run_id, "sample")}
    known = samples_of(result)
    assert len(known) >= SAMPLES[method]
    assert set(told) == {row["id"] for row in known}
    for row in known:
        assert told[row["id"]].data.params["operator"] == row["operator"]
        failed = row["failure"] is not None
        assert told[row["id"]].info.status == ("FAILED" if failed else "FINISHED")


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


@pytest.mark.long
def test_every_trial_of_llm4branch_is_on_record(evolved):
    result = evolved("llm4branch")
    events = [entry for entry, _ in read_journal(home_store(), result.key)]
    rows = [entry.request for entry in events if isinstance(entry, Tried)]
    assert len(rows) == result.cost.trials
    screened = [row.sample for row in rows if row.id.endswith(".screening")]
    known = {row["id"]: row for row in samples_of(result)}
    assert set(screened) == {name for name, row in known.items() if row["sha"] and not _unread(row)}
    for name, row in known.items():
        tuned = [trial.parameters for trial in rows if trial.id.startswith(f"{name}.t0")]
        if row["f_hf"] is None:
            assert row["failure"], "whatever is not solved with says why"
        elif tuned:
            assert len(tuned) == 2
            kept = [values for values in tuned if all(repr(v) in row["source"] for v in values.values())]
            assert kept, "the rule is one of the settings that were tried"


def _unread(row):
    return (row["failure"] or "").startswith("duplicate")


def test_running_a_rival_again_pays_for_nothing_and_tells_the_same(evolved):
    result = evolved("reevo")
    again = evolved.__wrapped__("reevo")
    assert (again.cost, again.best) == (result.cost, result.best)
    assert len(children(again.run.run_id, "sample")) == len(samples_of(result))


@pytest.fixture
def asked(evolved, monkeypatch):
    """Return a function that runs a search with a model API and gives its result and the requests it got."""

    def ask(method, script, **search):
        with ModelApi(script, then="apt") as api:
            monkeypatch.setenv("BIFE_LLM_BASE_URL", api.base_url)
            monkeypatch.setenv("BIFE_LLM_MODEL", MODEL)
            monkeypatch.setenv("BIFE_LLM_API_KEY", "sk-none")
            settings = [(f"search.{name}", value) for name, value in search.items()]
            result = evolved(method, ("generator.kind", "openai"), ("generator.prompts", "paper"), *settings)
            return result, [request.body["messages"][0]["content"] for request in api.requests]

    return ask


def test_reevo_asks_a_model_for_rules_and_reflections_in_its_own_words(asked):
    result, prompts = asked("reevo", ["apt"] * 4 + ["empty"], samples=8, initial=4)
    seeds = [prompt for prompt in prompts if "Take it as your start" in prompt]
    hints = [prompt for prompt in prompts if "Write the hint alone" in prompt]
    crossed = [prompt for prompt in prompts if "follows the hint" in prompt]
    lessons = [prompt for prompt in prompts if "Write the lesson alone" in prompt]
    mutants = [prompt for prompt in prompts if "makes use of the lesson" in prompt]
    assert [len(found) for found in (seeds, hints, crossed, lessons, mutants)] == [4, 3, 3, 1, 1]
    assert len(prompts) == result.cost.calls == result.spending.calls == 12
    assert all(REFERENCE_RULES["pseudocost_product"].source.strip() in prompt for prompt in seeds)
    assert all("Rule 1." in prompt and "Rule 2." in prompt for prompt in hints + crossed)

    # One hint was an empty answer: its crossover goes without, and the lesson joins the other two.
    assert sum("Favour slack and pscost_up. Hint number" in prompt for prompt in crossed) == 2
    assert sum("(none yet)" in prompt for prompt in crossed) == 1
    assert lessons[0].count("Hint number") == 2
    assert "favour slack." in mutants[0]
    assert "think" not in mutants[0].partition("# How to answer")[0].split("Comparing many rules")[1]
    told = children(result.run.run_id, "reflection")
    assert sorted(run.info.status for run in told) == ["FAILED"] + ["FINISHED"] * 3


@pytest.mark.long
def test_llm4branch_tunes_what_a_model_wrote(asked):
    # A tiny model is solved in no time, so that speed-up means little.
    result, prompts = asked("llm4branch", ["good", "no_code"])
    assert len(prompts) == result.cost.calls == 4
    assert all("its numbers will be set" in prompt for prompt in prompts)
    reasons = [row["failure"] for row in samples_of(result) if row["failure"]]
    assert len(reasons) == 1
    assert "no function `candidate_variable_score`" in reasons[0]
    # Once a program has an F_HF it is shown with its numbers as they were tuned.
    assert any("numbers were tuned since" in prompt for prompt in prompts[2:])
