import json
import shutil

import pytest

from bife_core.cli import doctor
from bife_core.cli.outcome import CommandEnd, ExitCode
from bife_core.cli.stages import finish, required, show_comparison
from bife_core.measure.evaluation.comparison import statement
from bife_core.run.config import InstancesConfig
from bife_core.run.stages.records import TUNING
from bife_core.solver.methods.references import load_method
from bife_flows.cli.backend import Flows
from bife_tasks.tracking import mlflow_runs
from tests.support.programs import FOREIGN, program, sentence
from tests.support.tracked import artifacts


def test_a_newcomer_sees_the_rule_its_speed_and_what_to_do_next(smoke):
    done = smoke.printed
    assert (done.exit_code, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    shown = ["def candidate_variable_score", "F_LF  0.", "F_HF  -", "time ratio", "95.5 % interval"]
    shown += ["registered  ", "bife-combinatorial_auction-tiny version 1 (challenger)"]
    shown += ["run `bife up`, then append", "#/experiments/"]
    shown += ["bife run --instances DIR", "bife run --generator openai"]
    shown += ['bife_core.attach(model, "models:/bife-combinatorial_auction-tiny/1")']
    assert [text for text in shown if text not in done.stdout] == []
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines if ": samples" in line] == ["generation 0", "generation 1"]
    assert not [line for line in lines if any(noise in line for noise in ("INFO", "WARN", "Traceback"))]


def test_the_stages_can_be_run_one_by_one(smoke, bife):
    collected = bife("collect", "--preset", "smoke")
    assert collected.exit_code == 0
    assert f"20 with {smoke.result.collection.summary.candidates} candidates" in collected.stdout
    search_result = bife("search", "--preset", "smoke")
    assert search_result.exit_code == 0
    assert smoke.result.search.run.run_id in search_result.stdout
    best = smoke.result.search.best
    assert f"The rule ({best.id} by {best.operator}" in search_result.stdout
    final = smoke.result.search.folder / "rules" / f"{smoke.result.final.id}-budget-0.9.json"
    # MLflow holds the seed of the instances that an evaluation drew for itself.
    run = mlflow_runs.client().get_run(smoke.result.evaluation.run.run_id)
    seed = f"instances.seed={run.data.params['instances.seed']}"
    evaluated = bife("evaluate", "--preset", "smoke", "--rule", final, "--set", seed)
    assert evaluated.exit_code == 0
    assert f"time ratio  {smoke.result.evaluation.summary.lead.ratio:.3f}" in evaluated.stdout


def test_settings_are_tuned_alone_and_their_file_solves(prepared, bife, tmp_path, golden_dir):
    output = tmp_path / "ours.set"
    options = ("--preset", "smoke", "--seconds", "1", "--method", "pscost")
    done = bife("tune", *options, "--output", output)
    assert done.exit_code == 0, done.output
    assert "design instance" in " ".join(done.stdout.split())
    assert load_method(output).by_scip
    number = next(line.split()[1] for line in done.stdout.splitlines() if line.startswith("run "))
    assert load_method(f"runs:/{number}").params.items() <= load_method(output).params.items()
    tuned = mlflow_runs.client().get_run(number)
    assert tuned.info.experiment_id == mlflow_runs.experiment_id(TUNING)
    assert "ratio" in tuned.data.metrics
    assert artifacts(number) == {"tuned.set", "trials.png"}
    solved = bife("solve", golden_dir / "cauctions_0.mps.gz", "--rule", output, "--quiet")
    assert solved.exit_code == 0, solved.output
    assert bife("evaluate", "--preset", "smoke").exit_code == ExitCode.USAGE


def test_the_report_of_an_evaluation_is_written_anew_and_joined_with_others(smoke, bife, tmp_path):
    run_id = smoke.result.evaluation.run.run_id
    shown = bife("report", run_id, "--to", tmp_path / "page", "--figures")
    assert shown.exit_code == 0, shown.output
    assert statement(smoke.result.evaluation.summary.lead) in shown.stdout
    page = (tmp_path / "page" / "report.html").read_text()
    assert smoke.result.choice.sentence in page
    kinds = {path.suffix for path in (tmp_path / "page" / "figures").iterdir()}
    assert kinds == {".png", ".svg", ".pdf"}
    assert r"\toprule" in (tmp_path / "page" / "tables.tex").read_text()

    joined = bife("report", run_id, smoke.result.evaluation.directory, "--to", tmp_path / "both")
    assert joined.exit_code == 0
    assert "Holm over 2" in (tmp_path / "both" / "report.html").read_text()


def test_a_registered_rule_is_listed_shown_and_solved_with(smoke, bife):
    reference = smoke.result.registered.reference
    assert reference in bife("rules", "list").stdout
    shown = bife("rules", "show", reference).stdout
    assert smoke.result.registered.sha in shown
    assert "search run" in shown
    solved = bife("solve", FOREIGN / "lseu.mps", "--rule", reference, "-q", "--versus", "relpscost")
    assert solved.exit_code == 0
    assert "1120" in solved.stdout


