"""Every example of settings in the documents is taken by the command line, by Prefect's server, and by a flow."""

from __future__ import annotations

import json
import re
import shlex

import pytest
import typer
import yaml
from prefect.utilities.schema_tools import validate

from bife_core.cli import options
from bife_core.cli.program import program
from bife_core.language.components import BRANCHING, COMPONENTS
from bife_core.run.config import PipelineConfig
from bife_core.run.settings import configuration, flat, form
from bife_core.search.bife import BifeSearch
from bife_core.search.config import SEARCHES
from bife_flows.stages import pipeline
from tests.support.documents import DOCS, blocks
from tests.support.operating import nested

COMMAND = typer.main.get_command(program())
PAGES = [*sorted(DOCS.rglob("*.md")), DOCS.parent / "README.md"]
FAMILIES = {"F", "FAMILY", "knapsack"}
"""What stands for a family: a placeholder, or one that the page has just added."""
STAGES = r"run|demo|collect|search|evaluate|tune|config"


OTHERS = r"solve|score|series|export|report|up|down|status|track|prune|backup|plugins|doctor|rules \w+"


def commands(names):
    """Return every documented command of these that is given options."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        fenced = re.findall(rf"^ *(?:\$ )?(bife (?:{names}) .*?)(?: {{2,}}#.*)?$", text, re.MULTILINE)
        inline = re.findall(rf"`(bife (?:{names}) [^`]*)`", text)
        found += [" ".join(command.split()) for command in (*fenced, *inline)]
    return sorted({command for command in found if "--" in command})


def parameters():
    """Return every documented parameter `config` of a run of a deployment."""
    shown = (re.findall(r"--param config='(.*?)'", page.read_text(encoding="utf-8")) for page in PAGES)
    return [text for page in shown for text in page]


def check(settings):
    """Check that a server takes settings as a flow's parameter, and the flow as a configuration."""
    given = json.loads(json.dumps({"config": settings}, default=str))
    schema = pipeline.parameters.model_dump()
    schema["properties"]["config"] |= form()  # with the plugins of this process
    validate(given, schema, raise_on_error=True)
    taken = pipeline.validate_parameters(given)["config"]
    assert isinstance(taken, PipelineConfig)
    assert taken == configuration(settings)


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    """A directory with the folders and files that examples name, and a search and a component that pages add."""
    for name in ("DIR", "plans", "images"):
        (tmp_path / name).mkdir()
    for name in ("FILE.set", "rule.py"):
        (tmp_path / name).touch()
    (tmp_path / "FILE").write_text(json.dumps(yaml.safe_load(blocks("reference/cli.md", "yaml")[0])))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(SEARCHES, "best_of", BifeSearch)
    monkeypatch.setitem(COMPONENTS, "node_order", BRANCHING)


@pytest.mark.parametrize("command", commands(STAGES))
def test_a_command_gives_settings_that_a_form_takes(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, name, *words = shlex.split(command)
    words = ["set_covering" if word in FAMILIES else word for word in words]
    given = COMMAND.commands[name].make_context(name, words).params
    chosen = []
    with monkeypatch.context() as context:
        context.setattr("bife_core.run.settings.configuration", chosen.append)
        options.resolve({option: given[option] for option in options.OPTIONS})
    (settings,) = chosen
    check(settings | {"advanced": nested(dict(flat(settings.get("advanced", {}))))})


@pytest.mark.parametrize("command", commands(OTHERS))
def test_another_command_has_the_options_that_it_is_given(command: str) -> None:
    if re.fullmatch(r"bife \w+ --[\w-]+", command):
        pytest.skip("names an option")
    stage, words = COMMAND, shlex.split(command)[1:]
    while hasattr(stage, "commands"):
        stage, words = stage.commands[words[0]], words[1:]
    stage.make_context("bife", words)


@pytest.mark.parametrize("text", parameters())
def test_a_run_of_a_deployment_is_given_settings_that_it_takes(text):
    check(json.loads(text))


def test_a_file_of_settings_is_one_for_a_form_too():
    (shown,) = blocks("reference/cli.md", "yaml")
    check(yaml.safe_load(shown))


def test_examples_are_found():
    assert len(commands(STAGES)) > 12
    assert len(parameters()) == 2
