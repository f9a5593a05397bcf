"""The overview as Prefect's pages show it."""

import logging
from datetime import timedelta
from types import SimpleNamespace

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter

from bife_core.base.errors import ConfigError
from bife_flows.reporting.artifacts import OVERVIEW, on_server, renew
from bife_flows.reporting.conduct import stage
from bife_tasks.overview import Link, Section, age_text, markdown, sections


def test_the_page_has_a_table_for_each_part_whatever_its_cells_hold():
    searched = ("auctions", "none", Link("1 day ago", "http://mlflow/#/run"), "stopped: a | b\nc", "usd 80 %")
    waiting = (Link("promotion x", ""), age_text(timedelta(minutes=90)))
    families = Section("Families", "", ("family", "champion", "last search", "found", "used"), [searched])
    persons = Section("Waiting", "Of persons.", ("run", "for"), [waiting])
    text = markdown([families, persons, Section("Model API", "No call lately.", ("day",), [])])
    assert "| auctions | none | [1 day ago](http://mlflow/#/run) | stopped: a \\| b c | usd 80 % |" in text
    assert "## Waiting\n\nOf persons.\n\n| run | for |\n| --- | --- |\n| promotion x | 1 hour |" in text
    assert text.endswith("## Model API\n\nNo call lately.")


@stage("pipeline", "on {label}")
def failing(label: str) -> None:
    """Fail as a pipeline."""
    raise ConfigError(f"There is no {label} | here.\nNor there.")


def test_a_pipeline_that_failed_and_a_challenger_are_in_it(prepared, monkeypatch):
    failing("salt mine", return_state=True)
    about = {"ungated": False, "evidence": None, "solver": "SCIP default", "tags": {}}
    challenger = SimpleNamespace(name="bife-plans", version=3, aliases=("challenger",), **about)
    champion = SimpleNamespace(**vars(challenger) | {"version": 2, "aliases": ("champion", "challenger")})
    versions = SimpleNamespace(versions=lambda: [champion, challenger])
    monkeypatch.setattr("bife_tasks.overview.registry", lambda: versions)
    monkeypatch.setattr("bife_tasks.overview.tracker", lambda: SimpleNamespace(page_of=lambda rule: ""))
    with get_client(sync_client=True) as client:
        parts = {part.title: part for part in sections(lambda: on_server(client))}
    (row,) = [row for row in parts["Pipelines"].rows if row[0].text == "pipeline on salt mine"]
    assert "/runs/flow-run/" in row[0].url
    assert row[1:] == ("Failed", "There is no salt mine | here.")
    assert [row[0].text for row in parts["Challengers"].rows] == ["bife-plans 3"]


@stage("ending", "")
def ending():
    """Return how many overviews there are."""
    return len(shown())


def shown():
    with get_client(sync_client=True) as client:
        return client.read_artifacts(
            artifact_filter=ArtifactFilter.model_validate({"key": {"any_": [OVERVIEW]}})
        )


def test_a_run_renews_the_one_artifact_as_it_begins_and_ends(prepared, monkeypatch, caplog):
    assert ending() == len(shown()) == 0, "the embedded API has no pages"
    with get_client(sync_client=True) as client:
        monkeypatch.setenv("PREFECT_API_URL", str(client.api_url))
    assert ending() == 1
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
