"""Register rules with invented evidence; ``python -m tests.support.challenging NAME NUMBER JSON`` does so too."""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path
from typing import Any

from bife_core.methods.base import Method
from bife_core.rules import rule_sha
from bife_core.scip.solver import SolverConfig
from tasks.registry.deciding import register
from tasks.registry.evidence import Evidence, RegisteredRule
from tasks.tracking import store
from tests.support.programs import python


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


def challenge(name: str, number: int, **known: Any) -> RegisteredRule:
    """Register a rule as an evaluation would."""
    return register.fn(name, source(number), evidence(number, evaluation_run=_run(), **known))


def challenge_in(home: Path, name: str, number: int, **known: Any) -> int:
    """Do so in another home, and return the version."""
    done = python("-m", "tests.support.challenging", name, number, json.dumps(known), home=home)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def made_champion(name: str, number: int, method: Method | None = None, **known: Any) -> RegisteredRule:
    """Register a rule, or a method in its place, and let the gate decide, as a pipeline does."""
    text = source(number) if method is None else method.text
    known |= {} if method is None else {"sha": method.identity}
    return register.fn(name, text, evidence(number, evaluation_run=_run(), **known), by_gate=True)


def _run() -> str:
    run = store.open_run(store.EVALUATION, uuid.uuid4().hex[:16], "an evaluation", {})
    return str(run.info.run_id)


if __name__ == "__main__":
    _name, _number, _known = sys.argv[1:]
    print(challenge(_name, int(_number), **json.loads(_known)).version)
