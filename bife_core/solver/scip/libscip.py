"""Functions of the libscip that PySCIPOpt runs on, found through its extension module, and SCIP's error messages."""

from __future__ import annotations

import atexit
import ctypes
import os
import re
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyscipopt

from bife_core.base.errors import BifeError, SolverError

_OKAY: Final = 1

Model: TypeAlias = next(  # type: ignore[valid-type]
    kind for kind in object.__subclasses__() if f"{kind.__module__}.{kind.__name__}" == "pyscipopt.scip.Model"
)
"""PySCIPOpt's class, also where a program has put another in place of its names."""


@cache
def library() -> ctypes.CDLL:
    """Return the libscip of this process."""
    return ctypes.CDLL(pyscipopt.scip.__file__)


@cache
def scip_version() -> str:
    """Return the version of SCIP, such as ``10.0.2``."""
    return ".".join(str(function(f"SCIP{part}Version")()) for part in ("major", "minor", "tech"))


def function(name: str, result: type[object] = ctypes.c_int) -> ctypes._NamedFuncPointer:
    """Return a function of libscip; a `SolverError` says that it is not exported."""
    try:
        pointer = library()[name]  # unlike attribute access a new object, whose result type is ours alone
        pointer.restype = result
        return pointer
    except AttributeError as error:
        raise SolverError(
            f"PySCIPOpt {pyscipopt.__version__} runs on a SCIP library that does not export {name}; install a "
            "PySCIPOpt wheel or conda package that links libscip dynamically (6.1 or newer)."
        ) from error


def address_of(name: str) -> int:
    """Return the address of a function of libscip."""
    return ctypes.cast(function(name), ctypes.c_void_p).value or 0


def library_file() -> Path:
    """Return the file of the libscip of this process, whose name in wheels has a hash."""
    information = (ctypes.c_char_p * 4)()  # `Dl_info`, which begins with the file's name
    ctypes.CDLL(None).dladdr(ctypes.c_void_p(address_of("SCIPcreate")), information)
    return Path(os.fsdecode(information[0] or b"")).resolve()


def call_from_compiled_code(names: Iterable[str]) -> None:
    """Register functions of libscip with the compiler."""
    from llvmlite.binding import add_symbol  # only what is compiled needs it

    for name in names:
        add_symbol(name, address_of(name))


def scip_address(model: pyscipopt.Model) -> int:
    """Return the ``SCIP*`` of a PySCIPOpt model."""
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return int(get_pointer(model.to_ptr(False), b"scip"))


def check(code: int, doing: str) -> None:
    """Raise a `SolverError` if a SCIP return code is not SCIP_OKAY."""
    if code != _OKAY:
        raise SolverError(f"SCIP refused to {doing} (return code {code}).")


def lp_iterations(model: pyscipopt.Model) -> tuple[int, int]:
    """Return all LP iterations of a solve, and those of strong branching, which SCIP's own total leaves out."""
    strong = 0
    if model.getStage() >= pyscipopt.SCIP_STAGE.SOLVING:  # SCIP prints an error if asked before
        count = function("SCIPgetNStrongbranchLPIterations", ctypes.c_longlong)
        strong = count(ctypes.c_void_p(scip_address(model)))
    return model.getNLPIterations() + strong, strong


def total(model: pyscipopt.Model, name: str, kind: type[object], besides: str = "") -> float:
    """Return the sum of a counter, such as ``SCIPheurGetTime``, over all plugins but `besides`."""
    kind_of_plugin, counter = name.removeprefix("SCIP").partition("Get")[0], function(name, kind)
    name_of = function(f"SCIP{kind_of_plugin}GetName", ctypes.c_char_p)
    listed = _listed(model, f"{kind_of_plugin.capitalize()}s")
    return float(sum(counter(plugin) for plugin in listed if name_of(plugin) != besides.encode()))


def has_pricers(model: pyscipopt.Model) -> bool:
    """Whether columns may be added to a model."""
    return bool(function("SCIPgetNActivePricers")(ctypes.c_void_p(scip_address(model))))


def priced(model: pyscipopt.Model) -> list[tuple[str, float]]:
    """Return the names of the variables that pricers added, with their values in the best solution."""
    scip, original = ctypes.c_void_p(scip_address(model)), function("SCIPvarIsTransformedOrigvar")
    best = ctypes.c_void_p(function("SCIPgetBestSol", ctypes.c_void_p)(scip))
    name, value = function("SCIPvarGetName", ctypes.c_char_p), function("SCIPgetSolVal", ctypes.c_double)
    kinds = ("Vars", "FixedVars") if has_pricers(model) else ()
    variables = (variable for kind in kinds for variable in _listed(model, kind))
    return [(name(var).decode(), value(scip, best, var)) for var in variables if not original(var)]


