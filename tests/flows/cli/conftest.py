"""The command line, called in this process."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from typer.testing import CliRunner, Result

from tests.support.programs import REPOSITORY

FOREIGN = REPOSITORY / "tests" / "data" / "foreign"


@pytest.fixture
def bife(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Call the command line in this process."""
    from bife_core.cli.program import app

    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


def sentence(stderr: str) -> str:
    """Return the one sentence a command left on standard error."""
    lines = [line for line in stderr.splitlines() if line.strip()]
    assert len(lines) == 1, stderr
    assert lines[0].startswith("Error: "), stderr
    return lines[0].removeprefix("Error: ")
