"""Workers: processes that solve and score, killed at a time limit and confined by a sandbox."""

from bife_core.workers.base import (
    Allowed as Allowed,
    FailureKind as FailureKind,
    InProcess as InProcess,
    Note as Note,
    WorkerFailure as WorkerFailure,
    Workers as Workers,
)
from bife_core.workers.cores import CoreSlots as CoreSlots, usable_cores as usable_cores
from bife_core.workers.pool import WorkerPool as WorkerPool
