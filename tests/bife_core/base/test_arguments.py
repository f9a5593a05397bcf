"""Whatever is given to the public functions, what comes back is a sentence, and before anything is done."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyscipopt
import pytest

import bife_core
from bife_core.base.arguments import checked
from bife_core.base.errors import BifeError, ConfigError
from bife_core.measure.decisions.recorded import concatenate
from bife_core.run.config import CollectionConfig, InstancesConfig, PipelineConfig

RULE = "def candidate_variable_score(f): return f[20]"
STRANGE = ["", "~nobody at all", "a\0b.mps", "a" * 5000, Path("a\0b")]
"""Paths that no file can have."""


def benchmark():
    return bife_core.open_benchmark(InstancesConfig(size="tiny"), "absent")


FUNCTIONS = {
    bife_core.used: (
        {"rule": "paper_ca"},
        {
            "rule": [3, None, [], {}, *STRANGE],
            "guard": ["x", 1, [], {}],
            "budget": ["x", "0.5", [], 2, -1, True, math.nan],
        },
    ),
    bife_core.attach: (
        {"model": pyscipopt.Model, "rule": "pscost"},
        {
            "model": [3, "x", None],
            "rule": [3, None, [], {}, *STRANGE],
            "guard": ["x", 1, [], {}],
            "budget": ["x", "0.5", [], 2, -1, True, math.nan],
        },
    ),
    bife_core.solve: (
        {"path": "absent.mps"},
        {
            "path": [3, None, [], *STRANGE],
            "method": [3, None, *STRANGE],
            "settings": [3, "x", {"seed": 1}],
            "show_log": [3, "x"],
            "seed": ["x", -1, 1.5, []],
            "time_limit_s": ["x", -1, [], math.inf, math.nan, 1e21],
            "objective_limit": ["x", math.inf, -math.inf, math.nan],
            "guard": ["x", 3, {"grace_s": math.inf}],
            "solver": [3, "x", [], "a\0b.set", "a" * 5000 + ".set"],
            "params": [3, {"a": 1}, {"limits/gap": math.nan}],
            "unknown": [1],
        },
    ),
    bife_core.compare: (
        {"methods": "pscost", "instances": "absent.mps"},
        {
            "methods": [3, None, [], {}, [3], [[]], *STRANGE],
            "instances": [3, None, [], {}, [3], [None], *STRANGE],
            "baseline": [3, None, [], *STRANGE],
            "seeds": [3, "x", None, ("x",), (1.5,), ()],
            "settings": [3, None, "fast", []],
            "metric": [3, None, "x", []],
            "time_limit_s": ["x", None, -1, [], math.inf, True],
            "workers": ["x", 1.5, [], True],
            "store": [3, [], b"x", *STRANGE],
        },
    ),
    bife_core.plot: ({"result": 3}, {"result": ["x", None, []]}),
    bife_core.archived: (
        {"store": "absent"},
        {"store": [3, None, [], *STRANGE], "most": ["x", None, []], "component": [3, None, []]},
    ),
    bife_core.create_study: (
        {"config": "smoke", "instances": "absent.mps"},
        {
            "config": [3, None, "nope", [], {}],
            "instances": [3, None, [], [3], *STRANGE],
            "decisions": [3, [], {}, *STRANGE],
            "store": [3, [], *STRANGE],
            "folder": [3, [], *STRANGE],
            "benchmark": [3, None, []],
            "training": [3, [3], *STRANGE],
            "search": [3, "nope", []],
            "generator": [3, "openai", []],
            "workers": ["x", [], 1.5, True],
        },
    ),
    bife_core.collect_decisions: (
        {
            "benchmark": benchmark,
            "config": CollectionConfig(),
            "directory": "absent",
            "pool": bife_core.InProcess,
        },
        {
            "benchmark": [3, "set_covering", None],
            "config": [3, {}, None],
            "directory": [3, None, *STRANGE],
            "pool": [3, None],
            "progress": [3],
            "note": [3],
            "solver": [3, "paper"],
        },
    ),
    bife_core.low_fidelity: (
        {"method": "paper_ca", "decisions": lambda: concatenate([])},
        {"method": [3, None, *STRANGE], "decisions": [3, None, "x"], "measure": [3, "x", []]},
    ),
    bife_core.Decisions.load: ({}, {"path": [3, None, [], "/", *STRANGE]}),
    bife_core.load_rule: ({}, {"reference": [3, None, [], {}, b"x", "", Path(), "models:/\0", *STRANGE]}),
    bife_core.load_method: ({}, {"reference": [3, None, [], object(), "a\0b.set", *STRANGE]}),
    bife_core.open_benchmark: (
        {"config": InstancesConfig(), "cache_dir": "absent"},
        {"config": [3, None, "set_covering", {}], "cache_dir": [3, None, [], *STRANGE], "progress": [3]},
    ),
    bife_core.preset: (
        {"name": "quick"},
        {"name": [3, None, "nope", [], {}], "benchmark": [3, "nope", "", []]},
    ),
    bife_core.with_overrides: (
        {"config": PipelineConfig(), "overrides": {}},
        {
            "config": [3, None, "quick", {}],
            "overrides": [3, None, "x", [], {3: 4}, {"a": 1}, {"search": 3}, {"": 1}, {"solver": "a\0b.set"}],
        },
    ),
    bife_core.compile_rule: ({"source": RULE}, {"source": [3, None, [], {}], "name": [3, []]}),
    bife_core.Store: ({}, {"where": [3, None, [], b"x", *STRANGE]}),
    bife_core.WorkerPool: (
        {},
        {"workers": ["x", 0, -1, 1.5, [], True], "pin": [3, "x"], "measures": [3, "x"]},
    ),
    bife_core.FeatureExtractor: (
        {"model": pyscipopt.Model},
        {"model": [3, None], "features": [3, "x", [1], frozenset({"x"}), frozenset({99})]},
    ),
    bife_core.Study.run: (
        {"self": None},
        {"samples": ["x", 1.5, True, []], "generations": ["x", []], "callbacks": [3, [3], "x", None]},
    ),
    bife_core.CompiledRule.score: (
        {"self": lambda: bife_core.load_rule("paper_ca")},
        {"X": ["x", None, [[1]], [["x"]]]},
    ),
}


CASES = [
    pytest.param(function, fitting, name, values, id=f"{function.__qualname__}-{name}")
    for function, (fitting, wrong) in FUNCTIONS.items()
    for name, values in wrong.items()
]


@pytest.mark.parametrize(("function", "fitting", "name", "values"), CASES)
def test_what_does_not_fit_is_refused_in_a_sentence(function, fitting, name, values, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BIFE_HOME", str(tmp_path / "home"))
    for value in values:
        arguments = {key: fit() if callable(fit) else fit for key, fit in fitting.items()}
        with pytest.raises(BifeError) as caught:
            function(**arguments | {name: value})
        sentence = str(caught.value)
        assert "\n" not in sentence, value
        assert "\0" not in sentence, value


def test_every_function_that_is_exported_is_tried():
    exported = {getattr(bife_core, name) for name in bife_core.__all__ if name not in ("FEATURES",)}
    assert set(filter(inspect.isfunction, exported)) <= FUNCTIONS.keys()


def test_what_fits_is_passed_on_as_it_is():
    @checked
    def echo(number: int, share: float = 0.5, files: Iterable[str | Path] = ()) -> Any:
        return number, share, files

    number, share, files = echo(np.int64(3), 1, iter(["a"]))
    assert (number, share) == (3, 1)
    assert next(files) == "a", "it was not looked into"
    with pytest.raises(ConfigError, match=r"share was expected to be float and is 'x'\."):
        echo(3, share="x")
    with pytest.raises(TypeError, match="missing a required argument: 'number'"):
        echo(share=1)


def test_a_model_is_one_whatever_pyscipopt_calls_a_model(monkeypatch):
    class Ours(pyscipopt.Model):
        pass

    models, attach = [pyscipopt.Model(), Ours()], checked(bife_core.attach.__wrapped__)
    monkeypatch.setattr(pyscipopt, "Model", Ours)
    for model in models:
        attach(model, "pscost")
    with pytest.raises(ConfigError, match="model was expected to be Model and is 3"):
        attach(3, "pscost")
