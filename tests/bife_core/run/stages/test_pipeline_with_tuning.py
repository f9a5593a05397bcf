"""Settings and rule take turns in a run: tuned, searched for under these settings, tuned again, chosen, compared."""

import math
from datetime import UTC, datetime

import pytest

from bife_core.base.wording import as_markdown
from bife_core.cli.stages import show_discovery
from bife_core.run.presets import preset, with_overrides
from bife_core.run.show.report import Story
from bife_core.run.stages import pipeline
from bife_core.run.stages.conclusions import pipeline_conclusion
from bife_core.run.stages.evaluate import evaluate
from bife_core.run.stages.records import read_record
from bife_core.run.stages.runtime import Conductor, PresentRun
from bife_core.run.stages.tune import tune
from bife_core.solver.methods.base import RPB
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import branching_of, load_method
from tests.support.stored import counts

SMOKE = with_overrides(preset("smoke"), {"search.seed": 0})


def test_settings_without_parameters_are_rpb_and_the_report_says_so(runtime, tmp_path):
    (none := tmp_path / "tuned_scip.set").write_text(Configuration().text)
    result = evaluate(SMOKE, runtime, "pscost", others=(str(none),))
    assert list(result.summary.methods) == ["pscost", "relpscost"]
    said = "tuned_scip has no row of its own: it is RPB"
    assert any(said in note for note in result.notes)
    assert said in (result.directory / "report.html").read_text()


@pytest.fixture(scope="module")
def turns(runtime):
    """A pipeline as a schedule starts it: no seed but that of its time."""
    few = {"tune.seconds": 1.5, "high.cost": "time", "search.samples": 4, "search.initial": 4}
    config = with_overrides(SMOKE, few | {"search.seed": None})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Conductor, "present", PresentRun(scheduled=datetime(2026, 11, 28, 2, tzinfo=UTC)))
        yield config, pipeline.run(config, runtime)


def test_a_pipeline_finds_settings_and_a_rule_and_compares_what_each_brings(turns):
    _, result = turns
    assert result.tuned.tuning.best.choices, "auctions are solved with less nodes or none of ours is"
    summary = result.evaluation.summary
    lead = summary.methods[summary.rule]
    assert isinstance(lead, Configuration)
    assert lead.params
    (alone,) = [one for one in summary.methods.values() if one.kind == "rule"]
    assert {"tuned SCIP", RPB} <= set(summary.methods)
    assert summary.methods["tuned SCIP"].by_scip
    assert alone.identity in {sample.sha for sample in result.search.samples}
    assert (result.evaluation.directory / "configuration.set").read_text() == lead.settings
    assert result.choice.chosen in result.choice.scores
    assert list(result.search.references) == ["RPB", "SCIP default settings"]
    assert result.advice or summary.judged.finding == "better"
    assert result.advice not in result.notes, "it is shown apart"


def test_what_to_do_next_comes_with_the_result_and_not_after_all_else(turns, capsys):
    _, result = turns
    show_discovery(result.model_copy(update={"advice": "Search longer.", "no_champion": "It waits."}))
    shown = capsys.readouterr().out
    places = [shown.index(text) for text in ("conclusion  ", "It waits.", "Search longer.", "registered  ")]
    assert places == sorted(places)
    method = result.evaluation.method
    last = shown.splitlines()[-1]
    assert last.startswith(method.name)
    assert load_method(last.split()[-1]).identity == method.identity


def test_the_conclusion_says_what_was_chosen_and_each_sentence_once(turns):
    _, result = turns
    advice, method = "Search longer.", result.evaluation.method
    text = pipeline_conclusion(result.model_copy(update={"advice": advice}))
    reference = result.registered.reference
    parts = (f"# {result.evaluation.sentence}", f"`{reference}`", advice, "| time ratio")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert f"```\n{method.chosen}```" in text
    for sentence in (
        result.evaluation.sentence,
        advice,
        as_markdown(result.choice.sentence),
        f"Registered as `{reference}`",
    ):
        assert text.count(sentence) == 1
    unregistered = pipeline_conclusion(result.model_copy(update={"registered": None}))
    assert unregistered.startswith(f"# {result.evaluation.sentence}")
    assert "Registered as" not in unregistered
    assert (f"bife solve MODEL.mps --rule {reference}" in text) == (
        result.evaluation.summary.judged.finding == "better"
    )


