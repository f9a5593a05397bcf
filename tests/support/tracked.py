"""Searches in MLflow, as they are found there."""

from bife_core.run.stages.records import SEARCH
from bife_tasks.stores import mlflow_run
from bife_tasks.tracking import mlflow_runs
from bife_tasks.tracking.subscriber import track_search
from tests.support.journals import TRIED_TWICE

GOOD = {"f_lf": 0.5, "f_hf": -2.0, "attempts": TRIED_TWICE}
BROKEN = {"failure": "Line 2: names must be defined."}


class Projection:
    """A search in MLflow."""

    def __init__(self, study):
        self.study = study

    @property
    def run_id(self):
        return mlflow_run(self.study)

    def sync(self, *, now=False):
        return track_search(self.study, now=now)


def synced(folder):
    projection = Projection(folder.name)
    assert not projection.sync()
    return projection


def children(projection):
    return {run.data.tags["sample_id"]: run for run in mlflow_runs.children(projection.run_id)}


def traces(projection):
    return mlflow_runs.client().search_traces(
        locations=[mlflow_runs.experiment_id(SEARCH)], run_id=projection.run_id, max_results=500
    )


def points(projection, metric="samples_total"):
    history = mlflow_runs.client().get_metric_history(projection.run_id, metric)
    return [(point.step, point.value) for point in history]


def parent(projection):
    return mlflow_runs.client().get_run(projection.run_id)


def artifacts(run_id):
    return {entry.path for entry in mlflow_runs.client().list_artifacts(run_id)}
