"""Races of configurations on solves nobody made."""

from pathlib import Path

from bife_core.instances.base import Instance
from bife_core.measure.config import HighFidelityConfig
from bife_core.measure.context import SolveContext
from bife_core.measure.solves import Solved
from bife_core.solver.methods.base import RPB
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.scip.settings import SolverConfig
from bife_core.store import Store
from bife_core.workers import InProcess
from tests.support.measured import result

INSTANCES = [Instance(f"i{number}", Path(f"i{number}.mps"), f"digest{number}") for number in range(9)]
OTHER = Configuration(name="other", params={"lp/pricing": "d"})


def context(folder, gap=0.0, **config):
    return SolveContext(HighFidelityConfig(**config), SolverConfig(gap=gap), InProcess(), Store(folder))


def invent(monkeypatch, outcome):
    """Have `outcome` say of method, place and seed what a solve takes, and return the solves that are asked for.

    It gives CPU seconds, these with the optimum and the dual bound of a solve that is cut, fields of the result, or why
    the solve fails.
    """
    jobs = []

    def run_solves(groups, *_, **__):
        jobs.extend(asked := [job for group in groups for job in group])
        return [
            made(job, outcome(job.method, INSTANCES.index(job.instance), job.settings.seed)) for job in asked
        ]

    def made(job, outcome):
        if isinstance(outcome, str):
            fault = {"rpb_failure": outcome} if job.method.identity == RPB else {"cause": "rule"}
            return Solved(job, failure=outcome, **fault)
        if isinstance(outcome, dict):
            return Solved(job, result(**outcome))
        cpu_s, optimum, dual = outcome if isinstance(outcome, tuple) else (outcome, 1.0, 1.0)
        ended = cpu_s <= (limit_s := job.settings.time_limit_s)
        known = {} if ended else {"status": "timelimit"}
        known |= {"primal_bound": optimum, "dual_bound": optimum if ended else dual}
        return Solved(job, result(cpu_s=min(cpu_s, limit_s), **known))

    monkeypatch.setattr("bife_core.measure.context.run_solves", run_solves)
    return jobs
