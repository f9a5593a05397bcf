"""What an evolution needs of this home: its identity, its generations as tasks of Prefect, its key, its final rule."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Final

import httpx
from prefect import task
from prefect.client.orchestration import get_client
from prefect.exceptions import ObjectNotFound
from pydantic import SecretStr

from bife_core.config import GeneratorConfig, PipelineConfig
from bife_core.errors import GeneratorError
from bife_core.evaluation.choosing import Choice, choose
from bife_core.generators import Account, open_generator
from bife_core.generators.model_settings import KEY_VARIABLE
from bife_core.methods.base import Method
from bife_core.search import Sample
from bife_core.search.population import ranked
from bife_core.study import Evolution
from tasks.collection import InstanceSet, solving
from tasks.states import TRIED_AGAIN, with_message
from tasks.stores import home_store, observer

KEY_BLOCK: Final = "bife-llm-api-key"


def require_generator(config: PipelineConfig) -> None:
    """Raise `GeneratorError` or `ConfigError` before anything is spent if rules cannot be written."""
    open_generator(config.generator, Account(home_store(), "", config.budget))


@task(name="generation", **TRIED_AGAIN)
def next_generation(run: Callable[[], Evolution]) -> Evolution:
    """Run a study to the end of its next generation; all that is done is stored, so that another try goes on there."""
    found = run()
    return with_message(found, f"{len(found.samples)} rules sampled, {found.failures} of them of no use.")


def finalists(samples: Sequence[Sample], count: int) -> tuple[Sample, ...]:
    """Return the rules with the best F_HF, best first, each rule once however often it was written."""
    distinct: dict[str | None, Sample] = {}
    for sample in ranked(samples):
        if sample.failure is None and sample.f_hf is not None and sample.source:
            distinct.setdefault(sample.sha, sample)
    return tuple(distinct.values())[:count]


@task(name="validate", task_run_name="choose the final rule", **TRIED_AGAIN)
def validate(methods: Sequence[Method], instances: InstanceSet, config: PipelineConfig) -> Choice:
    """Solve validation instances with each method, best F_HF first, and choose; see `choose`."""
    return choose(methods, instances.instances, solving(config), observer().progress)


def model_key(config: GeneratorConfig) -> SecretStr | None:
    """Return the key for a model API in the block `KEY_BLOCK`, unless none is needed or the environment has one."""
    if config.kind != "openai" or os.environ.get(KEY_VARIABLE):
        return None
    try:
        with get_client(sync_client=True) as client:
            block = client.read_block_document_by_name(KEY_BLOCK, "secret", include_secrets=True)
    except ObjectNotFound:  # local servers need none
        return None
    except httpx.HTTPError as error:
        # Of the cause only its kind: a server may repeat the secret in its complaint.
        raise GeneratorError(
            f"Prefect's Secret block {KEY_BLOCK} could not be read ({type(error).__name__}); set {KEY_VARIABLE}."
        ) from None
    return SecretStr(str(block.data["value"]))
