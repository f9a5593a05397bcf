"""Something to see: a real `bife up`, in which a search, a model API's answers and a waiting approval can be shown.

All of it is started through Prefect's API with the same requests its pages send.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.support.model_answers import MODEL
from tests.support.model_api import ModelApi
from tests.support.operating import Operated, bife_up, smoke, until

CHALLENGED = "bife-combinatorial_auction"
"""Registered model whose challenger waits for a person's approval."""


@dataclass(frozen=True)
class Shown:
    """What there is to see, with runs of Prefect."""

    up: Operated
    pipeline: dict[str, Any]
    """By the offline grammar."""
    search: dict[str, Any]
    """The search in the pipeline."""
    promotion: dict[str, Any]
    """It waits for a person."""

    def run_page(self, run):
        """Return the address of a run's page."""
        return f"{self.up.prefect}/v2/runs/flow-run/{run['id']}"

    def deployment(self, name):
        """Return the id of a deployment."""
        return str(self.up.page.deployment(name)["id"])

    def artifact(self, key):
        """Return the id of the pipeline's last artifact of that key."""
        runs = [self.pipeline["id"], self.search["id"]]
        chosen = {"key": {"any_": [key]}, "flow_run_id": {"any_": runs}}
        found = self.up.page.ask("POST", "/artifacts/filter", artifacts=chosen, sort="CREATED_DESC")
        return str(found[0]["id"])

    def experiment(self, stage):
        """Return the number of a stage's experiment in MLflow."""
        found = self.up.tracked("GET", "experiments/get-by-name", experiment_name=f"bife-{stage}")
        return str(found["experiment"]["experiment_id"])

    def search_run(self, generator):
        """Return the id of MLflow's run of the search whose rules a generator wrote."""
        wanted = f"tags.kind = 'search' and params.`generator.kind` = '{generator}'"
        experiments = [self.experiment("search")]
        found = self.up.tracked("POST", "runs/search", experiment_ids=experiments, filter=wanted)
        return str(found["runs"][0]["info"]["run_id"])


@contextmanager
def something_to_see(home):
    """Start everything, run what is to be seen, and stop everything at the end."""
    with (
        ModelApi() as api,
        bife_up(home, BIFE_LLM_BASE_URL=api.base_url, BIFE_LLM_MODEL=MODEL, BIFE_LLM_API_KEY="") as up,
    ):
        pipeline = up.page.end_well("pipeline", config=searching())
        up.page.end_well("search", config=searching(generator="openai", seed=1))
        up.page.end_well("evaluation", config=comparing(), rule="paper_ca", as_challenger=True)
        below = up.page.runs(flow_runs={"parent_flow_run_id": {"any_": [pipeline["id"]]}})
        search = next(run for run in below if run["name"].startswith("search"))
        yield Shown(up, pipeline, search, promotion_of(up, CHALLENGED))


def searching(**changed):
    """Return the settings of a search that is small, and large enough to have something to compare."""
    return smoke(
        samples=24,
        search__initial=8,
        search__population=4,
        high__race=False,  # every rule that is solved with has an F_HF to draw
        evaluation__instances=6,
        approval="person",
        **changed,
    )


def comparing():
    """Return the settings of a comparison that a good rule passes the gate with, on a busy machine too."""
    changed = {"evaluation__most_instances": 40, "evaluation__time_limit_s": 60}
    return smoke(size="test", approval="person", **changed)


def promotion_of(up, name, besides=""):
    """Wait until a promotion of a model, besides a known one, asks a person, and return its run."""

    def asks():
        known = [run for run in up.page.runs_of("promotion") if run["id"] != besides]
        runs = [run for run in known if run["parameters"]["name"] == name]
        ended = [run["state"] for run in runs if run["state_type"] in ("COMPLETED", "FAILED", "CRASHED")]
        assert not ended, ended
        return next((run for run in runs if run["state_name"] == "Suspended"), None)

    found = until(asks, f"a promotion of {name} to ask a person")
    assert isinstance(found, dict)
    return found
