"""Settings: few stand by themselves, what is left out is the preset's, and one name means one thing everywhere."""

from pathlib import Path
from typing import get_args

import pytest

from bife_core.base.errors import ConfigError
from bife_core.instances.config import FAMILIES
from bife_core.run.config import PipelineConfig
from bife_core.run.presets import PresetName, preset, with_overrides
from bife_core.run.settings import NAMES, configuration, described, form, settings_of
from bife_core.solver.scip.settings import SolverConfig

FOLDER = Path(__file__).parent
LISTED, FAMILY = "`bife config` lists them all.", ", ".join(FAMILIES)


def leaves(fields):
    found = []
    for field in fields.values():
        found += leaves(field["properties"]) if field.get("properties") else [field]
    return found


@pytest.mark.parametrize("name", get_args(PresetName))
def test_what_is_left_out_is_the_presets_and_a_seed_is_drawn(name):
    anew = {"search.seed": None}
    assert configuration({"preset": name}) == with_overrides(preset(name), anew)
    given = {"preset": name, "instances": "item_placement", "samples": 200}
    own = anew | {"search.samples": 200}
    assert configuration(given) == with_overrides(preset(name, "item_placement"), own)


def test_nothing_given_is_the_preset_quick():
    assert configuration({}) == configuration({"preset": "quick", "samples": None, "advanced": None})


@pytest.mark.parametrize(
    ("given", "where", "value"),
    [
        ({"seed": 7}, "search.seed", 7),
        ({"generator": "openai"}, "search.algorithm", "bife"),
        ({"generator": "openai", "search": "random"}, "search.algorithm", "random"),
        ({"samples": 3}, "search.initial", 3),
        ({"samples": 300}, "search.initial", 16),
        ({"samples": 9, "advanced": {"search": {"initial": 2}}}, "search.initial", 2),
        ({"solver": "paper"}, "solver.name", "paper"),
        ({"advanced": {"solver.gap": 0.01}}, "solver.gap", 0.01),
        ({"search": "reevo", "advanced": {"search": {"options": {"a": 1}}}}, "search.options", {"a": 1}),
    ],
    ids=str,
)
def test_a_setting_has_the_effect_that_it_says(given, where, value):
    section, _, key = where.partition(".")
    assert getattr(getattr(configuration(given), section), key) == value


def test_instances_are_a_family_or_a_folder(tmp_path, monkeypatch):
    assert configuration({"instances": str(tmp_path), "groups": "day"}).instances.folder == tmp_path
    monkeypatch.chdir(tmp_path)
    (tmp_path / "set_covering").mkdir()
    assert configuration({"instances": "set_covering"}).instances.benchmark == "set_covering"
    assert configuration({"instances": "./set_covering"}).instances.folder == tmp_path / "set_covering"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"wings": 2}, f"There is no setting 'wings'; {LISTED}"),
        ({"advanced": {"search": {"wings": 2}}}, f"There is no setting 'search.wings'; {LISTED}"),
        (
            {"advanced": {"runner": {"workers": 2}}},
            "'advanced' has no 'runner.workers': it stands by itself, as 'workers'.",
        ),
        (
            {"instances": "set_coverin"},
            f"instances: set_coverin is no folder in {Path.cwd()}, and no family; families are {FAMILY}.",
        ),
        ({"advanced": 3}, "'advanced' holds settings by name; found int."),
        ({"preset": "large"}, "There is no preset 'large'; choose one of smoke, quick, paper."),
        ({"samples": 0}, "samples: Input should be greater than or equal to 1 (found 0)."),
        (
            {"samples": 4, "advanced": {"search": {"initial": 9}}},
            "search: initial (9) cannot exceed samples (4).",
        ),
        (
            {"search": "symbolic", "generator": "openai"},
            "configuration: the search 'symbolic' fits rules and asks no generator to write any: with the generator "
            "'openai' choose the search 'bife' or another.",
        ),
        ({"groups": "day"}, "instances: 'groups' are those of a folder's instances; a family knows its own."),
    ],
    ids=str,
)
def test_what_does_not_fit_is_one_sentence(given, sentence):
    with pytest.raises(ConfigError) as error:
        configuration(given)
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    "overrides",
    [
        {},
        {"search.elite_cap": None, "validation.budgets": ()},
        {"solver.gap": 0.01, "solver.params": {"limits/nodes": 5}},
        {"solver": SolverConfig(name="ours.set", params={"limits/nodes": 5})},
        {"instances.benchmark": "folder", "instances.folder": FOLDER, "instances.groups": "day"},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", get_args(PresetName))
def test_all_settings_of_a_configuration_make_it_again(name, overrides):
    config = with_overrides(preset(name), overrides)
    for other in get_args(PresetName):
        assert configuration({"preset": other} | settings_of(config)) == config


def test_every_setting_is_in_the_form_once_with_its_meaning_and_no_value():
    fields = form()["properties"]
    advanced = fields["advanced"]["anyOf"][1]["properties"]
    assert [*fields] == ["preset", "instances", *NAMES, "advanced"]
    assert len(fields) <= 16
    assert [field["position"] for field in fields.values()] == [*range(len(fields))]
    every = [*leaves({name: fields[name] for name in fields if name != "advanced"}), *leaves(advanced)]
    assert all(field["description"].endswith(".") and "default" not in field for field in every)
    names = [name for name, _, _ in described(PipelineConfig())]
    assert len(names) == len(set(names)) == len(every) - len(["preset", "solver.name"])
    assert advanced["high"]["properties"]["race"]["enum"] == [True, False]


def test_the_form_says_what_is_taken_where_nothing_is_given():
    fields = form()["properties"]
    assert fields["samples"]["description"].endswith("Default: 8 (smoke), 32 (quick), 100 (paper).")
    assert fields["approval"]["description"].endswith("Default: gate.")
    assert fields["hours"]["description"].endswith("Default: none.")
    for name, field in fields.items():
        assert name == "advanced" or "Default: " in field["description"], name
