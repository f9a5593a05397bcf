"""The key of a model API from a Secret block of Prefect's: one place for all machines that run evolutions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import httpx
from prefect.client.orchestration import get_client
from prefect.exceptions import ObjectNotFound
from pydantic import SecretStr

from bife_core.config import GeneratorConfig
from bife_core.errors import GeneratorError
from bife_core.generators.held_key import KEY_VARIABLE, holding_key

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