def _listed(model: pyscipopt.Model, what: str) -> Iterator[ctypes.c_void_p]:
    """Yield the items of one of SCIP's arrays, such as ``Vars`` or ``Heurs``."""
    scip = ctypes.c_void_p(scip_address(model))
    items = function(f"SCIPget{what}", ctypes.POINTER(ctypes.c_void_p))(scip)
    yield from (ctypes.c_void_p(items[k]) for k in range(function(f"SCIPgetN{what}")(scip)))


def plugins(model: pyscipopt.Model) -> int:
    """Return how many plugins a model has; more than a new model if it has some of its own."""
    kinds = ("Benders", "Branchrules", "Conshdlrs", "Cutsels", "Eventhdlrs", "Heurs", "Nodesels", "Presols")
    counts = (function(f"SCIPgetN{kind}") for kind in (*kinds, "Pricers", "Props", "Relaxs", "Sepas"))
    return sum(count(ctypes.c_void_p(scip_address(model))) for count in counts)


def constraint_handlers(model: pyscipopt.Model) -> frozenset[str]:
    """Return the names of a model's constraint handlers."""
    return _names(model, "Conshdlrs", "SCIPconshdlrGetName")


def presolvers(model: pyscipopt.Model) -> frozenset[str]:
    """Return the names of a model's presolvers."""
    return _names(model, "Presols", "SCIPpresolGetName")


def _names(model: pyscipopt.Model, what: str, name_of: str) -> frozenset[str]:
    name = function(name_of, ctypes.c_char_p)
    return frozenset(name(item).decode() for item in _listed(model, what))


def lp_solver() -> str:
    """Return name and version of SCIP's LP solver, such as ``SoPlex 8.0.2``."""
    name: bytes = function("SCIPlpiGetSolverName", ctypes.c_char_p)()
    return name.decode()


_SCIP_ERROR: Final = re.compile(r"^\[[^\]]*\] ERROR: (.*)$", re.MULTILINE)
_collecting = threading.local()
_hooks: Final = list[Any]()
_hooking: Final = threading.RLock()


def _kept() -> tuple[list[bytes], list[BaseException]] | None:
    return getattr(_collecting, "kept", None)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
def _keep_or_print(_data: object, _file: object, text: bytes | None) -> None:
    if kept := _kept():
        kept[0].append(text or b"")
    else:
        os.write(2, text or b"")


def _keep_or_report(unraisable: Any) -> None:
    if (kept := _kept()) and str(unraisable.object).startswith("pyscipopt."):
        kept[1].append(unraisable.exc_value)
    else:
        _hooks[0](unraisable)


@cache
def _print_errors() -> None:
    function("SCIPmessageSetErrorPrinting")(_keep_or_print, None)
    atexit.register(function("SCIPmessageSetErrorPrintingDefault"))


@contextmanager
def scip_errors(problem: str = "", kind: type[BifeError] = SolverError) -> Iterator[list[str]]:
    """Collect the errors SCIP reports in this thread instead of printing them; the list has them afterwards.

    With a `problem`, PySCIPOpt's plain exceptions become an error of a `kind` that says the problem and SCIP's first
    message, or what a callback in Python raised, which PySCIPOpt only prints.
    """
    _print_errors()
    messages: list[str] = []
    outer = _kept()
    pieces, raised = _collecting.kept = list[bytes](), list[BaseException]()
    with _hooking:  # threads share the hook: the last to leave restores the first one's
        _hooks.append(sys.unraisablehook)
        sys.unraisablehook = _keep_or_report
    try:
        yield messages
    except Exception as error:
        if raised and not isinstance(raised[0], Exception):  # Ctrl-C, where SCIP does not take it
            raise raised.pop() from None
        if not problem:
            raise
        reported = _SCIP_ERROR.findall(b"".join(pieces).decode(errors="replace"))
        reason = (reported or [str(error).removeprefix("SCIP: ")])[0].strip(" .!'")
        if raised:
            raise kind(f"{problem}: a callback raised {raised[0]!r}.") from raised.pop(0)
        raise kind(f"{problem}: {reason}.") from error
    finally:
        with _hooking:
            others = _hooks.pop()
            sys.unraisablehook = sys.unraisablehook if _hooks else others
        _collecting.kept = outer
        messages += _SCIP_ERROR.findall(b"".join(pieces).decode(errors="replace"))
