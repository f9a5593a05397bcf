"""The store of the home, and work that one process at a time does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import Final

from bife_core.store import ClaimTimeoutError, Store
from tasks.home import project_home
from tasks.progress import note

VARIABLE: Final = "BIFE_STORE"
"""Environment variable with the database URL of a store that several machines share."""


def home_store() -> Store:
    """Return the store of the home, or the one that ``BIFE_STORE`` names; a process opens it once."""
    return _opened(os.environ.get(VARIABLE) or str(project_home().root))


@lru_cache(maxsize=4)
def _opened(where: str) -> Store:
    return Store(where)


@contextmanager
def alone_at(name: str, work: str) -> Iterator[None]:
    """Hold the claim on a piece of work, and wait without limit while another process does the same.

    The caller then finds the other's results. The observer is told once, and the state of the run says so meanwhile.

    Parameters
    ----------
    name : str
        Name of the claim.
    work : str
        What is being done, for the sentence a person reads.
    """
    with ExitStack() as held:
        try:
            held.enter_context(home_store().claim(name, timeout_s=0.0))
        except ClaimTimeoutError:
            sentence = f"Another process is at {work}; this one waits for it and then uses its results."
            from tasks.states import waiting  # imports Prefect

            note(sentence)
            with waiting(sentence):
                held.enter_context(home_store().claim(name))
        yield
