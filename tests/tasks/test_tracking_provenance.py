"""What a run says of where it comes from."""

import getpass
import subprocess

import pytest
from prefect import flow, runtime

from tasks.stores import home_store
from tasks.tracking import provenance, store
from tasks.tracking.records import Record, read_record, track_record


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
    clean = provenance._code.__wrapped__()
    assert len(clean["mlflow.source.git.commit"]) == 40
    assert clean["mlflow.source.git.dirty"] == "false"
    (tmp_path / "code.py").write_text("2")
    assert provenance._code.__wrapped__() == clean | {"mlflow.source.git.dirty": "true"}
    monkeypatch.setattr(provenance, "_ROOT", tmp_path / "installed")
    monkeypatch.chdir(tmp_path)
    assert provenance._code.__wrapped__().get("mlflow.source.git.commit") != clean["mlflow.source.git.commit"]


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
    monkeypatch.setattr("tasks.tracking.records.provenance", lambda: {"mlflow.user": "ada"})
    run_id = track_record(folder, stage)
    monkeypatch.setattr("tasks.tracking.records.provenance", lambda: {"mlflow.user": "bob"})
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
