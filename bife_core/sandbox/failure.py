"""The one error a worker's caller meets."""

from __future__ import annotations

from typing import Literal

from bife_core.errors import BifeError

FailureKind = Literal["timeout", "died", "error", "closed"]
"""Killed at its limit; gone without an answer; the call itself raised; or the pool was closed, which says nothing
about the call."""


class WorkerFailure(BifeError):  # noqa: N818 - the noun its callers branch on
    """A call in a worker process gave no result.

    Parameters
    ----------
    kind : {"timeout", "died", "error", "closed"}
        Whether the limit was reached, the process was lost, the call raised, or the pool was closed meanwhile.
    reason : str
        One sentence for the person who reads it; for a `BifeError` of the call, that error's own sentence.
    detail : str
        What helps to find the cause: the call's traceback, or the last output of a lost process.
    error_type : str
        Class name of the exception the call raised, such as ``"RuleError"``; empty for the other kinds.
    by_machine : bool
        Whether the machine may have failed and not the call: no process or file was to be had, or something other
        than the pool killed the process, such as the system for want of memory.
    """

    def __init__(
        self,
        kind: FailureKind,
        reason: str,
        detail: str = "",
        error_type: str = "",
        by_machine: bool = False,
    ) -> None:
        super().__init__(reason)
        self.kind: FailureKind = kind
        self.reason = reason
        self.detail = detail
        self.error_type = error_type
        self.by_machine = by_machine

    def __reduce__(self) -> tuple[type[WorkerFailure], tuple[FailureKind, str, str, str, bool]]:
        return WorkerFailure, (self.kind, self.reason, self.detail, self.error_type, self.by_machine)
