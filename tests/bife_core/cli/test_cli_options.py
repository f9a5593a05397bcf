import json
from types import SimpleNamespace

import pyscipopt
import pytest

from bife_core.base.errors import RuleError
from bife_core.cli import options
from bife_core.cli.options import assignment
from bife_core.run.observer import TrackedRun
from bife_core.run.presets import preset, with_overrides
from bife_core.run.settings import NAMES, configuration, described
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import load_method
from bife_core.solver.scip.settings import SolverConfig
from tests.support.programs import sentence


def resolved(bife, *arguments):
    result = bife("config", "--json", *arguments)
    assert result.exit_code == 0, result.output
    return configuration(json.loads(result.stdout))


def test_a_preset_alone_is_the_preset_and_quick_is_the_default(bife):
    for name in ("smoke", "paper"):
        assert resolved(bife, "--preset", name) == preset(name)
    assert resolved(bife) == preset("quick")


def test_a_family_has_its_own_budget_whatever_names_it(bife, tmp_path):
    (file := tmp_path / "settings.json").write_text('{"instances": "item_placement"}')
    by_option = ("--instances", "item_placement")
    for named in (by_option, ("--set", "instances=item_placement"), ("--config", file)):
        assert resolved(bife, *named) == preset("quick", "item_placement")
    config = resolved(bife, *by_option, "--set", "high.cost=nodes", "--preset", "paper")
    assert (config.high.cost, config.evaluation.metric) == ("nodes", "primal_integral")
    assert config.evaluation.time_limit_s == 1000


def test_options_change_what_they_say(bife, tmp_path):
    config = resolved(bife, "--instances", "set_covering", "--size", "tiny", "--workers", 3, "--seed", 7)
    assert (config.instances.benchmark, config.instances.size) == ("set_covering", "tiny")
    assert (config.runner.workers, config.search.seed, config.instances.seed) == (3, 7, 0)
    config = resolved(bife, "--instances", tmp_path, "--groups", "day[0-9]+", "--generator", "openai")
    assert (config.instances.benchmark, config.instances.folder) == ("folder", tmp_path)
    assert config.instances.groups == "day[0-9]+"
    assert (config.generator.kind, config.search.algorithm) == ("openai", "bife")
    config = resolved(bife, "--samples", 4, "--usd", 2, "--hours", 0.5, "--approval", "person")
    assert (config.search.samples, config.search.initial, config.approval) == (4, 4, "person")
    assert (config.budget.usd, config.budget.hours) == (2, 0.5)
    config = resolved(bife, "--search", "reevo", "--set", "search.options.mutation_rate=0.25")
    assert (config.search.algorithm, config.search.options) == ("reevo", {"mutation_rate": 0.25})


def test_later_sources_win_over_earlier_ones(bife, tmp_path):
    file, settings = tmp_path / "settings.json", {"preset": "paper", "samples": 20, "seed": 5, "workers": 2}
    file.write_text(json.dumps(settings | {"advanced": {"search": {"population": 4}}}))
    assert resolved(bife, "--config", file).generator.prompts == "paper"
    config = resolved(bife, "--preset", "smoke", "--config", file, "--seed", 6, "--set", "samples=30")
    assert (config.search.samples, config.search.seed, config.search.population) == (30, 6, 4)
    assert config.runner.workers == 2
    assert config.instances == preset("smoke").instances
    file.write_text(json.dumps({"instances": str(tmp_path), "groups": "day"}))
    assert resolved(bife, "--config", file).instances.folder == tmp_path
    config = resolved(bife, "--config", file, "--instances", "set_covering", "--set", "groups=null")
    assert (config.instances.benchmark, config.instances.folder) == ("set_covering", None)
    assert "a family knows its own" in sentence(bife("config", "--groups", "day").stderr)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("settings.YML", "samples: 20  # few\nworkers: 2\nadvanced:\n  search.first_rules: [e1, m1]\n"),
        ("settings.toml", 'samples = 20\nworkers = 2\n[advanced]\nsearch.first_rules = ["e1", "m1"]\n'),
        ("settings", '{"samples": 20, "workers": 2, "advanced": {"search": {"first_rules": ["e1", "m1"]}}}'),
    ],
)
def test_a_file_of_settings_is_yaml_toml_or_json(bife, tmp_path, name, content):
    file = tmp_path / name
    file.write_text(content)
    config = resolved(bife, "--preset", "paper", "--config", file)
    changed = {"search.samples": 20, "search.first_rules": ["e1", "m1"], "runner.workers": 2}
    assert config == with_overrides(preset("paper"), changed)


