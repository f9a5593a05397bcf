"""MLflow's database, experiments and runs: each is looked up before it is made, so that nothing is there twice."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import mlflow
import pandas as pd
from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param, Run, RunTag
from mlflow.exceptions import MlflowException
from mlflow.utils.mlflow_tags import MLFLOW_LOGGED_ARTIFACTS, MLFLOW_PARENT_RUN_ID
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from bife_core.errors import BifeError
from tasks.home import project_home
from tasks.stores import home_store

COLLECTION: Final = "bife-collection"
EVOLUTION: Final = "bife-evolution"
EVALUATION: Final = "bife-evaluation"
DESCRIPTIONS: Final = {
    COLLECTION: "Strong-branching decisions, recorded once per benchmark and reused by every evolution.",
    EVOLUTION: "One parent run per evolution, one child run per sample. "
    "Filter by tags.kind = 'sample' and sort by f_hf: the best rule is row one.",
    EVALUATION: "Rules against a baseline on instances they never saw.",
}
TRACKING_TROUBLE: Final = (MlflowException, SQLAlchemyError, OSError)
"""What a tracking server or its disk may raise."""

_LONGEST_PARAM: Final = 6000
_BATCH_PARAMS: Final = 100


class TrackingError(BifeError):
    """MLflow's store or registry cannot be reached or does not hold what was asked for."""


def tracking_uri() -> str:
    """Return the address runs are logged to."""
    return os.environ["MLFLOW_TRACKING_URI"]


@cache
def client() -> MlflowClient:
    """Return this process's client, with database and experiments in place, or raise `TrackingError`."""
    project_home().mlflow.mkdir(parents=True, exist_ok=True)
    try:
        # Processes that meet a fresh SQLite file together break its migration, so one goes first.
        with home_store().claim("mlflow"):
            _make_database(tracking_uri())
            made = MlflowClient()
            local = tracking_uri().startswith("sqlite:")  # a server knows its own place for artifacts
            place = (project_home().mlflow / "artifacts").as_uri() if local else None
            for name, description in DESCRIPTIONS.items():
                if made.get_experiment_by_name(name) is None:
                    with made_by_another():
                        tags = {"mlflow.note.content": description}
                        made.create_experiment(name, artifact_location=place, tags=tags)
    except TRACKING_TROUBLE as error:
        raise TrackingError(
            f"MLflow's store at {tracking_uri()} cannot be used ({first_line(error)}); "
            "check MLFLOW_TRACKING_URI, and whether its server runs."
        ) from error
    return made


@contextmanager
def made_by_another() -> Iterator[None]:
    """Go on if what is made inside exists already: machines that share a server share no lock."""
    try:
        yield
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise


def require_store() -> None:
    """Make sure before anything is spent that the store can be used, or raise `TrackingError`."""
    client()


def not_made_yet() -> bool:
    """Whether MLflow's registry is a database of this machine that nothing was written to so far."""
    path = _database(mlflow.get_registry_uri())
    return path is not None and not path.exists()


def _database(uri: str) -> Path | None:
    address = make_url(uri) if uri.startswith("sqlite:") else None
    return Path(address.database) if address is not None and address.database else None


def _make_database(uri: str) -> None:
    """Make MLflow's SQLite database whole or not at all: one whose migration was killed can never be opened."""
    path = _database(uri)
    if path is None or path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    for left_behind in path.parent.glob(f".{path.name}.*"):
        left_behind.unlink()
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    MlflowClient(tracking_uri=f"sqlite:///{partial}").search_experiments(max_results=1)
    partial.replace(path)


@cache
def experiment_id(name: str) -> str:
    """Return the id of one of our experiments, or raise `TrackingError`."""
    try:
        experiment = client().get_experiment_by_name(name)
    except TRACKING_TROUBLE as error:
        raise TrackingError(
            f"MLflow's store at {tracking_uri()} does not answer ({first_line(error)})."
        ) from error
    if experiment is None or experiment.lifecycle_stage != "active":
        raise TrackingError(
            f"MLflow's experiment {name!r} was deleted; restore it with `mlflow experiments restore`."
        )
    return str(experiment.experiment_id)


def find_runs(experiment: str, filter_string: str) -> list[Run]:
    """Return the live runs of an experiment that pass a filter, oldest first."""
    oldest = ["attributes.start_time ASC"]
    return mlflow.search_runs(
        [experiment_id(experiment)], filter_string, order_by=oldest, output_format="list"
    )


def open_run(
    experiment: str, key: str, name: str, tags: Mapping[str, str], *, start_ms: int | None = None
) -> Run:
    """Find the run tagged ``bife.key = key``, or make it; `start_ms` is the Unix time that a new one began at."""
    with home_store().claim(f"run-{key}"):
        found = find_runs(experiment, f"tags.`bife.key` = '{key}'")
        if found:
            return found[0]
        made = {"bife.key": key, **tags}
        return client().create_run(experiment_id(experiment), start_time=start_ms, run_name=name, tags=made)


def children(experiment: str, parent: str) -> list[Run]:
    """Return all child runs of a run."""
    return find_runs(experiment, f"tags.`{MLFLOW_PARENT_RUN_ID}` = '{parent}'")


def create_child(
    experiment: str, parent: str, name: str, tags: Mapping[str, str], *, start_ms: int | None = None
) -> Run:
    """Make a child run, left running; it began now unless `start_ms` says otherwise."""
    tags = {MLFLOW_PARENT_RUN_ID: parent, **tags}
    return client().create_run(experiment_id(experiment), start_time=start_ms, run_name=name, tags=tags)


