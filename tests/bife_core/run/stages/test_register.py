"""What an evaluation says of a rule to the registry, and what a run says of a rule that a person refused."""

from pathlib import Path

import pytest

from bife_core import attach, solve
from bife_core.instances.base import Instance
from bife_core.measure.evaluation.comparison import statement
from bife_core.measure.solves import Solved
from bife_core.registry.choosing import registered_name
from bife_core.registry.evidence import CHALLENGER, CHAMPION, gate
from bife_core.run.config import InstancesConfig
from bife_core.run.observer import TrackedRun
from bife_core.run.presets import preset, with_overrides
from bife_core.run.stages.evaluate import evaluate
from bife_core.run.stages.register import evidence, no_champion, register_rule
from bife_core.run.stages.results import EvaluationResult
from bife_core.run.stages.runtime import InstanceSet
from bife_core.solver.methods.base import RPB
from bife_core.solver.methods.references import load_method
from bife_core.solver.scip.reader import read_model
from bife_core.solver.scip.settings import SolverConfig
from tests.support.measured import result, summary

CONFIG = with_overrides(preset("smoke"), {"approval": "person"})


@pytest.fixture
def evaluated(golden_dir):
    held_out = InstanceSet(label="CA", instances=(Instance("a", golden_dir / "cauctions_0.mps.gz", "a"),))

    def result(*measured, **known):
        return EvaluationResult(
            summary=summary(*measured, **known), held_out=held_out,
            directory=Path("evaluation-a"), run=TrackedRun(), notes=(),
        )  # fmt: skip

    return result


def test_a_run_says_why_its_rule_is_no_challenger(runtime, evaluated):
    faster = evaluated([5.0, 6.0, 7.0], [9.0, 8.0, 9.5])
    first, notes = register_rule(CONFIG, runtime, faster)
    assert (first.aliases, notes) == ((CHALLENGER,), ())
    runtime.registry.refuse(first.name, first.version, "Ada", "reads too many features")
    again, (note,) = register_rule(CONFIG, runtime, faster)
    assert (again.version, again.aliases) == (first.version, ())
    assert note in runtime.observer.notes
    assert "Ada refused it on" in note
    assert "(reads too many features)" in note


def test_half_the_nodes_in_twice_the_time_make_no_champion(runtime, evaluated):
    """Work is reported, but never makes a champion: CPU time then decides."""
    lean = evaluated([20.0 + 2 * k for k in range(8)], [10.0 + k for k in range(8)], "nodes", rule_nodes=5)
    assert lean.summary.lead.finding == "better"
    known = evidence(CONFIG, runtime, lean)
    assert (known.metric, known.ratio, known.time_ratio) == ("time", pytest.approx(2.0), pytest.approx(2.0))
    assert not gate(known, None).promote


def test_why_a_rule_is_no_champion_leaves_the_numbers_to_the_comparison(runtime, evaluated):
    alike = evaluated([10.1 + k for k in range(8)], [10.0 + k for k in range(8)])
    another = with_overrides(CONFIG, {"instances.size": "transfer"})  # of which no rule was refused
    registered, _ = register_rule(another, runtime, alike)
    decision = gate(registered.evidence, None)
    assert f"{registered.evidence.ratio:.3f} of RPB's CPU time" in decision.sentence
    said = "The rule is not champion. It is not known to be faster than RPB."
    assert no_champion(registered, runtime) == said


@pytest.mark.parametrize(("lowest", "promote", "ratio"), [(50.0, True, 0.554), (120.0, False, 1.255)])
def test_where_no_solve_ends_the_integral_decides(runtime, evaluated, lowest, promote, ratio):
    limited = [100.0] * 12
    integrals = ([lowest + k for k in range(12)], 100.0)
    found = evaluated(limited, limited, "primal_dual_integral", integrals=integrals)
    known = evidence(CONFIG, runtime, found)
    assert (known.metric, known.unfinished) == ("primal_dual_integral", 12)
    assert (known.ratio, known.time_ratio) == (pytest.approx(ratio, abs=1e-3), pytest.approx(1))
    assert gate(known, None).promote is promote
    assert not promote or "less primal-dual integral" in found.summary.conclusion


def test_a_rule_that_hangs_on_some_models_is_no_champion(runtime, evaluated):
    hangs = evaluated([1.0, 1.1, 1.2, 1.3, 1.4, None, None, None], [10.0 + k for k in range(8)])
    known = evidence(CONFIG, runtime, hangs)
    assert (known.solves, known.missing, known.proofs, known.baseline_proofs) == (8, 3, 5, 8)
    assert "3 of its 8 solves are missing" in gate(known, None).sentence


@pytest.mark.parametrize(
    "settings", ["separating/maxrounds = 0", "branching/pscost/priority = 99999", "pscost"]
)
def test_settings_alone_become_champion_and_are_used_at_once(runtime, monkeypatch, tmp_path, settings):
    """Of instances that all methods solve at the root, too, where more than branching differs."""
    (folder := tmp_path / f"settings {len(settings)}").mkdir()
    for number in range(32):
        text = f"Maximize\n obj: {len(settings)} x + 2 y\nSubject To\n c: 2 x + y <= {number + 2}\nBinary\n x y\nEnd\n"
        (folder / f"m{number}.lp").write_text(text)
    (file := tmp_path / "tuned.set").write_text(f"{settings}\n")
    of_settings = settings.startswith("separating")

    def solves(groups, *_, **__):
        made = ((job, 1.0 if job.method.identity == RPB else 0.2) for group in groups for job in group)
        return [Solved(job, result(cpu_s=cpu_s, nodes=1 if of_settings else 9)) for job, cpu_s in made]

    monkeypatch.setattr("bife_core.measure.evaluation.summary.run_solves", solves)
    config = with_overrides(
        CONFIG, {"approval": "gate", "evaluation.instances": 20, "evaluation.most_instances": 20}
    )
    config = config.model_copy(update={"instances": InstancesConfig(benchmark="folder", folder=folder)})
    found = evaluate(config, runtime, settings if settings == "pscost" else str(file), as_challenger=True)
    assert not [note for note in found.notes if "champion" in note]
    reference = f"models:/{registered_name(config.instances, config.solver)}@{CHAMPION}"
    known = runtime.registry.registered(reference).evidence
    lead = found.summary.lead
    assert (known.use, known.ratio, known.unbranched) == (1, pytest.approx(0.2), 0)
    assert (known.instances, known.ratio) == (lead.instances, lead.ratio)
    assert f"ratio {known.ratio:.3f}" in statement(lead)
    assert load_method(reference).identity == found.method.identity == known.sha
    model = read_model(folder / "m3.lp")
    assert runtime.registry.rule_for(model, SolverConfig())[0] == reference
    attach(model, reference)
    assert (model.getParam("separating/maxrounds") == 0) is of_settings
    assert (
        model.getParam("branching/pscost/priority") > model.getParam(f"branching/{RPB}/priority")
    ) is not of_settings
    assert solve(folder / "m3.lp", reference).status == "optimal"
    runtime.registry.roll_back(
        runtime.registry.registered(reference).name, "Ada", "another one is to be chosen"
    )
