"""A package of another author, written from the pages in docs/, adds a family, a search, a generator and a method."""

import json
import re
import tomllib

import pytest

from tests.support.documents import blocks
from tests.support.plugins import EXAMPLE, install
from tests.support.programs import python

SECTIONS = {
    "Adding a family": "knapsack.py",
    "Adding a search": "best_of.py",
    "Adding a rule generator": "constant.py",
    "Adding a component": "node_order.py",
    "Adding a method": "largest_gain.py",
}
COMMANDS = """
import json, sys
from bife_core.run.settings import form
from bife_core.store.home import project_home
from bife_core.cli.program import program

print(json.dumps(form()["properties"]))
few = ("--set", "collection.decisions=5", "--set", "high.instances=1")

def bife(*words):
    assert program()([*words, *sys.argv[1:]], prog_name="bife", standalone_mode=False) in (0, None)

bife("search", "--search", "best_of", "--generator", "constant", "--samples", "2", *few)
(rule,) = project_home().runs.rglob("best_rule.py")
bife("evaluate", "--rule", "largest_gain", "--rule", str(rule), "--set", "evaluation.instances=1")
"""
SMOKE = ("--preset", "smoke", "--instances", "knapsack", "--workers", "1")


@pytest.mark.parametrize("section", SECTIONS)
def test_the_package_is_what_the_pages_show(section):
    shown = (EXAMPLE / "bife_example" / SECTIONS[section]).read_text(encoding="utf-8")
    assert shown in blocks("developers/extending.md", "python", section)
    entries = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]["entry-points"]
    (block,) = blocks("developers/extending.md", "toml", section)
    logged = tomllib.loads(block)["project"]["entry-points"]
    assert logged.items() <= entries.items()


@pytest.fixture
def beside(tmp_path):
    """Install the package, and return a function that runs a program beside it, without Prefect and MLflow."""
    site = tmp_path / "site"
    site.mkdir()
    install(EXAMPLE, site)

    def run(code, *words):
        own = {"PYTHONPATH": str(site), "BIFE_PLAIN": "1"}
        done = python("-c", code, *words, home=tmp_path / "home", cwd=tmp_path, **own)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
        assert not re.search("INFO|WARN|Traceback", done.stdout)
        return done.stdout

    return run


def test_an_installed_package_is_offered_searched_with_and_evaluated(beside, tmp_path):
    form = json.loads(beside(COMMANDS, *SMOKE).partition("\n")[0])
    assert "knapsack" in form["instances"]["anyOf"][0]["enum"]
    assert "best_of" in form["search"]["enum"]
    assert "constant" in form["generator"]["enum"]
    evaluation = form["advanced"]["anyOf"][1]["properties"]["evaluation"]["properties"]
    assert "largest_gain" in evaluation["baseline"]["enum"]

    (rule,) = (tmp_path / "home" / "runs").rglob("best_rule.py")
    assert "variable_features[24]" in rule.read_text()
    (record,) = (tmp_path / "home" / "runs").rglob("evaluation.json")
    summary = json.loads(record.read_text())
    assert set(summary["methods"]) == {"best_rule", "largest_gain", "relpscost"}
    assert summary["methods"]["largest_gain"]["kind"] == "largest_gain"
    calls = {row["method"]: row["calls"] for row in summary["rows"]}
    assert min(calls["largest_gain"], calls["best_rule"]) > 0
