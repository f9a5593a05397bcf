"""What an evolution needs of this home: its journal, its account, its evaluator, alone on the machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar, cast

import httpx
from prefect import Task, task
from prefect.client.orchestration import get_client
from prefect.exceptions import ObjectNotFound
from pydantic import SecretStr

from bife_core.config import GeneratorConfig, HighFidelityConfig, PipelineConfig, RunnerConfig
from bife_core.decisions.collecting import CollectionSummary
from bife_core.errors import GeneratorError
from bife_core.evaluation.choosing import Choice, choose
from bife_core.evaluation.measuring import Setting
from bife_core.fidelity.high import HighScore
from bife_core.fidelity.load_correction import Reference
from bife_core.fidelity.low import LowScore
from bife_core.fidelity.trial import TrialScore
from bife_core.generators import Account, Draft, open_generator
from bife_core.generators.calls import CallStore
from bife_core.generators.held_key import KEY_VARIABLE, holding_key
from bife_core.methods.rule import RuleMethod
from bife_core.search import Sample, SampleRequest, SolveRequest, TrialRequest, WrittenRequest
from bife_core.study import Evaluator, Opened, Pending, evolution_facts, evolution_key, generator_identity
from bife_core.study.files import ranked
from tasks.collection import decisions_dataset
from tasks.home import project_home
from tasks.instances import InstanceSet
from tasks.states import REJECTED, TRIED_AGAIN, told
from tasks.stores import alone_at, home_store, note_listener, progress_listener
from tasks.tracking.store import flat
from tasks.workers import worker_pool


def require_generator(config: PipelineConfig) -> None:
    """Make sure that rules can be written as far as that can be known before anything is spent.

    Raises
    ------
    GeneratorError
        If a setting of the generator is missing.
    ConfigError
        If the budget limits money and the model's prices are not known.
    """
    open_generator(config.generator, Account(CallStore(home_store(), ""), config.budget))


def describe_evolution(
    config: PipelineConfig,
    decisions: CollectionSummary | None,
    design: InstanceSet,
    training: InstanceSet | None,
) -> Opened:
    """Return the identity of an evolution and what lists of runs say of it.

    Raises
    ------
    GeneratorError
        If the environment's settings of the model API cannot be used.
    """
    facts = evolution_facts(
        config,
        config.instances.label,
        generator_identity(config.generator),
        decisions.digest if decisions is not None else None,
        design.instances,
        training.instances if training is not None else (),
    )
    read = [decisions_dataset(config.instances, decisions)] if decisions is not None else []
    read += [chosen.dataset for chosen in (design, training) if chosen is not None]
    search, label = config.search, config.instances.label
    return Opened(
        key=evolution_key(facts),
        name=f"{label} {search.method} {config.origin_of_rules} seed {search.seed}",
        params=flat(facts)
        | {"search.samples": search.samples}
        | flat({"instances": config.instances.model_dump(mode="json")}),
        tags={"benchmark": label, "search": search.method},
        datasets=tuple(read),
        prompts=config.generator.kind == "openai",
        origin=config.origin_of_rules,
    )


@contextmanager
def alone_in_evolution(key: str) -> Iterator[Path]:
    """Keep other processes from running the same evolution at the same time, and yield its folder.

    Others wait, and then find it done. What another machine has of it is fetched first, and what this one has is
    given to others at the end, whatever end.
    """
    folder = project_home().runs / key
    with alone_at(f"evolution {key}", f"the evolution {key}"):
        yield folder


P = ParamSpec("P")
T = TypeVar("T")
Score = TypeVar("Score", LowScore, HighScore, TrialScore)


@task(name="propose", task_run_name="propose {request.id} by {request.operator}", **TRIED_AGAIN)
def propose(work: Callable[[WrittenRequest], Draft], request: WrittenRequest) -> Draft:
    """Have one rule or reflection written; an answer without one is a result too."""
    draft = work(request)
    if draft.text is not None:
        return told(draft, draft.text)
    if draft.source is None:
        return told(draft, draft.failure or "The generator gave no rule.", REJECTED)
    return told(draft, draft.thought or "A rule was written.")


@task(name="score low", task_run_name="score {request.id} low", **TRIED_AGAIN)
def score_low(
    work: Callable[[SampleRequest, Draft], LowScore], request: SampleRequest, draft: Draft
) -> LowScore:
    """Check what a generator wrote, and measure F_LF."""
    score = work(request, draft)
    return _judged(score, f"F_LF {score.f_lf:.4f}" if score.f_lf is not None else "The rule is sound.")


@task(name="try", task_run_name="try {request.id}", **TRIED_AGAIN)
def score_trial(work: Callable[[TrialRequest], TrialScore], request: TrialRequest) -> TrialScore:
    """Solve training instances as a search asks."""
    score = work(request)
    return _judged(score, f"Costs {', '.join(f'{cost:.4g}' for cost in score.costs or ())}")


@task(name="measure RPB", task_run_name="solve the design instances with RPB", **TRIED_AGAIN)
def measure_reference(work: Callable[[], Reference]) -> Reference:
    """Solve the design instances with RPB, which others are measured by."""
    reference = work()
    solved = sum(result is not None for result in reference.results)
    return told(reference, f"{solved} of {len(reference.results)} solved, {reference.cpu_s:.1f} CPU seconds")


@task(name="score high", task_run_name="score {request.id} high", **TRIED_AGAIN)
def score_high(
    work: Callable[[SolveRequest, Reference], HighScore], request: SolveRequest, reference: Reference
) -> HighScore:
    """Solve the design instances with a rule."""
    score = work(request, reference)
    solves = f"{len(score.results)} solves, {score.cpu_s:.1f} CPU seconds"
    if score.eliminated is not None:
        return _judged(score, f"Given up in its race: {score.eliminated}; {solves}")
    return _judged(score, f"F_HF {score.f_hf:.4g}: {solves}" if score.f_hf is not None else "")


_TASKS: Final[dict[str, Task[..., Any]]] = {
    Evaluator.write.__name__: propose,
    Evaluator.score.__name__: score_low,
    Evaluator.try_out.__name__: score_trial,
    Evaluator.refer.__name__: measure_reference,
    Evaluator.solve.__name__: score_high,
}


class TaskExecutor:
    """Has the work of a `Evaluator` done by tasks of the flow that runs."""

    def submit(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Pending[T]:
        """Submit the task that stands for a method of `Evaluator`."""
        return cast(Pending[T], _TASKS[work.__name__].submit(work, *args, **kwargs))


def _judged(score: Score, praise: str) -> Score:
    """Return a score, and have the task's page say what it is or why there is none."""
    return told(score, praise) if score.failure is None else told(score, score.failure, REJECTED)


