"""Where hostile rules are let loose: real workers, real decisions, a real solve, and traps that tell of an escape."""

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
from types import TracebackType
from typing import Final

import numpy as np
import psutil

from bife_core.benchmarks.base import Instance
from bife_core.benchmarks.generated import open_benchmark
from bife_core.config import InstancesConfig, LowFidelityConfig
from bife_core.decisions.recorded import Decisions
from bife_core.features import N_FEATURES
from bife_core.fidelity.low import score_low
from bife_core.methods.rule import RuleMethod
from bife_core.rules import REFERENCE_RULES
from bife_core.sandbox import WorkerFailure, WorkerPool
from bife_core.scip.solving import SolveSettings
from bife_core.solves import SolveJob
from tests.hostile.corpus import Case, outcome_of
from tests.support.recorded import decisions_of

SECRET: Final = "canary-7f3a9c-not-a-real-key"
PORT: Final = 47011
"""On the loopback interface; a connection to it is an escape."""
MARK: Final = "bife-escaped"
"""A file whose name starts so, in the working, the temporary or the home directory, is an escape."""

GRACE_S: Final = 2.0
HONEST_LIMIT_S: Final = 60.0

_EASY: Final = "def candidate_variable_score(variable_features):\n    return variable_features[18]\n"


@dataclass(frozen=True)
class Verdict:
    """What came of one rule.

    Attributes
    ----------
    outcome, solve : str
        Of scoring; of the solve, empty if there was none.
    reason : str
        Why there is no score, or no solve.
    overdue_s : float
        Wall seconds beyond the limit, of scoring or solving, whichever is more; negative where all was in time.
    escapes : tuple of str
        What the traps caught.
    """

    name: str
    outcome: str
    solve: str
    reason: str
    overdue_s: float
    escapes: tuple[str, ...]


