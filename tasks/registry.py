"""Registered rules: MLflow models without pickle, whose versions carry their evidence."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import mlflow
import numpy as np
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException
from mlflow.models import ModelSignature
from mlflow.types import Schema, TensorSpec

from bife_core.config import InstancesConfig
from bife_core.errors import RuleError
from bife_core.features import N_FEATURES
from bife_core.methods.loading import method_of
from bife_core.rules import register_resolver
from bife_core.scip.solving import versions
from bife_core.values import Value
from tasks.home import project_home
from tasks.locks import process_lock
from tasks.refusals import Refusal, refusal
from tasks.tracking import store

SCHEME: Final = "models"
CHALLENGER: Final = "challenger"
CHAMPION: Final = "champion"
RPB: Final = "relpscost"
FEWEST_INSTANCES: Final = 6
"""Held-out instances a champion needs: with fewer, no exact two-sided paired test can reach the 5 % level."""

_PREFIX: Final = "bife-"
_REFERENCE: Final = re.compile(r"models:/(?P<name>[^/@]+)(?:@(?P<alias>[^/@]+)|/(?P<version>\d+))")


class Evidence(Value):
    """What is known of a rule when it is registered; each field becomes a tag of its version."""

    sha: str
    benchmark: str
    size: str
    f_lf: float | None = None
    f_hf: float | None = None
    cost: str = ""
    ratio: float
    ci_low: float | None
    ci_high: float | None
    confidence: float
    baseline: str
    instances: int
    seeds: int
    mismatches: int = 0
    evolution_key: str = ""
    evolution_run: str = ""
    evaluation_run: str
    decisions_digest: str = ""
    test_digest: str
    champion_sha: str = ""
    champion_ratio: float | None = None
    champion_ci_low: float | None = None
    champion_ci_high: float | None = None

    @property
    def sound(self) -> bool:
        """Whether there are enough instances to choose on, and all optima are alike."""
        return self.instances >= FEWEST_INSTANCES and self.mismatches == 0

    @property
    def beats_rpb(self) -> bool:
        """Whether the interval of the ratio to RPB lies below 1, on enough instances and with all optima alike."""
        return self.sound and self.baseline == RPB and self.ci_high is not None and self.ci_high < 1.0

    def beats(self, champion: str) -> bool:
        """Whether the interval of the ratio to the champion of that hash lies below 1, measured side by side."""
        high = self.champion_ci_high if self.champion_sha == champion else None
        return self.sound and high is not None and high < 1.0


class RegisteredRule(Value):
    """One version in the registry."""

    name: str
    version: int
    aliases: tuple[str, ...]
    tags: dict[str, str]

    @property
    def reference(self) -> str:
        """What `load_rule` takes."""
        return f"{SCHEME}:/{self.name}/{self.version}"

    @property
    def refusal(self) -> Refusal | None:
        """The word of a person that keeps this version from being challenger, or None."""
        return refusal([self.tags], self.tags.get("test_digest"))


def registered_name(instances: InstancesConfig) -> str:
    """Return the name rules of a benchmark are registered under.

    Sizes other than a family's test size get a name of their own: a champion on toys is no champion.

    Examples
    --------
    >>> registered_name(InstancesConfig()), registered_name(InstancesConfig(size="tiny"))
    ('bife-combinatorial_auction', 'bife-combinatorial_auction-tiny')
    """
    label = instances.label
    if instances.folder is None and instances.size != "test":
        label = f"{label}-{instances.size}"
    return _PREFIX + (re.sub(r"[^A-Za-z0-9_-]+", "_", label).strip("_") or "rules")


def register_rule(name: str, source: str, evidence: Evidence, card: str) -> RegisteredRule:
    """Register a rule or scorer and give it the alias ``challenger``; the same rule of the same evolution only once.

    A rule that a person refused as measured on the same instances is registered without the alias.

    Parameters
    ----------
    name : str
        See `registered_name`.
    source : str
        Text of the method, see `Method.text`.
    card : str
        Description of the version in Markdown.

    Raises
    ------
    TrackingError
        If the registry cannot be reached.
    """
    client = store.client()
    tags = {key: str(value) for key, value in evidence.model_dump().items() if value is not None}
    tags["file"] = method_of(source).file_name
    try:
        with process_lock(project_home().locks / f"registry-{name}.lock"):
            known = versions_of(name, evidence.sha)
            refused = refusal((version.tags for version in known), evidence.test_digest)
            if refused is not None:
                tags |= refused.tags
            version = _same_evolution(known, evidence) or _create(name, source, evidence, tags)
            for key, value in tags.items():
                if version.tags.get(key) != value:
                    client.set_model_version_tag(name, version.version, key, value)
            client.update_model_version(name, version.version, card)
            if refused is None:
                client.set_registered_model_alias(name, CHALLENGER, version.version)
            return registered_rule(client.get_model_version(name, version.version))
    except store.TRACKING_TROUBLE as error:
        raise unreachable(error) from error


def champion_of(name: str) -> RegisteredRule | None:
    """Return the version that holds the alias ``champion``, or None.

    Raises
    ------
    TrackingError
        If the registry cannot be reached.
    """
    try:
        found = by_alias(name, CHAMPION)
    except store.TRACKING_TROUBLE as error:
        raise unreachable(error) from error
    return None if found is None else registered_rule(found)


def registered(reference: str) -> RegisteredRule:
    """Return the version a reference means, with its evidence.

    Raises
    ------
    RuleError
        If there is no such version.
    TrackingError
        If the registry cannot be reached.
    """
    try:
        return registered_rule(_version_of(reference))
    except store.TRACKING_TROUBLE as error:
        raise unreachable(error) from error


def load_registered_rule(reference: str) -> str:
    """Return the text of a registered rule or scorer; only text is read, and its hash must be the registered one.

    Parameters
    ----------
    reference : str
        ``models:/<name>@<alias>`` or ``models:/<name>/<version>``.

    Raises
    ------
    RuleError
        If there is no such rule, or its text has been altered.
    TrackingError
        If the registry cannot be reached.
    """
    try:
        found = _version_of(reference)
        file = found.tags.get("file", "rule.py")
        source = mlflow.artifacts.load_text(f"{SCHEME}:/{found.name}/{found.version}/artifacts/{file}")
    except store.TRACKING_TROUBLE as error:
        raise unreachable(error) from error
    sha, expected = method_of(source).identity, found.tags.get("sha")
    if sha != expected:
        raise RuleError(
            f"{reference} has the hash {sha} but was registered with {expected}: it has been altered."
        )
    return source


def list_rules() -> list[RegisteredRule]:
    """Return all versions of all registered rules, newest first within a name.

    Raises
    ------
    TrackingError
        If the registry cannot be reached.
    """
    try:
        return sorted(_all_rules(), key=lambda rule: (rule.name, -rule.version))
    except store.TRACKING_TROUBLE as error:
        raise unreachable(error) from error


def _all_rules() -> Iterator[RegisteredRule]:
    client = store.client()
    token: str | None = None
    while True:
        page = client.search_model_versions(f"name LIKE '{_PREFIX}%'", max_results=500, page_token=token)
        for version in page:
            # Searches leave the aliases out.
            yield registered_rule(client.get_model_version(version.name, version.version))
        token = page.token
        if not token:
            return


def _create(name: str, source: str, evidence: Evidence, tags: dict[str, str]) -> ModelVersion:
    client = store.client()
    if not client.search_registered_models(f"name = '{name}'"):
        about = f"Branching rules for {evidence.benchmark}: {N_FEATURES} features in, one score out."
        with store.made_by_another():
            client.create_registered_model(name, description=about)
    with TemporaryDirectory() as directory:
        path = Path(directory) / method_of(source).file_name
        path.write_text(source, encoding="utf-8")
        with mlflow.start_run(run_id=evidence.evaluation_run), _quiet():
            info = mlflow.pyfunc.log_model(
                name="rule",
                python_model=str(Path(__file__).with_name("rule_model.py")),
                artifacts={"rule": str(path)},
                model_config={"sha": evidence.sha},
                signature=_signature(),
                input_example=np.random.default_rng(0).uniform(0.0, 1.0, size=(3, N_FEATURES)),
                pip_requirements=_requirements(),
            )
    return client.create_model_version(
        name, source=info.model_uri, run_id=evidence.evaluation_run, tags=tags, model_id=info.model_id
    )


def _signature() -> ModelSignature:
    number = np.dtype(np.float64)
    return ModelSignature(
        inputs=Schema([TensorSpec(number, (-1, N_FEATURES))]), outputs=Schema([TensorSpec(number, (-1,))])
    )


def _requirements() -> list[str]:
    own = versions()["bife"]
    return ["bife" if own == "source" else f"bife=={own}", f"mlflow=={mlflow.__version__}"]


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep MLflow's advice on models in general from the person who runs an evolution."""
    logger = logging.getLogger("mlflow")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", category=UserWarning)
            yield
    finally:
        logger.setLevel(before)


