"""MLflow's database, experiments and runs: each is looked up before it is made, so that nothing is there twice."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import mlflow
import pandas as pd
from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param, Run, RunTag
from mlflow.exceptions import MlflowException
from mlflow.utils.mlflow_tags import MLFLOW_DATASET_CONTEXT, MLFLOW_LOGGED_ARTIFACTS, MLFLOW_PARENT_RUN_ID
from sqlalchemy.exc import SQLAlchemyError

from bife_core.base.errors import RegistryError
from bife_core.base.files import make_private
from bife_core.base.places import sqlite_file, sqlite_url
from bife_core.base.wording import fits, storable
from bife_core.run.stages.records import EXPERIMENTS, SEARCH
from bife_core.store.home import project_home
from bife_tasks.home import mlflow_folder, pages_address, served_address
from bife_tasks.stores import home_store
from bife_tasks.tracking import views

TRACKING_TROUBLE: Final = (MlflowException, SQLAlchemyError, OSError)
"""What a tracking server or its disk may raise."""

_DATASETS: Final = {
    "decisions": ("decisions", "training"),
    "decisions_digest": ("decisions", "recording"),
    "design": ("design instances", "training"),
    "design_instances": ("design instances", "training"),
    "training": ("training instances", "training"),
    "test_instances": ("test instances", "evaluation"),
}
"""Params that are the hash of data, what MLflow calls these, and what a run uses them for."""
_DEFAULT: Final = "Default"  # the experiment, 0, that MLflow makes with its database
_BATCH: Final = 100  # params or metric points that one request takes
_NAME, _PARAM, _TAG = 250, 6000, 8000
"""Characters that MLflow's database takes of the name of a run, a param and a tag: PostgreSQL refuses more."""


class TrackingError(RegistryError):
    """MLflow's store or registry cannot be reached or does not hold what was asked for."""


def refused(error: BaseException | None) -> bool:
    """Whether MLflow answered, and took not what it was asked: it will not later either."""
    return isinstance(error, MlflowException) and error.get_http_status_code() < 500  # type: ignore[no-untyped-call]


def tracking_uri() -> str:
    """Return the address runs are logged to."""
    return os.environ["MLFLOW_TRACKING_URI"]


@cache
def client() -> MlflowClient:
    """Return this process's client, with database and experiments in place, or raise `TrackingError`."""
    try:
        # Processes that meet a fresh SQLite file together break its migration, so one goes first.
        with home_store().claim("the preparation of MLflow's database"):
            _make_database(tracking_uri())
            made = MlflowClient()
            # A server knows its own place for artifacts.
            local = not served_address(tracking_uri())
            place = (mlflow_folder(project_home()) / "artifacts").as_uri() if local else None
            for name in EXPERIMENTS:
                try:
                    if made.get_experiment_by_name(name) is None:
                        made.create_experiment(name, artifact_location=place)
                except MlflowException as error:
                    # Another home with the same server, which our claim does not reach, was faster.
                    if error.error_code != "RESOURCE_ALREADY_EXISTS":
                        raise
            experiments = made.search_experiments()
            # Nobody else uses this MLflow.
            if {each.name for each in experiments} == {_DEFAULT, *EXPERIMENTS}:
                made.delete_experiment("0")
            for change in views.first_views(experiments):
                made.set_experiment_tag(*change)
    except TRACKING_TROUBLE as error:
        raise TrackingError(
            f"MLflow's store at {tracking_uri()} cannot be used ({first_line(error)}); "
            "check MLFLOW_TRACKING_URI, and whether its server runs."
        ) from error
    return made


def _make_database(uri: str) -> None:
    """Make MLflow's SQLite database whole or not at all: one whose migration was killed can never be opened."""
    path = sqlite_file(uri)
    if path is None or path.exists():
        return
    make_private(path.parent)
    for left_behind in path.parent.glob(f".{path.name}.*"):
        left_behind.unlink()
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    MlflowClient(tracking_uri=sqlite_url(partial)).search_experiments(max_results=1)
    partial.replace(path)


@cache
def experiment_id(name: str) -> str:
    """Return the id of one of our experiments, or raise `TrackingError`."""
    experiment = client().get_experiment_by_name(name)
    if experiment is None or experiment.lifecycle_stage != "active":
        raise TrackingError(
            f"MLflow's experiment {name!r} was deleted; restore it with `mlflow experiments restore`."
        )
    return str(experiment.experiment_id)


def find_runs(experiment: str, wanted: str) -> list[Run]:
    """Return the live runs of an experiment that pass a filter, oldest first."""
    oldest = ["attributes.start_time ASC"]
    return mlflow.search_runs([experiment_id(experiment)], wanted, order_by=oldest, output_format="list")


def open_run(
    experiment: str, key: str, name: str, tags: Mapping[str, str], *, start_ms: int | None = None
) -> Run:
    """Find the run tagged ``bife.key = key``, or make it; `start_ms` is the Unix time that a new one began at."""
    with home_store().claim(f"run-{key}"):
        runs = find_runs(experiment, f"tags.`bife.key` = '{key}'")
        return runs[0] if runs else create_run(experiment, name, {"bife.key": key, **tags}, start_ms)


