"""Solves in pinned worker processes: each done once, stored before it is used, with the cause of a failure."""

from bife_core.solves.jobs import (
    OutOfTimeError as OutOfTimeError,
    Solved as Solved,
    SolveJob as SolveJob,
    run_solves as run_solves,
)
