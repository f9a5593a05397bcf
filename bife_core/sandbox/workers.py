"""What runs calls somewhere else: the pool of this machine, or whatever takes its place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, ClassVar, Required, Self, TypedDict, Unpack


class Allowed(TypedDict, total=False):
    """What calls may take and touch.

    Attributes
    ----------
    limit_s : float
        Wall seconds of each call, from the moment a worker takes it up; waiting in the queue does not count.
    memory_mb : float or None
        Address space each call may take; None allows a worker's share of the machine's memory.
    reads, writes : iterable of Path
        Files or directories the calls name. Reading a file or writing to it takes in its directory.
    """

    limit_s: Required[float]
    memory_mb: float | None
    reads: Iterable[Path]
    writes: Iterable[Path]


class Workers(ABC):
    """Runs functions of `bife_core` elsewhere; used in a ``with`` statement, it is closed at its end."""

    remote: ClassVar[bool] = False
    """Whether calls may run on another machine than this one."""

    @property
    @abstractmethod
    def workers(self) -> int:
        """Calls that run at once."""

    @abstractmethod
    def submit_batch(
        self, call: str, arguments: Sequence[dict[str, Any]], **allowed: Unpack[Allowed]
    ) -> list[Future[Any]]:
        """Queue calls that one worker, on one core, makes one right after the other.

        Each has a future and a limit of its own; one that fails does not keep the next from being made. A worker can
        read and write only where the calls it serves need it.

        Parameters
        ----------
        call : str
            ``"bife_core.module:function"``, a public function of this package.
        arguments : sequence of dict
            Keyword arguments of each call, in order; JSON must hold them. NaN and infinities pass.
        **allowed
            What each call may take and touch.

        Returns
        -------
        list of Future
            The result of each is the function's result after a round trip through JSON; its exception is a
            `WorkerFailure`.

        Raises
        ------
        WorkerFailure
            If the workers are closed, or the calls could not be sent at all.
        """

    def submit(self, call: str, arguments: dict[str, Any], **allowed: Unpack[Allowed]) -> Future[Any]:
        """Queue one call and return the future of its result; see `submit_batch`."""
        return self.submit_batch(call, [arguments], **allowed)[0]

    @abstractmethod
    def close(self) -> None:
        """Stop at once: queued calls are cancelled, running ones are killed, no process stays behind."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