def run_facts(run_id: str) -> dict[str, str]:
    """Return params and tags of a run; a `TrackingError` says that MLflow does not give it."""
    try:
        data = client().get_run(run_id).data
    except MlflowException as error:
        reason = first_line(error)
        raise TrackingError(f"MLflow at {tracking_uri()} gives no run {run_id} ({reason}).") from error
    return {**data.params, **data.tags, "parent_run": data.tags.get(MLFLOW_PARENT_RUN_ID, "")}


def children(parent: str, experiment: str = SEARCH) -> list[Run]:
    """Return all child runs of a run."""
    return find_runs(experiment, f"tags.`{MLFLOW_PARENT_RUN_ID}` = '{parent}'")


def create_run(experiment: str, name: str, tags: Mapping[str, str], start_ms: int | None = None) -> Run:
    """Make a run, left running; it began now unless `start_ms` says otherwise."""
    fitting = {key: fits(value, _TAG) for key, value in tags.items() if value}
    return client().create_run(experiment_id(experiment), start_ms, fitting, fits(name, _NAME))


def points(values: Mapping[str, Any], time_ms: int, step: int = 0) -> list[Metric]:
    """Return metric points of a Unix time, without those that are None."""
    return [Metric(name, float(v), time_ms, step) for name, v in values.items() if v is not None]


def log(
    run_id: str,
    *,
    metrics: Sequence[Metric] = (),
    params: Mapping[str, Any] | None = None,
    tags: Mapping[str, str] | None = None,
) -> None:
    """Log what is not empty in as few requests as MLflow allows; it ignores a point that it has, and an equal param."""
    pairs = [
        Param(re.sub(r"[^\w./ :-]", "_", name)[:_NAME], fits(value, _PARAM))
        for name, value in (params or {}).items()
    ]
    labels = [RunTag(name, fits(value, _TAG)) for name, value in (tags or {}).items() if value]
    for start in range(0, max(len(pairs), len(metrics), 1), _BATCH):
        part = slice(start, start + _BATCH)
        client().log_batch(run_id, metrics[part], pairs[part], labels if start == 0 else ())


def log_datasets(run_id: str, benchmark: str, params: Mapping[str, Any]) -> None:
    """Name the data of a run, whose hashes are among its params, as its datasets: by these, MLflow filters runs."""
    source = json.dumps({"uri": str(params.get("instances.folder") or project_home().root)})
    inputs = []
    for name, (what, use) in _DATASETS.items():
        if digest := params.get(name):
            data = Dataset(f"{benchmark} {what}", digest, "local", source)
            inputs.append(DatasetInput(data, [InputTag(MLFLOW_DATASET_CONTEXT, use)]))
    if inputs:
        client().log_inputs(run_id, inputs)


def log_table(run_id: str, rows: Iterable[Mapping[str, Any]], artifact: str) -> None:
    """Write a table anew: MLflow's own `log_table` appends to it, and finds it by a tag, as its page does."""
    texts = [{k: storable(v) if isinstance(v, str) else v for k, v in row.items()} for row in rows]
    frame = pd.DataFrame(texts)
    client().log_text(run_id, str(frame.to_json(orient="split", index=False)), artifact)
    entry = {"path": artifact, "type": "table"}
    listed = json.loads(client().get_run(run_id).data.tags.get(MLFLOW_LOGGED_ARTIFACTS, "[]"))
    if entry not in listed:
        client().set_tag(run_id, MLFLOW_LOGGED_ARTIFACTS, json.dumps([*listed, entry]))


def log_texts(run_id: str, texts: Mapping[str, str | None]) -> None:
    """Store those of the texts that are not empty as files at the top of a run's artifacts."""
    for name, text in texts.items():
        if text:
            client().log_text(run_id, storable(text), name)


def log_files(run_id: str, paths: Iterable[Path]) -> None:
    """Store files that are still there at the top of a run's artifacts."""
    for path in paths:
        if path.is_file():
            client().log_artifact(run_id, str(path))


def run_url(run_id: str, experiment: str) -> str:
    """Return the page of a run, see `page`; none for a run that MLflow has not taken yet."""
    return page(f"experiments/{experiment_id(experiment)}/runs/{run_id}") if run_id else ""


def save_view(parent: str, name: str, time_ms: int, *, ended: bool) -> None:
    """Save the view that `ranking_url` opens; see `samples_view`."""
    tag, text = views.samples_view(parent, name, time_ms, ended=ended)
    client().set_experiment_tag(experiment_id(SEARCH), tag, text)


def ranking_url(parent: str) -> str:
    """Return the address of a search's samples, best first; none while MLflow has no such run."""
    return page(f"experiments/{experiment_id(SEARCH)}/runs", viewStateShareKey=parent) if parent else ""


def searches_url(address: str) -> str:
    """Return the page of all searches, whose description leads to the rest; of a user's server that of experiments."""
    # Such a server may be away, and would be waited for.
    served = served_address(tracking_uri())
    return f"{address.rstrip('/')}/{views.place('experiments') if served else views.view_place(experiment_id(SEARCH))}"


def page(path: str, address: str | None = None, **query: str) -> str:
    """Return the address of one of MLflow's pages, or what follows that of its pages where MLflow is a database."""
    base = served_address(address) if address else pages_address()
    return base + views.place(path, **query)


def first_line(error: BaseException) -> str:
    """Return an error's first line, for a sentence of our own; of a server that is away only what the system says."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    if "ConnectionPool(" not in line:
        return line
    reason = re.search(r"\[Errno -?\d+\] ([\w ]+)", line)
    return reason[1].lower() if reason else "no answer"
