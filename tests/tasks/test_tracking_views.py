import json
import uuid

import pytest

from tasks.tracking import prompts, store, views


@pytest.fixture
def run_id():
    made, _ = store.open_run(store.EVOLUTION, uuid.uuid4().hex[:16], "an evolution", {})
    return made


def saved(run_id):
    experiment = store.client().get_experiment(store.experiment_id(store.EVOLUTION))
    return json.loads(experiment.tags[f"mlflow.sharedViewState.{run_id}"])


def test_the_view_shows_the_samples_of_one_evolution_best_first(run_id):
    views.save_view(run_id)
    state = saved(run_id)
    found = store.find_runs(store.EVOLUTION, state["searchFilter"])
    assert list(found) == []
    child = store.create_child(store.EVOLUTION, run_id, "g00-c00", {"kind": "sample"})
    stray = store.create_child(store.EVOLUTION, "another", "g00-c00", {"kind": "sample"})
    names = {found.info.run_id for found in store.find_runs(store.EVOLUTION, state["searchFilter"])}
    assert names == {child.info.run_id}
    assert stray.info.run_id not in names
    assert (state["orderByKey"], state["orderByAsc"]) == ("metrics.`f_hf`", False)
    assert "metrics.`f_hf`" in state["selectedColumns"]


def test_parallel_coordinates_read_params_for_operator_and_generation(run_id):
    state = views.view_state(run_id)
    charts = [chart for chart in state["compareRunCharts"] if chart["type"] == "PARALLEL"]
    solved, screened = charts
    sections = {section["uuid"] for section in state["compareRunSections"]}
    assert {chart["metricSectionId"] for chart in charts} == sections
    for chart in charts:
        assert chart["selectedParams"] == ["generation", "operator"]
    # A run without one of the axes is left out, and most rules have no F_HF.
    assert solved["selectedMetrics"][-1] == "f_hf"
    assert "f_hf" not in screened["selectedMetrics"]


def test_the_links_name_the_view_and_a_server_only_if_there_is_one(run_id, monkeypatch):
    number = store.experiment_id(store.EVOLUTION)
    assert views.table_url(run_id) == f"#/experiments/{number}/runs?viewStateShareKey={run_id}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://mlflow.example:5000")
    assert views.charts_url(run_id).startswith("http://mlflow.example:5000/#/experiments/")


def test_a_prompt_gets_a_version_only_when_its_text_changes(run_id, monkeypatch):
    for _ in range(2):
        prompts.link_prompts(run_id, ["e1", "i1"])
    client = store.client()
    first = client.load_prompt("prompts:/bife_prompt_e1@latest")
    assert first.version == 1
    assert "{{benchmark}}" in first.template
    assert "variable_features[71]" in first.template
    assert "{{parents}}" in first.template
    changed = {"e1": "Write a rule for $benchmark."}
    monkeypatch.setattr(prompts, "prompt_templates", lambda: changed)
    prompts.link_prompts(run_id, ["e1"])
    second = client.load_prompt("prompts:/bife_prompt_e1@latest")
    assert (second.version, second.template) == (2, "Write a rule for {{benchmark}}.")
    monkeypatch.undo()
    used = json.loads(client.get_run(run_id).data.tags["mlflow.linkedPrompts"])
    assert {(prompt["name"], prompt["version"]) for prompt in used} == {
        ("bife_prompt_e1", "1"),
        ("bife_prompt_e1", "2"),
        ("bife_prompt_i1", "1"),
    }
