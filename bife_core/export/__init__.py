"""Rules out of Python: a C file that SCIP can be compiled with, from C++, Julia or the command line."""

from bife_core.export.building import ExportError, build
from bife_core.export.plugin import COMPILE_COMMAND, INCLUDE_FUNCTION, export_c

__all__ = ["COMPILE_COMMAND", "INCLUDE_FUNCTION", "ExportError", "build", "export_c"]