def test_what_json_prints_can_be_read_again(bife, tmp_path):
    (tmp_path / "ours.set").write_text("limits/nodes = 100\n")
    given = ["--instances", tmp_path, "--solver", tmp_path / "ours.set", "--set", "evaluation.seeds=[3,4]"]
    first = bife("config", "--json", *given).stdout
    file = tmp_path / "settings.json"
    file.write_text(first)
    assert bife("config", "--json", "--preset", "paper", "--config", file).stdout == first


def test_the_table_shows_every_setting_with_its_meaning(bife):
    shown = bife("config", "--preset", "paper").stdout
    assert all(name in shown and meaning for name, _, meaning in described(preset("paper")))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--set", "search.sample=3"), "There is no setting 'search.sample'"),
        (("--set", "samples=many"), "samples: Input should be a valid integer"),
        (("--generator", "oracle"), "generator: There is no generator 'oracle'"),
        (("--config", "no-such.json"), "no-such.json cannot be read"),
        (("settings.json", "{"), "is no JSON file"),
        (("settings.json", '{"serch": {}, "x": 1}'), "There is no setting 'serch'"),
        (("settings.yaml", "samples: {samples: 20"), "is no YAML file"),
        (("settings.yaml", ""), "found NoneType."),
        (("settings.toml", "[search"), "is no TOML file"),
    ],
)
def test_settings_that_cannot_be_used_are_one_sentence(bife, tmp_path, arguments, text):
    option, content = arguments
    if not option.startswith("--"):
        (tmp_path / option).write_text(content)
        arguments = ("--config", tmp_path / option)
    result = bife("config", *arguments)
    assert result.exit_code == 1
    assert text in sentence(result.stderr)


@pytest.mark.parametrize(
    "arguments",
    [("--preset", "large"), ("--set", "samples"), ("--set", "=3"), ("--workers", "0"), ("--no-such-option",)],
)
def test_contradictions_are_usage_errors(bife, arguments):
    refused = bife("config", *arguments)
    assert refused.exit_code == 2
    assert "Value error" not in refused.output


def test_options_are_called_as_the_settings_are():
    assert [*options.OPTIONS] == ["preset", "instances", *NAMES, "config", "settings"]


def test_values_are_json_or_else_text():
    values = {"1": 1, "null": None, '"1"': "1", "b=c": "b=c", " text ": "text", "": "", "[1, 2]": [1, 2]}
    assert {text: assignment(f"a={text}") for text in values} == {k: ("a", v) for k, v in values.items()}


@pytest.mark.parametrize("rule", ["pscost", "general"])
@pytest.mark.parametrize("suffix", [".set", ".json"])
def test_tuning_writes_what_it_found(bife, tmp_path, monkeypatch, rule, suffix):
    found = Configuration(params={"separating/maxrounds": 0}, branching=load_method(rule))
    result = SimpleNamespace(tuning=SimpleNamespace(configuration=found), run=TrackedRun())
    monkeypatch.setattr("bife_core.cli.stages.run_stage", lambda *_args, **_named: result)
    file = "branching/relpscost/priority = 20000000\nnumerics/feastol = 1e-7\n"
    (own := tmp_path / "own.set").write_text(file)
    shown = bife("tune", "--output", tmp_path / f"best{suffix}", "--solver", own).stdout
    whole = tmp_path / ("best.set" if (rule, suffix) == ("pscost", ".set") else "best.json")
    assert f"bife solve MODEL --rule {whole}" in shown
    assert load_method(whole).identity == found.identity
    assert sorted(tmp_path.iterdir()) == sorted({own, whole, tmp_path / f"best{suffix}"})
    if suffix == ".set":
        assert SolverConfig.model_validate(tmp_path / "best.set").params.items() >= found.params.items()
        pyscipopt.Model().readParams(str(tmp_path / "best.set"))
        if whole.suffix == ".json":
            (part := tmp_path / "best.set").write_text(f"# of mine\n{part.read_text()}")
            with pytest.raises(RuleError, match=r"the settings without what branches.*give .*\.json as"):
                load_method(part)
    assert ("scip -s" in shown) == (whole.suffix == ".set")
