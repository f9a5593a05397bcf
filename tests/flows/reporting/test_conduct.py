"""What every run does besides its stage: flows of one line, run by Prefect, with MLflow there and away."""

import inspect
import logging
import threading
import uuid
from contextlib import contextmanager

import pytest
from mlflow.exceptions import PERMISSION_DENIED, TEMPORARILY_UNAVAILABLE, MlflowException
from prefect.client.orchestration import get_client

from bife_core.base.errors import BifeError
from bife_flows.reporting.conduct import stage
from bife_flows.reporting.conductor import with_message
from bife_tasks.stores import observer, observing
from bife_tasks.tracking import mlflow_runs
from bife_tasks.tracking.provenance import provenance
from bife_tasks.tracking.subscriber import outage
from tests.support import journals
from tests.support.diary import Diary
from tests.support.tracked import parent, synced, traces

pytestmark = pytest.mark.usefixtures("prepared")


@stage("plain", "")
def plain(sentence):
    observer().note(sentence)
    thread = threading.Thread(target=observer().note, args=("from a thread",))
    thread.start()
    thread.join()
    return with_message(sentence, "All is well.")


@stage("failing", "")
def failing(fault, search=None):
    observer().note("about to fail")
    if search is not None:
        journals.opened(search.name, search, provenance())
    raise {"ours": BifeError, "defect": RuntimeError}[fault]("No good.")


@stage("parent", "")
def parental(sentence):
    return plain(sentence)


def noting(config, runtime):
    runtime.observer.note(config)


a_stage = stage(
    "a stage", "", inspect.Signature([inspect.Parameter("config", inspect.Parameter.POSITIONAL_OR_KEYWORD)])
)(noting)


@pytest.fixture
def search(tmp_path, monkeypatch):
    """A search that was killed after a call, and of which MLflow has heard; alone in its home."""
    monkeypatch.setenv("BIFE_HOME", str(tmp_path))
    key = uuid.uuid4().hex[:16]
    journal = journals.opened(key, tmp_path / "runs" / key)
    known = synced(journal.folder)
    journals.add_draft(journal, attempts=(journals.attempt(answer="a rule"),))
    return known


@contextmanager
def mlflow_away(monkeypatch):
    """Have every write refused for now."""

    def refuse(*_, **__):
        raise OSError("nobody answers")

    with monkeypatch.context() as patch:
        patch.setattr(mlflow_runs, "open_run", refuse)
        yield
    outage.retry_at_s = 0.0


def test_the_state_of_a_run_says_that_records_wait(search, monkeypatch, caplog):
    with mlflow_away(monkeypatch), caplog.at_level(logging.WARNING, "prefect.flow_runs"):
        state = parental("a word", return_state=True)
    assert state.is_completed()
    assert state.name == "Completed, not all of it in MLflow"
    assert state.message.startswith("MLflow lacks records of 1 run: MLflow at ")
    assert state.result() == "a word"
    assert any(line.startswith("MLflow lacks records") for line in caplog.messages)

    run_id = state.state_details.flow_run_id
    state = plain("next", return_state=True)
    assert (state.name, state.message) == ("Completed", "All is well.")
    assert len(traces(search)) == 1
    with get_client(sync_client=True) as client:
        delivered = client.read_flow_run(run_id).state
    assert (delivered.name, delivered.message) == ("Completed", "")
    assert "The process ended" in parent(search).data.tags["stopped"]


@pytest.mark.parametrize(("fault", "error"), [("ours", BifeError), ("defect", RuntimeError)])
def test_what_a_failing_run_leaves_gets_to_mlflow(search, tmp_path, fault, error):
    state = failing(fault, tmp_path / "runs" / search.study, return_state=True)
    assert state.is_failed()
    assert "No good." in state.message
    with pytest.raises(error, match="No good"):
        state.result()
    assert len(traces(search)) == 1
    assert parent(search).data.tags["stopped"] == state.message


def test_notes_are_in_the_log_of_the_run_unless_a_watcher_gets_them(caplog):
    diary = Diary()
    with caplog.at_level(logging.INFO, "prefect.flow_runs"):
        with observing(diary):
            plain("a word")
        assert diary.notes == ["a word", "from a thread"]
        assert "prefect.flow_runs" not in {line.name for line in caplog.records if line.message == "a word"}
        assert plain("a word") == "a word"
        a_stage("of a stage")
    heard = {record.message: record for record in caplog.records}
    assert heard["a word"].flow_run_id == heard["from a thread"].flow_run_id
    assert heard["a word"].levelname == "WARNING"
    assert heard["of a stage"].name == "prefect.flow_runs"


@pytest.mark.parametrize("refusal", [False, True])
def test_a_run_begins_once_mlflow_answers_and_not_where_it_refuses(monkeypatch, refusal):
    answers = iter([MlflowException("No.", PERMISSION_DENIED if refusal else TEMPORARILY_UNAVAILABLE)] * 2)

    def client():
        for error in answers:
            raise mlflow_runs.TrackingError("MLflow is away.") from error

    monkeypatch.setattr("bife_tasks.tracking.mlflow_runs.client", client)
    monkeypatch.setattr("bife_tasks.tracker.RETRY_S", 0.1)
    diary = Diary()
    with observing(diary):
        state = plain("a word", return_state=True)
    if refusal:
        assert (state.is_failed(), state.message) == (True, "MLflow is away.")
    else:
        assert (state.is_completed(), state.message) == (True, "All is well.")
        assert diary.notes[0] == "The run begins once MLflow answers. MLflow is away."
        assert diary.notes[1:] == ["a word", "from a thread"]
