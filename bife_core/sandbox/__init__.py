"""Killable workers: code that may hang, crash or lie runs in child processes that die at a time limit.

`WorkerPool.submit` names a function of `bife_core`, gives it JSON and returns a future of its JSON result.
A call that overruns its limit is killed together with every process it started; the worker is replaced.
"""

from bife_core.sandbox.cores import CoreSlots, usable_cores
from bife_core.sandbox.pool import WorkerPool
from bife_core.sandbox.workers import Allowed, FailureKind, InProcess, Note, WorkerFailure, Workers

__all__ = [
    "Allowed",
    "CoreSlots",
    "FailureKind",
    "InProcess",
    "Note",
    "WorkerFailure",
    "WorkerPool",
    "Workers",
    "usable_cores",
]
