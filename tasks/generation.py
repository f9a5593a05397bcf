"""The task that has a rule written, by whichever generator is configured."""

from __future__ import annotations

import time
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock
from typing import Any

from prefect import task
from prefect.runtime import flow_run

from bife_core.config import GeneratorConfig, PipelineConfig
from bife_core.errors import BifeError, GeneratorError
from bife_core.generators import (
    Account,
    BudgetReachedError,
    Draft,
    DraftRequest,
    Generator,
    ParentRule,
    open_generator,
)
from bife_core.generators.account import out_of_time
from bife_core.generators.calls import CallStore
from bife_core.search import ReflectionRequest, Sample, SampleRequest
from tasks.home import project_home
from tasks.locks import process_lock
from tasks.policy import STORED, stored_under
from tasks.records import Allowance
from tasks.states import REJECTED, told

_opening = Lock()


class GenerationStopped(GeneratorError):  # noqa: N818 - it says what happened, not what is wrong
    """No further rule can be written until a person changes something.

    Attributes
    ----------
    generation : Draft or None
        The generation that met the problem, with its calls, so that they can still be traced.
    """

    def __init__(self, reason: str, generation: Draft | None) -> None:
        super().__init__(reason)
        self.generation = generation

    def __reduce__(self) -> tuple[type[GenerationStopped], tuple[str, Draft | None]]:
        return GenerationStopped, (str(self), self.generation)


class Unanswered(BifeError):  # noqa: N818 - as above
    """The model API gave no answer for a rule; whether that is the rule's end is for the search to say.

    Attributes
    ----------
    generation : Draft
        What was tried.
    """

    def __init__(self, generation: Draft) -> None:
        super().__init__(generation.failure or "The model API gave no answer.")
        self.generation = generation

    def __reduce__(self) -> tuple[type[Unanswered], tuple[Draft]]:
        return Unanswered, (self.generation,)


def generator(config: GeneratorConfig, calls: Path, allowance: Allowance, flow: str | None) -> Generator:
    """Return the generator of a flow run; its threads share it, and a later run reads the environment anew."""
    if flow is None:
        # Outside of a flow run nothing says which calls belong together.
        return _open(config, calls, allowance)
    # Threads that ask together would each get their own without the lock.
    with _opening:
        return _shared(config, calls, allowance, flow)


@lru_cache(maxsize=8)
def _shared(config: GeneratorConfig, calls: Path, allowance: Allowance, flow: str) -> Generator:
    return _open(config, calls, allowance)


def _open(config: GeneratorConfig, calls: Path, allowance: Allowance) -> Generator:
    lock = partial(process_lock, project_home().locks / f"calls-{calls.parent.name}.lock")
    return open_generator(config, Account(calls, allowance.budget, allowance.until_unix_s, lock))


def require_generator(config: PipelineConfig) -> None:
    """Make sure that rules can be written as far as that can be known before anything is spent.

    Raises
    ------
    GeneratorError
        If a setting of the generator is missing.
    ConfigError
        If the budget limits money and the model's prices are not known.
    """
    open_generator(config.generator, Account(project_home().runs, config.budget))


def generator_identity(config: GeneratorConfig) -> dict[str, Any]:
    """Return what a generator's answers depend on, the environment's part included and secrets left out.

    Raises
    ------
    GeneratorError
        If the environment's settings cannot be used.
    """
    identity = config.model_dump(mode="json")
    if config.kind == "openai":
        from bife_core.generators.model_settings import ModelApiSettings
        from bife_core.generators.prompting import prompt_version

        settings = ModelApiSettings.from_environment()
        identity["model"] = config.model or settings.model
        if config.temperature is None:
            identity["temperature"] = settings.temperature
        identity["prompts"] = prompt_version()
    return identity


