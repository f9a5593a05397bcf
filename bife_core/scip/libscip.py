"""Find the libscip that PySCIPOpt runs on and make its functions callable, also from compiled code.

No path and no file name is guessed: the functions are looked up through PySCIPOpt's own extension module,
whose dependencies hold the one libscip this process uses. So a wheel, a conda package and a local build all
work alike.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import llvmlite.binding
import pyscipopt

from bife_core.errors import SolverError

CALLED_FROM_PYTHON = (
    "SCIPfindBranchrule",
    "SCIPincludeBranchruleBasic",
    "SCIPmajorVersion",
    "SCIPminorVersion",
    "SCIPtechVersion",
    "SCIPsetBranchruleExecLp",
    "SCIPsetBranchruleInitsol",
)

OKAY = 1
"""SCIP_RETCODE of a call that worked."""


class _DlInfo(ctypes.Structure):
    _fields_ = (
        ("path", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


@dataclass(frozen=True)
class Library:
    """The libscip of this process.

    Attributes
    ----------
    handle : ctypes.CDLL
        Handle through which its functions are found.
    version : str
        SCIP's version, such as ``10.0.2``.
    path : str
        File it was loaded from, or ``unknown`` where the platform does not tell.
    """

    handle: ctypes.CDLL
    version: str
    path: str


def _path_of(function: object) -> str:
    try:
        dladdr = ctypes.CDLL(None).dladdr
    except (AttributeError, OSError, TypeError):  # not a POSIX loader
        return "unknown"
    info = _DlInfo()
    address = ctypes.cast(function, ctypes.c_void_p)  # type: ignore[arg-type]
    if not dladdr(address, ctypes.byref(info)) or info.path is None:
        return "unknown"
    return str(Path(info.path.decode()).resolve())


@cache
def library() -> Library:
    """Return the loaded libscip.

    Raises
    ------
    SolverError
        If PySCIPOpt's libscip does not export a function that is needed; the message names it.
    """
    handle = ctypes.CDLL(pyscipopt.scip.__file__)
    _require(handle, CALLED_FROM_PYTHON)
    version = ".".join(str(getattr(handle, f"SCIP{part}Version")()) for part in ("major", "minor", "tech"))
    return Library(handle, version, _path_of(handle.SCIPmajorVersion))


def call_from_compiled_code(names: Iterable[str]) -> None:
    """Make the compiler know functions of libscip under their names.

    Raises
    ------
    SolverError
        If PySCIPOpt's libscip does not export them all; the message names those that are missing.
    """
    handle = library().handle
    names = tuple(names)
    _require(handle, names)
    for name in names:
        address = ctypes.cast(getattr(handle, name), ctypes.c_void_p).value
        llvmlite.binding.add_symbol(name, address)


def _require(handle: ctypes.CDLL, names: tuple[str, ...]) -> None:
    missing = [name for name in names if not hasattr(handle, name)]
    if missing:
        raise SolverError(
            f"PySCIPOpt {pyscipopt.__version__} runs on a SCIP library that does not export "
            f"{', '.join(missing)}; install a PySCIPOpt wheel or conda package that links libscip "
            "dynamically (6.1 or newer)."
        )


def scip_address(model: pyscipopt.Model) -> int:
    """Return the address of the ``SCIP*`` behind a PySCIPOpt model, for calls through `library`."""
    capsule = model.to_ptr(False)
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return int(get_pointer(capsule, b"scip"))


def check(code: int, doing: str) -> None:
    """Raise if a SCIP return code is not SCIP_OKAY.

    Raises
    ------
    SolverError
        Naming what SCIP refused to do.
    """
    if code != OKAY:
        raise SolverError(f"SCIP refused to {doing} (return code {code}).")
