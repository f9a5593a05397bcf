"""Solves are stored the moment they are done, and survive the loss of a worker; rules are blamed for their own."""

import errno
import signal
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from sqlalchemy import select

from bife_core.base.values import digest_of
from bife_core.instances.base import Instance
from bife_core.measure import high
from bife_core.measure.config import HighFidelityConfig, LowFidelityConfig
from bife_core.measure.context import SolveContext
from bife_core.measure.low import score_low
from bife_core.measure.solves import OutOfTimeError, SolveJob, run_solves
from bife_core.solver.machine import here
from bife_core.solver.methods.base import RPB, ScipMethod
from bife_core.solver.methods.references import load_method
from bife_core.solver.methods.scorer import RuleMethod
from bife_core.solver.scip.settings import SolverConfig
from bife_core.solver.scip.solve import RECORDED, SolveResult, SolveSettings
from bife_core.store import Store
from bife_core.store.database import solves
from bife_core.workers import InProcess, WorkerFailure, WorkerPool, Workers
from bife_core.workers.cores import usable_cores
from tests.support.measured import solved

SETTINGS = SolveSettings(time_limit_s=60)
WORST = RuleMethod(name="worst", source="def candidate_variable_score(f):\n    return 1.0 / (1.0 + f[18])\n")


def jobs(instances, method):
    return [[SolveJob(instance=instance, method=method, settings=SETTINGS)] for instance in instances]


def slow(folder, name):
    """Return an instance that `WORST` takes seconds to solve."""
    return [Instance(name, folder / f"{name}.mps.gz", "a" * 16)]


def stored(store):
    rows = store._database.rows(select(solves))
    return [SolveResult.model_validate_json(row.body).instance for row in rows]


def test_a_stored_solve_is_found_by_versions_that_record_the_same(monkeypatch):
    recorded = (RECORDED, digest_of(SolveResult.form())[:8])
    assert recorded == (6, "e1a33a83"), "a SolveResult has other fields: raise RECORDED, and write both here"
    ((job,),) = jobs([Instance("a", Path("a.mps"), "0" * 16)], ScipMethod(name="pscost"))
    before = job.key
    monkeypatch.setattr("bife_core.measure.solves.RECORDED", RECORDED + 1)
    assert job.key != before


def test_a_stored_solve_is_found_under_new_names_and_on_the_same_machine_only(
    knapsacks, pool, tmp_path, monkeypatch
):
    store, builtin = Store(tmp_path), ScipMethod(name="pscost")
    (first,) = run_solves(jobs(knapsacks[:1], builtin), store, pool)
    renamed = jobs([replace(knapsacks[0], name="today")], builtin)
    (again,) = run_solves(renamed, store, pool)
    assert (first.reused, first.result.machine) == (False, here())
    assert (again.reused, again.result) == (True, first.result.model_copy(update={"instance": "today"}))
    monkeypatch.setattr("bife_core.measure.solves.here", lambda: "another machine")
    assert not run_solves(renamed, store, pool)[0].reused


def test_a_key_tells_apart_what_a_result_depends_on(knapsacks, monkeypatch):
    rule = load_method("pseudocost_product")
    builtin = ScipMethod(name="pscost")
    keyed = [jobs(knapsacks[:1], method)[0][0] for method in (rule, builtin)]
    before = [job.key for job in keyed]
    monkeypatch.setattr("bife_core.measure.solves.code_digest", lambda: "other formulas")
    assert [job.key == key for job, key in zip(keyed, before, strict=True)] == [False, True]


@pytest.mark.skipif(len(usable_cores()) < 2, reason="solves of one core come one after the other")
def test_a_solve_is_stored_although_an_earlier_one_still_runs(knapsacks, golden_dir, tmp_path):
    store = Store(tmp_path)
    queue = [
        *jobs(slow(golden_dir, "item_placement_0"), WORST),
        *jobs(knapsacks[:1], ScipMethod(name="relpscost")),
    ]
    ended = []

    def solve_all():
        try:
            run_solves(queue, store, pool)
        except WorkerFailure as closed:
            ended.append(closed)

    with WorkerPool(2) as pool:
        running = threading.Thread(target=solve_all)
        running.start()
        deadline = time.monotonic() + 60
        while not stored(store) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(stored(store)) == 1
    running.join(60)
    assert [failure.kind for failure in ended if isinstance(failure, WorkerFailure)] == ["closed"]


def test_a_killed_solver_is_replaced_and_its_solve_repeated(golden_dir, tmp_path):
    notes = []
    limits = (SolveSettings(time_limit_s=0.1), SolveSettings(time_limit_s=1))
    with WorkerPool(1) as pool:
        (instance,) = slow(golden_dir, "indset_0")
        begin, whole = (SolveJob(instance=instance, method=WORST, settings=how) for how in limits)
        run_solves([[begin]], Store(tmp_path), pool)  # the worker is one that may read the file
        solver = psutil.Process(
            pool.submit("bife_core.workers.selftest:describe", {}, limit_s=60).result()["pid"]
        )
        spent_s = sum(solver.cpu_times()[:2])

        def kill_in_the_middle():
            while sum(solver.cpu_times()[:2]) < spent_s + 0.3:
                time.sleep(0.01)
            solver.kill()

        killer = threading.Thread(target=kill_in_the_middle)
        killer.start()
        (outcome,) = run_solves([[whole]], Store(tmp_path), pool, note=notes.append)
        killer.join()
    assert outcome.failure is None
    assert outcome.result.status == "timelimit"
    assert len(notes) == 1
    assert "SIGKILL" in notes[0]


