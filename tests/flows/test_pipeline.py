import json

import pytest
from mlflow import MlflowClient
from prefect.client.orchestration import get_client

from bife_core.base.errors import RuleError
from bife_core.instances.base import SPLITS
from bife_core.run.stages.evaluation_files import load_report
from bife_core.run.stages.runtime import Runtime
from bife_core.run.study.journal import Referred, read_journal
from bife_core.search import SearchCost
from bife_core.solver.export import export_c
from bife_core.solver.methods.references import load_method
from bife_core.solver.scip.settings import SolverConfig
from bife_flows.operate.running import ready
from bife_flows.reporting.conductor import flow_runtime
from bife_flows.stages import evaluation
from bife_tasks.registry.mlflow_registry import IN_MLFLOW
from bife_tasks.stores import home_store
from tests.flows.conftest import demonstrate
from tests.support.challenging import made_champion, under
from tests.support.stored import counts
from tests.support.tracked import artifacts


def tracked(run_id):
    return MlflowClient().get_run(run_id)


def children(run_id):
    number = tracked(run_id).info.experiment_id
    return MlflowClient().search_runs([number], f"tags.`mlflow.parentRunId` = '{run_id}'")


def everything_in_mlflow():
    client = MlflowClient()
    numbers = [experiment.experiment_id for experiment in client.search_experiments()]
    return {
        "runs": sorted((found.info.run_id, found.info.status) for found in client.search_runs(numbers)),
        "versions": [(rule.name, rule.version, rule.aliases) for rule in IN_MLFLOW.versions()],
    }


def files(directory):
    return {path: path.stat().st_mtime_ns for path in directory.rglob("*") if path.is_file()}


def test_a_rule_is_found_compared_and_registered(smoke):
    result = smoke.result
    assert result.search.best.f_hf == max(
        sample.data.metrics["f_hf"]
        for sample in children(result.search.run.run_id)
        if "f_hf" in sample.data.metrics
    )
    assert 0 <= result.final.f_lf <= 1
    assert result.choice.scores[result.choice.chosen] == max(result.choice.scores.values())
    assert result.final.id in result.choice.sentence
    assert {row["method"] for row in result.choice.solves} == set(result.choice.scores)
    assert {"validation.json", "validation_table.json"} <= artifacts(result.evaluation.run.run_id)
    assert result.evaluation.summary.lead.ratio > 0
    assert result.registered.name == "bife-combinatorial_auction-tiny"
    assert "challenger" in result.registered.aliases


def test_the_budget_of_the_final_rule_travels_with_it(smoke):
    """On the validation instance RPB with a budget needs fewer nodes than any rule alone."""
    result, method = smoke.result, load_method(smoke.result.registered.reference)
    assert method.name == result.choice.chosen == result.evaluation.summary.rule
    assert (method.name, method.source) == (f"{result.final.id},budget=0.9", result.final.source)
    assert method.identity == result.evaluation.method.identity == result.registered.sha
    assert load_method(result.search.folder / "rules" / f"{result.final.id}-budget-0.9.json") == method
    assert "method.json" in artifacts(result.evaluation.run.run_id)
    assert f"Under {method.name}, RPB branched at " in result.evaluation.summary.conclusion
    assert "data->budget, FALSE, 0.9," in export_c(method)
    again = f"runs:/{result.search.run.run_id},budget=0.9"
    found = ready()(evaluation)(smoke.config, again)
    assert found.summary.methods[method.name] == method
    for directory in (result.evaluation.directory, found.directory):
        report, _ = load_report([str(directory)], Runtime())
        assert [search.best for search in report.searches] == [result.final.id]
        assert report.statements[1].startswith(f"Under {method.name}")


def test_every_optimum_is_the_same_whoever_branches(smoke):
    summary = smoke.result.evaluation.summary
    ended = {(row["method"], row["digest"], row["seed"]): row for row in summary.rows}
    rules = [row for (method, *_), row in ended.items() if method == summary.rule]
    assert len(rules) == smoke.config.evaluation.instances
    for rule in rules:
        baseline = ended[summary.baseline, rule["digest"], rule["seed"]]
        assert rule["status"] == baseline["status"] == "optimal"
        assert rule["primal_bound"] == pytest.approx(baseline["primal_bound"])
    assert summary.mismatches == ()


def test_the_parent_run_tells_the_whole_story(smoke):
    search_result = smoke.result.search
    parent = tracked(search_result.run.run_id)
    assert parent.info.status == "FINISHED"
    assert parent.data.tags["search_key"] == search_result.key
    assert parent.data.params["search.samples"] == "8"
    assert tracked(smoke.result.evaluation.run.run_id).data.tags["search_run"] == search_result.run.run_id
    files = {"samples.json", "search_cost.json", "design_solves.json", "progress.png", "fidelities.png"}
    files |= {"best_rule.py", search_result.best_rule.name}
    assert artifacts(search_result.run.run_id) == files
    steps = [point.step for point in MlflowClient().get_metric_history(search_result.run.run_id, "best_f_hf")]
    assert steps == [state.generation for state in smoke.diary.states]


def test_every_sample_is_a_child_run_and_their_table_is_sorted_best_first(smoke):
    search_result = smoke.result.search
    runs = children(search_result.run.run_id)
    assert len({found.data.tags["sample_id"] for found in runs}) == len(runs) == 8
    assert {found.data.params["operator"] for found in runs} == {"i1", "e1", "e2", "m1", "m2"}
    assert all(found.info.status in ("FINISHED", "FAILED") for found in runs)
    number = tracked(search_result.run.run_id).info.experiment_id
    table = MlflowClient().load_table(number, "samples.json", [search_result.run.run_id])
    assert table["id"][0] == search_result.best.id
    assert (
        json.loads((search_result.folder / "samples.json").read_text())[0]["source"]
        == search_result.best.source
    )


