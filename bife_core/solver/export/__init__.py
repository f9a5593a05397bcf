"""Rules out of Python: a C file that SCIP can be compiled with, from C++, Julia or the command line."""

from bife_core.solver.export.plugin import INCLUDE_FUNCTION as INCLUDE_FUNCTION, export_c as export_c
