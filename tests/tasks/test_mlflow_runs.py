"""What MLflow keeps of a run: found again, never twice, ranked by a saved view, and named by where it comes from."""

import getpass
import json
import re
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from urllib.parse import parse_qs

import pytest
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException
from prefect import flow, runtime

from bife_core.run.stages.records import COLLECTION, EVALUATION, EXPERIMENTS, SEARCH, RecordError
from bife_tasks.stores import home_store, part_of
from bife_tasks.tracking import mlflow_runs, provenance
from bife_tasks.tracking.subscriber import Record, read_record, track_record
from tests.support.programs import environment, python

ML = "?workflowType=machine_learning"
"""How MLflow is asked for the mode that shows runs and the registry."""


@pytest.fixture
def run_id(key):
    return mlflow_runs.open_run(EVALUATION, key, "a run", {}).info.run_id


@pytest.mark.long
def test_a_database_whose_making_was_killed_is_made_anew(tmp_path):
    """The migration takes a second or two, and what it leaves half-way could not be opened again."""
    program = "from bife_tasks.tracking.mlflow_runs import client; client()"
    killed = subprocess.Popen([sys.executable, "-c", program], env=environment(tmp_path))
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("mlflow/.mlflow.db.*")) and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(0.3)
    killed.kill()
    killed.wait()
    assert python("-c", program, home=tmp_path).returncode == 0
    assert {path.name for path in (tmp_path / "mlflow").iterdir()} == {"mlflow.db"}


def test_what_is_logged_again_is_there_once(key, home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    params = {f"p{n}": n for n in range(230)}  # more than one request takes
    for _ in range(2):
        run_id = mlflow_runs.open_run(EVALUATION, key, "a run", {}).info.run_id
        mlflow_runs.log(
            run_id, params=params, metrics=mlflow_runs.points({"f_lf": 0.5, "absent": None}, 1000, step=2)
        )
        mlflow_runs.log_texts(run_id, {"note.txt": "x", "empty.txt": None})
        mlflow_runs.client().set_terminated(run_id, "FAILED")
    (run,) = mlflow_runs.find_runs(EVALUATION, f"tags.`bife.key` = '{key}'")
    assert (run.info.run_id, run.info.status) == (run_id, "FAILED")
    assert run.data.params == {name: str(n) for name, n in params.items()}
    assert run.data.metrics.keys() == {"f_lf"}
    history = mlflow_runs.client().get_metric_history(run_id, "f_lf")
    assert [(point.step, point.value, point.timestamp) for point in history] == [(2, 0.5, 1000)]
    (note,) = (home / "mlflow" / "artifacts").rglob(f"{run_id}/**/*.txt")
    assert note.read_text() == "x"
    assert list(tmp_path.iterdir()) == []


def test_a_table_is_replaced_and_keeps_its_order(run_id):
    mlflow_runs.log_table(run_id, [{"id": "b", "f": 1.0}], "t.json")
    mlflow_runs.log_table(run_id, [{"id": "b", "f": 1.0}, {"id": "a", "f": None}], "t.json")
    table = mlflow_runs.client().load_table(mlflow_runs.experiment_id(EVALUATION), "t.json", [run_id])
    assert list(table["id"]) == ["b", "a"]
    tags = mlflow_runs.client().get_run(run_id).data.tags
    assert json.loads(tags["mlflow.loggedArtifacts"]) == [{"path": "t.json", "type": "table"}]


def test_what_a_database_cannot_hold_is_replaced_or_cut(run_id):
    awkward = "NUL \0 and half a pair \ud800"
    mlflow_runs.log(run_id, params={"long": "p" * 7000}, tags={"awkward": awkward, "long": "t" * 9000})
    mlflow_runs.log_table(run_id, [{"thought": awkward}], "awkward.json")
    data = mlflow_runs.client().get_run(run_id).data
    assert data.tags["awkward"] == "NUL \ufffd and half a pair \ufffd"
    assert [data.params["long"], data.tags["long"]] == ["p" * 5999 + "\u2026", "t" * 7999 + "\u2026"]
    table = mlflow_runs.client().load_table(mlflow_runs.experiment_id(EVALUATION), "awkward.json", [run_id])
    assert list(table["thought"]) == [data.tags["awkward"]]


def test_the_view_ranks_the_samples_of_one_search(run_id, monkeypatch):
    mlflow_runs.save_view(run_id, "a search", 1000, ended=False)
    number = mlflow_runs.experiment_id(SEARCH)
    kept = json.loads(mlflow_runs.client().get_experiment(number).tags[f"mlflow.sharedViewState.{run_id}"])
    # What MLflow's menu of saved views asks of an entry before it lists it.
    assert (kept["name"], kept["createdAt"]) == (f"a search ({run_id[:8]}): rules, best first", 1000)
    state = json.loads(kept["state"])
    child = mlflow_runs.create_run(
        SEARCH, "g00-c00", {mlflow_runs.MLFLOW_PARENT_RUN_ID: run_id, "kind": "sample"}
    )
    mlflow_runs.create_run(SEARCH, "g00-c00", {mlflow_runs.MLFLOW_PARENT_RUN_ID: "another", "kind": "sample"})
    (found,) = mlflow_runs.find_runs(SEARCH, state["searchFilter"])
    assert found.info.run_id == child.info.run_id
    assert (state["orderByKey"], state["orderByAsc"]) == ("metrics.`f_hf`", False)
    mlflow_runs.save_view(run_id, "a search", 1000, ended=True)
    kept = json.loads(mlflow_runs.client().get_experiment(number).tags[f"mlflow.sharedViewState.{run_id}"])
    assert json.loads(kept["state"]).items() >= {"orderByKey": "metrics.`rank`", "orderByAsc": True}.items()
    assert mlflow_runs.ranking_url(run_id) == f"#/experiments/{number}/runs{ML}&viewStateShareKey={run_id}"
    assert mlflow_runs.run_url(run_id, SEARCH) == f"#/experiments/{number}/runs/{run_id}{ML}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://mlflow.example:5000")
    assert mlflow_runs.ranking_url(run_id).startswith("http://mlflow.example:5000/#/experiments/")


