"""The command line, called in this process or as a program of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

REPOSITORY = Path(__file__).parents[3]
FOREIGN = REPOSITORY / "tests" / "data" / "foreign"
PROGRAM = [sys.executable, "-c", "from flows.cli import main; main()"]


def environment(home: Path | None = None, **variables: str) -> dict[str, str]:
    """An environment for a program started from anywhere, its tables at full width.

    With a home of its own, it gets none of the addresses that lie in the home of the tests.
    """
    inherited = dict(os.environ)
    if home is not None:
        inherited = {k: v for k, v in inherited.items() if not k.startswith(("MLFLOW_", "PREFECT_"))}
        inherited["BIFE_HOME"] = str(home)
    return inherited | {"PYTHONPATH": str(REPOSITORY), "COLUMNS": "200", "NO_COLOR": "1"} | variables


@pytest.fixture
def bife(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Call the command line in this process."""
    from flows.cli import app

    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def program() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command line as a program."""

    def run(
        *arguments: object, home: Path | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*PROGRAM, *(str(argument) for argument in arguments)],
            env=environment(home, **variables),
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )

    return run


def sentence(stderr: str) -> str:
    """Return the one sentence a command left on standard error."""
    lines = [line for line in stderr.splitlines() if line.strip()]
    assert len(lines) == 1, stderr
    assert lines[0].startswith("Error: "), stderr
    return lines[0].removeprefix("Error: ")
