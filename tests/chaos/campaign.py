"""One pipeline, killed again and again, and compared with one that nobody disturbed."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from tests.chaos import remains
from tests.chaos.api import PaidApi
from tests.chaos.program import Program

LIMIT_S = 1200.0
IN_FLIGHT_S = 0.25
"""An answer that left the server less than this before a kill may not be on disk.

Longer by what an answer took to reach its process: on a busy machine.
"""


@dataclass
class Tally:
    """What the kills did; all but `kills`, `calls_answered`, `answers_in_flight_at_a_kill` and
    `populations_identical` should stay 0.
    """

    kills: Counter[str] = field(default_factory=Counter)
    calls_answered: int = 0
    calls_paid_twice: int = 0
    answers_in_flight_at_a_kill: int = 0
    solves_repeated: int = 0
    runs_doubled: int = 0
    metric_points_doubled: int = 0
    versions_doubled: int = 0
    populations_identical: int = 0
    populations_different: int = 0
    lost: int = 0
    reasons: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Reference:
    """An undisturbed run: what it left, and how long its stages took."""

    remains: remains.Remains
    durations_s: dict[str, float]


def undisturbed(home, command, seed):
    """Run the pipeline once without a kill."""
    remains.prepare(home)
    with PaidApi(seed) as api:
        program = Program(command, home, api.environment)
        code = program.wait(LIMIT_S)
    if code != 0:
        raise RuntimeError(f"The undisturbed run ended with {code}:\n" + "\n".join(program.output))
    return Reference(remains.read(home), program.durations_s(time.monotonic()))


def disturbed(stages, durations_s, command, rng, tally, home):
    """Run the pipeline, kill it once in each of `stages` at a random moment, run it to its end, return what it left.

    `durations_s` has how long each stage takes undisturbed; `tally` gets all but what only a comparison shows.
    """
    remains.prepare(home)
    with PaidApi(rng.randrange(2**31)) as api:
        kills = []
        paid = {}
        for stage in stages:
            program = Program(command, home, api.environment)
            if not program.wait_for(stage, LIMIT_S) and program.ended:
                break  # there is nothing of that stage left to do
            time.sleep(rng.uniform(0.0, durations_s[stage]))
            if program.ended:
                break
            began_unix_s = time.time()
            tally.kills[program.kill()] += 1
            kills.append((began_unix_s, time.time()))
            tally.solves_repeated += _changed(paid, home)
            paid = remains.recorded(home)
        program = Program(command, home, api.environment)
        code = program.wait(LIMIT_S)
        tally.solves_repeated += _changed(paid, home)
        tally.calls_answered += sum(map(len, api.answered.values()))
        flight_s = IN_FLIGHT_S + max(_recorded_after_s(api, home), default=0.0)
        for request, times in api.again().items():
            lost = in_flight(times[0], kills, flight_s)
            tally.answers_in_flight_at_a_kill += lost
            tally.calls_paid_twice += not lost
            if not lost:
                tally.reasons.append(f"{request} was answered at {times}, kills were at {kills}")
        if code != 0:
            tally.lost += 1
            tally.reasons.append(f"exit code {code}: " + " | ".join(program.output[-8:]))
            return None
    return remains.read(home)


def in_flight(call, kills, flight_s):
    """Whether a call, from its coming until its answer had left and `flight_s` longer, met a kill while that lasted.

    A kill takes a while on a busy machine: first the processes are found, which live on meanwhile. What the server
    sends to a process that is dead by then has left it all the same.
    """
    came, left = call
    return any(came <= ended and began < left + flight_s for began, ended in kills)


def _recorded_after_s(api, home):
    """Give how long each answer that was given once took from leaving the server to its process."""
    ended = remains.answered_unix_s(home)
    for request, times in api.answered.items():
        _, _, name = request.partition(".")
        if name in ended and len(times) == 1:
            yield ended[name] - times[0][1]


def _changed(before, home):
    now = remains.recorded(home)
    return sum(now.get(path) != identity for path, identity in before.items())


def compare(left, wanted, tally):
    """Enter into the tally how a disturbed run differs from an undisturbed one."""
    same = left.population == wanted.population and left.best_rule == wanted.best_rule
    tally.populations_identical += same
    tally.populations_different += not same
    if not same:
        pairs = zip(left.population, wanted.population, strict=False)
        first = next(((ours, theirs) for ours, theirs in pairs if ours != theirs), "the best rule")
        tally.reasons.append(f"another population: {first}")
    more, less = left.runs - wanted.runs, wanted.runs - left.runs
    tally.runs_doubled += max(sum(more.values()) - sum(less.values()), 0)
    tally.lost += sum(less.values())
    if more or less:
        tally.reasons.append(f"runs in MLflow: more {dict(more)}, less {dict(less)}")
    tally.versions_doubled += max(left.versions - wanted.versions, 0)
    tally.metric_points_doubled += left.doubled_points
    tally.solves_repeated += left.repeated_solves - wanted.repeated_solves
