"""What runs calls somewhere else: the pool of this machine, or whatever takes its place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Protocol


class Workers(Protocol):
    """Runs functions of `bife_core` elsewhere; `WorkerPool` says what each method promises.

    Attributes
    ----------
    workers : int
        Calls that run at once.
    """

    @property
    def workers(self) -> int: ...  # noqa: D102

    def submit(
        self,
        call: str,
        arguments: dict[str, Any],
        *,
        limit_s: float,
        memory_mb: float | None = None,
        reads: Iterable[Path] = (),
        writes: Iterable[Path] = (),
    ) -> Future[Any]:
        """Queue one call and return the future of its result."""
        ...

    def submit_in_turn(
        self,
        call: str,
        arguments: Sequence[dict[str, Any]],
        *,
        limit_s: float,
        memory_mb: float | None = None,
        reads: Iterable[Path] = (),
        writes: Iterable[Path] = (),
    ) -> list[Future[Any]]:
        """Queue calls that are made one right after the other on one core."""
        ...

    def close(self) -> None:
        """Stop at once."""
        ...
