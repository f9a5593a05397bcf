"""What the overview of a home says, gathered from a store and a registry that are filled by hand."""

import uuid
from decimal import Decimal

import pytest

from tasks.home import project_home
from tasks.overview import Waiting, gather
from tasks.stores import home_store
from tasks.tracking.store import TrackingError, client
from tasks.tracking.subscriber import track_evolution
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


def test_a_family_shows_its_champion_and_the_search_that_began_last(own_home):
    label = f"toys-{uuid.uuid4().hex[:6]}"
    champion = made_champion(f"bife-{label}", 0, benchmark=label)
    first = search(label)
    journals.add_end(first)
    under_way = search(label)
    journals.add_generation(under_way, 1, samples=7)
    shown = {family.label: family for family in gather().families}[label]
    assert (shown.champion.version, shown.champion.evidence.ratio) == (champion.version, 0.8)
    assert shown.since is not None
    assert f"models/bife-{label}/versions/{champion.version}" in shown.page
    assert shown.search.outcome == "under way, 7 rules sampled"
    journals.add_end(under_way, ended_by="budget.calls is used up.")
    shown = {family.label: family for family in gather().families}[label]
    assert shown.search.outcome == "g01-c00, F_HF -2; budget.calls is used up."


def test_a_family_without_a_champion_shows_what_its_search_found(own_home):
    journals.add_end(search("bare"), best=None)
    stopped = search("stopped")
    stopped.stop("The disk is full.")
    found = {family.label: family for family in gather().families}
    assert (found["bare"].champion, found["bare"].search.outcome) == (None, "no rule")
    assert found["stopped"].search.outcome == "stopped: The disk is full."


def test_calls_count_on_the_day_they_went_out_and_old_ones_no_longer(own_home):
    now = gather().made
    home_store().append("a search", "started", {})
    for number, (age_s, cost) in enumerate([(0, "0.25"), (0, "0.5"), (86400, None), (86400 * 40, "9")]):
        made = journals.call(
            f"g00-c{number:02d}",
            started_unix_s=now.timestamp() - age_s,
            prompt_tokens=100,
            completion_tokens=10,
            cost_usd=None if cost is None else Decimal(cost),
        )
        home_store().begin_call("a search", made.key, made.model_dump(mode="json"))
    today, before = gather().days
    assert (today.calls, today.tokens, today.cost_usd) == (2, 220, Decimal("0.75"))
    assert (before.calls, before.tokens, before.cost_usd) == (1, 110, None)
    assert before.day < today.day == f"{now:%Y-%m-%d}"


def test_what_mlflow_lacks_is_counted_until_it_is_written(own_home):
    journal = search("late")
    synced(journal.folder)
    assert gather().lacking == ()
    journals.add_generation(journal, 1)
    assert gather().lacking == (("late bife seed 0", 1),)
    track_evolution(journal.key)
    assert gather().lacking == ()


def test_a_registry_that_is_away_leaves_the_rest(own_home, monkeypatch):
    def away():
        raise TrackingError("MLflow is away.")

    monkeypatch.setattr("tasks.registry.reading.list_rules", away)
    journals.add_end(search("alone"))
    (own_home / "instances").mkdir()
    (own_home / "instances" / "one.mps").write_bytes(b"0" * 3_000_000)
    found = gather(lambda: [Waiting(name="promotion a", since=gather().made, url="")])
    assert found.trouble == "MLflow is away."
    assert [family.label for family in found.families] == ["alone"]
    assert found.disk_mb["instances"] == 3.0
    assert next(iter(found.disk_mb)) == "instances"
    assert [each.name for each in found.waiting] == ["promotion a"]
