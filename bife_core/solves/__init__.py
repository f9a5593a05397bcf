"""Solves in pinned worker processes: each done once, stored before it is used, with the cause of a failure."""

from bife_core.solves.jobs import Solved, SolveJob
from bife_core.solves.running import OutOfTimeError, run_solves

__all__ = ["OutOfTimeError", "SolveJob", "Solved", "run_solves"]
