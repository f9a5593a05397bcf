"""Something to see: a real `bife up`, in which a search, a model API's answers and a waiting approval can be shown.

All of it is started through Prefect's API with the same requests its pages send.
"""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlalchemy import create_engine, text

from bife_flows.reporting.artifacts import OVERVIEW
from tests.support.databases import SERVER
from tests.support.model_answers import MODEL
from tests.support.model_api import ModelApi
from tests.support.operating import Operated, bife_up, smoke, until

CHALLENGED = "bife-combinatorial_auction"
"""Registered model whose challenger waits for a person's approval."""


@dataclass(frozen=True)
class Shown:
    """What there is to see, with runs of Prefect, each of which is made when a page needs it."""

    up: Operated

    @cached_property
    def pipeline(self) -> dict[str, Any]:
        """By the offline grammar."""
        return self.up.page.end_well("pipeline", config=searching())

    @cached_property
    def search(self) -> dict[str, Any]:
        """The search in the pipeline."""
        below = self.up.page.runs(flow_runs={"parent_flow_run_id": {"any_": [self.pipeline["id"]]}})
        return next(run for run in below if run["name"].startswith("search"))

    @cached_property
    def calling(self) -> dict[str, Any]:
        """A search that calls a model API."""
        return self.up.page.end_well("search", config=searching(generator="openai", samples=8, seed=1))

    @cached_property
    def tuning(self) -> str:
        """What the command printed."""
        file = self.up.home.root / "tuned.set"
        options = ("--size", "tiny", "--seconds", "4", "--output", str(file))
        done = self.up.bife("tune", "--instances", "combinatorial_auction", *options)
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    @cached_property
    def promotion(self) -> dict[str, Any]:
        """It waits for a person."""
        self.up.page.end_well("evaluation", config=comparing(), rule="paper_ca", as_challenger=True)
        return promotion_of(self.up, CHALLENGED)

    def run_page(self, run):
        """Return the address of a run's page."""
        return f"{self.up.prefect}/v2/runs/flow-run/{run['id']}"

    def overview(self, *texts):
        """Return the address of the overview once it has these texts: it is renewed every minute."""

        def renewed():
            wanted = {"artifacts": {"key": {"any_": [OVERVIEW]}}, "sort": "ID_DESC"}
            found = self.up.page.ask("POST", "/artifacts/filter", **wanted)
            return all(text in found[0]["data"] for text in texts) and found[0]["id"]

        number = until(renewed, f"the overview to have {texts}")
        return f"{self.up.prefect}/v2/artifacts/artifact/{number}"

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
        _ = self.pipeline if generator == "offline" else self.calling
        found = self.up.tracked("POST", "runs/search", experiment_ids=experiments, filter=wanted)
        return str(found["runs"][0]["info"]["run_id"])


@contextmanager
def something_to_see(home):
    """Start everything, with both servers and the store on PostgreSQL where BIFE_TEST_POSTGRES names a server of it."""
    with (
        ModelApi() as api,
        bife_up(
            home,
            **on_postgres(),
            BIFE_LLM_BASE_URL=api.base_url,
            BIFE_LLM_MODEL=MODEL,
            BIFE_LLM_API_KEY="",
        ) as up,
    ):
        yield Shown(up)


def on_postgres():
    """Return the environment in which everything is on a PostgreSQL server; nothing where there is none."""
    if SERVER is None:
        return {}
    names = [f"shown_{uuid.uuid4().hex}" for _ in range(3)]
    engine = create_engine(f"{SERVER}/postgres", isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for name in names:
            connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    store, mlflow, prefect = (f"{SERVER}/{name}" for name in names)
    return {
        "BIFE_STORE": store,
        "MLFLOW_TRACKING_URI": mlflow,
        "PREFECT_API_DATABASE_CONNECTION_URL": prefect.replace("psycopg2", "asyncpg"),
    }


def searching(**changed):
    """Return the settings of a search that is small, and large enough to have something to compare."""
    return smoke(
        **{"samples": 24, **changed},
        search__initial=8,
        search__population=4,
        high__race=False,  # every rule that is solved with has an F_HF to draw
        evaluation__instances=6,
        approval="person",
    )


def comparing():
    """Return the settings of a comparison that a good rule passes the gate with, on a busy machine too."""
    changed = {"evaluation__most_instances": 40, "evaluation__time_limit_s": 60}
    return smoke(size="test", approval="person", **changed)


def promotion_of(up, name):
    """Wait until a promotion of a model asks a person, and return its run."""

    def asks():
        runs = [run for run in up.page.runs_of("promotion") if run["parameters"]["name"] == name]
        ended = [run["state"] for run in runs if run["state_type"] in ("COMPLETED", "FAILED", "CRASHED")]
        assert not ended, ended
        return next((run for run in runs if run["state_name"] == "Suspended"), None)

    found = until(asks, f"a promotion of {name} to ask a person")
    assert isinstance(found, dict)
    return found