def test_each_experiment_opens_on_its_runs_and_describes_views_that_it_has(home):
    listed = mlflow_runs.client().search_experiments()
    assert {each.name for each in listed} == set(EXPERIMENTS)  # not MLflow's own, which nobody uses
    of = {each.experiment_id: each for each in listed}
    for each in listed:
        assert each.tags["mlflow.experimentKind"] == "custom_model_development"
        links = re.findall(r"\[(.+?)\]\(#/experiments/(\d+)/runs\?(\S+)\)", each.tags["mlflow.note.content"])
        assert {number for _, number, _ in links} == of.keys()
        for name, number, query in links:
            assert parse_qs(query)["workflowType"] == ["machine_learning"]
            (key,) = parse_qs(query)["viewStateShareKey"]
            view = json.loads(of[number].tags[f"mlflow.sharedViewState.{key}"])
            assert view["name"] == name
            wanted = json.loads(view["state"])["searchFilter"]
            run = mlflow_runs.create_run(of[number].name, "a run", {"kind": wanted.split("'")[1]})
            found = mlflow_runs.find_runs(of[number].name, wanted)
            assert run.info.run_id in [one.info.run_id for one in found]


def test_what_a_person_changed_of_an_experiment_stays(home):
    number = mlflow_runs.experiment_id(COLLECTION)
    about = mlflow_runs.client().get_experiment(number).tags["mlflow.note.content"]
    mlflow_runs.client().set_experiment_tag(number, "mlflow.note.content", "ours")
    assert mlflow_runs.client.__wrapped__().get_experiment(number).tags["mlflow.note.content"] == "ours"
    mlflow_runs.client().set_experiment_tag(number, "mlflow.note.content", about)


def test_an_experiment_that_another_home_creates_first_serves(key, monkeypatch):
    """Homes share a server, and a claim does not reach another home."""
    real = MlflowClient.get_experiment_by_name

    def overtaken(self, name):
        found = real(self, name)
        if found is None:
            self.create_experiment(name)
        return found

    monkeypatch.setattr(mlflow_runs, "EXPERIMENTS", (key,))
    monkeypatch.setattr(MlflowClient, "get_experiment_by_name", overtaken)
    assert mlflow_runs.client.__wrapped__().get_experiment_by_name(key).lifecycle_stage == "active"


