"""MLflow's database, experiments and runs: found before they are made, so that nothing is doubled."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import mlflow
import pandas as pd
from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param, Run, RunTag
from mlflow.exceptions import MlflowException
from mlflow.utils.mlflow_tags import MLFLOW_LOGGED_ARTIFACTS
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from bife_core.errors import BifeError
from tasks.home import project_home
from tasks.stores import home_store

COLLECTION = "bife-collection"
EVOLUTION = "bife-evolution"
EVALUATION = "bife-evaluation"

DESCRIPTIONS = {
    COLLECTION: "Strong-branching decisions, recorded once per benchmark and reused by every evolution.",
    EVOLUTION: "One parent run per evolution, one child run per sample. "
    "Filter by tags.kind = 'sample' and sort by f_hf: the best rule is row one.",
    EVALUATION: "Rules against a baseline on instances they never saw.",
}

TRACKING_TROUBLE = (MlflowException, SQLAlchemyError, OSError)
"""What a tracking server or its disk may raise."""

_PARENT = "mlflow.parentRunId"
_NOTE = "mlflow.note.content"
_LONGEST_PARAM = 6000
_BATCH_PARAMS = 100


class TrackingError(BifeError):
    """MLflow's store or registry cannot be reached or does not hold what was asked for."""


def tracking_uri() -> str:
    """Return the address runs are logged to."""
    return os.environ["MLFLOW_TRACKING_URI"]


@cache
def client() -> MlflowClient:
    """Return this process's client, with database and experiments in place.

    Raises
    ------
    TrackingError
        If the store cannot be reached.
    """
    home = project_home()
    home.mlflow.mkdir(parents=True, exist_ok=True)
    try:
        # Processes that meet a fresh SQLite file together break its migration, so one goes first.
        with home_store().claim("mlflow"):
            _make_database(tracking_uri())
            made = MlflowClient()
            for name, description in DESCRIPTIONS.items():
                if made.get_experiment_by_name(name) is None:
                    with made_by_another():
                        made.create_experiment(
                            name, artifact_location=_artifact_root(), tags={_NOTE: description}
                        )
    except TRACKING_TROUBLE as error:
        raise TrackingError(
            f"MLflow's store at {tracking_uri()} cannot be used ({first_line(error)}); "
            "check MLFLOW_TRACKING_URI, and whether its server runs."
        ) from error
    return made


@contextmanager
def made_by_another() -> Iterator[None]:
    """Go on if somebody else has just made what is made inside: machines that share a server share no lock."""
    try:
        yield
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise


def require_store() -> None:
    """Make sure before anything is spent that the store can be used.

    Raises
    ------
    TrackingError
        If it cannot be reached.
    """
    client()


def not_made_yet() -> bool:
    """Whether MLflow's registry is a database of this machine that nothing was written to so far."""
    path = _database(mlflow.get_registry_uri())
    return path is not None and not path.exists()


def _database(uri: str) -> Path | None:
    address = make_url(uri) if uri.startswith("sqlite:") else None
    return Path(address.database) if address is not None and address.database else None


def _make_database(uri: str) -> None:
    """Make MLflow's SQLite database whole or not at all: one whose migration is killed half-way opens never again."""
    path = _database(uri)
    if path is None or path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    for left_behind in path.parent.glob(f".{path.name}.*"):
        left_behind.unlink()
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    MlflowClient(tracking_uri=f"sqlite:///{partial}").search_experiments(max_results=1)
    partial.replace(path)


def _artifact_root() -> str | None:
    """Artifacts lie in the home beside a database of ours; a server knows its own place."""
    if tracking_uri().startswith("sqlite:"):
        return (project_home().mlflow / "artifacts").as_uri()
    return None


@cache
def experiment_id(name: str) -> str:
    """Return the id of one of our experiments, which this process asks for once.

    Raises
    ------
    TrackingError
        If the store cannot be reached, or somebody has deleted the experiment.
    """
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


def find_runs(experiment: str, filter_string: str) -> Iterator[Run]:
    """Yield the live runs of an experiment that pass a filter, oldest first."""
    token: str | None = None
    ids = [experiment_id(experiment)]
    while True:
        page = client().search_runs(
            ids, filter_string, max_results=1000, order_by=["attributes.start_time ASC"], page_token=token
        )
        yield from page
        token = page.token
        if not token:
            return


def open_run(
    experiment: str, key: str, name: str, tags: Mapping[str, str], *, start_ms: int | None = None
) -> tuple[str, bool]:
    """Find the run tagged ``bife.key = key``, or make it.

    Parameters
    ----------
    start_ms : int, optional
        Unix time a run that is made began at; now by default.

    Returns
    -------
    run_id : str
        Equal for every call with the same key.
    complete : bool
        Whether the run had already ended well.
    """
    with home_store().claim(f"run-{key}"):
        found = next(find_runs(experiment, f"tags.`bife.key` = '{key}'"), None)
        if found is not None:
            return str(found.info.run_id), found.info.status == "FINISHED"
        made = client().create_run(
            experiment_id(experiment), start_time=start_ms, run_name=name, tags={"bife.key": key, **tags}
        )
        return str(made.info.run_id), False


def children(experiment: str, parent: str) -> list[Run]:
    """Return all child runs of a run."""
    return list(find_runs(experiment, f"tags.`{_PARENT}` = '{parent}'"))


