"""Solves in pinned worker processes: each done once, stored before it is used, with the cause of a failure."""

from bife_core.solves.jobs import OutOfTimeError, Solved, SolveJob, run_solves

__all__ = ["OutOfTimeError", "SolveJob", "Solved", "run_solves"]
