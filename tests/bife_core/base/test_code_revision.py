"""What a plugin's code made is not returned once its code is another."""

import importlib
import sys

import pytest

from bife_core.base.plugins import code_revision
from bife_core.instances.base import Family
from bife_core.instances.generated import GeneratedBenchmark
from bife_core.run.config import PipelineConfig, SearchConfig
from bife_core.run.study.identity import search_facts, search_key
from bife_core.search import SEARCHES, BifeSearch
from bife_core.solver.methods.base import ScipMethod

FAMILY = """
def generate(rng, size):
    return {limit} * size
"""
SCORER = """
from bife_core.solver.methods.scorer import Scorer

class Largest(Scorer):
    kind: str = "largest"
    name: str = "largest"

    def score(self, X):
        return X[:, {column}]
"""


def imported(folder, name, text):
    (folder / f"{name}.py").write_text(text)
    sys.modules.pop(name, None)
    importlib.invalidate_caches()
    return importlib.import_module(name)


@pytest.fixture(autouse=True)
def on_the_path(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


def recipe(module, cache):
    family = Family("mine", "M", module.generate, {"tiny": {"size": 5}})
    return GeneratedBenchmark(family, "tiny", 0, cache)._recipe()


def test_instances_of_a_family_are_made_anew_once_its_code_changes(tmp_path):
    first = recipe(imported(tmp_path, "my_family", FAMILY.format(limit=2)), tmp_path)
    assert recipe(imported(tmp_path, "my_family", FAMILY.format(limit=2)), tmp_path) == first
    assert recipe(imported(tmp_path, "my_family", FAMILY.format(limit=3)), tmp_path) != first


def test_a_scorer_is_another_method_once_its_code_changes(tmp_path):
    first = imported(tmp_path, "my_scorer", SCORER.format(column=20)).Largest().identity
    assert imported(tmp_path, "my_scorer", SCORER.format(column=20)).Largest().identity == first
    assert imported(tmp_path, "my_scorer", SCORER.format(column=21)).Largest().identity != first


def test_a_plugin_may_name_its_revision_and_ours_need_none(tmp_path):
    module = imported(tmp_path, "my_named", "def generate(rng): ...\ngenerate.revision = 7\n")
    assert code_revision(module.generate) == "7"
    assert code_revision(ScipMethod) == ""


def test_a_search_of_another_package_is_found_anew_when_its_code_changes(monkeypatch):
    class Changed(BifeSearch):
        revision = "1"

    monkeypatch.setitem(SEARCHES, "changed", Changed)
    config = PipelineConfig(search=SearchConfig(algorithm="changed"))
    facts = [search_facts(config, "x", None, ())]
    monkeypatch.setattr(Changed, "revision", "2")
    facts.append(search_facts(config, "x", None, ()))
    assert [fact["code"] for fact in facts] == [["1", ""], ["2", ""]]
    assert search_key(facts[0]) != search_key(facts[1])
    assert "code" not in search_facts(PipelineConfig(), "x", None, ())