def test_the_report_says_what_brought_it(turns):
    _, result = turns
    directory = result.evaluation.directory
    story = Story.model_validate_json((directory / "story.json").read_bytes())
    ablation = story.ablation
    behind = [(search.name, search.best) for search in story.searches]
    assert len(behind) == len({*behind})
    assert story.tunings["tuned"] == result.tuned.tuning.course
    assert "Trials of tuned." in (directory / "report.html").read_text()
    assert math.prod(step.factor or 1.0 for step in ablation.steps) == pytest.approx(ablation.steps[-1].ratio)
    lead = result.evaluation.summary.methods[result.evaluation.summary.rule]
    assert ("branching" in {step.group for step in ablation.steps}) == (lead.branching.identity != RPB)
    assert ablation.sentence in result.notes
    assert "<h2>What brought it</h2>" in (directory / "report.html").read_text()


def test_what_was_tuned_is_a_record_and_a_file_that_branches(turns, runtime):
    _, result = turns
    found = result.tuned.tuning
    assert load_method(result.tuned.path).identity == found.configuration.identity
    record, _ = read_record(runtime.store, result.tuned.path.parent.name)
    files = (result.tuned.path.name, "trials.png")
    assert (record.metrics["ratio"], record.files) == (found.best.raced.ratio, files)
    assert record.curves["ratio"][-1] == (int(found.cpu_s), found.best.raced.ratio)
    assert [ratio for _, ratio in record.curves["trial_ratio"]] == [
        trial.raced.ratio for trial in found.trials if trial.raced.ratio
    ]
    assert record.children[0].name == "t000 *"
    for child, trial in zip(record.children, found.trials, strict=True):
        changed = {name: value for name, value in child.params.items() if value != "SCIP default"}
        assert (changed, child.metrics["ratio"]) == (trial.choices, trial.raced.ratio)


def test_the_registered_version_is_the_configuration_with_its_rule(turns, runtime):
    _, result = turns
    version = runtime.registry.registered(result.registered.reference)
    loaded = load_method(result.registered.reference)
    assert loaded.identity == version.sha == result.evaluation.method.identity
    brought = result.evaluation.ablation.factors
    assert f"What brought it, on design instances: {brought}." in version.card
    if result.final is not None:
        assert branching_of(loaded).identity == result.final.sha
        assert version.tags["lineage"].startswith(result.final.id)


def test_settings_count_where_no_rule_is_found(turns, runtime, monkeypatch):
    config, result = turns
    none = result.search.model_copy(update={"best": None, "samples": ()})
    monkeypatch.setattr(pipeline, "search", lambda *_: none)
    found = pipeline.run(config, runtime)
    assert found.final is None
    lead = found.evaluation.summary.methods[found.evaluation.summary.rule]
    assert lead.identity == result.tuned.tuning.configuration.identity == found.registered.sha


def test_done_again_nothing_is_solved(turns, runtime):
    config, result = turns
    solves = counts(runtime.home.root)["solves"]
    again = pipeline.run(config, runtime)
    assert again.tuned.tuning == result.tuned.tuning
    assert again.evaluation.directory == result.evaluation.directory
    assert counts(runtime.home.root)["solves"] == solves


def test_only_the_groups_asked_for_are_tuned(runtime):
    config = with_overrides(SMOKE, {"tune.groups": ["LP"], "tune.fixed": ["lp/pricing"]})
    tried = {
        name for trial in tune(config, runtime, 1.0, beside=True).tuning.trials for name in trial.choices
    }
    assert tried
    assert all(name.startswith("lp/") and name != "lp/pricing" for name in tried)
