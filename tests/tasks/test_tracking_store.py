"""What MLflow keeps of a run: found again, never twice, shown by saved views, and named by where it comes from."""

import getpass
import json
import os
import sqlite3
import subprocess
import sys
import time
import uuid
from contextlib import closing
from pathlib import Path

import pytest
from mlflow.exceptions import MlflowException
from prefect import flow, runtime

from tasks.stores import home_store
from tasks.tracking import Record, provenance, read_record, store, track_record, views

ML = "?workflowType=machine_learning"
"""How MLflow is asked for the mode that shows runs and the registry."""

REPOSITORY = Path(__file__).parents[2]


def made(experiment=store.EVALUATION, **tags):
    return store.open_run(experiment, uuid.uuid4().hex[:16], "a run", tags).info.run_id


@pytest.fixture
def run_id():
    return made()


EIGHT_WRITERS = """
import os, sys
from tasks.tracking import store

writers = []
for writer in range(8):
    child = os.fork()
    if child == 0:
        run = store.open_run(store.EVOLUTION, "same", "shared", {"kind": "evolution"}).info.run_id
        for n in range(2):
            made = store.create_child(store.EVOLUTION, run, f"w{writer}-{n}", {"sample_id": f"w{writer}-{n}"})
            store.log(made.info.run_id, params={"n": n}, metrics=store.points({"f_lf": n}, 0))
            store.client().log_text(made.info.run_id, "text", "rule.py")
            store.client().set_terminated(made.info.run_id)
        os._exit(0)
    writers.append(child)
sys.exit(sum(os.waitpid(child, 0)[1] != 0 for child in writers))
"""


@pytest.mark.long
def test_eight_writers_that_meet_a_fresh_database_share_one_run_and_lose_no_row(tmp_path):
    database = tmp_path / "mlflow" / "mlflow.db"
    environment = os.environ | {
        "BIFE_HOME": str(tmp_path),
        "MLFLOW_TRACKING_URI": f"sqlite:///{database}",
        "PYTHONPATH": str(REPOSITORY),
    }
    done = subprocess.run([sys.executable, "-c", EIGHT_WRITERS], env=environment, check=False, timeout=280)
    assert done.returncode == 0
    with closing(sqlite3.connect(database)) as connection:
        counts = {
            table: connection.execute(f"select count(*) from {table}").fetchone()[0]
            for table in ("runs", "params", "metrics", "experiments")
        }
        ended = connection.execute("select count(*) from runs where status = 'FINISHED'").fetchone()[0]
        intact = connection.execute("pragma integrity_check").fetchone()[0]
    assert counts == {"runs": 1 + 16, "params": 16, "metrics": 16, "experiments": 4}
    assert (ended, intact) == (16, "ok")
    assert len(list((tmp_path / "mlflow" / "artifacts").rglob("rule.py"))) == 16


@pytest.mark.long
def test_a_database_whose_making_was_killed_is_made_anew(tmp_path):
    """The migration takes a second or two, and what it leaves half-way could not be opened again."""
    program = "from tasks.tracking.store import client; client()"
    environment = os.environ | {
        "BIFE_HOME": str(tmp_path),
        "MLFLOW_TRACKING_URI": f"sqlite:///{tmp_path}/mlflow/mlflow.db",
        "PYTHONPATH": str(REPOSITORY),
    }
    killed = subprocess.Popen([sys.executable, "-c", program], env=environment)
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("mlflow/.mlflow.db.*")) and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(0.3)
    killed.kill()
    killed.wait()
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    assert [path.name for path in (tmp_path / "mlflow").iterdir()] == ["mlflow.db"]


def test_a_run_is_found_again_by_its_key(key):
    first = store.open_run(store.EVALUATION, key, "a run", {"kind": "evaluation"})
    store.client().set_terminated(first.info.run_id, "FAILED")
    again = store.open_run(store.EVALUATION, key, "a run", {})
    assert (again.info.run_id, again.info.status) == (first.info.run_id, "FAILED")


