"""Register rules in MLflow, with invented evidence; ``python -m tests.support.challenging NAME NUMBER JSON`` too."""

import json
import sys
import uuid

from bife_core.run.stages.records import EVALUATION
from bife_tasks.registry.mlflow_registry import IN_MLFLOW
from bife_tasks.tracking import mlflow_runs
from tests.support.programs import REPOSITORY, python
from tests.support.registered import beside as beside, champion_in, evidence, source as source, under as under


def challenge(name, number, **known):
    """Register a rule as an evaluation would."""
    known = {"evaluation_run": new_run(), **known}
    return IN_MLFLOW.register(name, source(number), evidence(number, **known))


def challenge_in(home, name, number, variables=(), **known):
    """Do so in another home, with variables of its environment, and return the version."""
    words = ("-m", "tests.support.challenging", name, number, json.dumps(known))
    done = python(*words, home=home, cwd=REPOSITORY, **dict(variables))
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def made_champion(name, number, method=None, **known):
    """Register a rule, or a method in its place, and let the gate decide, as a pipeline does."""
    return champion_in(IN_MLFLOW, name, number, method, evaluation_run=new_run(), **known)


def new_run():
    """Make a run of an evaluation in MLflow, and return its id."""
    run = mlflow_runs.open_run(EVALUATION, uuid.uuid4().hex[:16], "an evaluation", {})
    return str(run.info.run_id)


if __name__ == "__main__":
    _name, _number, _known = sys.argv[1:]
    print(challenge(_name, int(_number), **json.loads(_known)).version)