def test_everything_a_run_needs_works_here(prepared, bife):
    result = bife("doctor")
    assert result.exit_code == 0, result.output
    assert all(name in result.stdout for name in (*doctor.CHECKS, *Flows.checks))
    assert "fail" not in result.stdout


def test_every_instance_of_a_folder_is_listed_with_its_optimum(smoke, bife, tmp_path):
    for name in ("lseu.mps", "stein27_inf.lp"):
        shutil.copy(FOREIGN / name, tmp_path)
    (tmp_path / "cut.mps").write_bytes((FOREIGN / "lseu.mps").read_bytes()[:3000])
    options = ("--preset", "smoke", "--instances", tmp_path, "--rule", "paper_ca", "--permute", 2)
    result = bife("evaluate", *options)
    assert result.exit_code == 0, result.output
    assert "2 seeds an instance" in result.stdout
    assert result.stdout.count("Left out: cut.mps is cut off") == 1
    rows = {line.split()[0]: line.split() for line in result.stdout.splitlines() if " test " in line}
    assert {"lseu.mps", "stein27_inf.lp"} & set(rows)
    known = {"lseu.mps": ["1120", "1120"], "stein27_inf.lp": ["-", "-"]}
    assert all(cells[4:6] == known[name] for name, cells in rows.items())


@pytest.mark.long
def test_a_run_on_unlike_instances_ends_without_a_champion_and_says_why(bife, tmp_path):
    for name in ("lseu.mps", "stein27_inf.lp"):
        shutil.copy(FOREIGN / name, tmp_path)
    knapsack = "Maximize\n obj: 3 x + 2 y\nSubject To\n c: 2 x + y <= 2\nBinary\n x y\nEnd\n"
    (tmp_path / "two.lp").write_text(knapsack)
    result = bife("run", "--preset", "smoke", "--instances", tmp_path)
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert "note: SCIP's CPU time goes into " in said, "reported before anything is paid"
    assert said.index("note: SCIP's CPU time goes into ") < said.index("collection: ")
    assert "(challenger)" in said
    assert "The rule is not champion. It cannot count as faster than RPB: no method branches on any" in said


@pytest.mark.long
def test_a_prefect_server_that_is_not_there_is_one_sentence():
    nowhere = {"PREFECT_API_URL": "http://127.0.0.1:9/api"}
    done = program("evaluate", "--preset", "smoke", "--rule", "paper_ca", **nowhere)
    assert done.returncode == 1
    assert "Prefect's API at http://127.0.0.1:9/api cannot be used" in sentence(done.stderr)


def test_differing_optima_are_an_error_of_their_own(smoke, capsys):
    compared, wrong = smoke.result.evaluation, {"mismatches": ("m: 3 or 4.",)}
    differing = compared.model_copy(update={"summary": compared.summary.model_copy(update=wrong)})
    search_result = smoke.result.search
    for given in ((differing,), (compared, search_result.model_copy(update=wrong))):
        with pytest.raises(CommandEnd, match="must never change an optimum") as end:
            finish(smoke.config, *given)
        assert end.value.code == ExitCode.DISAGREEMENT
        assert "Proven optima differ: m: 3 or 4." in capsys.readouterr().err
    assert finish(smoke.config, compared, search_result) is None


def test_optima_of_design_instances_are_listed_too(smoke, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "200")
    folder = InstancesConfig(benchmark="folder", folder=tmp_path)
    config = smoke.config.model_copy(update={"instances": folder})
    finish(config, smoke.result.evaluation, smoke.result.search)
    parts = [line.split()[1] for line in capsys.readouterr().out.splitlines() if " optimal " in line]
    assert parts == ["test"] * 2 + ["design"] * len(smoke.result.search.best_solves)


def test_a_search_without_a_rule_says_where_the_reasons_are(smoke):
    with pytest.raises(CommandEnd, match="None of the 8 samples") as end:
        required(smoke.result.search.model_copy(update={"best": None, "failures": 8}))
    assert end.value.code == ExitCode.ERROR
    assert str(smoke.result.search.folder) in str(end.value)
    assert len(json.loads((smoke.result.search.folder / "samples.json").read_text())) == 8


def test_a_comparison_without_interval_claims_none(smoke, capsys):
    compared = smoke.result.evaluation
    lead = compared.summary.lead.model_copy(update={"ci_low": None, "ci_high": None, "ratio": 1.25})
    summary = compared.summary.model_copy(update={"comparisons": (lead,)})
    show_comparison(compared.model_copy(update={"summary": summary}))
    text = capsys.readouterr().out
    assert "time ratio  1.250 (no interval)\n" in text
    assert f"{lead.method} takes" not in text, "what is undecided is not stated as a fact"
