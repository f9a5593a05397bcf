"""The program as a whole: its help, its page of documentation, and what becomes of errors."""

import re

import pytest
import typer
from typer.testing import CliRunner

from bife_core.base.errors import BifeError, ConfigError
from bife_core.cli.backend import BACKENDS, PLAIN, Backend, backend
from bife_core.cli.outcome import EXIT_CODES, CommandEnd, ExitCode, ReportingGroup
from bife_core.cli.program import program
from tests.support.programs import FOREIGN, REPOSITORY, python, sentence

PAGE = (REPOSITORY / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
SLOW = {"prefect", "mlflow", "pandas", "openai", "matplotlib", "numba", "pyscipopt", "pydantic", "rich"}
COMMANDS = [name for name in typer.main.get_command(program()).commands if name != "rules"]
COMMANDS += ["rules list", "rules show", "rules rollback"]
WITH_CONFIGURATION = {"demo", "run", "collect", "search", "evaluate", "tune", "score", "config"}


def options(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) - {"--help"}


def section(title):
    """Return what stands under a heading, up to the next one."""
    found = re.search(rf"^#+ {re.escape(title)}$(.*?)(?=^#|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"docs/reference/cli.md has no section {title!r}"
    return found[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_commands_options_are_those_of_its_help(bife, command, monkeypatch):
    monkeypatch.delenv(PLAIN)  # so that the commands which operate are there
    result = bife(*command.split(), "--help")
    assert result.exit_code == 0
    documented = options(section(f"bife {command}"))
    if command in WITH_CONFIGURATION:
        documented |= options(section("Options of the stages"))
    assert documented == options(result.stdout)


def test_every_exit_code_is_explained(bife):
    assert " ".join(EXIT_CODES.split()) in " ".join(bife("--help").stdout.split())
    codes = [f"{code:d}" for code in ExitCode]
    assert re.findall(r"[:;] (\d+) ", EXIT_CODES) == codes
    assert re.findall(r"^\| (\d+) \|", section("Exit codes"), re.MULTILINE) == codes


def test_each_panel_of_commands_is_listed_once(bife):
    assert re.findall(r"^(\w[\w ]*):$", bife("--help").stdout, re.MULTILINE) == [
        *("Options", "Discover", "Use", "Look around")
    ]


def run_in_turn(home, commands):
    """Run commands in a fresh interpreter, and return each one's exit code and the slow packages loaded by then."""
    code = (
        "import sys\n"
        "from bife_core.cli.program import main\n"
        f"for sys.argv in {[['bife', *words] for words in commands]!r}:\n"
        "    try: main()\n"
        f"    except SystemExit as end: print(end.code, *sorted({SLOW!r} & set(sys.modules)), file=sys.stderr)\n"
    )
    said = python("-c", code, home=home, BIFE_PLAIN="", MLFLOW_TRACKING_URI="").stderr.splitlines()
    return [line for line in said if line[:1].isdigit()]


def test_help_loads_nothing_slow_and_solving_neither_prefect_nor_mlflow(tmp_path):
    solve = ("solve", str(FOREIGN / "lseu.mps"), "--rule", "paper_ca", "--quiet")
    assert run_in_turn(tmp_path, [("--help",), solve]) == ["0", "0 pydantic pyscipopt"]


def test_what_is_empty_or_refused_loads_nothing_that_takes_seconds(tmp_path):
    (tmp_path / "empty").mkdir()
    commands = {
        ("rules", "list"): 0,
        ("down",): 0,
        ("status",): 0,
        ("report",): 1,
        ("report", "nofolder"): 1,
        ("run", "--instances", str(tmp_path / "empty")): 1,
        ("doctor", "--instances", str(tmp_path / "empty")): 1,
        ("evaluate", "--rule", "nope"): 1,
        ("solve", "nofile.mps", "--versus", "relpscost"): 1,
    }
    ended = run_in_turn(tmp_path, commands)
    assert [int(line.split()[0]) for line in ended] == list(commands.values())
    assert not {"prefect", "mlflow", "matplotlib", "numba"} & {*ended[-1].split()}


def test_an_unknown_command_is_a_usage_error_and_the_version_is_one_line(bife):
    result = bife("evolv")
    assert (result.exit_code, "evolv" in result.stderr) == (ExitCode.USAGE, True)
    assert re.fullmatch(r"bife \d\S+\n", bife("--version").stdout)


def test_plugins_are_listed_with_kind_name_and_package(bife):
    lines = {" ".join(line.split()) for line in bife("plugins").stdout.splitlines()}
    assert {"search bife BiFE", "search eoh bife-rivals 0.1.0", "component branching BiFE"} <= lines


def test_commands_use_the_first_backend_that_has_what_it_needs(monkeypatch):
    class Elsewhere(Backend):
        """A backend of a script."""

    monkeypatch.setitem(BACKENDS, "elsewhere", Elsewhere)
    assert type(backend()) is Backend, "the tests here set the variable"
    monkeypatch.delenv(PLAIN)
    assert type(backend()) is BACKENDS["prefect"]
    monkeypatch.setattr(BACKENDS["prefect"], "installed", False)
    assert type(backend()) is Elsewhere


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
    ],
)
def test_errors_made_on_purpose_become_one_sentence(error, code, text):
    result = CliRunner().invoke(raising(error), ["fail"])
    assert result.exit_code == code
    assert sentence(result.stderr) == text
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("error", "arguments"), [(BifeError("Broken."), ["--debug", "fail"]), (ZeroDivisionError(), ["fail"])]
)
def test_debug_and_defects_keep_their_traceback(error, arguments):
    result = CliRunner().invoke(raising(error), arguments)
    assert (result.exception, result.stderr) == (error, "")
