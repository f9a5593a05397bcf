"""RPB with tuned parameters in a run: tuned for a share of the search, compared beside the rule, and handed out."""

import tasks.tuning
from bife_core.methods.loading import load_method
from bife_core.methods.tuned_rpb import TunedRpb
from bife_core.presets import with_overrides
from bife_core.tuning import LEAN, Trial, Tuning
from flows.evaluation import evaluation
from flows.operate.running import run
from flows.pipeline import pipeline
from tasks.tracking import store
from tests.flows.test_pipeline import artifacts, tracked


def test_tuned_rpb_without_parameters_is_rpb_and_the_report_says_so(smoke, tmp_path):
    (none := tmp_path / "tuned_rpb.set").write_text(TunedRpb().text)
    result = run(None, evaluation, smoke.config, "pscost", False, (str(none),))
    assert list(result.summary.methods) == ["pscost", "relpscost"]
    said = "tuned RPB has no row of its own: it is RPB"
    assert any(said in note for note in result.notes)
    assert said in (result.directory / "report.html").read_text()


def test_a_pipeline_compares_the_rule_with_rpb_tuned_for_a_share_of_its_search(smoke, monkeypatch):
    budgets = []

    def tuned(instances, solving, budget_s, **_):
        budgets.append((len(instances), budget_s))
        best = Trial(params=LEAN, ratio=0.9, cpu_s=2.0)
        return Tuning(trials=(Trial(params={}, ratio=1.0, cpu_s=1.0), best), instances=2, cost="nodes")

    monkeypatch.setattr(tasks.tuning, "tune_rpb", tuned)
    monkeypatch.setattr("flows.pipeline.register_rule", lambda *_: (None, ()))
    result = run(None, pipeline, with_overrides(smoke.config, {"evaluation.tuned_rpb": 0.25}))
    assert budgets == [(2, result.evolution.cost.solver_s / 4)]
    assert "Tuned, RPB takes 0.900 of its nodes on 2 design instances" in " ".join(result.notes)

    tuning = result.tuned.run.run_id
    assert artifacts(tuning) == {"tuned_rpb.set", "trials_table.json"}
    assert tracked(tuning).data.metrics == {"ratio": 0.9, "trials": 2.0, "solver_s": 3.0}
    assert store.experiment_id(store.TUNING) == tracked(tuning).info.experiment_id
    assert load_method(f"runs:/{tuning}").params == load_method(result.tuned.path).params == LEAN

    summary = result.evaluation.summary
    assert list(summary.methods)[1:] == ["tuned_rpb", "relpscost"]
    assert (result.evaluation.directory / "tuned_rpb.set").read_text() == result.tuned.tuning.method.text
    assert {"tuned_rpb.set", "rule.py"} & artifacts(result.evaluation.run.run_id) >= {"tuned_rpb.set"}
