"""The overview as Prefect's pages show it."""

import logging
from datetime import UTC, datetime, timedelta

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter

from flows.reporting.conduct import conducted
from flows.reporting.overview import KEY, markdown, renew
from tasks.overview import Day, Family, LastSearch, Overview, Waiting

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
PAGE = Overview(
    made=NOW,
    home="/a/home",
    families=(
        Family(
            label="auctions",
            search=LastSearch(
                began=NOW - timedelta(hours=30),
                outcome="stopped: a | b\nc",
                budget_used={"usd": 0.805},
                url="http://mlflow/#/run",
            ),
        ),
    ),
    days=(Day(day="2026-03-01", calls=1200, tokens=5),),
    waiting=(Waiting(name="promotion x", since=NOW - timedelta(minutes=90), url=""),),
    lacking=(("a record", 3),),
    disk_mb={"runs": 1500.4, "up.json": 0.001},
    free_mb=10.0,
)


def test_the_page_has_a_table_for_each_part_whatever_its_cells_hold():
    text = markdown(PAGE)
    assert "Of 2026-03-01 12:00 UTC" in text
    family = (
        "| auctions | none | - | - | - | [1 day ago](http://mlflow/#/run) | stopped: a \\| b c | usd 80 % |"
    )
    assert family in text
    assert "| promotion x | 1 hour |" in text
    assert "| 2026-03-01 | 1,200 | 5 | - |" in text
    assert "| a record | 3 |" in text
    assert "1,500 MB in /a/home; 10 MB are free." in text
    assert "up.json" not in text


def test_a_part_with_nothing_to_list_says_so():
    empty = dict.fromkeys(("families", "days", "lacking"), ())
    text = markdown(PAGE.model_copy(update=empty | {"waiting": None}))
    for sentence in ("No search yet.", "No Prefect server was asked.", "No call lately.", "Nothing."):
        assert sentence in text


@flow(name="ending")
@conducted
def ending() -> None:
    """Do nothing."""


def shown():
    with get_client(sync_client=True) as client:
        return client.read_artifacts(artifact_filter=ArtifactFilter.model_validate({"key": {"any_": [KEY]}}))


def test_the_end_of_a_run_renews_the_one_artifact(prepared, monkeypatch):
    ending()
    assert shown() == [], "the embedded API has no pages"
    with get_client(sync_client=True) as client:
        monkeypatch.setenv("PREFECT_API_URL", str(client.api_url))
    ending()
    (first,) = shown()
    assert first.type == "markdown"
    assert first.data.startswith("Of ")
    monkeypatch.setattr("flows.reporting.overview.markdown", lambda _: "renewed")
    renew()
    (second,) = shown()
    assert (second.id, second.data) == (first.id, "renewed")


@pytest.mark.usefixtures("prepared")
def test_a_home_that_cannot_be_read_stops_no_run(monkeypatch, caplog):
    with get_client(sync_client=True) as client:
        monkeypatch.setenv("PREFECT_API_URL", str(client.api_url))

    def broken(_):
        raise OSError("the disk is gone")

    monkeypatch.setattr("flows.reporting.overview.gather", broken)
    with caplog.at_level(logging.WARNING, "prefect.flow_runs"):
        assert ending(return_state=True).is_completed()
    assert "the disk is gone" in caplog.text