def finalists(samples: Sequence[Sample], count: int) -> tuple[Sample, ...]:
    """Return the rules with the best F_HF, best first, each rule once however often it was written."""
    distinct: dict[str | None, Sample] = {}
    for sample in ranked(samples):
        if sample.failure is None and sample.f_hf is not None and sample.source:
            distinct.setdefault(sample.sha, sample)
    return tuple(distinct.values())[:count]


@task(name="validate", task_run_name="choose the final rule", **TRIED_AGAIN)
def validate(
    samples: dict[str, str],
    instances: InstanceSet,
    high: HighFidelityConfig,
    runner: RunnerConfig,
) -> Choice:
    """Solve validation instances with each sample, and choose.

    Parameters
    ----------
    samples : dict
        Source by id, best F_HF first.

    Raises
    ------
    SolverError
        If every sample failed on some instance.
    """
    rules = [RuleMethod(name=name, source=source) for name, source in samples.items()]
    return choose(
        rules,
        Setting("validation", instances.instances),
        high,
        worker_pool(runner),
        home_store(),
        progress_listener(),
        note_listener(),
    )


KEY_BLOCK: Final = "bife-llm-api-key"
"""Name of the Secret block the key is looked for in where the environment has none for BiFE."""


@contextmanager
def model_key(config: GeneratorConfig) -> Iterator[None]:
    """Have a model API asked with the key in the block `KEY_BLOCK` inside, unless the environment has one for BiFE.

    Raises
    ------
    GeneratorError
        If the block cannot be read or holds no text.
    """
    wanted = config.kind == "openai" and not os.environ.get(KEY_VARIABLE)
    with holding_key(_key() if wanted else None):
        yield


def _key() -> SecretStr | None:
    """Return what the block holds; local servers need no key, so that there may be no block either."""
    try:
        with get_client(sync_client=True) as client:
            block = client.read_block_document_by_name(KEY_BLOCK, "secret", include_secrets=True)
    except ObjectNotFound:
        return None
    except httpx.HTTPError as error:
        # Of the cause only its kind: nobody knows what a server puts into its complaint about a secret.
        raise GeneratorError(
            f"Prefect's Secret block {KEY_BLOCK} could not be read ({type(error).__name__}); set {KEY_VARIABLE}."
        ) from None
    key = block.data.get("value")
    if not isinstance(key, str):
        raise GeneratorError(
            f"Prefect's Secret block {KEY_BLOCK} must hold the key of the model API as text."
        )
    return SecretStr(key)
