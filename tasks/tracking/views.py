"""Saved views of MLflow's list of runs: one link shows an evolution's rules, best first, with the columns that matter.

MLflow keeps a view that was shared as a tag of the experiment, and opens it by the tag's name. Without one its list
shows neither metrics nor params until a reader picks them, and its charts are one bar a metric.
"""

from __future__ import annotations

import json
from typing import Any, Final

from tasks.tracking import store

_TAG: Final = "mlflow.sharedViewState."
_COLUMNS: Final = (
    "metrics.`f_hf`",
    "metrics.`f_lf`",
    "params.`operator`",
    "params.`generation`",
    "tags.`parents`",
    "tags.`outcome`",
    "metrics.`ast_nodes`",
    "metrics.`solve_cpu_s`",
    "params.`llm_model`",
)
_WHY: Final = ("ast_nodes", "f_lf", "f_hf")
"""Axes on the right of the parallel coordinates; the last one gives the lines their colour."""
_HOW: Final = ("generation", "operator")
_SOLVED: Final = "bife-solved"
_ALL: Final = "bife-all"
_SECTIONS: Final = {
    _SOLVED: "Which operator and generation led to a good F_HF",
    _ALL: "Which operator and generation led to a good F_LF",
}
"""Parts of the page; MLflow gives all parallel coordinates the same title, so the parts tell them apart.

MLflow puts them in the order of their names and cuts long names off.
"""


def save_view(parent: str) -> None:
    """Save the view of an evolution's samples that `table_url` and `charts_url` open.

    Parameters
    ----------
    parent : str
        Run of the evolution.

    Raises
    ------
    MlflowException
        If the store does not take it.
    """
    state = json.dumps(view_state(parent), separators=(",", ":"))
    client, number = store.client(), store.experiment_id(store.EVOLUTION)
    if client.get_experiment(number).tags.get(_TAG + parent) != state:
        client.set_experiment_tag(number, _TAG + parent, state)


def view_state(parent: str) -> dict[str, Any]:
    """Return the state of MLflow's page: filter, order, columns, and the charts that tell why a rule is good."""
    return {
        "searchFilter": f"tags.kind = 'sample' and tags.`mlflow.parentRunId` = '{parent}'",
        "orderByKey": "metrics.`f_hf`",
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "selectedColumns": list(_COLUMNS),
        "compareRunSections": [
            {"uuid": section, "name": name, "display": True, "columns": 1}
            for section, name in _SECTIONS.items()
        ],
        "compareRunCharts": [
            # Parallel coordinates leave out runs that lack one of the axes: rules without F_HF get their own.
            _chart(_SOLVED, "parallel", "PARALLEL", selectedParams=list(_HOW), selectedMetrics=list(_WHY)),
            _chart(
                _SOLVED,
                "fidelities",
                "SCATTER",
                xaxis={"key": "f_lf", "type": "METRIC"},
                yaxis={"key": "f_hf", "type": "METRIC"},
            ),
            _chart(_SOLVED, "f_hf", "BAR", metricKey="f_hf"),
            _chart(_ALL, "parallel", "PARALLEL", selectedParams=list(_HOW), selectedMetrics=list(_WHY[:-1])),
        ],
    }


def _chart(section: str, name: str, kind: str, **more: Any) -> dict[str, Any]:
    return {
        "uuid": f"{section}-{name}",
        "type": kind,
        "metricSectionId": section,
        "deleted": False,
        "isGenerated": False,
        "showAllRuns": True,
        "runsCountToCompare": 100,
        **more,
    }


def table_url(parent: str) -> str:
    """Return the address of an evolution's samples as a table, best first; none while MLflow has no such run."""
    return f"{_runs()}?viewStateShareKey={parent}" if parent else ""


def charts_url(parent: str) -> str:
    """Return the address of the same samples as charts, parallel coordinates first."""
    return f"{_runs()}?viewStateShareKey={parent}&compareRunsMode=CHART" if parent else ""


def _runs() -> str:
    return f"{store.ui_address()}#/experiments/{store.experiment_id(store.EVOLUTION)}/runs"
