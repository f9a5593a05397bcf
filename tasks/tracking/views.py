"""Saved views of MLflow's lists of runs, and the prompt templates in its registry.

MLflow keeps a view as a tag of the experiment, opens it by the tag's name, and lists it by its own. Without one its
list shows neither metrics nor params until a reader picks them, and its charts are one bar a metric, of ten runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from bife_core.generators.prompting import prompt_templates, prompt_version
from tasks.stores import home_store
from tasks.tracking import store

_TAG: Final = "mlflow.sharedViewState."
_RULES: Final = (
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
"""Columns of a list of samples."""


class _List(NamedTuple):
    """The view of an experiment as a whole."""

    key: str
    name: str
    kind: str
    order: str
    ascending: bool
    columns: tuple[str, ...]


_LISTS: Final = {
    store.EVOLUTION: _List(
        "evolutions",
        "All evolutions, the newest first",
        "evolution",
        "attributes.start_time",
        False,
        (
            "tags.`benchmark`",
            "tags.`search`",
            "metrics.`final_f_hf`",
            "metrics.`final_f_lf`",
            "metrics.`samples`",
            "metrics.`cost_usd`",
            "tags.`ended_by`",
        ),
    ),
    store.EVALUATION: _List(
        "evaluations",
        "All evaluations, the fastest rule first",
        "evaluation",
        "metrics.`ratio`",
        True,
        (
            # MLflow sorts them by name within metrics, params and tags.
            "metrics.`missing`",
            "metrics.`p_value`",
            "metrics.`ratio`",
            "metrics.`ratio_high`",
            "metrics.`ratio_low`",
            "tags.`benchmark`",
            "tags.`metric`",
            "tags.`verdict`",
        ),
    ),
}
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


def save_view(parent: str, name: str, time_ms: int) -> None:
    """Save the view of an evolution's samples that `table_url` and `charts_url` open.

    Parameters
    ----------
    parent : str
        Run of the evolution.
    name : str
        What a list of runs calls it.
    time_ms : int
        Unix time it began at.

    Raises
    ------
    MlflowException
        If the store does not take it.
    """
    # Evolutions may be called alike: the beginning of the run's id tells them apart.
    _save(store.EVOLUTION, parent, f"{name} ({parent[:8]}): rules, best first", view_state(parent), time_ms)


def save_lists() -> None:
    """Save the views that `experiment_url` opens.

    Raises
    ------
    TrackingError
        If the store cannot be reached or does not take them.
    """
    for experiment, view in _LISTS.items():
        state = _state(f"tags.kind = '{view.kind}'", view.order, view.ascending, view.columns)
        try:
            _save(experiment, view.key, view.name, state, 0)
        except store.TRACKING_TROUBLE as error:
            raise store.TrackingError(
                f"MLflow's store at {store.tracking_uri()} takes no views ({store.first_line(error)})."
            ) from error


def _save(experiment: str, key: str, name: str, state: Mapping[str, Any], time_ms: int) -> None:
    # The envelope in which MLflow keeps views since 3.17; one without it opens by its link and is not listed.
    kept = {"name": name, "createdAt": time_ms, "state": json.dumps(state, separators=(",", ":"))}
    text, client, number = json.dumps(kept), store.client(), store.experiment_id(experiment)
    if client.get_experiment(number).tags.get(_TAG + key) != text:
        client.set_experiment_tag(number, _TAG + key, text)


def _state(chosen: str, order: str, ascending: bool, columns: Sequence[str]) -> dict[str, Any]:
    return {
        "searchFilter": chosen,
        "orderByKey": order,
        "orderByAsc": ascending,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "selectedColumns": list(columns),
        # MLflow's charts show the first ten runs by default.
        "runsHiddenMode": "SHOWALL",
    }


def view_state(parent: str) -> dict[str, Any]:
    """Return the state of MLflow's page: filter, order, columns, and the charts that tell why a rule is good."""
    chosen = f"tags.kind = 'sample' and tags.`mlflow.parentRunId` = '{parent}'"
    return {
        **_state(chosen, "metrics.`f_hf`", False, _RULES),
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
    return _runs(store.EVOLUTION, viewStateShareKey=parent) if parent else ""


def charts_url(parent: str) -> str:
    """Return the address of the same samples as charts, parallel coordinates first."""
    return _runs(store.EVOLUTION, viewStateShareKey=parent, compareRunsMode="CHART") if parent else ""


def experiment_url(experiment: str) -> str:
    """Return the list of an experiment's runs, with the columns that matter."""
    view = _LISTS.get(experiment)
    return _runs(experiment, **({"viewStateShareKey": view.key} if view is not None else {}))


def _runs(experiment: str, **asked: str) -> str:
    return store.page(f"experiments/{store.experiment_id(experiment)}/runs", **asked)


def link_prompts(run_id: str, operators: Collection[str], used: str | None = None) -> None:
    """Register the prompt templates of some operators where they are new, and note their versions on a run.

    Parameters
    ----------
    operators : collection of str
        Those without a template, such as reflections, are passed over.
    used : str or None
        `prompt_version` of the templates that the run used; nothing is done if the present ones are others.
    """
    if used not in (None, prompt_version()):
        return
    client = store.client()
    with home_store().claim("prompts"):
        for operator, template in prompt_templates().items():
            if operator not in operators:
                continue
            # MLflow's pages know fields written as {{benchmark}}.
            name, text = f"bife_prompt_{operator}", re.sub(r"\$([a-z_]+)", r"{{\1}}", template)
            version = client.load_prompt(f"prompts:/{name}@latest", allow_missing=True)
            if version is None or version.template != text:
                about = "Prompt template of BiFE; `bife_core/generators/prompts/` holds its parts."
                tags = {"prompt_version": prompt_version()}
                version = client.register_prompt(name, text, commit_message=about, tags=tags)
            client.link_prompt_version_to_run(run_id, version)
