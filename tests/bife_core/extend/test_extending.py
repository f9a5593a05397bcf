"""The examples of docs/developers/extending.md, followed to the letter."""

import re
import sys
import tomllib
from importlib.metadata import metadata
from types import ModuleType

import numpy as np

import bife_core
from bife_core.extend.testing import check_family, check_search
from bife_core.instances.config import FAMILIES
from bife_core.instances.generated import open_benchmark
from bife_core.language.features import feature_index
from bife_core.run.config import InstancesConfig
from bife_core.search import SEARCHES
from bife_core.solver.scip.reader import read_model
from tests.support.documents import DOCS, blocks

PAGE = "developers/extending.md"
ROOT = DOCS.parent
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


def run(code, names):
    exec(compile(code, "docs/developers/extending.md", "exec", dont_inherit=True), names)
    return names


def test_the_first_example_is_a_whole_package():
    (project,) = (tomllib.loads(text)["project"] for text in blocks(PAGE, "toml")[:1])
    assert project["dependencies"] == [metadata("bife-branching")["Name"]]
    (entry,) = project["entry-points"]["bife.methods"].values()
    definition = blocks(PAGE, "python")[0]
    assert f"# {entry.partition(':')[0].replace('.', '/')}.py" in definition
    scored = run(definition, {})[entry.partition(":")[2]](name="x").score(np.eye(72))
    assert scored.argmax() == feature_index("slack")


def test_the_example_family_can_be_registered_and_branches(tmp_path, monkeypatch):
    (definition,) = blocks(PAGE, "python", "Adding a family")
    monkeypatch.setitem(FAMILIES, "knapsack", run(definition, {})["FAMILY"])
    check_family("knapsack")
    opened = open_benchmark(InstancesConfig(benchmark="knapsack", size="tiny"), tmp_path)
    model = read_model(opened.instances("design", 1)[0].path)
    model.setParams({"separating/maxrounds": 0, "presolving/maxrestarts": 0})
    model.optimize()
    assert model.getNTotalNodes() > 1


def test_the_example_search_keeps_to_the_contract(monkeypatch):
    (definition,) = blocks(PAGE, "python", "Adding a search")
    monkeypatch.setitem(SEARCHES, "best_of", run(definition, {})["BestOfSearch"])
    check_search("best_of")


def test_the_example_method_sees_the_node(golden_dir, monkeypatch):
    module = ModuleType("dual_weight")
    monkeypatch.setitem(sys.modules, "dual_weight", module)  # where pydantic looks names up
    definition = blocks(PAGE, "python", "Adding a method")[-1]
    method = run(definition, vars(module))["DualWeight"](name="dual_weight")
    model = read_model(golden_dir / "cauctions_0.mps.gz")
    model.setParam("limits/nodes", 10)
    stats = bife_core.attach(model, method)
    model.optimize()
    assert stats.calls > 0
    assert stats.fallbacks == 0


def test_the_page_names_what_exists():
    text, _, own = (DOCS / PAGE).read_text(encoding="utf-8").partition("## Adding to BiFE itself")
    folders = ("", "bife_core", "tests/bife_core", "bife_core/search/generators/offline")
    paths = re.findall(r"`((?:bife_core|tests|flows|tasks)/[\w/]+\.py)`", text)
    paths += re.findall(r"`([\w/]+\.py)`", own)
    assert [path for path in paths if not any((ROOT / folder / path).exists() for folder in folders)] == []
    packages = re.findall(r"^\| `(\w+)` \|", own, re.MULTILINE)
    (layers,) = (each["layers"] for each in CONTRACTS if each.get("containers") == ["bife_core"])
    assert packages == layers[::-1]
