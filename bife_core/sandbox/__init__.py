"""Killable workers: code that may hang, crash or lie runs in child processes that die at a time limit.

`WorkerPool.submit` names a function of `bife_core`, gives it JSON and returns a future of its JSON result.
A call that overruns its limit is killed together with every process it started; the worker is replaced.
"""

from bife_core.sandbox.cores import CoreSlots
from bife_core.sandbox.environment import usable_cores
from bife_core.sandbox.failure import FailureKind, WorkerFailure
from bife_core.sandbox.in_process import InProcess
from bife_core.sandbox.pool import WorkerPool
from bife_core.sandbox.repeating import Note, submit_repeated
from bife_core.sandbox.workers import Allowed, Workers

__all__ = [
    "Allowed",
    "CoreSlots",
    "FailureKind",
    "InProcess",
    "Note",
    "WorkerFailure",
    "WorkerPool",
    "Workers",
    "submit_repeated",
    "usable_cores",
]
