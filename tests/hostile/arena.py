"""Where hostile rules are let loose: real workers, real decisions, a real solve, and traps that report an escape."""

from __future__ import annotations

import builtins
import math
import os
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

from bife_core.instances.generated import open_benchmark
from bife_core.language.components import BRANCHING
from bife_core.language.rules import REFERENCE_RULES
from bife_core.measure.low import score_low
from bife_core.measure.solves import SolveJob
from bife_core.run.config import InstancesConfig, LowFidelityConfig
from bife_core.solver.methods.scorer import RuleMethod
from bife_core.solver.scip.solve import SolveSettings
from bife_core.workers import WorkerFailure, WorkerPool
from tests.hostile.corpus import outcome_of
from tests.support.recorded import decisions_of

SECRET = "canary-7f3a9c-not-a-real-key"
PORT = 47011  # on the loopback interface; a connection to it is an escape
MARK = "bife-escaped"  # a file of this name in the working, the temporary or the home directory is one too
GRACE_S = 2.0
HONEST_LIMIT_S = 60.0
_EASY = "def candidate_variable_score(variable_features):\n    return variable_features[18]\n"


@dataclass(frozen=True)
class Conclusion:
    """What came of one rule: of scoring, of the solve if there was one, why, in what time, and what the traps caught.

    `overdue_s` are wall seconds beyond the limit, of scoring or solving, whichever is more.
    """

    name: str
    outcome: str
    solve: str
    reason: str
    overdue_s: float
    escapes: tuple[str, ...]


class Arena:
    """One worker, 60 recorded decisions, a small instance, and the traps; arenas may share the directory.

    `limit_s` are the wall seconds that a rule gets, for scoring and for the solve each.
    """

    def __init__(self, directory, limit_s):
        self.limit_s = limit_s
        self.decisions = directory / "decisions" / "decisions.npz"
        if not self.decisions.exists():
            self.decisions.parent.mkdir(parents=True, exist_ok=True)
            rng = np.random.default_rng(0)
            sizes = rng.integers(3, 13, 60)
            shape = (BRANCHING.n_features, int(sizes.sum()))
            # From zero up to the thousands.
            columns = rng.exponential(size=shape) * 10.0 ** rng.integers(
                -2, 4, size=(BRANCHING.n_features, 1)
            )
            columns[rng.random(shape) < 0.2] = 0.0
            decisions_of(sizes.tolist(), rng.exponential(size=shape[1]), columns=columns).save(self.decisions)
        config = InstancesConfig(benchmark="combinatorial_auction", size="tiny")
        self.instance = open_benchmark(config, directory / "instances").instances("test", 1)[0]
        self.pool = WorkerPool(1, pin=False)
        # Named once, so that no worker has to be replaced for the solve after the score.
        reads = [self.decisions, self.instance.path]
        self.pool.submit("bife_core.workers.selftest:echo", {"value": 0}, limit_s=120, reads=reads).result()
        self._traps = Traps()

    def close(self):
        """Stop the worker, and listening."""
        self.pool.close()
        self._traps.close()

    def warm_up(self):
        """Have a worker with all it needs loaded, so that what is timed is the rule."""
        score = score_low(_EASY, self.decisions, LowFidelityConfig(), self.pool, limit_s=120.0)
        assert score.f_lf is not None, score

    def face(self, case):
        """Score a rule, and solve with it if it got a score."""
        self.warm_up()
        environment = dict(os.environ)
        began = time.monotonic()
        score = score_low(case.text, self.decisions, LowFidelityConfig(), self.pool, limit_s=self.limit_s)
        outcome, reason, solve = outcome_of(score.kind), score.failure or "", ""
        tries = 2 if "twice" in reason else 1  # for a rule that ends its worker
        overdue_s = (time.monotonic() - began) / tries - self.limit_s
        if outcome == "scored":
            self.warm_up()
            began = time.monotonic()
            # An honest rule is given the time a busy machine needs.
            limit_s = HONEST_LIMIT_S if case.solve and "timeout" not in case.solve else self.limit_s
            solve, why = self._solve(case.text, limit_s)
            overdue_s = max(overdue_s, time.monotonic() - began - limit_s)
            reason = reason or why
        escapes = self._traps.sprung(f"{score!r} {reason}", environment)
        return Conclusion(case.name, outcome, solve, reason, overdue_s, escapes)

    def _solve(self, source, limit_s):
        settings = SolveSettings(time_limit_s=600.0, node_limit=200)
        job = SolveJob(
            instance=self.instance, method=RuleMethod(name="hostile", source=source), settings=settings
        )
        work = "bife_core.measure.solves:solve_job"
        try:
            result = self.pool.submit(
                work, job.model_dump(mode="json"), limit_s=limit_s, reads=[job.instance.path]
            ).result()
        except WorkerFailure as failure:
            return ("timeout" if failure.kind == "timeout" else "runtime"), str(failure)
        return ("runtime", "The rule raised.") if result["rule_errors"] else ("solved", "")