def made_up_decisions(seed: int = 0) -> Decisions:
    """Return 60 decisions of 3 to 12 candidates, with features from zero up to the thousands."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 13, 60)
    rows = int(sizes.sum())
    columns = rng.exponential(size=(N_FEATURES, rows)) * 10.0 ** rng.integers(-2, 4, size=(N_FEATURES, 1))
    columns[rng.random(columns.shape) < 0.2] = 0.0
    return decisions_of(sizes.tolist(), rng.exponential(size=rows), columns=columns)


class Arena:
    """One worker, the decisions, a small model, and the traps.

    Parameters
    ----------
    directory : Path
        For decisions and the model; arenas may share it.
    limit_s : float
        Wall seconds a rule gets, for scoring and for the solve each.
    """

    def __init__(self, directory: Path, limit_s: float) -> None:
        self.limit_s = limit_s
        self.decisions = directory / "decisions" / "decisions.npz"
        if not self.decisions.exists():
            self.decisions.parent.mkdir(parents=True, exist_ok=True)
            made_up_decisions().save(self.decisions)
        config = InstancesConfig(benchmark="combinatorial_auction", size="tiny")
        self.model: Instance = open_benchmark(config, directory / "instances").instances("test", 1)[0]
        self.pool = WorkerPool(1, pin=False)
        # Named once, so that no worker has to be replaced for the solve after the score.
        reads = [self.decisions, self.model.path]
        self.pool.submit("bife_core.sandbox.selftest:echo", {"value": 0}, limit_s=120, reads=reads).result()
        self._traps = Traps()

    def __enter__(self) -> Arena:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.pool.close()
        self._traps.close()

    def warm_up(self) -> None:
        """Have a worker with all it needs loaded, so that what is timed is the rule."""
        score = score_low(_EASY, self.decisions, LowFidelityConfig(), self.pool, limit_s=120.0)
        assert score.f_lf is not None, score

    def face(self, case: Case) -> Verdict:
        """Score a rule, and solve with it if it got a score."""
        self.warm_up()
        self._traps.arm()
        source = case.source.decode("utf-8", "surrogateescape")
        began = time.monotonic()
        score = score_low(source, self.decisions, LowFidelityConfig(), self.pool, limit_s=self.limit_s)
        outcome, reason = outcome_of(score.kind), score.failure or ""
        # A rule that ends its worker is tried twice.
        tries = 2 if "twice" in reason else 1
        overdue_s = (time.monotonic() - began) / tries - self.limit_s
        solve = ""
        if outcome == "scored":
            self.warm_up()
            began = time.monotonic()
            # An honest rule is given the time a busy machine needs.
            limit_s = HONEST_LIMIT_S if case.solve and "timeout" not in case.solve else self.limit_s
            solve, why = self._solve(source, limit_s)
            overdue_s = max(overdue_s, time.monotonic() - began - limit_s)
            reason = reason or why
        return Verdict(
            case.name, outcome, solve, reason, overdue_s, self._traps.sprung(f"{score!r} {reason}")
        )

    def _solve(self, source: str, limit_s: float) -> tuple[str, str]:
        settings = SolveSettings(time_limit_s=600.0, node_limit=200)
        job = SolveJob.of(self.model, RuleMethod(name="hostile", source=source), settings)
        arguments = job.model_dump(mode="json")
        try:
            call = self.pool.submit(
                "bife_core.solves.jobs:work", arguments, limit_s=limit_s, reads=[job.path]
            )
            result = call.result()
        except WorkerFailure as failure:
            return ("timeout" if failure.kind == "timeout" else "runtime"), str(failure)
        if result["rule_errors"]:
            return "runtime", f"The rule raised at {result['rule_errors']} branchings."
        return "solved", ""


class Traps:
    """Notice what a rule may not do: files, connections, secrets, processes, changes in this process."""

    def __init__(self) -> None:
        self._calls = 0
        self._places = (Path.cwd(), Path.home(), Path("/tmp"))
        self._before = self._files()
        self._own = (np.sqrt, np.exp, np.load, math.sqrt, builtins.open, builtins.print, os.system)
        self._environment: dict[str, str] = {}
        self._listener: socket.socket | None
        try:
            self._listener = socket.create_server(("127.0.0.1", PORT))
            self._listener.setblocking(False)
        except OSError:  # another arena of this process listens
            self._listener = None

    def arm(self) -> None:
        """Remember how things are before a rule comes."""
        self._environment = dict(os.environ)

    def sprung(self, text: str) -> tuple[str, ...]:
        """Return what was caught since the traps were armed; `text` is all the rule could make known."""
        found = []
        if SECRET in text:
            found.append("a secret of the parent was read")
        now = self._files()
        found += [f"{path} was made" for path in sorted(now - self._before)]
        self._before |= now
        if self._listener is not None:
            try:
                self._listener.accept()[0].close()
                found.append(f"a connection to port {PORT} was made")
            except BlockingIOError:
                pass
        if self._own != (np.sqrt, np.exp, np.load, math.sqrt, builtins.open, builtins.print, os.system):
            found.append("a function of the parent was replaced")
        if self._environment != dict(os.environ):
            found.append("the parent's environment was changed")
        strays = _grandchildren() & _grandchildren()  # twice, as a worker may end while it is looked at
        if strays:
            found.append(f"processes were started: {sorted(strays)}")
        return tuple(found)

    def close(self) -> None:
        """Stop listening."""
        if self._listener is not None:
            self._listener.close()

    def _files(self) -> set[Path]:
        return {path for place in self._places for path in place.glob(f"{MARK}*")}


def _grandchildren() -> set[int]:
    me = psutil.Process()
    found = set()
    for child in me.children(recursive=True):
        with suppress(psutil.Error):
            if child.ppid() != me.pid and child.ppid() != 1 and child.status() != psutil.STATUS_ZOMBIE:
                found.add(child.pid)
    return found


class HonestStream(threading.Thread):
    """Scores reference rules beside the hostile ones, and notes every score that is not the undisturbed one."""

    def __init__(self, arena: Arena) -> None:
        super().__init__(name="honest rules", daemon=True)
        self._arena = arena
        self._stop_asked = threading.Event()
        self.rules = [
            REFERENCE_RULES[name].source for name in ("pseudocost_product", "paper_ca", "hybrid", "paper_mis")
        ]
        self._expected = [self._score(source) for source in self.rules]
        self.scored = 0
        self.disturbed: list[str] = []

    def run(self) -> None:
        """Go round until asked to stop."""
        while not self._stop_asked.is_set():
            for source, expected in zip(self.rules, self._expected, strict=True):
                found = self._score(source)
                self.scored += 1
                if found != expected:
                    self.disturbed.append(f"{found} instead of {expected}")
            self._stop_asked.wait(0.05)

    def end(self) -> None:
        """Stop after the present round."""
        self._stop_asked.set()
        self.join()

    def _score(self, source: str) -> tuple[float | None, str | None]:
        score = score_low(source, self._arena.decisions, LowFidelityConfig(), self._arena.pool)
        return score.f_lf, score.failure
