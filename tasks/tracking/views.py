"""The saved view of an evolution's samples in MLflow, which ranks them.

MLflow keeps a view as a tag of the experiment and opens it by the tag's name. Without one its list shows neither
metrics nor params until a reader picks them.
"""

from __future__ import annotations

import json
from typing import Any, Final

from tasks.tracking import store

_COLUMNS: Final = (
    "metrics.`f_hf` metrics.`f_lf` params.`operator` params.`generation` tags.`parents` tags.`outcome` "
    "metrics.`ast_nodes` metrics.`solve_cpu_s` params.`llm_model`"
)


def save_view(parent: str, name: str, time_ms: int) -> None:
    """Save the view that `ranking_url` opens, of the run `parent`, named `name`, which began at a Unix time."""
    # Evolutions may have equal names: the beginning of the run's id distinguishes them.
    title, state = f"{name} ({parent[:8]}): rules, best first", json.dumps(view_state(parent))
    # The envelope in which MLflow keeps views since 3.17; one without it opens by its link and is not listed.
    text = json.dumps({"name": title, "createdAt": time_ms, "state": state})
    number = store.experiment_id(store.EVOLUTION)
    store.client().set_experiment_tag(number, f"mlflow.sharedViewState.{parent}", text)


def view_state(parent: str) -> dict[str, Any]:
    """Return the state of MLflow's page: filter, order and columns."""
    return {
        "searchFilter": f"tags.kind = 'sample' and tags.`mlflow.parentRunId` = '{parent}'",
        "orderByKey": "metrics.`f_hf`",
        "orderByAsc": False,
        "selectedColumns": _COLUMNS.split(),
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        # MLflow's charts show the first ten runs by default.
        "runsHiddenMode": "SHOWALL",
    }


def ranking_url(parent: str) -> str:
    """Return the address of an evolution's samples, best first; none while MLflow has no such run."""
    return store.experiment_url(store.EVOLUTION, viewStateShareKey=parent) if parent else ""
