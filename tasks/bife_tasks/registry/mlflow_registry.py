"""The registry in MLflow: a version is a model with the text of a method beside the code that loads it, no pickle."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import mlflow
import numpy as np
from mlflow import MlflowClient
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException

from bife_core.base.values import digest_of
from bife_core.base.wording import fits
from bife_core.language.components import BRANCHING
from bife_core.measure.evaluation.metrics import METRICS
from bife_core.registry.base import Registry
from bife_core.registry.choosing import PREFIX
from bife_core.registry.evidence import MOST_IN_CARD, Evidence, RegisteredRule, numbered
from bife_core.registry.local import LocalRegistry
from bife_core.run.show import plots
from bife_core.run.stages.evaluation_files import PAGE
from bife_core.run.stages.records import EVALUATION, SEARCH
from bife_core.solver.methods.base import Method
from bife_core.solver.methods.scorer import Scorer
from bife_core.solver.scip.solve import versions
from bife_core.store.home import RUN_ID
from bife_core.store.registered import REGISTRY
from bife_tasks.reading import text_of, whole_tags
from bife_tasks.stores import announce, home_store, mlflow_run, subscriber
from bife_tasks.tracking import mlflow_runs
from bife_tasks.tracking.mlflow_runs import TrackingError

_IN_FILE: Final = {"file", *Evidence.model_fields}.difference(
    ("benchmark", "metric", "ratio", "ci_low", "ci_high", "baseline", "solver", "sha", "search_key")
)
"""What is known of a rule that its page does not show as tags."""
_PICTURE: Final = "\n\n![Ratios of the versions, each on the instances it was measured on]("
_VERSIONS: Final = "versions.png"
_MOST_SHOWN: Final = 20
"""Versions in the picture: the newest."""


class MlflowRegistry(Registry):
    """Registered rules as models of MLflow, where people see them and set aliases; no answer is a `TrackingError`."""

    def held(self, name: str) -> AbstractContextManager[None]:
        """Hold the claim of the home's store on the registry."""
        return home_store().claim(REGISTRY)

    def versions(self, name: str | None = None, sha: str | None = None) -> list[RegisteredRule]:  # noqa: D102
        wanted = f"name LIKE '{PREFIX}%'" if name is None else f"name = '{name}'"
        with _answering() as client:
            if sha is not None:  # few, and MLflow leaves the aliases out
                versions = client.search_model_versions(f"{wanted} and tags.sha = '{sha}'")
                rules = [_rule(version, version.aliases) for version in versions]
            else:
                models = mlflow.search_registered_models(filter_string=wanted)
                named = {model.name: model.aliases for model in models}
                rules = []
                for version in mlflow.search_model_versions(filter_string=wanted):
                    of_name = named[version.name].items()
                    aliases = [alias for alias, number in of_name if str(number) == str(version.version)]
                    # Evidence takes a request for each.
                    rules.append(_rule(version, aliases, with_evidence=bool(aliases)))
        return sorted(rules, key=lambda rule: (rule.name, -rule.version))

    def find(self, name: str, which: str | int) -> RegisteredRule | None:  # noqa: D102
        with _answering() as client:
            try:
                if isinstance(which, str):
                    version = client.get_model_version_by_alias(name, which)
                else:
                    version = client.get_model_version(name, str(which))
            except MlflowException as error:
                if error.error_code not in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
                    raise
                return None
            return _rule(version, version.aliases)

    def located(self, evidence: Evidence) -> Evidence:
        """Return evidence that names evaluation and search by their runs; a `TrackingError` says if there is none."""
        run = mlflow_run(evidence.evaluation_run) or evidence.evaluation_run
        if not RUN_ID.fullmatch(run):
            raise TrackingError(
                f"MLflow does not have the run of the evaluation {run!r}, by which a rule is registered; `bife track` "
                "writes it once no process works on it."
            )
        search = evidence.search_run or mlflow_run(evidence.search_key)
        return evidence.model_copy(update={"evaluation_run": run, "search_run": search})

    def text(self, version: RegisteredRule) -> str:  # noqa: D102
        with _answering():
            return text_of(version.reference, version.tags, mlflow)

    def create(  # noqa: D102
        self, name: str, method: Method, evidence: Evidence, tags: Mapping[str, str], card: str
    ) -> int:
        run_id = evidence.evaluation_run
        about = f"Branching rules for {evidence.benchmark}: features in, one score out."
        release = versions()["bife"]
        candidates = np.random.default_rng(0).uniform(0.0, 1.0, size=(3, BRANCHING.n_features))
        with _answering() as client, TemporaryDirectory() as directory, warnings.catch_warnings():
            try:
                client.create_registered_model(name, description=fits(about, MOST_IN_CARD))
            except MlflowException as error:
                if error.error_code != "RESOURCE_ALREADY_EXISTS":
                    raise
            # MLflow's advice on models in general is not for a person who runs a search.
            warnings.simplefilter("ignore", category=UserWarning)
            path = Path(directory) / method.file_name
            path.write_text(method.text, encoding="utf-8")
            run = client.get_run(run_id).info
            with mlflow.start_run(run_id=run_id):
                info = mlflow.pyfunc.log_model(
                    # MLflow's list of models shows the benchmark and the sample, or the hash where there is none.
                    name=f"{name}-{evidence.lineage.partition(' ')[0] or evidence.sha[:8]}",
                    python_model=str(Path(__file__).with_name("rule_model.py")),
                    artifacts={"rule": str(path)},
                    model_config={"sha": evidence.sha},
                    input_example=candidates if isinstance(method, Scorer) else None,
                    pip_requirements=[
                        "bife-branching" if release == "source" else f"bife-branching=={release}",
                        f"mlflow=={mlflow.__version__}",
                    ],
                )
            client.set_terminated(run_id, run.status, run.end_time)  # as it was before the model was logged
            card, shown = card + _links(tags), _split(tags, info.model_uri)
            made = client.create_model_version(
                name, info.model_uri, run_id, shown, description=card, model_id=info.model_id
            )
            number = int(made.version)
            client.update_model_version(name, str(number), numbered(card, name, number))
            self._show_versions(client, name, run_id)
            return number

    def update(  # noqa: D102
        self, name: str, number: int, tags: Mapping[str, str], *, without: Iterable[str] = (), card: str = ""
    ) -> None:
        with _answering() as client:
            for key in without:
                client.delete_model_version_tag(name, str(number), key)
            source = client.get_model_version(name, str(number)).source or ""
            for key, value in _split(tags, source).items():
                client.set_model_version_tag(name, str(number), key, value)
            if card:
                client.update_model_version(name, str(number), numbered(card, name, number) + _links(tags))
            if run_id := tags.get("evaluation_run"):
                self._show_versions(client, name, run_id)

    def _show_versions(self, client: MlflowClient, name: str, run_id: str) -> None:
        """Show the ratios of the last versions below the description of a name, by a picture in the newest's run."""
        rules = [self._version(name, rule.version) for rule in self.versions(name)[:_MOST_SHOWN]]
        rows = [
            (f"version {rule.version}", evidence.ratio, evidence.ci_low, evidence.ci_high, evidence.finding)
            for rule in rules
            if (evidence := rule.evidence) is not None
        ]
        words = " or ".join(dict.fromkeys(METRICS[rule.metric].words for rule in rules))
        client.log_figure(run_id, plots.ratios(rows, f"{words}, ratio to the baseline"), _VERSIONS)
        about, *_ = (client.get_registered_model(name).description or "").partition(_PICTURE)
        shown = f"{about}{_PICTURE}{_artifact(_VERSIONS, run_id)})"
        client.update_registered_model(name, shown)

    def set_alias(self, name: str, alias: str, number: int | None) -> None:  # noqa: D102
        with _answering() as client:
            if number is None:
                client.delete_registered_model_alias(name, alias)
            else:
                client.set_registered_model_alias(name, alias, str(number))

    def champion_changed(self, **change: Any) -> None:
        """Emit that as an event of Prefect."""
        announce("bife.champion.changed", change["name"], change)


