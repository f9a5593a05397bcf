"""The overview as Prefect's pages show it."""

import logging
from datetime import timedelta

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter

from bife_flows.reporting.artifacts import OVERVIEW, renew
from bife_flows.reporting.conduct import stage
from bife_tasks.overview import Link, Section, age_text, markdown


def test_the_page_has_a_table_for_each_part_whatever_its_cells_hold():
    searched = ("auctions", "none", Link("1 day ago", "http://mlflow/#/run"), "stopped: a | b\nc", "usd 80 %")
    waiting = (Link("promotion x", ""), age_text(timedelta(minutes=90)))
    text = markdown(
        [
            Section("Families", "", ("family", "champion", "last search", "found", "used"), [searched]),
            Section("Waiting", "Of persons.", ("run", "for"), [waiting]),
            Section("Model API", "No call lately.", ("day",), []),
        ]
    )
    assert "| auctions | none | [1 day ago](http://mlflow/#/run) | stopped: a \\| b c | usd 80 % |" in text
    assert "## Waiting\n\nOf persons.\n\n| run | for |\n| --- | --- |\n| promotion x | 1 hour |" in text
    assert text.endswith("## Model API\n\nNo call lately.")


@stage("ending", "")
def ending():
    """Do nothing."""


def shown():
    with get_client(sync_client=True) as client:
        return client.read_artifacts(
            artifact_filter=ArtifactFilter.model_validate({"key": {"any_": [OVERVIEW]}})
        )


def test_the_end_of_a_run_renews_the_one_artifact(prepared, monkeypatch, caplog):
    ending()
    assert shown() == [], "the embedded API has no pages"
    with get_client(sync_client=True) as client:
        monkeypatch.setenv("PREFECT_API_URL", str(client.api_url))
    ending()
    (first,) = shown()
    assert first.type == "markdown"
    assert first.data.startswith("Of ")
    monkeypatch.setattr("bife_flows.reporting.artifacts.markdown", lambda _: "renewed")
    renew()
    (second,) = shown()
    assert (second.id, second.data) == (first.id, "renewed")

    def broken(_):
        raise OSError("the disk is gone")

    monkeypatch.setattr("bife_flows.reporting.artifacts.sections", broken)
    with caplog.at_level(logging.WARNING, "prefect.flow_runs"):
        assert ending(return_state=True).is_completed(), "a home that cannot be read stops no run"
    assert "the disk is gone" in caplog.text
