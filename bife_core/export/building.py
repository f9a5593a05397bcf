"""From the C file of a rule to a shared library, where there is a C compiler."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from bife_core.errors import BifeError

_COMPILERS: Final = ("cc", "gcc", "clang")
_FLAGS: Final = ("-std=c99", "-O2", "-fPIC", "-shared", "-ffp-contract=off")


class ExportError(BifeError):
    """A rule could not be built outside Python."""


def compiler() -> list[str] | None:
    """Return the command of the C compiler: that of the variable ``CC``, or the first one found; None without one."""
    given = shlex.split(os.environ.get("CC", ""))
    if given:
        return given if shutil.which(given[0]) else None
    found = next(filter(None, map(shutil.which, _COMPILERS)), None)
    return None if found is None else [found]


def build(source: Path, library: Path, scip: Path | None = None) -> None:
    """Compile the C file of a rule to a shared library.

    SCIP's functions are not linked: they are those of the program the library is loaded into.

    Parameters
    ----------
    source, library : Path
        What is read, and what is written.
    scip : Path or None
        Folder SCIP is installed in, whose headers are used. None does without headers: the functions of SCIP that are
        called are declared in the file itself.

    Raises
    ------
    ExportError
        If there is no compiler or no headers, or the compiler fails.
    """
    command = compiler()
    if command is None:
        wanted = os.environ.get("CC") or ", ".join(_COMPILERS)
        raise ExportError(
            f"No C compiler was found (looked for {wanted}): install one or set CC, "
            "or write the C file with --to c and compile it elsewhere."
        )
    if scip is None:
        headers = ["-DBIFE_NO_SCIP_HEADERS"]
    elif (scip / "include" / "scip" / "scip.h").is_file():
        headers = [f"-I{scip / 'include'}"]
    else:
        raise ExportError(f"{scip} holds no include/scip/scip.h: give the folder SCIP is installed in.")
    unresolved = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []
    whole = [*command, *_FLAGS, *unresolved, *headers, str(source), "-o", str(library), "-lm"]
    done = subprocess.run(whole, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        complaint = " ".join(done.stderr.split())[:500]
        raise ExportError(
            f"The C compiler failed (exit code {done.returncode}): {shlex.join(whole)}: {complaint}"
        )
