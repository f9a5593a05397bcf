"""Rules with invented evidence, for any registry."""

import json

from bife_core.language.rules import rule_sha
from bife_core.registry.evidence import Evidence
from bife_core.solver.scip.settings import SolverConfig


def source(number):
    """Return the `number`-th rule."""
    return f"def candidate_variable_score(f) -> float:\n    return f[20] * f[21] + {number}\n"


def beside(champion):
    """Return the evidence of a rule that was measured beside a champion, and beats it."""
    interval = {"champion_ci_low": 0.7, "champion_ci_high": 0.8, "champion_p_value": 0.001}
    return {"champion_sha": rule_sha(source(champion)), "champion_ratio": 0.75, **interval}


def under(solver):
    """Return the evidence of a rule that was measured under these settings of SCIP."""
    params = json.dumps(solver.effective)
    return {"solver": solver.known_as, "solver_digest": solver.digest, "solver_params": params}


def evidence(number, **known):
    """Return the evidence of a rule that beats RPB, of an evaluation that has no run."""
    facts = {
        "sha": rule_sha(source(number)), "benchmark": "toys", "size": "test", "ratio": 0.8, "ci_low": 0.7,
        "ci_high": 0.9, "p_value": 0.001, "confidence": 0.95, "bound": 0.95, "further": 0,
        "slower_share": 0.14, "baseline": "relpscost", "instances": 20, "groups": known.get("instances", 20),
        "seeds": 1, "solves": 20, "proofs": 20, "baseline_proofs": 20, "evaluation_run": "",
        "test_digest": "digest", **under(SolverConfig()),
    }  # fmt: skip
    return Evidence(**facts | known)


def champion_in(registry, name, number, method=None, **known):
    """Register a rule, or a method in its place, and let the gate decide, as a pipeline does."""
    text, sha = (source(number), {}) if method is None else (method.text, {"sha": method.identity})
    return registry.register(name, text, evidence(number, **sha | known), by_gate=True)
