"""Tasks that score a rule: F_LF by recorded decisions, F_HF by solving. A rule's failure is their result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import task

from bife_core.config import HighFidelityConfig, LowFidelityConfig, RunnerConfig
from bife_core.fidelity.high import HighScore
from bife_core.fidelity.high import score_high as _score_high
from bife_core.fidelity.low import LowScore
from bife_core.fidelity.low import score_low as _score_low
from bife_core.fidelity.trial import TrialScore
from bife_core.fidelity.trial import score_trial as _score_trial
from bife_core.generators.base import Generation
from bife_core.search import TrialRequest
from tasks.policy import STORED, stored_under, text_digest
from tasks.progress import note_listener
from tasks.records import InstanceSet
from tasks.solves import solve_store
from tasks.states import REJECTED, told
from tasks.workers import worker_pool


def _low_parts(parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        "source": text_digest(parameters["generation"]["source"] or ""),
        "failure": parameters["generation"]["failure"],
        "decisions": parameters["decisions_digest"],
        "config": parameters["config"].model_dump(mode="json"),
    }


def _high_parts(parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        "source": text_digest(parameters["source"]),
        "evolution": parameters["evolution"],
        "instances": parameters["instances"].content,
        "config": parameters["config"].model_dump(mode="json"),
    }


def _trial_parts(parameters: dict[str, Any]) -> dict[str, Any]:
    request: TrialRequest = parameters["request"]
    return {
        "source": text_digest(request.source or ""),
        "builtin": request.source is None,
        "instances": [parameters["training"].instances[position].content for position in request.instances],
        "time_limit_s": request.time_limit_s,
        "cost": request.cost,
        "evolution": parameters["evolution"],
        "config": parameters["config"].model_dump(mode="json"),
    }


@task(
    name="score low",
    task_run_name="score {sample} low",
    cache_key_fn=stored_under("score-low", 1, _low_parts),
    **STORED,
)
def score_low(
    sample: str,
    generation: dict[str, Any],
    decisions: Path | None,
    decisions_digest: str | None,
    config: LowFidelityConfig,
    runner: RunnerConfig,
) -> dict[str, Any]:
    """Score what a generator wrote and return a `LowScore` as JSON.

    Parameters
    ----------
    sample : str
        Its id, for the name of the task run.
    generation : dict
        A `Generation` as JSON; one without source is passed through as the failure it is.
    decisions, decisions_digest : Path and str, or None
        What F_LF is measured on; without, the rule is only checked.
    """
    written = Generation.model_validate(generation)
    if written.source is None:
        score = LowScore(failure=written.failure or "The generator gave no rule.")
    else:
        score = _score_low(written.source, decisions, config, worker_pool(runner))
    return _judged(score, f"F_LF {score.f_lf:.4f}" if score.f_lf is not None else "The rule is sound.")


@task(
    name="score high",
    task_run_name="score {sample} high",
    cache_key_fn=stored_under("score-high", 1, _high_parts),
    **STORED,
)
def score_high(
    sample: str,
    source: str,
    instances: InstanceSet,
    config: HighFidelityConfig,
    evolution: str,
    runner: RunnerConfig,
    until_unix_s: float | None = None,
) -> dict[str, Any]:
    """Solve the design instances with a rule and return a `HighScore` as JSON.

    Parameters
    ----------
    evolution : str
        Key of the evolution. Solves are shared between evolutions by their own store; a failure is not, since
        another run may have better luck with the machine.
    until_unix_s : float, optional
        No solve is begun after that time.

    Raises
    ------
    OutOfTimeError
        If solves are left then.
    """
    score = _score_high(
        source,
        sample,
        [reference.instance() for reference in instances.instances],
        config,
        worker_pool(runner),
        solve_store(),
        note=note_listener(),
        until_unix_s=until_unix_s,
    )
    solves = f"{len(score.results)} solves, {score.cpu_s:.1f} CPU seconds"
    return _judged(score, f"F_HF {score.f_hf:.4g}: {solves}" if score.f_hf is not None else "")


def _judged(score: LowScore | HighScore | TrialScore, praise: str) -> dict[str, Any]:
    """Return a score as JSON, and have the task's page say what it is or why there is none."""
    result = score.model_dump(mode="json")
    return told(result, praise) if score.failure is None else told(result, score.failure, REJECTED)


@task(
    name="try",
    task_run_name="try {request.id}",
    cache_key_fn=stored_under("try", 1, _trial_parts),
    **STORED,
)
def score_trial(
    request: TrialRequest,
    training: InstanceSet,
    config: HighFidelityConfig,
    evolution: str,
    runner: RunnerConfig,
) -> dict[str, Any]:
    """Solve training instances as a search asks and return a `TrialScore` as JSON.

    Parameters
    ----------
    training : InstanceSet
        What the positions of the request are positions in.
    """
    score = _score_trial(
        request.source,
        request.sample or request.id,
        [training.instances[position].instance() for position in request.instances],
        config.model_copy(update={"time_limit_s": request.time_limit_s, "cost": request.cost or config.cost}),
        worker_pool(runner),
        solve_store(),
        note=note_listener(),
    )
    costs = ", ".join(f"{cost:.4g}" for cost in score.costs or ())
    return _judged(score, f"Costs {costs}")