def versions_of(name: str, sha: str) -> list[ModelVersion]:
    """Return all versions that hold the rule of that hash; MLflow leaves their aliases out."""
    return list(store.client().search_model_versions(f"name = '{name}' and tags.sha = '{sha}'"))


def _same_evolution(known: list[ModelVersion], evidence: Evidence) -> ModelVersion | None:
    key = evidence.evolution_key
    return next((found for found in known if found.tags.get("evolution_key", "") == key), None)


def by_alias(name: str, alias: str) -> ModelVersion | None:
    """Return the version that holds an alias, or None."""
    return _if_any(lambda: store.client().get_model_version_by_alias(name, alias))


def _by_version(name: str, version: str) -> ModelVersion | None:
    return _if_any(lambda: store.client().get_model_version(name, version))


def _version_of(reference: str) -> ModelVersion:
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise RuleError(
            f"{reference!r} names no registered rule; expected models:/<name>@<alias> or "
            "models:/<name>/<version>."
        )
    name = match["name"]
    found = by_alias(name, match["alias"]) if match["alias"] else _by_version(name, match["version"])
    if found is None:
        raise RuleError(f"The registry holds no {reference}; `bife rules list` shows what it holds.")
    return found


def _if_any(find: Callable[[], ModelVersion]) -> ModelVersion | None:
    """Tell "there is none" from all other trouble."""
    try:
        return find()
    except MlflowException as error:
        if error.error_code in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
            return None
        raise


def registered_rule(version: ModelVersion) -> RegisteredRule:
    """Return what is known of a version of MLflow's."""
    return RegisteredRule(
        name=version.name,
        version=int(version.version),
        aliases=tuple(sorted(version.aliases)),
        tags=dict(version.tags),
    )


def unreachable(error: BaseException) -> store.TrackingError:
    """Return the error that says the registry did not answer."""
    return store.TrackingError(
        f"MLflow's registry at {mlflow.get_registry_uri()} cannot be used ({store.first_line(error)}); "
        "check MLFLOW_TRACKING_URI and MLFLOW_REGISTRY_URI."
    )


register_resolver(SCHEME, load_registered_rule)
