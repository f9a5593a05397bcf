"""Saved views of MLflow's lists of runs, and the prompt templates in its registry.

MLflow keeps a view as a tag of the experiment, opens it by the tag's name, and lists it by its own. Without one its
list shows neither metrics nor params until a reader picks them, and its charts are one bar a metric, of ten runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from bife_core.generators.prompting import prompt_templates, prompt_version
from tasks.stores import home_store
from tasks.tracking import store

_TAG: Final = "mlflow.sharedViewState."
_RULES: Final = (
    "metrics.`f_hf` metrics.`f_lf` params.`operator` params.`generation` tags.`parents` tags.`outcome` "
    "metrics.`ast_nodes` metrics.`solve_cpu_s` params.`llm_model`"
)
"""Columns of a list of samples."""
_EVOLUTIONS: Final = (
    "tags.`benchmark` tags.`search` metrics.`final_f_hf` metrics.`final_f_lf` metrics.`samples` "
    "metrics.`cost_usd` tags.`ended_by`"
)
# MLflow sorts them by name within metrics, params and tags.
_EVALUATIONS: Final = (
    "metrics.`missing` metrics.`p_value` metrics.`ratio` metrics.`ratio_high` metrics.`ratio_low` "
    "tags.`benchmark` tags.`conclusion` tags.`metric`"
)
_NEWEST: Final = "All evolutions, the newest first"
_FASTEST: Final = "All evaluations, the fastest rule first"
_LISTS: Final = {
    store.EVOLUTION: ("evolutions", _NEWEST, "attributes.start_time", False, _EVOLUTIONS),
    store.EVALUATION: ("evaluations", _FASTEST, "metrics.`ratio`", True, _EVALUATIONS),
}
"""Key, name, order and columns of the view of an experiment as a whole."""
_WHY: Final = ["ast_nodes", "f_lf", "f_hf"]
"""Axes on the right of the parallel coordinates; the last one gives the lines their colour."""
_HOW: Final = ["generation", "operator"]
_SECTIONS: Final = {
    "bife-solved": "Which operator and generation led to a good F_HF",
    "bife-all": "Which operator and generation led to a good F_LF",
}
"""Sections of the page: MLflow gives all parallel coordinates the same title, and sorts and cuts off section names."""


def save_view(parent: str, name: str, time_ms: int) -> None:
    """Save the view of an evolution's samples that `table_url` and `charts_url` open.

    The run `parent` is the evolution's, which is named `name` and began at the Unix time `time_ms`.
    """
    # Evolutions may have equal names: the beginning of the run's id distinguishes them.
    _save(store.EVOLUTION, parent, f"{name} ({parent[:8]}): rules, best first", view_state(parent), time_ms)


def save_lists() -> None:
    """Save the views that `experiment_url` opens, or raise `TrackingError`."""
    try:
        for experiment, (key, name, order, ascending, columns) in _LISTS.items():
            chosen = f"tags.kind = '{key.removesuffix('s')}'"
            _save(experiment, key, name, _state(chosen, order, ascending, columns), 0)
    except store.TRACKING_TROUBLE as error:
        raise store.TrackingError(
            f"MLflow's store at {store.tracking_uri()} takes no views ({store.first_line(error)})."
        ) from error


def _save(experiment: str, key: str, name: str, state: Mapping[str, Any], time_ms: int) -> None:
    # The envelope in which MLflow keeps views since 3.17; one without it opens by its link and is not listed.
    text = json.dumps({"name": name, "createdAt": time_ms, "state": json.dumps(state, separators=(",", ":"))})
    client, number = store.client(), store.experiment_id(experiment)
    if client.get_experiment(number).tags.get(_TAG + key) != text:
        client.set_experiment_tag(number, _TAG + key, text)


def _state(chosen: str, order: str, ascending: bool, columns: str) -> dict[str, Any]:
    return {
        "searchFilter": chosen,
        "orderByKey": order,
        "orderByAsc": ascending,
        "selectedColumns": columns.split(),
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        # MLflow's charts show the first ten runs by default.
        "runsHiddenMode": "SHOWALL",
    }


def view_state(parent: str) -> dict[str, Any]:
    """Return the state of MLflow's page: filter, order, columns, and the charts that show why a rule is good."""
    solved, every = _SECTIONS
    chosen = f"tags.kind = 'sample' and tags.`mlflow.parentRunId` = '{parent}'"
    axes = {"xaxis": {"key": "f_lf", "type": "METRIC"}, "yaxis": {"key": "f_hf", "type": "METRIC"}}
    return _state(chosen, "metrics.`f_hf`", False, _RULES) | {
        "compareRunSections": [
            {"uuid": section, "name": name, "display": True, "columns": 1}
            for section, name in _SECTIONS.items()
        ],
        "compareRunCharts": [
            # Parallel coordinates leave out runs that lack one of the axes: rules without F_HF get their own.
            _chart(solved, "parallel", "PARALLEL", selectedParams=_HOW, selectedMetrics=_WHY),
            _chart(solved, "fidelities", "SCATTER", **axes),
            _chart(solved, "f_hf", "BAR", metricKey="f_hf"),
            _chart(every, "parallel", "PARALLEL", selectedParams=_HOW, selectedMetrics=_WHY[:-1]),
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
    key = {"viewStateShareKey": _LISTS[experiment][0]} if experiment in _LISTS else {}
    return _runs(experiment, **key)


def _runs(experiment: str, **asked: str) -> str:
    return store.page(f"experiments/{store.experiment_id(experiment)}/runs", **asked)


def link_prompts(run_id: str, operators: Collection[str], used: str | None = None) -> None:
    """Register the prompt templates of some operators where they are new, and note their versions on a run.

    Operators without a template, such as reflections, are passed over. Nothing is done if the run used templates of
    another `prompt_version`.
    """
    if used not in (None, prompt_version()):
        return
    client = store.client()
    with home_store().claim("prompts"):
        for operator, template in prompt_templates().items():
            if operator not in operators:
                continue
            # MLflow's pages show fields written as {{benchmark}}.
            name, text = f"bife_prompt_{operator}", re.sub(r"\$([a-z_]+)", r"{{\1}}", template)
            version = client.load_prompt(f"prompts:/{name}@latest", allow_missing=True)
            if version is None or version.template != text:
                about = "Prompt template of BiFE; `bife_core/generators/prompts/` holds its parts."
                tags = {"prompt_version": prompt_version()}
                version = client.register_prompt(name, text, commit_message=about, tags=tags)
            client.link_prompt_version_to_run(run_id, version)
