"""Solves in pinned worker processes: each done once, stored before it is used, with the cause of a failure."""

from bife_core.solves.jobs import Solve, SolveJob, SolveOutcome
from bife_core.solves.running import OutOfTimeError, Solved, run_solves

__all__ = ["OutOfTimeError", "Solve", "SolveJob", "SolveOutcome", "Solved", "run_solves"]
