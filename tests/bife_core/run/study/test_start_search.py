"""A search for start methods: the same algorithm as for rules, with an F_LF of its own."""

import json

import pytest

import bife_core
from bife_core.base.errors import ConfigError, GeneratorError
from bife_core.run.stages.runtime import Runtime
from bife_core.run.stages.search import require_generator
from bife_core.search import open_search
from bife_core.search.config import SearchConfig
from bife_core.search.generators import Draft
from bife_core.search.generators.prompting import assemble
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import code_of, load_method
from bife_core.store.home import Home

GOOD = """
import numpy as np


def start(problem):
    return problem.solve_restricted(np.full(len(problem.names), np.nan), NODES)
"""


class Author:
    """Writes a start that fails, then ones that let SCIP try a few nodes; keeps the prompts."""

    name, needs_context = "author", True

    def __init__(self):
        self.prompts = {}

    def generate(self, request, context):
        self.prompts[request.id] = assemble(request, context)[0].content
        if request.id == "g00-c00":
            return Draft(source="def start(problem):\n    raise RuntimeError('lost')\n")
        return Draft(source=GOOD.replace("NODES", str(10 + request.number)), thought="SCIP tries")


def test_a_search_for_starts_has_both_fidelities_and_ends_with_a_configuration(tmp_path, pool):
    settings = {"search.samples": 4, "search.initial": 2, "search.population": 4, "instances.size": "tiny"}
    settings |= {"search.component": "start", "search.algorithm": "bife", "search.elite_fraction": 1.0}
    settings |= {"low.start_s": 5.0, "high.cost": "primal_integral", "high.time_limit_s": 1.0}
    config = bife_core.with_overrides(bife_core.preset("smoke", "item_placement"), settings)
    design, author = bife_core.open_benchmark(config.instances, tmp_path).instances("design", 1), Author()
    given = {"generator": author, "workers": pool, "folder": tmp_path / "search"}
    result = bife_core.create_study(config, design, **given).run()
    by_id = {sample.id: sample for sample in result.samples}
    assert "no start on any of 1 instance: " in by_id["g00-c00"].failure
    assert "RuntimeError: lost" in by_id["g00-c00"].failure
    names = [json.loads(by_id[name].source)["start"] for name in ("g00-c02", "g00-c03")]
    assert names == ["restricted", "local_search"]
    for name in ("g00-c01", "g00-c02", "g00-c03"):
        assert by_id[name].f_lf <= 2.0
        assert by_id[name].f_hf < 0.0
    # It is the only one with parents, one of which may be a built-in.
    assert "Start method 1." in author.prompts["g01-c00"]
    prompt = author.prompts["g00-c00"]
    such = "variables (binary, named place...), such as place_0_0"
    for words in (such, "copies_ct_0: place_0_0 + ", "# Its theme"):
        assert words in prompt
    for words in ("$", "branching rule", "variable_features", str(tmp_path)):
        assert words not in prompt
    best = load_method(result.best_rule)
    assert isinstance(best, Configuration)
    assert best.start is not None
    written = load_method(result.folder / "best_rule.py")
    assert written.identity == best.identity
    assert bife_core.create_study(config, design, **given).run().new is False


def test_what_writes_formulas_is_refused_before_anything_is_solved(tmp_path):
    with pytest.raises(ConfigError, match="'start' has none: choose the search bife"):
        open_search(SearchConfig(algorithm="symbolic", component="start"))
    starts = {"search.component": "start", "search.algorithm": "bife"}
    config = bife_core.with_overrides(bife_core.preset("smoke"), starts)
    with pytest.raises(GeneratorError, match="'start' has none"):
        require_generator(config, Runtime(home=Home(tmp_path)))


def test_a_built_in_is_shown_by_its_code():
    shown = code_of('{"kind": "configuration", "name": "restricted", "start": "restricted"}')
    assert "def start(problem: Problem)" in shown
    assert "solve_restricted" in shown
    ours = Configuration(start={"name": "ours", "source": GOOD})
    assert code_of(ours.text) == GOOD