def create_child(
    experiment: str, parent: str, name: str, tags: Mapping[str, str], *, start_ms: int | None = None
) -> Run:
    """Make a child run, left running; it began now unless `start_ms` says otherwise."""
    number = experiment_id(experiment)
    return client().create_run(number, start_time=start_ms, run_name=name, tags={_PARENT: parent, **tags})


def end_run(run_id: str, status: str, time_ms: int | None = None) -> None:
    """End a run, now or at another Unix time."""
    client().set_terminated(run_id, status, time_ms)


def log(
    run_id: str,
    *,
    metrics: Mapping[str, float | None] | None = None,
    params: Mapping[str, Any] | None = None,
    tags: Mapping[str, str] | None = None,
    step: int = 0,
    time_ms: int = 0,
) -> None:
    """Log in as few requests as the store allows; absent metrics are left out.

    Parameters
    ----------
    time_ms : int
        Unix time of the metrics. The same values logged again with the same time stay one point.
    """
    points = [Metric(k, float(v), time_ms, step) for k, v in (metrics or {}).items() if v is not None]
    pairs = [Param(k, str(v)[:_LONGEST_PARAM]) for k, v in (params or {}).items()]
    labels = [RunTag(k, v) for k, v in (tags or {}).items()]
    client().log_batch(run_id, metrics=points, params=pairs[:_BATCH_PARAMS], tags=labels)
    for start in range(_BATCH_PARAMS, len(pairs), _BATCH_PARAMS):
        client().log_batch(run_id, params=pairs[start : start + _BATCH_PARAMS])


def log_table(run_id: str, rows: Iterable[Mapping[str, Any]], artifact: str) -> None:
    """Write a table anew, in the order given; MLflow's own `log_table` would append to the former one.

    MLflow has no public way to replace a table: it knows one by a tag of the run, which its page and `load_table` read.
    The test that loads a replaced table fails first when that changes.
    """
    frame = pd.DataFrame([dict(row) for row in rows])
    client().log_text(run_id, str(frame.to_json(orient="split", index=False)), artifact)
    entry = {"path": artifact, "type": "table"}
    known = json.loads(client().get_run(run_id).data.tags.get(MLFLOW_LOGGED_ARTIFACTS, "[]"))
    if entry not in known:
        client().set_tag(run_id, MLFLOW_LOGGED_ARTIFACTS, json.dumps([*known, entry]))


def log_texts(run_id: str, texts: Mapping[str, str]) -> None:
    """Store texts as files at the top of a run's artifacts, in one request where MLflow's `log_text` makes one each."""
    with tempfile.TemporaryDirectory() as directory:
        for name, text in texts.items():
            # A model may have answered with half a surrogate pair, which UTF-8 cannot hold.
            (Path(directory) / name).write_text(text, encoding="utf-8", errors="replace")
        client().log_artifacts(run_id, directory)


def log_files(run_id: str, paths: Iterable[str]) -> None:
    """Store files that are still there at the top of a run's artifacts."""
    for path in map(Path, paths):
        if path.is_file():
            client().log_artifact(run_id, str(path))


def tags(run_id: str) -> dict[str, str]:
    """Return the tags of a run."""
    return dict(client().get_run(run_id).data.tags)


def has_metrics(run_id: str) -> bool:
    """Whether anything was measured in a run."""
    return bool(client().get_run(run_id).data.metrics)


def forget_tags(run_id: str, *names: str) -> None:
    """Remove tags of a run that it has."""
    for tag in tags(run_id).keys() & names:
        client().delete_tag(run_id, tag)


def log_dataset(
    run_id: str, *, name: str, digest: str, source: str, profile: Mapping[str, Any], context: str
) -> None:
    """Record which data a run read, by digest; logging the same data again changes nothing."""
    dataset = Dataset(
        name=name,
        digest=digest,
        source_type="local",
        source=json.dumps({"uri": source}),
        profile=json.dumps(profile),
    )
    client().log_inputs(run_id, [DatasetInput(dataset, [InputTag("mlflow.data.context", context)])])


def run_url(run_id: str, experiment: str) -> str:
    """Return the page of a run: a whole address for a server, else the part after the UI's own address.

    A run that MLflow has not taken yet has none.
    """
    if not run_id:
        return ""
    return page(f"experiments/{experiment_id(experiment)}/runs/{run_id}")


def version_url(name: str, version: int) -> str:
    """Return the page of a registered version."""
    return page(f"models/{name}/versions/{version}")


def page(path: str, address: str | None = None, **asked: str) -> str:
    """Return the address of one of MLflow's pages, in the mode that shows runs and the registry.

    By itself MLflow shows its pages for language models, which have neither.

    Parameters
    ----------
    address : str, optional
        Of the server; by default `ui_address`.
    asked : str
        What else the page is told.
    """
    base = ui_address() if address is None else f"{address.rstrip('/')}/"
    return f"{base}#/{path}?{urlencode({'workflowType': 'machine_learning', **asked})}"


def ui_address() -> str:
    """Return where MLflow's pages are: a server's address with a slash, or nothing for a database of ours."""
    # Runs of `bife up` write to the database directly, which is faster, while a server shows it.
    uri = os.environ.get("BIFE_MLFLOW_UI") or tracking_uri()
    return f"{uri.rstrip('/')}/" if uri.startswith(("http://", "https://")) else ""


def first_line(error: BaseException) -> str:
    """Return an error's first line, for a sentence of our own."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
