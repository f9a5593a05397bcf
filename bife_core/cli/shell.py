"""`bife-scip`: SCIP's own command line, from the library that PySCIPOpt brings, with what BiFE found in it."""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import re
import signal
import sys
import warnings
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from pyscipopt import Model

# Nothing that takes time is imported before it is known that a rule is wanted.

RULE: Final = "BIFE_RULE"
"""Environment variable with the reference of what branches."""

_OPTION: Final = "--rule"
_ANSWERS: Final = ("-v", "--version", "-h", "--help")
"""Options at which SCIP prints something and ends."""

_READ: Final = re.compile(r'\s*r(?:e|ea|ead)?\s+(?:"([^"]+)"|(\S+))')
"""SCIP's command that reads an instance, which may be shortened."""

_OKAY: Final = 1


def main() -> None:
    """Run SCIP's command line in this process and exit as SCIP does."""
    gc.disable()  # what is imported stays
    words = sys.argv[1:]
    rule = os.environ.get(RULE)
    if words and words[0].startswith(f"{_OPTION}="):
        rule = words.pop(0).partition("=")[2]
    elif words and words[0] == _OPTION:
        if len(words) == 1:
            _fail(f"{_OPTION} was expected to be followed by a reference, such as models:/NAME@champion.")
        rule, words = words[1], words[2:]
    instance = None if rule else _instance(words)
    if not any(word in _ANSWERS for word in words) and (rule or (instance and _may_have_champion())):
        sys.exit(_with_rule(rule, instance, words))
    sys.exit(_run(_plain_library(), ctypes.c_void_p(), words))


def _instance(words: Sequence[str]) -> str | None:
    """Return the instance that a command line of SCIP's solves first, or None if that cannot be seen from it."""
    for word, following in pairwise(words):
        if following == "-AMPL":
            return word if word.endswith(".nl") else f"{word}.nl"
        if word == "-f":
            return following
        if word == "-c" and (command := _READ.match(following)):
            return command[1] or command[2]
    return None


def _may_have_champion() -> bool:
    """Whether there may be a registry at all; nothing is imported to see that there is none."""
    from bife_core.base.places import home, read_settings_files

    read_settings_files()
    named = ("BIFE_STORE", "MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI")
    return any(map(os.environ.get, named)) or home().is_dir()


def _with_rule(rule: str | None, instance: str | None, words: Sequence[str]) -> int:
    """Run SCIP's command line on a model with what a reference names, or with the champion for an instance."""
    warnings.showwarning = _note  # SCIP's output is SCIP's own
    _import_numpy()
    from pyscipopt import Model

    from bife_core.base.errors import BifeError
    from bife_core.base.places import read_settings_files
    from bife_core.solver.methods.attach import attach
    from bife_core.solver.scip.libscip import library, scip_address

    read_settings_files()
    model = Model()
    try:
        if rule := rule or _champion(model, str(instance)):
            attach(model, rule)
    except (BifeError, OSError) as error:
        _fail(str(error))
    model.freeProb()  # SCIP's command line begins without a problem
    library().SCIPmessageSetErrorPrintingDefault()
    gc.freeze()
    gc.enable()  # for what branches in Python
    return _run(library(), ctypes.c_void_p(scip_address(model)), words)


def _import_numpy() -> None:
    """Import NumPy with one thread for linear algebra: starting as many as there are cores takes as long as SCIP."""
    name = "OPENBLAS_NUM_THREADS"
    alone = name not in os.environ
    os.environ.setdefault(name, "1")
    importlib.import_module("numpy")
    if alone:
        del os.environ[name]


def _champion(model: Model, instance: str) -> str | None:
    """Return the reference of the champion for an instance, or None if there is none or SCIP cannot read it."""
    from bife_core.base.errors import SolverError
    from bife_core.cli.backend import backend
    from bife_core.registry.evidence import CHAMPION
    from bife_core.solver.methods.base import RPB
    from bife_core.solver.scip.libscip import scip_errors
    from bife_core.solver.scip.settings import SolverConfig

    registry = backend().registry()
    if not any(CHAMPION in version.aliases for version in registry.versions()):
        return None
    model.hideOutput()
    try:
        with scip_errors(f"{instance} cannot be read"):
            model.readProblem(instance)
        rule, reason = registry.rule_for(model, SolverConfig())
    except (SolverError, OSError):
        return None  # SCIP says so itself
    finally:
        model.hideOutput(False)
        model.freeProb()
        model.createProbBasic()
    print(f"bife-scip: {rule} branches. {reason}", file=sys.stderr)
    return None if rule == RPB else rule


def _plain_library() -> ctypes.CDLL:
    """Return the libscip, found through its extension module as `libscip.library` does, without importing it."""
    package = find_spec("pyscipopt")
    folders = [] if package is None else package.submodule_search_locations or []
    names = [Path(folder) / f"scip{suffix}" for folder in folders for suffix in EXTENSION_SUFFIXES]
    if (extension := next(filter(Path.exists, names), None)) is None:
        _fail(
            "SCIP was expected in the package PySCIPOpt, which is not installed; run pip install pyscipopt."
        )
    return ctypes.CDLL(str(extension))


def _run(library: ctypes.CDLL, scip: ctypes.c_void_p, words: Sequence[str]) -> int:
    """Run SCIP's command line on a model, or a new one in place of a null pointer, and return SCIP's exit code."""
    signal.signal(
        signal.SIGINT, signal.SIG_DFL
    )  # SCIP takes Ctrl-C while it solves, and ends with the best solution
    code, created = _OKAY, not scip
    if created:
        code = library.SCIPcreate(ctypes.byref(scip))
        code = code if code != _OKAY else library.SCIPincludeDefaultPlugins(scip)
    arguments = [sys.argv[0], *words]
    argv = (ctypes.c_char_p * (len(arguments) + 1))(*map(os.fsencode, arguments))
    if code == _OKAY:
        code = library.SCIPprocessShellArguments(scip, len(arguments), argv, b"scip.set")
    if code == _OKAY and created:
        code = library.SCIPfree(ctypes.byref(scip))
    if code == _OKAY:
        return 0
    library.SCIPprintError(code)
    return 255


def _fail(sentence: str) -> NoReturn:
    print(f"Error: {' '.join(sentence.split())}", file=sys.stderr)
    raise SystemExit(1)


def _note(message: Warning | str, *_where: Any, **_how: Any) -> None:
    print(f"bife-scip: {message}", file=sys.stderr)
