"""Python and the command line as programs of their own, started from anywhere."""

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
FOREIGN = REPOSITORY / "tests" / "data" / "foreign"
PROGRAM = [sys.executable, "-c", "from bife_core.cli.program import main; main()"]
"""The command line."""
SHELL = [sys.executable, "-c", "from bife_core.cli.shell import main; main()"]
"""SCIP's command line with what BiFE found."""


def environment(home=None, **variables):
    """Return an environment in which tables have their full width.

    With a home of its own, a program gets none of the addresses that lie in the home of the tests.
    """
    inherited = dict(os.environ)
    if home is not None:
        inherited = {k: v for k, v in inherited.items() if not k.startswith(("MLFLOW_", "PREFECT_"))}
        inherited["BIFE_HOME"] = str(home)
    return inherited | {"COLUMNS": "200", "NO_COLOR": "1"} | variables


def python(*words, home=None, cwd=None, **variables):
    """Run Python with the words on its command line, and return what it printed and how it ended."""
    how = {"env": environment(home, **variables), "cwd": cwd, "timeout": 700, "check": False}
    return subprocess.run([sys.executable, *map(str, words)], **how, capture_output=True, text=True)


def program(*arguments, home=None, **variables):
    """Run the command line as a program."""
    return python(*PROGRAM[1:], *arguments, home=home, **variables)


def shell(*words, home=None, cwd=None, **variables):
    """Run `bife-scip` as a program."""
    return python(*SHELL[1:], *words, home=home, cwd=cwd, **variables)


def sentence(stderr):
    """Return the one sentence a command left on standard error."""
    (line,) = [line for line in stderr.splitlines() if line.strip()]
    assert line.startswith("Error: "), stderr
    return line.removeprefix("Error: ")
