"""A rule is blamed for its own failures alone: what the machine did is tried again, and never becomes a score."""

import errno
from concurrent.futures import Future

import pytest

from bife_core.instances.base import Instance
from bife_core.measure.context import SolveContext
from bife_core.measure.high import score_high
from bife_core.measure.low import score_low
from bife_core.measure.solves import SolveJob, run_solves
from bife_core.run.config import HighFidelityConfig, LowFidelityConfig
from bife_core.solver.methods.base import RPB, ScipMethod
from bife_core.solver.methods.scorer import RuleMethod
from bife_core.solver.scip.settings import SolverConfig
from bife_core.solver.scip.solve import SolveSettings
from bife_core.store import Store
from bife_core.workers import WorkerFailure, WorkerPool, Workers
from tests.support.misbehaving import RUN, die, text_of

RULE = "def candidate_variable_score(variable_features):\n    return variable_features[20]\n"
NODES = HighFidelityConfig(instances=1, cost="nodes", time_limit_s=30)


rule = RuleMethod(name="rule", source=RULE)


def solving(pool, folder):
    return SolveContext(NODES, SolverConfig(), pool, Store(folder))


class Struck(Workers):
    """A pool on whose machine workers that run one rule, or any, are killed from outside so many times."""

    def __init__(self, pool, times, source=RULE):
        self.pool, self.left, self.source = pool, times, source

    @property
    def workers(self):
        return self.pool.workers

    def _sent(self, call, arguments, **limits):
        method = arguments.get("method")  # of a solve its JSON, of scoring whether the text may be one
        sources = [arguments.get("source"), method.get("source") if isinstance(method, dict) else None]
        if self.left and (self.source is None or self.source in sources):
            self.left -= 1
            return self.pool.submit(RUN, text_of(die), limit_s=30)
        return self.pool.submit(call, arguments, **limits)

    def submit_batch(self, call, arguments, **limits):
        return [self._sent(call, each, **limits) for each in arguments]

    def close(self):
        """Leave the pool to who opened it."""


def test_a_rule_whose_worker_was_killed_twice_gets_its_score_once_rpb_has_shown_that_the_machine_works(
    knapsacks, pool, tmp_path
):
    one = knapsacks[:1]
    undisturbed = score_high(rule, one, solving(pool, tmp_path / "a"))
    score = score_high(rule, one, solving(Struck(pool, 2), tmp_path / "b"))
    assert (score.f_hf, score.failure, score.notes) == (undisturbed.f_hf, None, ())


def test_a_rule_whose_worker_is_killed_whenever_rpbs_is_not_is_out(knapsacks, pool, tmp_path):
    score = score_high(rule, knapsacks[:1], solving(Struck(pool, 4), tmp_path))
    assert score.f_hf is None
    assert "SIGKILL" in (score.failure or "")
    assert (score.failure or "").endswith("RPB does not fail there.")


def test_a_machine_without_files_for_a_call_is_an_error_and_nobodys_solve(knapsacks, tmp_path, monkeypatch):
    def none_left(*_):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("bife_core.workers.cores._opened", none_left)
    job = SolveJob(instance=knapsacks[0], method=rule, settings=SolveSettings(time_limit_s=30))
    with WorkerPool(1) as full, pytest.raises(WorkerFailure, match="Too many open files"):
        run_solves([[job]], Store(tmp_path), full, machine_may_fail=True)


def test_a_machine_that_fails_everybody_is_an_error_and_nobodys_score(knapsacks, pool, tmp_path):
    one, hopeless = knapsacks[:1], Struck(pool, 1000, source=None)
    for score in (
        lambda: score_high(rule, one, solving(hopeless, tmp_path)),
        lambda: score_low(RULE, None, LowFidelityConfig(), hopeless),
    ):
        with pytest.raises(WorkerFailure, match="SIGKILL") as failure:
            score()
        assert (failure.value.kind, failure.value.by_machine) == ("died", True)
    assert not list(tmp_path.rglob("*.json"))


class Overrun(Workers):
    """A pool on which every solve is stopped at its limit, as where SCIP's presolving never looks at the clock."""

    workers = 1

    def submit_batch(self, call, arguments, *, limit_s, **_):
        futures = [Future() for _ in arguments]
        for future in futures:
            future.set_exception(
                WorkerFailure("timeout", f"{call} was stopped at its limit of {limit_s:g} s.")
            )
        return futures

    def close(self):
        """Nothing is open."""


def test_where_no_solve_heeds_the_limit_rpb_fails_as_well_as_the_rule_and_neither_is_blamed(tmp_path):
    settings = SolveSettings(time_limit_s=30)
    instance = Instance("slow.mps", tmp_path / "slow.mps", "0" * 16)
    jobs = [
        SolveJob(instance=instance, method=method, settings=settings)
        for method in (rule, ScipMethod(name=RPB))
    ]
    for solved in run_solves([jobs], Store(tmp_path), Overrun()):
        assert (
            solved.rpb_failure
            == solved.failure
            == "bife_core.measure.solves:solve_job was stopped at its limit of 90 s."
        )
        assert solved.rules_fault is None
