"""Python and the command line as programs of their own, started from anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).parents[2]
FOREIGN: Final = REPOSITORY / "tests" / "data" / "foreign"
PROGRAM: Final = [sys.executable, "-c", "from bife_core.cli import main; main()"]
"""The command line."""


def environment(home: Path | None = None, **variables: str) -> dict[str, str]:
    """Return an environment in which tables have their full width.

    With a home of its own, a program gets none of the addresses that lie in the home of the tests.
    """
    inherited = dict(os.environ)
    if home is not None:
        inherited = {k: v for k, v in inherited.items() if not k.startswith(("MLFLOW_", "PREFECT_"))}
        inherited["BIFE_HOME"] = str(home)
    return inherited | {"PYTHONPATH": str(REPOSITORY), "COLUMNS": "200", "NO_COLOR": "1"} | variables


def python(
    *words: object, home: Path | None = None, cwd: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run Python with the words on its command line, and return what it printed and how it ended."""
    return subprocess.run(
        [sys.executable, *map(str, words)],
        env=environment(home, **variables),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=700,
        check=False,
    )


def program(
    *arguments: object, home: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run the command line as a program."""
    return python(*PROGRAM[1:], *arguments, home=home, **variables)


def sentence(stderr: str) -> str:
    """Return the one sentence a command left on standard error."""
    (line,) = [line for line in stderr.splitlines() if line.strip()]
    assert line.startswith("Error: "), stderr
    return line.removeprefix("Error: ")
