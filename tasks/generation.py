"""The task that has a rule written, by whichever generator is configured."""

from __future__ import annotations

import time
from functools import lru_cache
from pathlib import Path
from typing import Any

from prefect import task

from bife_core.config import GeneratorConfig
from bife_core.errors import GeneratorError
from bife_core.generators import Generation, GenerationRequest, Generator, ParentRule, open_generator
from bife_core.generators.calls import CallStore
from bife_core.search import Candidate, ReflectionRequest, SampleRequest
from tasks.policy import RETRIES, RETRY_DELAYS_S, is_infrastructure, stored_under
from tasks.states import REJECTED, told


class GenerationStopped(GeneratorError):  # noqa: N818 - it says what happened, not what is wrong
    """No further rule can be written until a person changes something.

    Attributes
    ----------
    generation : Generation or None
        The generation that met the problem, with its calls, so that they can still be traced.
    """

    def __init__(self, reason: str, generation: Generation | None) -> None:
        super().__init__(reason)
        self.generation = generation

    def __reduce__(self) -> tuple[type[GenerationStopped], tuple[str, Generation | None]]:
        return GenerationStopped, (str(self), self.generation)


@lru_cache(maxsize=8)
def generator(config: GeneratorConfig, calls: Path) -> Generator:
    """Return the generator of an evolution; threads share it."""
    return open_generator(config, calls)


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
    persist_result=True,
    result_serializer="json",
    retries=RETRIES,
    retry_delay_seconds=RETRY_DELAYS_S,
    retry_condition_fn=is_infrastructure,
)
def propose(
    request: SampleRequest | ReflectionRequest,
    config: GeneratorConfig,
    benchmark: str,
    calls: Path,
    evolution: str,
) -> dict[str, Any]:
    """Have one rule or reflection written and return the `Generation` as JSON; an answer without one is a result too.

    Parameters
    ----------
    benchmark : str
        What is solved, for the prompt.
    calls : Path
        Directory where calls to a model API are recorded before they are read.
    evolution : str
        Key of the evolution the request belongs to.

    Raises
    ------
    GenerationStopped
        If no further request can succeed either, for instance because the key was refused.
    """
    wanted = GenerationRequest(
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
    began = time.perf_counter()
    try:
        written = generator(config, calls).generate(wanted)
    except GeneratorError as error:
        met = getattr(error, "generation", None)
        raise GenerationStopped(str(error), _with_all_calls(met, calls) if met else None) from error
    written = _with_all_calls(written, calls)
    # Calls read back from disk took their time in an earlier run.
    seconds = max(time.perf_counter() - began, sum(attempt.seconds for attempt in written.attempts))
    result = written.model_copy(update={"seconds": seconds}).model_dump(mode="json")
    if written.source is None:
        return told(result, written.failure or "The generator gave no rule.", REJECTED)
    return told(result, written.thought or "A rule was written.")


def _shown(request: SampleRequest | ReflectionRequest, parent: Candidate) -> str:
    """Return a parent as who writes is to see it: with its parameters where parameters are asked for."""
    skeleton = parent.skeleton if request.operator == "skeleton" else None
    return skeleton or parent.source or ""


def _with_all_calls(written: Generation, calls: Path) -> Generation:
    """Add the calls of interrupted earlier runs: they were paid too, and each is traced under its number."""
    fresh = {attempt.started_unix_s for attempt in written.attempts if not attempt.recorded}
    recorded = CallStore(calls).calls(written.key)
    attempts = tuple(call.attempt(recorded=call.started_unix_s not in fresh) for call in recorded)
    return written.model_copy(update={"attempts": attempts}) if attempts else written