def _parts(parameters: dict[str, Any]) -> dict[str, Any]:
    request: SampleRequest | ReflectionRequest = parameters["request"]
    return {
        "evolution": parameters["evolution"],
        "id": request.id,
        "operator": request.operator,
        "parents": [parent.sha for parent in request.parents],
        "hints": list(request.hints),
        "seed": request.seed,
    }


@task(
    name="propose",
    task_run_name="propose {request.id} by {request.operator}",
    cache_key_fn=stored_under("propose", 1, _parts),
    **STORED,
)
def propose(
    request: SampleRequest | ReflectionRequest,
    config: GeneratorConfig,
    benchmark: str,
    calls: Path,
    evolution: str,
    allowance: Allowance | None = None,
    given_up: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Have one rule or reflection written and return the `Draft` as JSON; an answer without one is a result too.

    Parameters
    ----------
    benchmark : str
        What is solved, for the prompt.
    calls : Path
        Directory where calls to a model API are recorded before they are read.
    evolution : str
        Key of the evolution the request belongs to.
    allowance : Allowance, optional
        What may be spent on it.
    given_up : dict, optional
        The `Draft` that `Unanswered` told of, when it is to be the result: the search goes on without this
        rule, now and whenever it is run again.

    Raises
    ------
    GenerationStopped
        If no further request can succeed either, for instance because the key was refused.
    Unanswered
        If the model API gave no answer; nothing is stored, so that another run asks again.
    BudgetReachedError
        If the budget is used up.
    """
    if given_up is not None:
        return told(given_up, str(given_up["failure"]), REJECTED)
    allowance = allowance or Allowance()
    if allowance.refused is not None:
        raise BudgetReachedError(allowance.refused)
    if allowance.until_unix_s is not None and time.time() >= allowance.until_unix_s:
        raise BudgetReachedError(out_of_time(allowance.budget))
    wanted = DraftRequest(
        key=request.id,
        operator=request.operator,
        parents=tuple(
            ParentRule(
                id=parent.id,
                source=_shown(request, parent),
                thought=parent.thought,
                f_lf=parent.f_lf,
                f_hf=parent.f_hf,
            )
            for parent in request.parents
        ),
        hints=request.hints,
        seed=request.seed,
        benchmark=benchmark,
    )
    writer = generator(config, calls, allowance, flow_run.id)
    began = time.perf_counter()
    try:
        written = writer.generate(wanted)
    except BudgetReachedError as error:
        raise BudgetReachedError(str(error), _with_all_calls(error.draft, calls)) from error
    except GeneratorError as error:
        met = _with_all_calls(getattr(error, "draft", None), calls)
        raise GenerationStopped(str(error), met) from error
    written = _known(written, calls)
    # Calls read back from disk took their time in an earlier run.
    seconds = max(time.perf_counter() - began, sum(attempt.seconds for attempt in written.attempts))
    written = written.model_copy(update={"seconds": seconds})
    if written.unanswered is not None:
        raise Unanswered(written)
    result = written.model_dump(mode="json")
    if written.text is not None:
        return told(result, written.text)
    if written.source is None:
        return told(result, written.failure or "The generator gave no rule.", REJECTED)
    return told(result, written.thought or "A rule was written.")


def _shown(request: SampleRequest | ReflectionRequest, parent: Sample) -> str:
    """Return a parent as who writes is to see it: with its parameters where parameters are asked for."""
    skeleton = parent.skeleton if request.operator == "skeleton" else None
    return skeleton or parent.source or ""


def _with_all_calls(written: Draft | None, calls: Path) -> Draft | None:
    return _known(written, calls) if written is not None else None


def _known(written: Draft, calls: Path) -> Draft:
    """Add the calls of interrupted earlier runs: they were paid too, and each is traced under its number."""
    fresh = {attempt.started_unix_s for attempt in written.attempts if not attempt.recorded}
    recorded = CallStore(calls).calls(written.key)
    attempts = tuple(call.attempt(recorded=call.started_unix_s not in fresh) for call in recorded)
    return written.model_copy(update={"attempts": attempts}) if attempts else written