IN_MLFLOW: Final = MlflowRegistry()
"""The registry of the MLflow in use, which is asked once it is needed."""


def carry_over(*, rebuild: bool = False) -> int:
    """Register in MLflow what it was never given of the store's registry, with `rebuild` all; return how many."""
    last = max((event.seq for event in home_store().events(REGISTRY)), default=0)
    if not rebuild and (home_store().cursor(subscriber(), REGISTRY) or (0, ""))[0] >= last:
        return 0
    copied = LocalRegistry(home_store()).copy_to(IN_MLFLOW)
    home_store().set_cursor(subscriber(), REGISTRY, last)
    return copied


@contextmanager
def _answering() -> Iterator[MlflowClient]:
    client = mlflow_runs.client()
    try:
        yield client
    except mlflow_runs.TRACKING_TROUBLE as error:
        raise TrackingError(
            f"MLflow's registry at {mlflow.get_registry_uri()} cannot be used ({mlflow_runs.first_line(error)}); "
            "check MLFLOW_TRACKING_URI and MLFLOW_REGISTRY_URI."
        ) from error


def _split(tags: Mapping[str, str], source: str) -> dict[str, str]:
    """Return what is shown as tags, after the rest was written to a file, which they name, of the model `source`."""
    rest = {key: value for key, value in tags.items() if key in _IN_FILE}
    if "evaluation_run" not in rest:
        return dict(tags)
    with TemporaryDirectory() as directory:
        # Whoever reads it meanwhile has the former one with_evidence.
        path = Path(directory) / f"evidence-{digest_of(rest)[:8]}.json"
        path.write_text(json.dumps(rest), encoding="utf-8")
        mlflow_runs.client().log_model_artifact(source.removeprefix("models:/"), str(path))
    return {key: value for key, value in tags.items() if key not in rest} | {"evidence": path.name}


def _links(tags: Mapping[str, str]) -> str:
    """Return a picture of a version's costs and links: evaluation, report, others on the same instances, search."""
    if not (run := tags.get("evaluation_run", "")):
        return ""
    others = f"experiments/{mlflow_runs.experiment_id(EVALUATION)}/runs"
    pages = {
        "report": mlflow_runs.run_url(f"{run}/artifacts/{PAGE}", EVALUATION),
        "evaluation": mlflow_runs.run_url(run, EVALUATION),
        "search": mlflow_runs.run_url(tags["search_run"], SEARCH),
        "data": mlflow_runs.page(others, searchFilter=f"dataset.digest = '{tags['test_digest']}'"),
    }
    costs = f"\n\n![Costs beside the baseline's]({_artifact('costs.png', run)})"
    links = ", ".join(f"[{name}]({url})" for name, url in pages.items() if url)
    return f"{costs}\n\nIn MLflow: {links}"


def _artifact(path: str, run_id: str) -> str:
    """Return the address of a run's artifact on the pages of MLflow's server."""
    return f"get-artifact?path={path}&run_uuid={run_id}"


def _rule(version: ModelVersion, aliases: Iterable[str], *, with_evidence: bool = True) -> RegisteredRule:
    # Some of MLflow's stores give the number as text.
    return RegisteredRule(
        name=version.name,
        version=int(version.version),
        aliases=tuple(sorted(aliases)),
        tags=whole_tags(version, mlflow) if with_evidence else dict(version.tags),
        card=version.description or "",
    )
