"""What MLflow shows first of an experiment: its runs, a description, and saved views with the columns that matter."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple
from urllib.parse import urlencode

from mlflow.entities import Experiment
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID, MLFLOW_RUN_NOTE

from bife_core.run.stages.records import COLLECTION, EVALUATION, SEARCH, TUNING

_VIEW: Final = "mlflow.sharedViewState."
"""Prefix of the tags of an experiment that hold its saved views."""


class View(NamedTuple):
    """Runs as a reader wants to see them: which, by what (the smallest first if `ascending`), with which columns."""

    name: str
    wanted: str
    columns: str
    order: str = "attributes.start_time"
    ascending: bool = False

    def saved(self, time_ms: int) -> str:
        """Return the text in which MLflow keeps the view, made at a Unix time in milliseconds."""
        state = {
            "searchFilter": self.wanted,
            "orderByKey": self.order,
            "orderByAsc": self.ascending,
            "selectedColumns": [
                f"{kind}.`{name}`" for kind, name in (column.split(".", 1) for column in self.columns.split())
            ],
            "startTime": "ALL",
            "lifecycleFilter": "Active",
            "datasetsFilter": [],
            "modelVersionFilter": "All Runs",
        }
        # The envelope in which MLflow keeps views since 3.17; one without it opens by its link and is not listed.
        return json.dumps({"name": self.name, "createdAt": time_ms, "state": json.dumps(state)})


_SAMPLE: Final = (
    "metrics.f_hf metrics.rpb_f_hf tags.f_hf_unit metrics.f_lf params.operator params.generation tags.parents "
    "tags.outcome metrics.ast_nodes metrics.solve_cpu_s params.llm_model"
)
_RATIO: Final = "metrics.ratio metrics.ratio_low metrics.ratio_high metrics.p_value tags.conclusion"
_FIRST: Final[Mapping[str, tuple[str, tuple[View, ...]]]] = {
    SEARCH: (
        "Searches for branching rules, and below each the rules that it made. F_HF is minus the mean cost of a solve, "
        "in the unit that f_hf_unit names, rpb_f_hf is that of RPB, F_LF the agreement with strong branching: more is "
        "better. tau is the F_LF that earns a rule its solves. ratio and conclusion are those of the last evaluation.",
        (
            View(
                "Searches, newest first",
                "tags.kind = 'search'",
                # No more than a page has room for.
                "metrics.best_f_hf metrics.rpb_f_hf tags.f_hf_unit metrics.best_f_lf metrics.tau metrics.ratio "
                "tags.conclusion metrics.cost_usd",
            ),
            View(
                "Rules of all searches, best F_HF first",
                "tags.kind = 'sample'",
                f"{_SAMPLE} tags.search_key",
                "metrics.`f_hf`",
            ),
        ),
    ),
    EVALUATION: (
        "Comparisons with a baseline on held-out instances. ratio is the cost over the baseline's, by the tag metric: "
        "below 1 is better. ratio_low to ratio_high is its confidence interval.",
        (View("Evaluations, newest first", "tags.kind = 'evaluation'", f"{_RATIO} params.rule tags.metric"),),
    ),
    TUNING: (
        "Tunings of SCIP's settings, and below each, once it has ended, its trials. ratio is the cost over that of the "
        "settings the tuning began with: below 1 is better.",
        (
            View(
                "Tunings, newest first",
                "tags.kind = 'tuning'",
                "metrics.ratio metrics.trials metrics.solver_s tags.settings tags.benchmark",
            ),
            View(
                "Trials of all tunings, best ratio first",
                "tags.kind = 'trial'",
                "metrics.ratio metrics.seen metrics.cpu_s tags.outcome tags.origin tags.reason",
                "metrics.`ratio`",
                ascending=True,
            ),
        ),
    ),
    COLLECTION: (
        "Decisions of strong branching that were recorded, on which F_LF is measured.",
        (
            View(
                "Collections, newest first",
                "tags.kind = 'collection'",
                "metrics.decisions metrics.instances metrics.failures metrics.candidates tags.benchmark",
            ),
        ),
    ),
}


def first_views(experiments: Iterable[Experiment]) -> Iterator[tuple[str, str, str]]:
    """Yield experiment, name and text of each tag that ours lack to open on their runs, described, with saved views.

    The description of each leads to the views of all: of pages that are not opened by such a link, MLflow shows those
    for language models, whatever the kind of the experiment, unless the reader has chosen others in this browser.
    """
    ours = {each.name: each for each in experiments if each.name in _FIRST}
    links = [
        f"[{view.name}]({view_place(ours[name].experiment_id, number)})"
        for name in _FIRST
        if name in ours
        for number, view in enumerate(_FIRST[name][1])
    ]
    for name, experiment in ours.items():
        about, views = _FIRST[name]
        # Runs are what matters, not traces. Of the description MLflow shows one line.
        tags = {"mlflow.experimentKind": "custom_model_development"}
        tags |= {MLFLOW_RUN_NOTE: f"{' | '.join(links)}\n\n{about}"}
        made_ms = experiment.creation_time or 0
        tags |= {f"{_VIEW}bife-{number}": view.saved(made_ms) for number, view in enumerate(views)}
        # What a person has changed stays.
        missing = tags.keys() - experiment.tags.keys()
        yield from ((experiment.experiment_id, tag, tags[tag]) for tag in sorted(missing))


def view_place(experiment_id: str, number: int = 0) -> str:
    """Return what follows the address of MLflow's server in that of a saved view of all runs of an experiment."""
    return place(f"experiments/{experiment_id}/runs", viewStateShareKey=f"bife-{number}")


def samples_view(parent: str, name: str, time_ms: int, *, ended: bool) -> tuple[str, str]:
    """Return the tag of the view of the samples of the search `parent`, named `name`, that began then."""
    wanted = f"tags.kind = 'sample' and tags.`{MLFLOW_PARENT_RUN_ID}` = '{parent}'"
    # Searches may have equal names: the beginning of the run's id distinguishes them.
    title = f"{name} ({parent[:8]}): rules, best first"
    # Rules of equal F_HF have a rank only at the end, when the winner is known.
    order = "metrics.`rank`" if ended else "metrics.`f_hf`"
    return _VIEW + parent, View(title, wanted, _SAMPLE, order, ascending=ended).saved(time_ms)


def place(path: str, **query: str) -> str:
    """Return what follows the address of MLflow's server in that of one of its pages."""
    return f"#/{path}?{urlencode({'workflowType': 'machine_learning', **query})}"
