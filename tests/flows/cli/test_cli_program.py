import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from bife_core.errors import BifeError, ConfigError
from flows.cli.outcome import CommandEnd, ExitCode, ReportingGroup
from tests.flows.cli.conftest import FOREIGN, environment, sentence

SLOW = {"prefect", "mlflow", "pandas", "openai", "matplotlib"}
SOLVING = {"numba", "pyscipopt", "pydantic"}
COMMANDS = ("demo", "run", "collect", "evolve", "evaluate", "solve", "rules", "ui", "config", "doctor")


def loaded_after(*arguments):
    """Return which slow packages a command loads, in a fresh interpreter."""
    code = (
        "import sys\n"
        "from flows.cli import main\n"
        f"sys.argv = ['bife', *{list(map(str, arguments))!r}]\n"
        "try: main()\n"
        "except SystemExit as end: code = end.code\n"
        f"print(sorted({SLOW | SOLVING!r} & set(sys.modules)), code, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=False
    )
    return done.stderr.strip().splitlines()[-1]


def test_help_loads_nothing_slow():
    assert loaded_after("--help") == "[] 0"


def test_solving_needs_neither_prefect_nor_mlflow():
    found = loaded_after("solve", FOREIGN / "lseu.mps", "--rule", "paper_ca", "--quiet")
    assert found == "['numba', 'pydantic', 'pyscipopt'] 0"


def test_help_names_every_command_and_every_exit_code(bife):
    shown = bife("--help").stdout
    assert all(name in shown for name in COMMANDS)
    told = " ".join(shown.split())
    assert all(f"{code:d} {code.meaning}" in told for code in ExitCode)


@pytest.mark.parametrize("command", [(name,) for name in COMMANDS] + [("rules", "list"), ("rules", "show")])
def test_every_command_explains_itself(bife, command):
    result = bife(*command, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.stdout


def test_an_unknown_command_is_a_usage_error(bife):
    result = bife("evolv")
    assert result.exit_code == ExitCode.USAGE
    assert "evolv" in result.stderr


def test_the_version_is_one_line(bife):
    result = bife("--version")
    assert result.exit_code == 0
    assert result.stdout.startswith("bife")
    assert result.stdout.count("\n") == 1


def raising(error):
    """Return a program whose only command raises."""
    app = typer.Typer(cls=ReportingGroup, pretty_exceptions_enable=False)

    @app.callback()
    def options(context: typer.Context, debug: bool = False) -> None:
        context.obj = debug

    @app.command()
    def fail() -> None:
        raise error

    return app


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (ConfigError("Two\n   lines."), 1, "Two lines."),
        (CommandEnd("No optimum.", ExitCode.NO_OPTIMUM), 3, "No optimum."),
        (KeyboardInterrupt(), 130, "Interrupted."),
        (PermissionError(13, "Permission denied", "/some/file"), 1, "/some/file: Permission denied."),
        (OSError(28, "No space left on device"), 1, "No space left on device."),
    ],
)
def test_errors_made_on_purpose_become_one_sentence(error, code, text):
    result = CliRunner().invoke(raising(error), ["fail"])
    assert result.exit_code == code
    assert sentence(result.stderr) == text
    assert result.stdout == ""


def test_debug_shows_the_traceback_instead():
    result = CliRunner().invoke(raising(BifeError("Broken.")), ["--debug", "fail"])
    assert isinstance(result.exception, BifeError)
    assert result.stderr == ""


def test_a_defect_keeps_its_traceback():
    result = CliRunner().invoke(raising(ZeroDivisionError()), ["fail"])
    assert isinstance(result.exception, ZeroDivisionError)


def test_debug_can_come_from_the_environment(program):
    done = program("solve", "no-such.mps", "--rule", "paper_ca", BIFE_DEBUG="1")
    assert "Traceback" in done.stderr
    assert "InstanceError: There is no file no-such.mps" in done.stderr
    assert done.returncode == 1