def test_the_cost_is_split_by_what_it_went_on_and_kept_as_data(smoke):
    search_result = smoke.result.search
    cost = search_result.cost
    assert [part for part, seconds in cost.parts.items() if seconds <= 0] == ["tuning"]
    assert cost.samples == cost.calls == 8
    solved = [run.data.metrics for run in children(search_result.run.run_id) if "f_hf" in run.data.metrics]
    assert cost.solved == len(solved)
    (referred,) = (
        entry for entry, _ in read_journal(home_store(), search_result.key) if isinstance(entry, Referred)
    )
    spent = sum(run.data.metrics.get("solve_cpu_s", 0.0) for run in children(search_result.run.run_id))
    assert cost.f_hf_s == pytest.approx(spent + referred.reference.cpu_s)
    assert cost.curve[-1].f_hf == search_result.best.f_hf
    assert cost.curve[-1].sample == search_result.best.id
    assert tracked(search_result.run.run_id).data.metrics["work_s"] == pytest.approx(cost.work_s)
    assert SearchCost.model_validate_json((search_result.folder / "search_cost.json").read_text()) == cost


def test_the_observer_sees_stages_progress_and_generations(smoke):
    diary = smoke.diary
    stages = ["collection", "search", "validation", "evaluation"]
    assert diary.stages == ["precheck", *stages, "registration"]
    (expected,) = diary.estimates
    assert [name for name, _ in expected.stages] == stages
    assert any(f"A run takes {expected.sentence}." in note for note in smoke.result.notes)
    assert (20, 20) in diary.steps
    assert [state.samples_total for state in diary.states] == [4, 8]
    assert diary.states[-1].best_f_hf == smoke.result.search.best.f_hf
    assert diary.states[-1].remaining_s == 0
    assert diary.states[-1].references == smoke.result.search.references
    assert list(smoke.result.search.references) == ["RPB"]
    assert "F_HF of RPB" in smoke.printed.stdout


def test_running_again_redoes_and_doubles_nothing(smoke, home):
    before, solves, results = everything_in_mlflow(), counts(home)["solves"], files(home / "results")
    done = demonstrate()
    assert smoke.result.search.run.run_id in done.printed.stdout
    again = done.result
    assert again.model_dump(exclude={"search"}) == smoke.result.model_dump(exclude={"search"})
    assert (smoke.result.search.new, again.search.new) == (True, False)
    assert again.search.sentence.startswith(f"Nothing to do: this is search {again.search.key}")
    timeless = {"seconds", "new"}
    assert again.search.model_dump(exclude=timeless) == smoke.result.search.model_dump(exclude=timeless)
    assert everything_in_mlflow() == before
    assert counts(home)["solves"] == solves
    assert files(home / "results") == results


def test_prefect_knows_every_task_of_the_run(smoke):
    chosen = {"task_runs": {"name": {"any_": ["generation 0", "generation 1"]}}}
    with get_client(sync_client=True) as client:
        found = client.request("POST", "/task_runs/filter", json=chosen).json()
    names = {entry["name"] for entry in found if entry["state_type"] == "COMPLETED"}
    assert names == set(chosen["task_runs"]["name"]["any_"])


def test_what_instances_serve_is_entered(smoke):
    digests = {row["digest"] for row in smoke.result.evaluation.summary.rows}
    served = home_store().served()
    assert {len(served[digest].comparisons) for digest in digests} == {1}, "the rule alone, no other method"
    assert smoke.result.evaluation.summary.use == 1
    assert {one.split for one in served.values()} == set(SPLITS)


def test_the_best_rule_of_an_search_is_evaluated_by_its_run_among_other_methods(smoke):
    reference = f"runs:/{smoke.result.search.run.run_id}"
    elsewhere = made_champion("bife-test-elsewhere", 0, **under(SolverConfig(name="paper"))).reference
    result = ready()(evaluation)(smoke.config, reference, others=("pscost", "paper_ca", elsewhere))
    said = f"{elsewhere} was measured under paper settings, not under SCIP default settings."
    assert said in result.notes
    assert result.method.identity == smoke.result.search.best.sha
    best = smoke.result.search.best.id
    assert list(result.summary.methods) == [best, "pscost", "paper_ca", elsewhere, "relpscost"]
    assert {c.method for c in result.summary.comparisons} == set(result.summary.methods) - {"relpscost"}
    stored = tracked(result.run.run_id)
    assert stored.info.run_name == f"combinatorial_auction {best} vs relpscost"
    assert stored.data.metrics["ratio"] == pytest.approx(result.summary.lead.ratio)
    written = {"evaluation.json", "story.json", "report.html", "tables.md", "tables.tex", "costs.png"}
    tables = {"rule.py", "solves_table.json", "comparisons_table.json"}
    assert written | tables <= artifacts(result.run.run_id)
    joined, _ = load_report([result.run.run_id], flow_runtime())
    assert joined.evaluations == (result.summary,)
    assert joined.searches[0].best == best


def test_a_run_without_a_rule_is_one_sentence(smoke):
    for number, sentence in (
        ("nonsense", "names no method"),
        ("0" * 32, "holds no run"),
        (smoke.result.collection.run.run_id, "holds no rule"),
    ):
        with pytest.raises(RuleError, match=sentence):
            ready()(evaluation)(smoke.config, f"runs:/{number}")
