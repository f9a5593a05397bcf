"""Rules with invented evidence, for any registry."""

from __future__ import annotations

import json
from typing import Any

from bife_core.methods.base import Method
from bife_core.registry.base import Registry
from bife_core.registry.evidence import Evidence, RegisteredRule
from bife_core.rules import rule_sha
from bife_core.scip.solver import SolverConfig


def source(number: int) -> str:
    """Return the `number`-th rule."""
    return f"def candidate_variable_score(f) -> float:\n    return f[20] * f[21] + {number}\n"


def beside(champion: int) -> dict[str, Any]:
    """Return the evidence of a rule that was measured beside a champion, and beats it."""
    return {
        "champion_sha": rule_sha(source(champion)),
        "champion_ratio": 0.75,
        "champion_ci_low": 0.7,
        "champion_ci_high": 0.8,
        "champion_p_value": 0.001,
    }


def under(solver: SolverConfig) -> dict[str, Any]:
    """Return the evidence of a rule that was measured under these settings of SCIP."""
    params = json.dumps(solver.effective)
    return {"solver": solver.known_as, "solver_digest": solver.digest, "solver_params": params}


def evidence(number: int, **known: Any) -> Evidence:
    """Return the evidence of a rule that beats RPB, of an evaluation that has no run."""
    facts: dict[str, Any] = {
        "sha": rule_sha(source(number)),
        "benchmark": "toys",
        "size": "test",
        "ratio": 0.8,
        "ci_low": 0.7,
        "ci_high": 0.9,
        "p_value": 0.001,
        "confidence": 0.95,
        "bound": 0.95,
        "further": 0,
        "slower_share": 0.14,
        "baseline": "relpscost",
        "instances": 20,
        "groups": known.get("instances", 20),
        "seeds": 1,
        "solves": 20,
        "proofs": 20,
        "baseline_proofs": 20,
        "evaluation_run": "",
        "test_digest": "digest",
        **under(SolverConfig()),
    }
    return Evidence(**facts | known)


def champion_in(
    registry: Registry, name: str, number: int, method: Method | None = None, **known: Any
) -> RegisteredRule:
    """Register a rule, or a method in its place, and let the gate decide, as a pipeline does."""
    text, sha = (source(number), {}) if method is None else (method.text, {"sha": method.identity})
    return registry.register(name, text, evidence(number, **sha | known), by_gate=True)
