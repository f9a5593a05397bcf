"""A key of a model API that is not kept in the environment, such as one in a secret store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from pydantic import SecretStr

KEY_VARIABLE: Final = "BIFE_LLM_API_KEY"
"""Holds the key where it is kept in the environment; it comes before any other."""

_held: ContextVar[SecretStr | None] = ContextVar("bife_model_api_key", default=None)


@contextmanager
def holding_key(key: SecretStr | None) -> Iterator[None]:
    """Have `key` used inside, in tasks submitted there too; no child process inherits it. None is no key.

    Examples
    --------
    >>> with holding_key(SecretStr("sk-1")):
    ...     held_key()
    SecretStr('**********')
    """
    token = _held.set(key)
    try:
        yield
    finally:
        _held.reset(token)


def held_key() -> SecretStr | None:
    """Return the key in use that is kept elsewhere, or None if there is none or the environment has one for BiFE.

    It comes before ``OPENAI_API_KEY``, which may be meant for another program and another server.
    """
    return None if os.environ.get(KEY_VARIABLE) else _held.get()
