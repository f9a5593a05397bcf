"""A pool whose workers are an engine's: the stages call it as they call the pool of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from functools import partial
from typing import Any, Unpack

from bife_core.sandbox import Allowed, FailureKind, WorkerFailure, Workers
from tasks.engines.base import Engine
from tasks.engines.packing import bring_back, pack, pack_allowed
from tasks.engines.remote import perform
from tasks.storage import storage_root


class EnginePool(Workers):
    """Sends calls to an engine; files travel through the storage root if there is one.

    Parameters
    ----------
    engine : Engine
        Closed with the pool.
    """

    remote = True

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._closed = False
        self._pending: set[Future[Any]] = set()

    @property
    def workers(self) -> int:
        """Calls that run at once."""
        return self._engine.slots

    def submit_in_turn(
        self, call: str, arguments: Sequence[dict[str, Any]], **allowed: Unpack[Allowed]
    ) -> list[Future[Any]]:
        """Queue calls; see `Workers`. Their results come together, when the last is done."""
        if self._closed:
            raise WorkerFailure("closed", f"{call} cannot run because its worker pool is closed.")
        root = storage_root()
        packed = [pack(each, root) for each in arguments]
        promised: list[Future[Any]] = [Future() for _ in arguments]
        sent = self._engine.submit(perform, call, packed, pack_allowed(allowed, root), root)
        self._pending.add(sent)
        for future in promised:
            future.add_done_callback(partial(self._give_up, promised, sent))
        sent.add_done_callback(partial(self._arrived, call, root, promised))
        return promised

    def close(self) -> None:
        """Stop at once: queued calls are cancelled and the engine is let go of."""
        self._closed = True
        for future in list(self._pending):
            future.cancel()
        self._engine.close()

    @staticmethod
    def _give_up(promised: list[Future[Any]], sent: Future[Any], _: Future[Any]) -> None:
        if all(future.cancelled() for future in promised):
            sent.cancel()

    def _arrived(self, call: str, root: str, promised: list[Future[Any]], sent: Future[Any]) -> None:
        self._pending.discard(sent)
        answers = self._answers(call, len(promised), sent)
        for future, answer in zip(promised, answers, strict=True):
            if not future.set_running_or_notify_cancel():
                continue
            if isinstance(answer, WorkerFailure):
                future.set_exception(answer)
                continue
            try:
                bring_back(answer["files"], root)
            except OSError as error:
                reason = f"What {call} wrote could not be fetched from {root}: {error}."
                future.set_exception(WorkerFailure("died", reason, by_machine=True))
            else:
                future.set_result(answer["result"])

    def _answers(self, call: str, count: int, sent: Future[Any]) -> list[dict[str, Any] | WorkerFailure]:
        try:
            return list(sent.result())
        except CancelledError:
            closed = WorkerFailure("closed", f"{call} did not run because its worker pool was closed.")
            return [closed] * count
        except Exception as error:  # noqa: BLE001 - an engine has errors of its own, all of which lose the call
            kind: FailureKind = "closed" if self._closed else "died"
            said = (str(error).splitlines() or [""])[0]
            lost = f"The worker that ran {call} was lost ({type(error).__name__}: {said})."
            return [WorkerFailure(kind, lost, by_machine=True)] * count
