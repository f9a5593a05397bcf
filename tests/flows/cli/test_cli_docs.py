"""The reference page names every command and every option, and none that does not exist."""

import re

import pytest

from flows.cli.outcome import ExitCode
from tests.flows.cli.conftest import REPOSITORY

PAGE = (REPOSITORY / "docs" / "cli.md").read_text(encoding="utf-8")
COMMANDS = (
    "demo",
    "run",
    "collect",
    "evolve",
    "evaluate",
    "report",
    "solve",
    "export",
    "rules list",
    "rules show",
    "rules rollback",
    "up",
    "down",
    "status",
    "track",
    "ui",
    "config",
    "doctor",
)
SHARED = {"run", "collect", "evolve", "evaluate", "config"}


def options(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) - {"--help"}


def section(title):
    """Return what stands under a heading, up to the next one."""
    found = re.search(rf"^#+ {re.escape(title)}$(.*?)(?=^#|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"docs/cli.md has no section {title!r}"
    return found[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_commands_options_are_those_of_its_help(bife, command):
    shown = options(bife(*command.split(), "--help").stdout)
    documented = options(section(f"bife {command}"))
    if command in SHARED:
        documented |= options(section("Options of the stages"))
    assert documented == shown


def test_every_exit_code_is_explained():
    table = section("Exit codes")
    assert all(f"| {code:d} | {code.meaning}" in table for code in ExitCode)
