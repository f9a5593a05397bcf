"""A key of a model API that is kept outside the environment, such as in a secret store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from pydantic import SecretStr

KEY_VARIABLE: Final = "BIFE_LLM_API_KEY"

_held: ContextVar[SecretStr | None] = ContextVar("bife_model_api_key", default=None)


@contextmanager
def holding_key(key: SecretStr | None) -> Iterator[None]:
    """Have `key` used inside, in tasks submitted there too; no child process inherits it. None is no key."""
    token = _held.set(key)
    try:
        yield
    finally:
        _held.reset(token)


def held_key() -> SecretStr | None:
    """Return the held key; None without one, or if the environment has one for BiFE, which comes first."""
    return None if os.environ.get(KEY_VARIABLE) else _held.get()
