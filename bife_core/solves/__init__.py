"""Solves that were paid for: in pinned worker processes, on disk before they are used, and whose fault a failure is."""

from bife_core.solves.jobs import Solve, SolveJob, SolveOutcome
from bife_core.solves.running import OutOfTimeError, Solved, run_solves
from bife_core.solves.store import SolveStore

__all__ = ["OutOfTimeError", "Solve", "SolveJob", "SolveOutcome", "SolveStore", "Solved", "run_solves"]
