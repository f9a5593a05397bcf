"""A method as a model of MLflow: its card, and its text beside the code that loads it, without pickle."""

from __future__ import annotations

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import mlflow
import numpy as np
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

from bife_core.components import BRANCHING
from bife_core.evaluation.comparing import p_text
from bife_core.evaluation.metrics import METRICS
from bife_core.methods.base import Method
from bife_core.methods.scorer import RuleMethod, Scorer
from bife_core.rules import complexity
from bife_core.scip.solving import versions
from bife_core.wording import counted, interval_text, storable
from tasks.registry.evidence import Evidence
from tasks.tracking.store import fits

MOST_IN_CARD: Final = 4500
_FACTS, _FACT = 3500, 200
"""Characters of a card, of all facts in it and of one; the tags have all of it."""

_NOT_IN_CARD: Final = {
    "benchmark", "size", "ratio", "ci_low", "ci_high", "p_value", "instances", "groups", "seeds", "likeness",
    "solver_params",
}  # fmt: skip


def create_version(
    client: MlflowClient, name: str, method: Method, evidence: Evidence, tags: dict[str, str]
) -> str:
    """Make a version that holds a method, with its card and tags or not at all, and return its number."""
    about = f"Branching rules for {evidence.benchmark}: features in, one score out."
    try:
        client.create_registered_model(name, description=fits(about, MOST_IN_CARD))
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
    own, run_id = versions()["bife"], evidence.evaluation_run
    candidates = np.random.default_rng(0).uniform(0.0, 1.0, size=(3, BRANCHING.n_features))
    with TemporaryDirectory() as directory, warnings.catch_warnings():
        # MLflow's advice on models in general is not for a person who runs an evolution.
        warnings.simplefilter("ignore", category=UserWarning)
        path = Path(directory) / method.file_name
        path.write_text(method.text, encoding="utf-8")
        with mlflow.start_run(run_id=run_id):
            info = mlflow.pyfunc.log_model(
                # MLflow's list of models shows the benchmark and the sample, or the hash where there is none.
                name=f"{name}-{evidence.lineage.partition(' ')[0] or evidence.sha[:8]}",
                python_model=str(Path(__file__).with_name("rule_model.py")),
                artifacts={"rule": str(path)},
                model_config={"sha": evidence.sha},
                input_example=candidates if isinstance(method, Scorer) else None,
                pip_requirements=[
                    "bife-branching" if own == "source" else f"bife-branching=={own}",
                    f"mlflow=={mlflow.__version__}",
                ],
            )
    card = model_card(name, method, evidence)
    made = client.create_model_version(
        name, info.model_uri, run_id, tags, description=card, model_id=info.model_id
    )
    return str(made.version)


def model_card(name: str, method: Method, evidence: Evidence) -> str:
    """Return the description of a version: how good it was measured to be, where it is from, and its text.

    MLflow's database takes 5,000 characters: of a longer text the card shows the beginning.
    """
    one, words = evidence, METRICS[evidence.metric].words
    measured = f"{one.ratio:.3f} ({interval_text(one.ci_low, one.ci_high, confidence=one.confidence)}, "
    facts = {
        "Benchmark": f"{one.benchmark}, size {one.size}",
        f"{words[0].upper()}{words[1:]} relative to {one.baseline}": (
            f"{measured}{p_text(one.p_value)}; below 1 is {'faster' if one.metric == 'time' else 'better'}; "
            f"{counted(one.instances, 'held-out instance', one.groups)}, {counted(one.seeds, 'seed')} each)"
        ),
        **{key.replace("_", " "): value for key, value in one.model_dump(exclude=_NOT_IN_CARD).items()},
    }
    if isinstance(method, RuleMethod):
        facts |= {key.replace("_", " "): value for key, value in complexity(method.source)._asdict().items()}
    shown = {key: f"{fact:.4g}" if isinstance(fact, float) else fact for key, fact in facts.items()}
    lines = [f"- **{key}**: {fits(fact, _FACT)}" for key, fact in shown.items() if fact not in (None, "")]
    listed = fits("\n".join(lines), _FACTS)
    language = "python" if isinstance(method, RuleMethod) else method.file_name.rpartition(".")[2]
    head, text, foot = f"## {name}\n\n{listed}\n\n```{language}\n", storable(method.text.rstrip()), "\n```\n"
    if len(head) + len(text) + len(foot) > MOST_IN_CARD:
        foot += (
            f"\nThis is the beginning of {len(text):,} characters: `artifacts/{method.file_name}` has all.\n"
        )
    return f"{head}{text[: MOST_IN_CARD - len(head) - len(foot)]}{foot}"