def test_a_point_that_a_run_has_is_not_logged_again(run_id):
    for time_ms in (1000, 2000):
        points = store.points({"f_lf": 0.5, "absent": None}, time_ms, step=2)
        store.log(run_id, metrics=points, known=store.points_of(store.client().get_run(run_id)))
    history = store.client().get_metric_history(run_id, "f_lf")
    assert [(point.step, point.value, point.timestamp) for point in history] == [(2, 0.5, 1000)]
    assert "absent" not in store.client().get_run(run_id).data.metrics


def test_more_params_than_one_request_takes(run_id):
    params = {f"p{n}": n for n in range(230)}
    store.log(run_id, params=params)
    assert store.client().get_run(run_id).data.params == {name: str(n) for name, n in params.items()}


def test_a_table_is_replaced_and_keeps_its_order(run_id):
    store.log_table(run_id, [{"id": "b", "f": 1.0}], "t.json")
    store.log_table(run_id, [{"id": "b", "f": 1.0}, {"id": "a", "f": None}], "t.json")
    table = store.client().load_table(store.experiment_id(store.EVALUATION), "t.json", [run_id])
    assert list(table["id"]) == ["b", "a"]
    tags = store.client().get_run(run_id).data.tags
    assert json.loads(tags["mlflow.loggedArtifacts"]) == [{"path": "t.json", "type": "table"}]


def test_datasets_are_recorded_once(run_id):
    for _ in range(2):
        store.log_datasets(
            run_id, [{"name": "d", "digest": "abc", "source": "/x", "profile": {"n": 3}, "context": "test"}]
        )
    inputs = store.client().get_run(run_id).inputs.dataset_inputs
    assert [(entry.dataset.name, entry.dataset.digest) for entry in inputs] == [("d", "abc")]


