"""What the overview of a home says, gathered from a store and a registry that are filled by hand."""

import time
import uuid
from datetime import UTC, datetime
from decimal import Decimal
from types import SimpleNamespace

import pytest

from bife_core.run.study.journal import claim_on
from bife_core.store.home import project_home
from bife_tasks.overview import Server, sections
from bife_tasks.registry import registry
from bife_tasks.stores import home_store
from bife_tasks.tracking.mlflow_runs import TrackingError, client
from bife_tasks.tracking.subscriber import track_search
from tests.support import journals
from tests.support.challenging import made_champion
from tests.support.tracked import synced


@pytest.fixture
def own_home(tmp_path, monkeypatch):
    """A home of its own; MLflow is that of all tests."""
    client()
    monkeypatch.setenv("BIFE_HOME", str(tmp_path))
    return tmp_path


def search(label):
    key = uuid.uuid4().hex[:16]
    return journals.opened(
        key, project_home().runs / key, name=f"{label} bife seed 0", tags={"benchmark": label}
    )


def rows(title):
    return next(part for part in sections() if part.title == title).rows


def families():
    return {row[0]: row for row in rows("Families")}


def test_a_family_shows_its_champion_and_the_search_that_began_last(own_home, monkeypatch):
    label = f"toys-{uuid.uuid4().hex[:6]}"
    champion = made_champion(f"bife-{label}", 0, benchmark=label)
    first = search(label)
    journals.add_end(first)
    under_way = search(label)
    journals.add_generation(under_way, 1, samples=7)
    _, opened, ratio, _, age, began, found, _ = families()[label]
    assert opened.text == f"bife-{label} {champion.version}"
    registered = registry().versions()
    with monkeypatch.context() as patch:  # no server shows the pages
        patch.setenv("MLFLOW_TRACKING_URI", "sqlite:///mlflow.db")
        patch.delenv("BIFE_MLFLOW_UI", raising=False)
        patch.setattr("bife_tasks.overview.registry", lambda: SimpleNamespace(versions=lambda: registered))
        assert families()[label][1] == (opened.text, "")
    monkeypatch.setenv("BIFE_MLFLOW_UI", "http://models.example")
    assert families()[label][1].url.startswith(
        f"http://models.example/#/models/bife-{label}/versions/{champion.version}?"
    )
    assert ratio.startswith("0.800 (")
    assert (age, began.text) == ("less than a minute", "less than a minute ago")
    assert found == "interrupted, 7 rules sampled"
    with home_store().claim(claim_on(under_way.key)):
        assert families()[label][6] == "under way, 7 rules sampled"
    journals.add_end(under_way, ended_by="budget.calls is used up.")
    assert families()[label][6] == "g01-c00, F_HF -2; budget.calls is used up."


def test_a_family_without_a_champion_shows_what_its_search_found(own_home):
    journals.add_end(search("bare"), best=None)
    stopped = search("stopped")
    stopped.stop("The disk is full.")
    found = families()
    assert found["bare"][1:5] == ("none", "-", "-", "-")
    assert found["bare"][6:] == ("no rule", "no limit")
    assert found["stopped"][6] == "stopped: The disk is full."


def test_calls_count_on_the_day_they_went_out_and_old_ones_no_longer(own_home):
    said = [part.sentence for part in sections()][2:6]
    assert said == [*2 * ["No Prefect server was asked."], "No call lately.", "Nothing."]
    now = time.time()
    home_store().append("a search", "started", {})
    for number, (age_s, cost) in enumerate([(0, "0.25"), (0, "0.5"), (86400, None), (86400 * 40, "9")]):
        used = {"prompt_tokens": 1000, "completion_tokens": 10, "cost_usd": cost and Decimal(cost)}
        made = journals.call(f"g00-c{number:02d}", started_unix_s=now - age_s, **used)
        home_store().begin_call("a search", made.key, made.model_dump(mode="json"))
    today, before = rows("Model API")
    assert today[1:] == ("2", "2,020", "0.7500")
    assert before[1:] == ("1", "1,010", "unknown")
    assert before[0] < today[0] == f"{datetime.fromtimestamp(now, UTC):%Y-%m-%d}"


def test_what_mlflow_lacks_is_counted_until_it_is_written(own_home):
    journal = search("late")
    synced(journal.folder)
    assert rows("Not in MLflow yet") == []
    journals.add_generation(journal, 1)
    assert rows("Not in MLflow yet") == [("late bife seed 0", "1")]
    track_search(journal.key)
    assert rows("Not in MLflow yet") == []


def test_a_registry_that_is_away_leaves_the_rest(own_home, monkeypatch):
    def away(_):
        raise TrackingError("MLflow is away.")

    monkeypatch.setattr("bife_tasks.registry.mlflow_registry.MlflowRegistry.versions", away)
    journals.add_end(search("alone"))
    (own_home / "instances").mkdir()
    (own_home / "instances" / "one.mps").write_bytes(b"0" * 3_000_000)
    (own_home / "up.json").write_text("{}")
    found, _, waiting, *_, disk = sections(lambda: Server([("promotion a", "1 hour")], []))
    assert found.sentence == "MLflow is away."
    assert [row[0] for row in found.rows] == ["alone"]
    assert disk.rows[0] == ("instances", "3")
    assert "up.json" not in dict(disk.rows)
    assert f"MB in {own_home}; " in disk.sentence
    assert (waiting.sentence, waiting.rows) == ("", [("promotion a", "1 hour")])