def test_an_unreachable_store_gives_one_sentence(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(
        mlflow_runs.TrackingError, match=r"^MLflow's store at http://127.0.0.1:9 cannot be used \("
    ):
        mlflow_runs.client.__wrapped__()
    assert mlflow_runs.searches_url("http://127.0.0.1:9/") == f"http://127.0.0.1:9/#/experiments{ML}"


@pytest.fixture
def stage(key):
    about = {"experiment": COLLECTION, "key": key, "name": "a stage", "tags": {"kind": "collection"}}
    return Record(**about, params={}, metrics={})


def test_a_run_from_a_terminal_names_its_command_its_code_and_its_machine(monkeypatch):
    monkeypatch.setattr(provenance.sys, "argv", ["/opt/bin/bife", "run", "--set", "search.samples=8 9"])
    tags = provenance.provenance()
    assert tags["mlflow.user"] == getpass.getuser()
    assert tags["mlflow.source.name"] == "bife run --set 'search.samples=8 9'"
    assert tags["mlflow.source.type"] == "LOCAL"
    assert len(tags["mlflow.source.git.commit"]) == 40
    assert {"bife.version", "scip.version", "pyscipopt.version", "machine", "machine.digest"} <= tags.keys()
    assert not any(name.startswith("prefect.") for name in tags)


@pytest.mark.usefixtures("prepared")
def test_a_run_of_prefect_names_itself_and_its_deployment(monkeypatch):
    @flow(flow_run_name="a flow", validate_parameters=False)
    def asked():
        return provenance.provenance()

    @flow
    def whole():
        return runtime.flow_run.id, asked()

    @flow
    def noted():
        with part_of(runtime.flow_run.id):
            return runtime.flow_run.id, whole()

    tags = asked()
    assert tags["mlflow.source.type"] == "LOCAL"
    assert len(tags["prefect.flow_run_id"]) == 36
    assert tags[provenance.WHOLE_RUN] == tags["prefect.flow_run_id"]
    number, part = whole()
    assert part[provenance.WHOLE_RUN] == number != part["prefect.flow_run_id"]
    monkeypatch.setenv("PREFECT__RUNTIME__FLOW_RUN__ROOT_FLOW_RUN_ID", "by Prefect")
    assert asked()[provenance.WHOLE_RUN] == "by Prefect"
    whole_number, (number, part) = noted()
    assert part[provenance.WHOLE_RUN] == whole_number not in (number, part["prefect.flow_run_id"])
    monkeypatch.setenv("PREFECT_UI_URL", "http://prefect.example:4200")
    monkeypatch.setenv("PREFECT__RUNTIME__DEPLOYMENT__NAME", "nightly")
    started = asked()
    assert (started["mlflow.source.name"], started["mlflow.source.type"]) == ("deployment nightly", "JOB")


def test_a_stage_says_who_finished_it_first_whoever_tells_of_it(stage, folder, monkeypatch):
    monkeypatch.setattr(provenance, "provenance", lambda: {"mlflow.user": "ada"})
    run_id = track_record(folder, stage)
    monkeypatch.setattr(provenance, "provenance", lambda: {"mlflow.user": "bob"})
    mlflow_runs.client().delete_run(run_id)
    again = track_record(folder, stage)
    assert again != run_id
    assert mlflow_runs.client().get_run(again).data.tags["mlflow.user"] == "ada"


def test_half_a_record_of_a_stage_is_written_anew(stage, folder):
    run_id = track_record(folder, stage)
    home_store().append(folder.name, "record", {"half": "of it"})
    with pytest.raises(RecordError, match="was written by another version"):
        read_record(home_store(), folder.name)
    assert track_record(folder, stage) == run_id
    assert read_record(home_store(), folder.name)[0].key == stage.key


def test_a_database_of_an_older_mlflow_is_refused_with_what_brings_it_up_to_date(
    tmp_path, databases, monkeypatch
):
    database = databases(tmp_path) / "mlflow" / "mlflow.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '451aebb31d03'")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{database}")
    with pytest.raises(mlflow_runs.TrackingError, match="mlflow db upgrade"):
        mlflow_runs.client.__wrapped__()


@pytest.mark.parametrize(
    ("caused_by", "said"),
    [("NewConnectionError: [Errno 111] Connection refused'))", "connection refused"), ("?", "no answer")],
)
def test_a_server_that_is_away_is_a_few_words(caused_by, said):
    message = (
        f"API request failed with HTTPConnectionPool(host='a', port=1): Max retries exceeded ({caused_by}"
    )
    assert mlflow_runs.first_line(MlflowException(message)) == said
    assert mlflow_runs.first_line(MlflowException("Two\nlines")) == "Two"