def test_artifacts_lie_in_the_home_and_not_in_the_working_directory(run_id, home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store.client().log_text(run_id, "x", "note.txt")
    (note,) = (home / "mlflow" / "artifacts").rglob(f"{run_id}/**/note.txt")
    assert note.read_text() == "x"
    assert list(tmp_path.iterdir()) == []


def test_links_name_the_view_and_a_server_only_if_there_is_one(run_id, monkeypatch):
    number, evolutions = (store.experiment_id(name) for name in (store.EVALUATION, store.EVOLUTION))
    assert store.run_url(run_id, store.EVALUATION) == f"#/experiments/{number}/runs/{run_id}{ML}"
    listed = f"#/experiments/{evolutions}/runs{ML}&viewStateShareKey="
    assert views.table_url(run_id) == f"{listed}{run_id}"
    assert views.experiment_url(store.EVOLUTION) == f"{listed}evolutions"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://mlflow.example:5000")
    assert store.run_url(run_id, store.EVALUATION).startswith("http://mlflow.example:5000/#/experiments/")
    assert views.charts_url(run_id).startswith("http://mlflow.example:5000/#/experiments/")


def test_an_unreachable_store_gives_one_sentence(tmp_path):
    program = """
from tasks.tracking.store import TrackingError, experiment_id
try:
    experiment_id("bife-evolution")
except TrackingError as error:
    print(error)
"""
    environment = os.environ | {
        "BIFE_HOME": str(tmp_path),
        "MLFLOW_TRACKING_URI": "http://127.0.0.1:9",
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
        "PYTHONPATH": str(REPOSITORY),
    }
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("MLflow's store at http://127.0.0.1:9 cannot be used (")
    assert done.stdout.rstrip().endswith("whether its server runs.")


def test_what_another_machine_has_just_made_is_no_trouble():
    """Machines that share a server share no lock, so that two of them may make an experiment."""
    with store.made_by_another():
        store.client().create_experiment(store.EVOLUTION)
    with pytest.raises(MlflowException, match="not found"), store.made_by_another():
        store.client().get_run("0" * 32)


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
    both = [made(kind="evaluation") for _ in range(2)]
    for run, ratio in zip(both, (2.0, 0.5), strict=True):
        store.log(run, metrics=store.points({"ratio": ratio}, 0))
    page = store.client().search_runs(
        [store.experiment_id(store.EVALUATION)],
        f"{state['searchFilter']} and metrics.ratio > 0",
        order_by=[f"{state['orderByKey']} {'ASC' if state['orderByAsc'] else 'DESC'}"],
    )
    # Other tests of this session leave evaluations in the same experiment.
    assert [run.info.run_id for run in page if run.info.run_id in both] == both[::-1]


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


@pytest.fixture
def stage(key):
    return Record(
        experiment=store.COLLECTION,
        key=key,
        name="a stage",
        params={},
        metrics={},
        tags={"kind": "collection"},
    )


def test_a_run_from_a_terminal_names_its_command_its_code_and_its_machine(monkeypatch):
    monkeypatch.setattr(provenance.sys, "argv", ["/opt/bin/bife", "run", "--set", "search.samples=8 9"])
    tags = provenance.provenance()
    assert tags["mlflow.user"] == getpass.getuser()
    assert tags["mlflow.source.name"] == "bife run --set 'search.samples=8 9'"
    assert tags["mlflow.source.type"] == "LOCAL"
    assert {"bife.version", "scip.version", "pyscipopt.version", "machine", "machine.digest"} <= tags.keys()
    assert not any(name.startswith("prefect.") for name in tags)


def test_the_commit_is_that_of_the_code_and_not_of_the_working_directory(tmp_path, monkeypatch):
    def git(*words):
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", "-C", tmp_path, *who, *words], check=True, capture_output=True)

    git("init")
    (tmp_path / "code.py").write_text("1")
    git("add", "code.py")
    git("commit", "-m", "first")
    monkeypatch.setattr(provenance, "_ROOT", tmp_path)
    clean = provenance.code()
    assert len(clean["mlflow.source.git.commit"]) == 40
    assert clean["mlflow.source.git.dirty"] == "false"
    (tmp_path / "code.py").write_text("2")
    assert provenance.code() == clean | {"mlflow.source.git.dirty": "true"}
    monkeypatch.setattr(provenance, "_ROOT", tmp_path / "installed")
    monkeypatch.chdir(tmp_path)
    assert provenance.code().get("mlflow.source.git.commit") != clean["mlflow.source.git.commit"]


@pytest.mark.usefixtures("prepared")
def test_a_run_of_prefect_names_itself_and_its_deployment(monkeypatch):
    @flow(flow_run_name="a flow", validate_parameters=False)
    def asked():
        return provenance.provenance()

    @flow
    def whole():
        return runtime.flow_run.id, asked()

    tags = asked()
    assert (tags["prefect.flow_run_name"], tags["mlflow.source.type"]) == ("a flow", "LOCAL")
    assert len(tags["prefect.flow_run_id"]) == 36
    assert tags[provenance.WHOLE_RUN] == tags["prefect.flow_run_id"]
    number, part = whole()
    assert part[provenance.WHOLE_RUN] == number != part["prefect.flow_run_id"]
    monkeypatch.setenv("PREFECT_UI_URL", "http://prefect.example:4200")
    monkeypatch.setenv("PREFECT__RUNTIME__DEPLOYMENT__NAME", "nightly")
    started = asked()
    assert (started["mlflow.source.name"], started["mlflow.source.type"]) == ("deployment nightly", "JOB")


def test_a_stage_says_who_finished_it_first_whoever_tells_of_it(stage, folder, monkeypatch):
    monkeypatch.setattr(provenance, "provenance", lambda: {"mlflow.user": "ada"})
    run_id = track_record(folder, stage)
    monkeypatch.setattr(provenance, "provenance", lambda: {"mlflow.user": "bob"})
    store.client().delete_run(run_id)
    again = track_record(folder, stage)
    assert again != run_id
    assert store.client().get_run(again).data.tags["mlflow.user"] == "ada"


def test_half_a_record_of_a_stage_is_written_anew(stage, folder):
    run_id = track_record(folder, stage)
    home_store().append(folder.name, "record", {"half": "of it"})
    with pytest.raises(store.TrackingError, match=r"was written by another version"):
        read_record(folder.name)
    assert track_record(folder, stage) == run_id
    assert read_record(folder.name).key == stage.key
