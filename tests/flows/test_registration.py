"""What a run says of a rule that a person decided against before."""

from __future__ import annotations

import pytest

from bife_core.presets import with_overrides
from bife_core.registry.evidence import CHALLENGER, Origin, gate
from bife_core.stages.registering import evidence, register_rule
from tasks.registry.mlflow_registry import IN_MLFLOW
from tasks.runtime import TrackedRuntime
from tasks.stores import observing
from tests.flows.conftest import Diary
from tests.support.measured import summary


@pytest.fixture
def config(smoke):
    """Settings whose rules are registered under a name of their own, and where a person decides."""
    return with_overrides(smoke.config, {"instances.size": "transfer", "approval": "person"})


def test_a_run_says_why_its_rule_is_no_challenger(smoke, config):
    evaluated = smoke.result.evaluation
    first, notes = register_rule(config, TrackedRuntime(), evaluated, Origin())
    assert first.aliases == (CHALLENGER,)
    assert notes == ()
    IN_MLFLOW.refuse(first.name, first.version, "Ada", "reads too many features")
    diary = Diary()
    with observing(diary):
        again, (note,) = register_rule(config, TrackedRuntime(), evaluated, Origin())
    assert (again.version, again.aliases) == (first.version, ())
    assert IN_MLFLOW.find(first.name, CHALLENGER) is None
    assert note in diary.notes
    assert "Ada refused it on" in note
    assert "(reads too many features)" in note


def test_half_the_nodes_in_twice_the_time_make_no_champion(smoke, config):
    """Work is reported, but never makes a champion: CPU time then decides."""
    lean = summary([20.0 + 2 * k for k in range(8)], [10.0 + k for k in range(8)], "nodes", rule_nodes=5)
    assert lean.lead.finding == "better"
    known = evidence(
        config, TrackedRuntime(), smoke.result.evaluation.model_copy(update={"summary": lean}), Origin()
    )
    assert (known.metric, known.ratio, known.time_ratio) == ("time", pytest.approx(2.0), pytest.approx(2.0))
    assert gate(known, None).reason.startswith(
        "It is not known to be faster than RPB: 2.000 of RPB's CPU time"
    )


def test_where_no_solve_ends_a_better_integral_makes_a_champion(smoke, config):
    limited: list[float | None] = [100.0] * 12
    lower = summary(
        limited, limited, "primal_dual_integral", integrals=([50.0 + k for k in range(12)], 100.0)
    )
    known = evidence(
        config, TrackedRuntime(), smoke.result.evaluation.model_copy(update={"summary": lower}), Origin()
    )
    assert (known.metric, known.unfinished, known.time_ratio) == (
        "primal_dual_integral",
        12,
        pytest.approx(1),
    )
    weighed = gate(known, None)
    assert weighed.promote
    assert weighed.reason == "It takes 0.554 of RPB's primal-dual integral; there is no champion yet."
    assert "less primal-dual integral" in lower.conclusion
    higher = summary(
        limited, limited, "primal_dual_integral", integrals=([120.0 + k for k in range(12)], 100.0)
    )
    known = evidence(
        config, TrackedRuntime(), smoke.result.evaluation.model_copy(update={"summary": higher}), Origin()
    )
    assert gate(known, None).reason.startswith(
        "It is not known to be better than RPB: 1.255 of RPB's primal-dual integral"
    )


def test_a_rule_that_hangs_on_some_models_is_no_champion(smoke, config):
    hangs = summary([1.0, 1.1, 1.2, 1.3, 1.4, None, None, None], [10.0 + k for k in range(8)])
    known = evidence(
        config, TrackedRuntime(), smoke.result.evaluation.model_copy(update={"summary": hangs}), Origin()
    )
    assert (known.solves, known.missing, known.proofs, known.baseline_proofs) == (8, 3, 5, 8)
    assert gate(known, None).reason == "It cannot count as faster than RPB: 3 of its 8 solves are missing."
