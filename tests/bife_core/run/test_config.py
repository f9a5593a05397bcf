"""Configuration: published numbers, strict keys, one sentence per mistake."""

import math
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel, ValidationError

from bife_core.base.errors import ConfigError
from bife_core.instances.config import FAMILIES
from bife_core.measure.evaluation.summary import EvaluationSummary
from bife_core.run.config import LowFidelityConfig, PipelineConfig
from bife_core.run.presets import PresetName, preset, with_overrides
from bife_core.solver.scip.settings import SolverConfig


def leaves(model, prefix=""):
    found = []
    for key in type(model).model_fields:
        value = getattr(model, key)
        deeper = isinstance(value, BaseModel)
        found += leaves(value, f"{prefix}{key}.") if deeper else [(prefix + key, value)]
    return found


def test_the_preset_paper_is_what_was_published():
    """Also where a default is better by our evidence."""
    numbers = {"search.population": 8, "search.initial": 16, "search.samples": 100}
    numbers |= {"high.instances": 20, "high.seed": 0, "high.time_limit_s": 60.0, "high.cost": "time"}
    numbers |= {"collection.decisions": 1000, "evaluation.instances": 20}
    numbers |= {"evaluation.time_limit_s": 1000.0, "evaluation.baseline": "relpscost"}
    assert numbers.items() <= dict(leaves(preset("paper"))).items()
    published = {"solver": "paper", "tune.seconds": 0, "generator.prompts": "paper", "validation.budgets": ()}
    published |= {"search.choose": False, "search.threshold_share": None, "search.unlike_share": 1}
    published |= {"search.elite_cap": None, "high.load_correction": False, "high.race": False}
    published |= {"evaluation.most_instances": 20}
    assert preset("paper") == with_overrides(PipelineConfig(), published)


def test_a_gap_may_be_given_beside_the_name_of_the_settings():
    for overrides in ({"solver": "paper", "solver.gap": 0.01}, {"solver.gap": 0.01, "solver": "paper"}):
        assert with_overrides(PipelineConfig(), overrides).solver == SolverConfig(name="paper", gap=0.01)
    with pytest.raises(ConfigError, match=r"no setting 'high\.solver'"):
        with_overrides(PipelineConfig(), {"high.solver": "paper"})


def test_presets_are_valid_and_grow():
    smoke, quick, paper = (preset(name) for name in get_args(PresetName))
    for config in (smoke, quick, paper):
        assert PipelineConfig.model_validate_json(config.model_dump_json()) == config
    assert smoke.search.samples < quick.search.samples < paper.search.samples
    assert smoke.collection.decisions < quick.collection.decisions < paper.collection.decisions
    assert smoke.instances.size == "tiny"


def test_a_preset_of_a_family_has_its_cost_and_limits():
    paper = {name: preset("paper", name) for name in FAMILIES}
    costs = {name: (config.high.cost, config.evaluation.metric) for name, config in paper.items()}
    assert costs["item_placement"] == ("primal_integral", "primal_integral")
    assert costs["transmission_switching"] == ("gap", "time")
    assert costs["network_verification"] == costs["set_covering"] == ("time", "time")
    for name in ("item_placement", "transmission_switching", "network_verification", "unit_commitment"):
        assert paper[name].instances.benchmark == name
        assert (paper[name].high.time_limit_s, paper[name].evaluation.time_limit_s) == (300, 1000)
        assert preset("quick", name).high.time_limit_s <= 60
        assert preset("quick", name).instances.size in FAMILIES[name].sizes
    assert preset("quick", "folder") == preset("quick"), "nothing is known of a folder"
    with pytest.raises(ConfigError, match="There is no family 'nope'; choose one of set_covering, comb"):
        preset("quick", "nope")


@pytest.mark.parametrize(
    "values",
    [
        *({"search": wrong} for wrong in ({"samples": 0}, {"elite_fraction": 0}, {"operators": ["e3"]})),
        *({"evaluation": {"seeds": wrong}} for wrong in ([], [2**31], [0, 0])),
        *({"high": wrong} for wrong in ({"cost": "money"}, {"time_limit_s": math.inf})),
        *({"instances": wrong} for wrong in ({"benchmark": "folder"}, {"folder": "models"})),
        {"search": {"samples": 10, "initial": 11}},
        {"generator": {"kind": "replay"}},
        {"runner": {"workers": 0}},
    ],
    ids=str,
)
def test_values_out_of_range_are_refused(values):
    with pytest.raises(ValidationError):
        PipelineConfig.model_validate(values)


@pytest.mark.parametrize(
    ("overrides", "setting", "value"),
    [
        ({"search.samples": 20}, "search.samples", 20),
        ({"search.samples": "20"}, "search.samples", 20),
        ({"evaluation.seeds": [7, 8]}, "evaluation.seeds", (7, 8)),
        ({"instances.benchmark": "folder", "instances.folder": "/m"}, "instances.folder", Path("/m")),
        ({"search.initial": 150, "search.samples": 200}, "search.initial", 150),
    ],
    ids=str,
)
def test_overrides_replace_what_they_name_and_nothing_else(overrides, setting, value):
    before = PipelineConfig()
    after = dict(leaves(with_overrides(before, overrides)))
    assert after[setting] == value
    # What is set is not chosen by a run.
    chosen = {"search.choose"} if "search.samples" in overrides else set()
    assert {key for key, old in leaves(before) if after[key] != old} == {*overrides, *chosen}
    assert before == PipelineConfig()


def test_a_fingerprint_is_the_same_in_every_process():
    assert LowFidelityConfig(tune=5).fingerprint() == "e5c28ac70e1719a6"


def test_the_form_of_a_value_names_types_and_no_place_in_memory():
    form = EvaluationSummary.form()
    assert form["methods"].startswith("dict[str, ")
    assert " at 0x" not in str(form), "another process would find nothing again by it"


def test_the_form_of_a_value_stays_when_its_module_moves():
    text = """
from bife_core.base.values import Value
class Part(Value):
    cost: float
class Whole(Value):
    parts: tuple[Part | None, ...]
    state: {state}
"""
    first, moved, other = ({"__name__": name} for name in ("here.parts", "there.below.parts", "here.parts"))
    exec(text.format(state="str"), first)
    exec(text.format(state="str"), moved)
    exec(text.format(state="int"), other)
    form = {"parts": "tuple[Part | None, ...]", "state": "<class 'str'>"}
    assert first["Whole"].form() == moved["Whole"].form() == form
    assert first["Whole"].form() != other["Whole"].form()
