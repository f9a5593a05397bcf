"""What an evolution needs of this home: its identity, its work as tasks of Prefect, its key, its final rule."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, ParamSpec, TypeVar, cast

import httpx
from prefect import task
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
from bife_core.generators import Account, Draft, open_generator
from bife_core.generators.held_key import KEY_VARIABLE, holding_key
from bife_core.methods.rule import RuleMethod
from bife_core.search import Sample
from bife_core.study import Evaluator, Opened, Pending, evolution_facts, evolution_key, generator_identity
from bife_core.study.files import ranked
from tasks.collection import InstanceSet, decisions_dataset
from tasks.states import REJECTED, TRIED_AGAIN, with_message
from tasks.stores import home_store, note_listener, progress_listener
from tasks.tracking.store import flat
from tasks.workers import worker_pool

P = ParamSpec("P")
T = TypeVar("T")

KEY_BLOCK: Final = "bife-llm-api-key"
"""Name of the Secret block the key is looked for in where the environment has none for BiFE."""


def require_generator(config: PipelineConfig) -> None:
    """Make sure that rules can be written as far as that can be known before anything is spent.

    Raises
    ------
    GeneratorError
        If a setting of the generator is missing.
    ConfigError
        If the budget limits money and the model's prices are not known.
    """
    open_generator(config.generator, Account(home_store(), "", config.budget))


def describe_evolution(
    config: PipelineConfig,
    decisions: CollectionSummary | None,
    design: InstanceSet,
    training: InstanceSet | None,
) -> Opened:
    """Return the identity of an evolution and what lists of runs show of it.

    Raises
    ------
    GeneratorError
        If the environment's settings of the model API cannot be used.
    """
    search, label = config.search, config.instances.label
    facts = evolution_facts(
        config,
        label,
        generator_identity(config.generator),
        decisions.digest if decisions is not None else None,
        design.instances,
        training.instances if training is not None else (),
    )
    read = [decisions_dataset(config.instances, decisions)] if decisions is not None else []
    read += [chosen.dataset for chosen in (design, training) if chosen is not None]
    instances = {"instances": config.instances.model_dump(mode="json")}
    return Opened(
        key=evolution_key(facts),
        name=f"{label} {search.method} {config.origin_of_rules} seed {search.seed}",
        params=flat(facts) | {"search.samples": search.samples} | flat(instances),
        tags={"benchmark": label, "search": search.method},
        datasets=tuple(read),
        prompts=config.generator.kind == "openai",
        origin=config.origin_of_rules,
    )


_NAMES: Final = {
    Evaluator.write.__name__: ("propose", "propose {0.id} by {0.operator}"),
    Evaluator.score.__name__: ("score low", "score {0.id} low"),
    Evaluator.try_out.__name__: ("try", "try {0.id}"),
    Evaluator.refer.__name__: ("measure RPB", "solve the design instances with RPB"),
    Evaluator.solve.__name__: ("score high", "score {0.id} high"),
}
"""What Prefect's pages call the methods of `Evaluator`, with the request they are called with."""


@task(**TRIED_AGAIN)
def perform(work: Callable[..., T], given: Sequence[Any]) -> T:
    """Do a piece of work; the page says what came of it. A rule that fails is a result too."""
    result = work(*given)
    return with_message(result, *message_of(result[0] if isinstance(result, tuple) else result))


def message_of(result: object) -> tuple[str, str | None]:
    """Return what the page of a task says of its result, and the name of its state, None for the usual one."""
    failure = getattr(result, "failure", None)
    if failure is not None and getattr(result, "text", None) is None:
        return failure, REJECTED
    match result:
        case Draft():
            return result.text or result.thought or "A rule was written.", None
        case LowScore(f_lf=None):
            return "The rule is sound.", None
        case LowScore():
            return f"F_LF {result.f_lf:.4f}", None
        case Reference():
            solved = sum(one is not None for one in result.results)
            return f"{solved} of {len(result.results)} solved, {result.cpu_s:.1f} CPU seconds", None
        case HighScore():
            fate = f"Eliminated: {result.eliminated}" if result.f_hf is None else f"F_HF {result.f_hf:.4g}"
            return f"{fate}; {len(result.results)} solves, {result.cpu_s:.1f} CPU seconds", None
    return f"Costs {', '.join(f'{cost:.4g}' for cost in getattr(result, 'costs', None) or ())}", None


class TaskExecutor:
    """Has the work of an `Evaluator` done by tasks of the flow that runs."""

    def submit(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Pending[T]:
        """Submit a task that calls a method of `Evaluator`."""
        name, run_name = _NAMES[work.__name__]
        own = perform.with_options(name=name, task_run_name=run_name.format(*args))
        return cast(Pending[T], own.submit(work, args))


def finalists(samples: Sequence[Sample], count: int) -> tuple[Sample, ...]:
    """Return the rules with the best F_HF, best first, each rule once however often it was written."""
    distinct: dict[str | None, Sample] = {}
    for sample in ranked(samples):
        if sample.failure is None and sample.f_hf is not None and sample.source:
            distinct.setdefault(sample.sha, sample)
    return tuple(distinct.values())[:count]


@task(name="validate", task_run_name="choose the final rule", **TRIED_AGAIN)
def validate(
    samples: dict[str, str], instances: InstanceSet, high: HighFidelityConfig, runner: RunnerConfig
) -> Choice:
    """Solve validation instances with each sample, given as source by id, best F_HF first, and choose.

    Raises
    ------
    SolverError
        If every sample failed on some instance.
    """
    rules = [RuleMethod(name=name, source=source) for name, source in samples.items()]
    setting, pool = Setting("validation", instances.instances), worker_pool(runner)
    return choose(rules, setting, high, pool, home_store(), progress_listener(), note_listener())


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
    """Return the key in the block; local servers need none, so that there may be no block either."""
    try:
        with get_client(sync_client=True) as client:
            block = client.read_block_document_by_name(KEY_BLOCK, "secret", include_secrets=True)
    except ObjectNotFound:
        return None
    except httpx.HTTPError as error:
        # Of the cause only its kind: a server may repeat the secret in its complaint.
        raise GeneratorError(
            f"Prefect's Secret block {KEY_BLOCK} could not be read ({type(error).__name__}); set {KEY_VARIABLE}."
        ) from None
    key = block.data.get("value")
    if not isinstance(key, str):
        raise GeneratorError(
            f"Prefect's Secret block {KEY_BLOCK} must hold the key of the model API as text."
        )
    return SecretStr(key)
