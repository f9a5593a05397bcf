"""Settings and rule take turns in a run: tuned, searched for under these settings, tuned again, chosen, compared."""

import math

import pytest

from bife_core.home import project_home
from bife_core.methods.base import RPB
from bife_core.methods.configuration import Configuration
from bife_core.methods.loading import branching_of, load_method
from bife_core.presets import with_overrides
from bife_core.report import Story
from bife_core.stages import searching
from bife_core.stages.records import TUNING
from bife_core.study.files import read_samples
from flows.operate.running import run
from flows.reporting import conduct
from flows.stages import evaluation, pipeline, tuning
from tasks.registry.mlflow_registry import IN_MLFLOW
from tasks.tracking import store
from tests.flows.test_pipeline import artifacts, tracked
from tests.support.stored import counts


def test_settings_without_parameters_are_rpb_and_the_report_says_so(smoke, tmp_path):
    (none := tmp_path / "tuned_scip.set").write_text(Configuration().text)
    result = run(None, evaluation, smoke.config, "pscost", False, (str(none),))
    assert list(result.summary.methods) == ["pscost", "relpscost"]
    said = "tuned SCIP has no row of its own: it is RPB"
    assert any(said in note for note in result.notes)
    assert said in (result.directory / "report.html").read_text()


@pytest.fixture(scope="module")
def turns(smoke):
    config = with_overrides(
        smoke.config, {"tune.seconds": 6.0, "high.cost": "time", "search.samples": 4, "search.initial": 4}
    )
    return config, run(None, pipeline, config)


def test_a_pipeline_finds_settings_and_a_rule_and_compares_what_each_brings(turns):
    _, result = turns
    assert result.tuned.tuning.best.choices, "auctions are solved with less nodes or none of ours is"
    summary = result.evaluation.summary
    lead = summary.methods[summary.rule]
    assert isinstance(lead, Configuration)
    assert lead.params
    (alone,) = [one for one in summary.methods.values() if one.kind == "rule"]
    assert {"tuned_scip", RPB} <= set(summary.methods)
    without = summary.methods["tuned_scip"]
    assert without.by_scip
    assert alone.identity in {sample.sha for sample in read_samples(result.evolution.folder)}
    assert (result.evaluation.directory / "configuration.set").read_text() == lead.settings
    assert result.choice.chosen in result.choice.scores
    assert list(result.evolution.references) == ["RPB", "SCIP default settings"]
    assert (result.advice == "") == (summary.judged.finding == "better")
    assert not result.advice or result.advice in result.notes
    searched = tracked(result.evolution.run.run_id).data.params
    assert searched["solver.name"] == "tuned"


def test_the_report_and_mlflow_say_what_brought_it(turns):
    _, result = turns
    directory = result.evaluation.directory
    ablation = Story.model_validate_json((directory / "story.json").read_bytes()).ablation
    assert math.prod(step.factor or 1.0 for step in ablation.steps) == pytest.approx(ablation.steps[-1].ratio)
    lead = result.evaluation.summary.methods[result.evaluation.summary.rule]
    assert ("branching" in {step.group for step in ablation.steps}) == (lead.branching.identity != RPB)
    assert ablation.sentence in result.notes
    assert "<h2>What brought it</h2>" in (directory / "report.html").read_text()
    assert "ablation_table.json" in artifacts(result.evaluation.run.run_id)


def test_what_was_tuned_is_a_run_and_a_file_that_branches(turns):
    _, result = turns
    number = result.tuned.run.run_id
    found = load_method(result.tuned.path)
    assert (
        found.identity
        == result.tuned.tuning.configuration.identity
        == load_method(f"runs:/{number}").identity
    )
    assert artifacts(number) == {result.tuned.path.name, "trials_table.json"}
    assert store.experiment_id(TUNING) == tracked(number).info.experiment_id
    assert tracked(number).data.metrics["ratio"] == result.tuned.tuning.best.raced.ratio


def test_the_registered_version_is_the_configuration_with_its_rule(turns):
    _, result = turns
    version = IN_MLFLOW.registered(result.registered.reference)
    loaded = load_method(result.registered.reference)
    assert loaded.identity == version.sha == result.evaluation.sha
    if result.final is not None:
        assert branching_of(loaded).identity == result.final.sha
        assert version.tags["lineage"].startswith(result.final.id)


def test_settings_count_where_no_rule_is_found(turns, monkeypatch):
    config, result = turns
    none = result.evolution.model_copy(update={"best": None, "samples": ()})
    monkeypatch.setitem(conduct._flows, searching.search, lambda *_: none)
    found = run(None, pipeline, config)
    assert found.final is None
    lead = found.evaluation.summary.methods[found.evaluation.summary.rule]
    assert lead.identity == result.tuned.tuning.configuration.identity
    assert found.registered.sha == lead.identity


def test_done_again_nothing_is_solved(turns):
    config, result = turns
    solves = counts(project_home().root)["solves"]
    again = run(None, pipeline, config)
    assert again.tuned.tuning == result.tuned.tuning
    assert again.evaluation.directory == result.evaluation.directory
    assert counts(project_home().root)["solves"] == solves


def test_only_the_groups_asked_for_are_tuned(smoke):
    config = with_overrides(smoke.config, {"tune.groups": ["LP"], "tune.fixed": ["lp/pricing"]})
    found = run(None, tuning, config, 1.0).tuning
    tried = {name for trial in found.trials for name in trial.choices}
    assert tried
    assert all(name.startswith("lp/") and name != "lp/pricing" for name in tried)
