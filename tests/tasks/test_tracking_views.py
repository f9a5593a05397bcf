import json
import uuid

import pytest

from tasks.tracking import store, views


@pytest.fixture
def run_id():
    made, _ = store.open_run(store.EVOLUTION, uuid.uuid4().hex[:16], "an evolution", {})
    return made


def saved(key, experiment=store.EVOLUTION):
    found = store.client().get_experiment(store.experiment_id(experiment))
    kept = json.loads(found.tags[f"mlflow.sharedViewState.{key}"])
    return kept, json.loads(kept["state"])


def test_the_view_shows_the_samples_of_one_evolution_best_first(run_id):
    views.save_view(run_id, "an evolution", 1000)
    kept, state = saved(run_id)
    # What MLflow's menu of saved views asks of an entry before it lists it.
    assert (kept["name"], kept["createdAt"]) == (f"an evolution ({run_id[:8]}): rules, best first", 1000)
    assert state["runsHiddenMode"] == "SHOWALL"
    found = store.find_runs(store.EVOLUTION, state["searchFilter"])
    assert list(found) == []
    child = store.create_child(store.EVOLUTION, run_id, "g00-c00", {"kind": "sample"})
    stray = store.create_child(store.EVOLUTION, "another", "g00-c00", {"kind": "sample"})
    names = {found.info.run_id for found in store.find_runs(store.EVOLUTION, state["searchFilter"])}
    assert names == {child.info.run_id}
    assert stray.info.run_id not in names
    assert (state["orderByKey"], state["orderByAsc"]) == ("metrics.`f_hf`", False)
    assert "metrics.`f_hf`" in state["selectedColumns"]


def test_the_list_of_evaluations_shows_the_ratio_with_its_interval_the_fastest_first():
    views.save_lists()
    kept, state = saved("evaluations", store.EVALUATION)
    assert kept["name"] == "All evaluations, the fastest rule first"
    assert {f"metrics.`{name}`" for name in ("ratio", "ratio_low", "ratio_high")} <= {
        *state["selectedColumns"]
    }
    made = [
        store.open_run(store.EVALUATION, uuid.uuid4().hex, "e", {"kind": "evaluation"})[0] for _ in range(2)
    ]
    for run, ratio in zip(made, (2.0, 0.5), strict=True):
        store.log(run, metrics={"ratio": ratio})
    page = store.client().search_runs(
        [store.experiment_id(store.EVALUATION)],
        f"{state['searchFilter']} and metrics.ratio > 0",
        order_by=[f"{state['orderByKey']} {'ASC' if state['orderByAsc'] else 'DESC'}"],
    )
    # Other tests of this session leave evaluations in the same experiment.
    assert [run.info.run_id for run in page if run.info.run_id in made] == made[::-1]


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
    listed = f"#/experiments/{number}/runs?workflowType=machine_learning&viewStateShareKey="
    assert views.table_url(run_id) == f"{listed}{run_id}"
    assert views.experiment_url(store.EVOLUTION) == f"{listed}evolutions"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://mlflow.example:5000")
    assert views.charts_url(run_id).startswith("http://mlflow.example:5000/#/experiments/")


def test_a_prompt_gets_a_version_only_when_its_text_changes(run_id, monkeypatch):
    for _ in range(2):
        views.link_prompts(run_id, ["e1", "i1"])
    client = store.client()
    first = client.load_prompt("prompts:/bife_prompt_e1@latest")
    assert first.version == 1
    assert "{{benchmark}}" in first.template
    assert "variable_features[71]" in first.template
    assert "{{parents}}" in first.template
    changed = {"e1": "Write a rule for $benchmark."}
    monkeypatch.setattr(views, "prompt_templates", lambda: changed)
    views.link_prompts(run_id, ["e1"])
    second = client.load_prompt("prompts:/bife_prompt_e1@latest")
    assert (second.version, second.template) == (2, "Write a rule for {{benchmark}}.")
    monkeypatch.undo()
    used = json.loads(client.get_run(run_id).data.tags["mlflow.linkedPrompts"])
    assert {(prompt["name"], prompt["version"]) for prompt in used} == {
        ("bife_prompt_e1", "1"),
        ("bife_prompt_e1", "2"),
        ("bife_prompt_i1", "1"),
    }
