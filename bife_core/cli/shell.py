"""`bife-scip`: SCIP's own command line, from the library that PySCIPOpt brings, with what BiFE found in it."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import signal
import sys
import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from bife_core.base.errors import BifeError
from bife_core.base.places import home, read_settings_files

_READ: Final = re.compile(r'\s*r(?:e|ea|ead)?\s+(?:"([^"]+)"|(\S+))')
"""SCIP's command that reads an instance, which may be shortened."""


def main() -> None:
    """Run SCIP's command line in this process, and exit as SCIP does."""
    words, rule = sys.argv[1:], os.environ.get("BIFE_RULE")
    if words[:1] == ["--rule"]:
        if len(words) == 1:
            sys.exit("Error: --rule was expected to be followed by a reference, such as models:/A@champion.")
        rule, words = words[1], words[2:]
    elif words[:1] in (["-h"], ["--help"]):
        print("bife-scip --rule REFERENCE ... : what branches; SCIP's own options may follow it", flush=True)
    warnings.showwarning = lambda message, *_where, **_how: print(f"bife-scip: {message}", file=sys.stderr)
    gc.set_threshold(100_000, 20, 20)  # what is imported stays
    # NumPy starts one a core, as long as it takes to import.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from pyscipopt import Model

    from bife_core.solver.scip.libscip import library, scip_address

    read_settings_files()
    model = Model()
    try:
        if rule := rule or _champion(words):
            from bife_core.solver.methods.attach import attach

            attach(model, rule)
    except (BifeError, OSError) as error:
        sys.exit(f"Error: {' '.join(str(error).split())}")
    model.freeProb()  # SCIP's command line begins without a problem
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # which SCIP replaces while it solves
    library().SCIPmessageSetErrorPrintingDefault()
    arguments = [*map(os.fsencode, [sys.argv[0], *words]), None]
    argv = (ctypes.c_char_p * len(arguments))(*arguments)
    scip, run = ctypes.c_void_p(scip_address(model)), library().SCIPprocessShellArguments
    if (code := run(scip, len(words) + 1, argv, b"scip.set")) != 1:  # SCIP_OKAY
        library().SCIPprintError(code)
        sys.exit(255)


def _champion(words: Sequence[str]) -> str | None:
    """Return the champion for the instance that a command line solves first; None if there is none, or RPB branches."""
    elsewhere = any(of for name, of in os.environ.items() if name == "BIFE_STORE" or name.endswith("_URI"))
    if (instance := _instance(words)) is None or not (elsewhere or any(home().glob("*.db"))):
        return None
    from pyscipopt import Model

    from bife_core.cli.backend import backend
    from bife_core.registry.evidence import CHAMPION
    from bife_core.solver.methods.base import RPB
    from bife_core.solver.scip.libscip import scip_errors
    from bife_core.solver.scip.settings import SolverConfig

    registry = backend().registry()
    if not any(CHAMPION in version.aliases for version in registry.versions()):
        return None
    model = Model()
    model.hideOutput()
    try:
        with scip_errors():
            model.readProblem(instance)
    except Exception:  # noqa: BLE001 - of whatever kind PySCIPOpt makes it: SCIP says it again
        return None
    rule, reason = registry.rule_for(model, SolverConfig())
    print(f"bife-scip: {rule} branches. {reason}", file=sys.stderr)
    return None if rule == RPB else rule


def _instance(words: Sequence[str]) -> str | None:
    """Return the instance that a command line solves first, or None if that cannot be seen from it."""
    for word, following in pairwise(words):
        if following == "-AMPL":
            return word if word.endswith(".nl") else f"{word}.nl"
        if word == "-f":
            return following
        if word == "-c" and (command := _READ.match(following)):
            return command[1] or command[2]
    return None
