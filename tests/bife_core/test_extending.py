"""The examples of docs/developers/extending.md, followed to the letter."""

import re
import sys
from types import ModuleType

import bife_core
from bife_core.benchmarks.config import FAMILIES
from bife_core.benchmarks.generated import open_benchmark
from bife_core.config import InstancesConfig
from bife_core.scip.reading import read_model
from bife_core.search import SEARCHES
from bife_core.testing import check_search
from tests.support.documents import DOCS, blocks


def run(code, names):
    exec(compile(code, "docs/developers/extending.md", "exec", dont_inherit=True), names)
    return names


def test_the_example_family_can_be_registered_and_branches(tmp_path, monkeypatch, capsys):
    definition, check = blocks("developers/extending.md", "python", "Adding a benchmark")
    names = run(definition, {})
    monkeypatch.setitem(FAMILIES, "knapsack", names["FAMILY"])
    opened = open_benchmark(InstancesConfig(benchmark="knapsack", size="test"), tmp_path)
    assert len({instance.digest for instance in opened.instances("test", 2)}) == 2
    run(check, names)
    nodes = [int(line.split()[1]) for line in capsys.readouterr().out.splitlines()]
    assert len(nodes) == 3
    assert min(nodes) > 1


def test_the_example_search_keeps_to_the_contract_and_prints_what_the_page_says(monkeypatch, capsys):
    definition, check, *_ = blocks("developers/extending.md", "python", "Adding a search")
    names = run(definition, {})
    run(check, names)
    expected = re.search(r"print\(.*# (.*)", check)
    assert expected is not None
    assert capsys.readouterr().out.strip() == expected[1]
    monkeypatch.setitem(SEARCHES, "best_of", names["BestOfSearch"])
    check_search("best_of")


def test_the_example_method_sees_the_node(golden_dir, monkeypatch):
    module = ModuleType("dual_weight")
    monkeypatch.setitem(sys.modules, "dual_weight", module)  # where pydantic looks names up
    definition = blocks("developers/extending.md", "python", "Adding a method")[-1]
    method = run(definition, vars(module))["DualWeight"](name="dual_weight")
    model = read_model(golden_dir / "cauctions_0.mps.gz")
    model.setParam("limits/nodes", 10)
    stats = bife_core.attach(model, method)
    model.optimize()
    assert stats.calls > 0
    assert stats.fallbacks == 0


def test_the_page_names_what_exists():
    text = (DOCS / "developers" / "extending.md").read_text(encoding="utf-8")
    found = re.findall(r"`((?:bife_core|tests|flows|tasks)/[\w/]+\.py)`", text)
    assert len(found) >= 4
    for path in found:
        assert (DOCS.parent / path).exists(), path