class Silent(Workers):
    """Takes calls and never answers, or fails each as `failure` says."""

    workers = 1

    def __init__(self, failure=None):
        self.sent, self.failure = [], failure

    def submit_batch(self, call, arguments, **allowed):
        self.sent = [Future() for _ in arguments]
        for future in self.sent if self.failure else ():
            future.set_exception(self.failure(call, **allowed))
        return self.sent

    def close(self):
        pass


def test_what_is_queued_when_the_time_is_over_is_cancelled_and_free_for_others(knapsacks, tmp_path):
    workers, store = Silent(), Store(tmp_path)
    for _ in range(2):
        workers.sent.clear()
        with pytest.raises(OutOfTimeError, match=r"before 1 of 1 solves"):
            run_solves(jobs(knapsacks[:1], WORST), store, workers, over=lambda: bool(workers.sent))
        assert workers.sent[0].cancelled()


def test_ctrl_c_that_scip_takes_reaches_the_main_thread(knapsacks, tmp_path, monkeypatch):
    result = solved("relpscost", 0, 1.0).result
    ended = result.model_copy(update={"status": "userinterrupt"})
    monkeypatch.setattr("bife_core.measure.solves.solve", lambda *_, **__: ended)
    arguments = jobs(knapsacks[:2], WORST), Store(tmp_path), InProcess()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # SCIP keeps it after solves of several threads
    with pytest.raises(KeyboardInterrupt):
        run_solves(*arguments)
    begin = threading.Event()
    with ThreadPoolExecutor(1) as threads:
        future = threads.submit(lambda: begin.wait(60.0) and run_solves(*arguments))
        threading.Timer(0.1, begin.set).start()
        with pytest.raises(KeyboardInterrupt):
            time.sleep(60.0)
    failure = future.exception()
    assert failure.kind == "closed", "it says nothing about the method"


def test_two_at_once_do_a_solve_once(knapsacks, pool, tmp_path):
    wanted = jobs(knapsacks[:2], ScipMethod(name="relpscost"))
    with ThreadPoolExecutor(2) as both:
        done = list(both.map(lambda _: run_solves(wanted, Store(tmp_path), pool), range(2)))
    assert [one.result for one in done[0]] == [one.result for one in done[1]]
    assert sorted(one.reused for solved in done for one in solved) == [False, False, True, True]


RULE = "def candidate_variable_score(variable_features):\n    return variable_features[20]\n"
rule = RuleMethod(name="rule", source=RULE)


def score_high(pool, folder, instances):
    config = HighFidelityConfig(instances=1, cost="nodes", time_limit_s=30)
    return high.score_high(rule, instances, SolveContext(config, SolverConfig(), pool, Store(folder)))


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
            struck = Future()
            struck.set_exception(WorkerFailure("died", "It was ended by SIGKILL.", by_machine=True))
            return struck
        return self.pool.submit(call, arguments, **limits)

    def submit_batch(self, call, arguments, **limits):
        return [self._sent(call, each, **limits) for each in arguments]

    def close(self):
        """Leave the pool to who opened it."""


def test_a_rule_whose_worker_was_killed_twice_gets_its_score_once_rpb_has_shown_that_the_machine_works(
    knapsacks, pool, tmp_path
):
    undisturbed = score_high(pool, tmp_path / "a", knapsacks[:1])
    score = score_high(Struck(pool, 2), tmp_path / "b", knapsacks[:1])
    assert (score.f_hf, score.failure, score.notes) == (undisturbed.f_hf, None, ())


def test_a_rule_whose_worker_is_killed_whenever_rpbs_is_not_is_out(knapsacks, pool, tmp_path):
    score = score_high(Struck(pool, 4), tmp_path, knapsacks[:1])
    assert score.f_hf is None
    assert "SIGKILL" in (score.failure or "")
    assert (score.failure or "").endswith("RPB does not fail there.")


def test_a_machine_without_files_for_a_call_is_an_error_and_nobodys_solve(knapsacks, tmp_path, monkeypatch):
    def none_left(*_):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("bife_core.workers.cores._opened", none_left)
    with WorkerPool(1) as full, pytest.raises(WorkerFailure, match="Too many open files"):
        run_solves(jobs(knapsacks[:1], rule), Store(tmp_path), full, machine_may_fail=True)


def test_a_machine_that_fails_everybody_is_an_error_and_nobodys_score(knapsacks, pool, tmp_path):
    hopeless = Struck(pool, 1000, source=None)
    for score in (
        lambda: score_high(hopeless, tmp_path, knapsacks[:1]),
        lambda: score_low(RULE, None, LowFidelityConfig(), hopeless),
    ):
        with pytest.raises(WorkerFailure, match="SIGKILL") as failure:
            score()
        assert (failure.value.kind, failure.value.by_machine) == ("died", True)
    assert not list(tmp_path.rglob("*.json"))


def test_where_no_solve_heeds_the_limit_rpb_fails_as_well_as_the_rule_and_neither_is_blamed(tmp_path):
    def stopped(call, limit_s, **_):
        return WorkerFailure("timeout", f"{call} was stopped at its limit of {limit_s:g} s.")

    instances = [Instance("slow.mps", tmp_path / "slow.mps", "0" * 16)]
    both = [jobs(instances, method)[0][0] for method in (rule, ScipMethod(name=RPB))]
    why = "bife_core.measure.solves:solve_job was stopped at its limit of 150 s."
    for solve in run_solves([both], Store(tmp_path), Silent(stopped)):
        assert (solve.rpb_failure, solve.failure, solve.rules_fault) == (why, why, None)