class Traps:
    """Notice what a rule may not do: files, connections, secrets, processes, changes in this process."""

    def __init__(self):
        self._before, self._known = _marked_files(), _grandchildren()
        self._listener = None
        with suppress(OSError):  # another arena of this process listens
            self._listener = socket.create_server(("127.0.0.1", PORT))
            self._listener.setblocking(False)

    def sprung(self, text, environment):
        """Return what was caught; `text` is all the rule could make known, `environment` what it was before."""
        now = _marked_files()
        caught = [f"{path} was made" for path in sorted(now - self._before)]
        self._before |= now
        if SECRET in text:
            caught.append("a secret of the parent was read")
        if self._listener is not None:
            with suppress(BlockingIOError):
                self._listener.accept()[0].close()
                caught.append(f"a connection to port {PORT} was made")
        if _functions() != _FUNCTIONS:
            caught.append("a function of the parent was replaced")
        if environment != dict(os.environ):
            caught.append("the parent's environment was changed")
        # Twice, as a worker may end meanwhile; what earlier tests started, such as a server, is known.
        strays = _grandchildren() & _grandchildren() - self._known
        if strays:
            caught.append(f"processes were started: {sorted(strays)}")
        return tuple(caught)

    def close(self):
        """Stop listening."""
        if self._listener is not None:
            self._listener.close()


def _functions():
    return np.sqrt, np.exp, np.load, math.sqrt, builtins.open, builtins.print, os.system


_FUNCTIONS = _functions()


def _marked_files():
    return {path for place in (Path.cwd(), Path.home(), Path("/tmp")) for path in place.glob(f"{MARK}*")}


def _grandchildren():
    me = psutil.Process()
    pids = set()
    for child in me.children(recursive=True):
        with suppress(psutil.Error):
            if child.ppid() not in (me.pid, 1) and child.status() != psutil.STATUS_ZOMBIE:
                pids.add(child.pid)
    return pids


class HonestStream(threading.Thread):
    """Scores reference rules beside the hostile ones, and notes every score that is not the undisturbed one."""

    def __init__(self, arena):
        super().__init__(name="honest rules", daemon=True)
        self._arena = arena
        self._stop_asked = threading.Event()
        names = ("pseudocost_product", "paper_ca", "hybrid", "paper_mis")
        self._expected = {
            REFERENCE_RULES[name].source: self._score(REFERENCE_RULES[name].source) for name in names
        }
        self.scored = 0
        self.disturbed = []

    def run(self):
        """Go round until asked to stop."""
        while not self._stop_asked.is_set():
            for source, expected in self._expected.items():
                score = self._score(source)
                self.scored += 1
                if score != expected:
                    self.disturbed.append(f"{score} instead of {expected}")
            self._stop_asked.wait(0.05)

    def end(self):
        """Stop after the present round."""
        self._stop_asked.set()
        self.join()

    def _score(self, source):
        score = score_low(source, self._arena.decisions, LowFidelityConfig(), self._arena.pool)
        return score.f_lf, score.failure