def points_of(run: Run) -> set[tuple[str, int]]:
    """Return the metric points that a run has, as (metric, step)."""
    history = client().get_metric_history
    return {(name, point.step) for name in run.data.metrics for point in history(run.info.run_id, name)}


def points(values: Mapping[str, float | None], time_ms: int, step: int = 0) -> list[Metric]:
    """Return metric points of a Unix time, without those that are None."""
    return [Metric(name, float(v), time_ms, step) for name, v in values.items() if v is not None]


def log(
    run_id: str,
    *,
    metrics: Iterable[Metric] = (),
    params: Mapping[str, Any] | None = None,
    tags: Mapping[str, str] | None = None,
    known: set[tuple[str, int]] | None = None,
) -> None:
    """Log in as few requests as the store allows.

    Metric points that are in `known`, as (metric, step), are not logged again; those that are logged are added to it.
    """
    had = set() if known is None else known
    new = {(point.key, point.step): point for point in metrics if (point.key, point.step) not in had}
    pairs = [Param(name, str(value)[:_LONGEST_PARAM]) for name, value in (params or {}).items()]
    labels = [RunTag(name, value) for name, value in (tags or {}).items()]
    client().log_batch(run_id, metrics=list(new.values()), params=pairs[:_BATCH_PARAMS], tags=labels)
    for start in range(_BATCH_PARAMS, len(pairs), _BATCH_PARAMS):
        client().log_batch(run_id, params=pairs[start : start + _BATCH_PARAMS])
    had |= new.keys()


def log_table(run_id: str, rows: Iterable[Mapping[str, Any]], artifact: str) -> None:
    """Write a table anew, in the order given; MLflow's own `log_table` would append to the former one.

    MLflow has no public way to replace a table: it finds one by a tag of the run, which its page and `load_table` read.
    """
    frame = pd.DataFrame([dict(row) for row in rows])
    client().log_text(run_id, str(frame.to_json(orient="split", index=False)), artifact)
    entry = {"path": artifact, "type": "table"}
    listed = json.loads(client().get_run(run_id).data.tags.get(MLFLOW_LOGGED_ARTIFACTS, "[]"))
    if entry not in listed:
        client().set_tag(run_id, MLFLOW_LOGGED_ARTIFACTS, json.dumps([*listed, entry]))


def log_texts(run_id: str, texts: Mapping[str, str | None]) -> None:
    """Store those of the texts that are not empty as files at the top of a run's artifacts, in one request."""
    written = {name: text for name, text in texts.items() if text}
    if not written:
        return
    with tempfile.TemporaryDirectory() as directory:
        for name, text in written.items():
            # A model may have answered with half a surrogate pair, which UTF-8 cannot hold.
            (Path(directory) / name).write_text(text, encoding="utf-8", errors="replace")
        client().log_artifacts(run_id, directory)


def log_files(run_id: str, paths: Iterable[Path]) -> None:
    """Store files that are still there at the top of a run's artifacts."""
    for path in paths:
        if path.is_file():
            client().log_artifact(run_id, str(path))


def log_datasets(run_id: str, datasets: Iterable[Mapping[str, Any]]) -> None:
    """Record which data a run read: name, digest, source, profile and context of each; again changes nothing."""
    inputs = [
        DatasetInput(
            Dataset(
                name=read["name"],
                digest=read["digest"],
                source_type="local",
                source=json.dumps({"uri": read["source"]}),
                profile=json.dumps(read["profile"]),
            ),
            [InputTag("mlflow.data.context", read["context"])],
        )
        for read in datasets
    ]
    if inputs:
        client().log_inputs(run_id, inputs)


def forget_tags(run_id: str, *names: str) -> None:
    """Remove tags of a run that it has."""
    for tag in client().get_run(run_id).data.tags.keys() & names:
        client().delete_tag(run_id, tag)


def run_url(run_id: str, experiment: str) -> str:
    """Return the page of a run, see `page`; none for a run that MLflow has not taken yet."""
    return page(f"experiments/{experiment_id(experiment)}/runs/{run_id}") if run_id else ""


def page(path: str, address: str | None = None, **asked: str) -> str:
    """Return the address of one of MLflow's pages, in the mode that shows runs and the registry.

    It begins with the address of a server, or is what follows the address of its pages where MLflow is a database.
    """
    # Runs of `bife up` write to the database directly, which is faster, while a server shows it.
    uri = address or os.environ.get("BIFE_MLFLOW_UI") or tracking_uri()
    base = f"{uri.rstrip('/')}/" if uri.startswith(("http://", "https://")) else ""
    return f"{base}#/{path}?{urlencode({'workflowType': 'machine_learning', **asked})}"


def first_line(error: BaseException) -> str:
    """Return an error's first line, for a sentence of our own."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def refuses(error: BaseException) -> bool:
    """Whether MLflow understood what was written and does not take it, now or later."""
    if isinstance(error, TrackingError) and error.__cause__ is not None:
        return refuses(error.__cause__)
    if not isinstance(error, MlflowException):
        return False
    status = int(error.get_http_status_code())  # type: ignore[no-untyped-call]
    return 400 <= status < 500 and status not in (401, 403, 408, 429)


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested settings to dotted names, as MLflow's params are.

    Examples
    --------
    >>> flat({"search": {"samples": 8}, "evaluation": {"seeds": [0, 1]}})
    {'search.samples': 8, 'evaluation.seeds': '0 1'}
    """
    params: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            params |= flat(value, f"{prefix}{name}.")
        else:
            params[prefix + name] = " ".join(map(str, value)) if isinstance(value, list | tuple) else value
    return params
