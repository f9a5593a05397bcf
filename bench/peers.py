"""What a user would install instead: SCIP, what BiFE finds, HiGHS, CBC, CP-SAT and Gurobi on the same instances.

    pip install -e '.[peers]'
    python -m bench.peers set_covering DIR --instances 20 --seeds 0 1 --limit 300 --tune 300 --store STORE

Every solver solves an instance before any solves the next, in an order that rotates, on one thread, with gap 0; those
whose own gap is another also with that. All read one file that SCIP wrote: MPS, minimised. `--peers` are some of the
solvers, all that are installed without it, and `--limit` the CPU seconds of a solve. `--tune S` lets `bife tune`
find a configuration of a family, or half of a folder, for as many CPU seconds with the same limit of a solve, once for
each of `--tuner-seeds`: `scip+set` is SCIP under its settings alone, `bife` the whole of it. `--settings FILE.set`
(plain SCIP reads it) and `--method REF` (BiFE's library solves) are further solvers, `{family}` in them the family.
`scip_concurrent` has two threads, whose CPU time both count.

A solve's time is process CPU time, user and system, without reading; that of the whole process stands beside it, CBC's
without Python. Ratios are to SCIP default settings, paired by instance and seed, with the bootstrap interval of their
geometric mean over groups of instances. A proof is *wrong* if its optimum is another than most solvers prove, SCIP
deciding ties, by more than 1e-5 relative, and its gap. A solve that does not end counts with the limit, so that the
ratio is a bound; what is wrong or refused counts with twice the longest solve of the instance.

Prints a table in Markdown for each family, or with `--json` its rows: {family, solver, version, gap, groups, solves,
cpu_s, ratio, ci_low, ci_high, process_s, process_ratio, process_low, process_high, right, limit, wrong, refused,
reasons}. `--store` keeps each solve as a line of `solves.jsonl`; the same command goes on where it stopped.
Give another store once BiFE or a solver's program has changed, beyond the versions that the table shows.
"""

from __future__ import annotations

import json
import math
import os
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench import benchmark_of, emit, home_of, interval_of, parse, tuned
from bench.tables import table
from bife_core import load_method
from bife_core.base.stats import geometric_mean
from bife_core.extend import Instance, digest_of
from bife_core.measure.peers import AT_HAND, Answer, Peer, ask, rewrite
from bife_core.solver.scip.solve import TOLERANCE

SCIP: Final = "scip"


def of_file(label: str, package: str, file: str, *arguments: str, own_gap: float | None = None) -> Peer:
    """Return the solver that a file of `bench/solvers` calls."""
    place = Path(__file__).parent / "solvers" / f"{file}.py"
    return Peer(label, package, (sys.executable, str(place), *arguments), own_gap)


PEERS: Final[Mapping[str, Peer]] = {
    SCIP: of_file("SCIP default settings", "pyscipopt", "scip"),
    **AT_HAND,
    "cbc": of_file("CBC", "cbcbox", "cbc"),
    "gurobi": of_file("Gurobi", "gurobipy", "gurobi", own_gap=1e-4),
    "scip_concurrent": of_file("SCIP concurrent, two threads", "pyscipopt", "scip", "concurrent"),
}
"""All solvers by name; another is a line here and a file in `bench/solvers`."""

LEAST_S: Final = 1e-3
"""CPU seconds that a solve counts as at least."""
UNSURE: Final = frozenset({"inforunbd", "primal infeasible or unbounded"})
ENDED: Final = frozenset({"optimal", "infeasible", "unbounded"}) | UNSURE
"""Statuses of a proof; the `UNSURE` contradict an optimum alone."""
COLUMNS: Final = (
    "solver version gap solves cpu_s ratio interval process_s process_ratio process_interval "
    "right limit wrong refused reasons"
)


class Arm(NamedTuple):
    """A solver with a gap; `version` is that of its package and what it is configured by."""

    name: str
    peer: Peer
    gap: float | None
    version: str

    @property
    def tolerance(self) -> float:
        """By how much its optimum may differ."""
        return TOLERANCE + ((self.peer.own_gap or 0.0) if self.gap is None else self.gap)


class Solve(NamedTuple):
    """A solve that is stored: by which arm, of which instance, with which seed, and how it ended."""

    arm: str
    instance: str
    seed: int
    answer: Answer


def main() -> None:
    options = parse(
        __doc__, "families", instances=20, limit=300.0, peers=list(PEERS), tune=0.0, tuner_seeds=[0],
        settings=[], method=[], json=False, store=None,
    )  # fmt: skip
    if unknown := set(options.peers) - PEERS.keys():
        sys.exit(f"--peers names {', '.join(sorted(unknown))}; expected some of {', '.join(PEERS)}.")
    with home_of(options.store) as home:
        for family in options.families:
            arms = arms_of(family, options, home)
            instances = benchmark_of(family, options).instances("test", options.instances)
            rows = list(summary(arms, instances, measured(arms, instances, options, home), options.limit))
            if options.json:
                for row in rows:
                    emit({"family": family, **row})
            else:
                print(
                    f"{Path(family).name}, {len(instances)} instances:\n\n{table(COLUMNS, map(shown, rows))}\n"
                )


def arms_of(family: str, options: Namespace, home: Path) -> list[Arm]:
    """Return what is compared, SCIP default settings first; says which solvers are not installed."""
    chosen = {name: PEERS[name] for name in dict.fromkeys([SCIP, *options.peers])}
    for name in [name for name, peer in chosen.items() if not find_spec(peer.package)]:
        print(f"{name} is left out: {chosen.pop(name).package} is not installed.", file=sys.stderr)
    settings, methods = (
        {name: name for name in (text.replace("{family}", family) for text in texts)}
        for texts in (options.settings, options.method)
    )
    for name in (*settings, *methods):
        load_method(name)  # raises before anything is solved
    for seed in options.tuner_seeds if options.tune else ():
        tuning = [family, options.size, options.tune, options.limit, seed]
        output = home / "tuned" / f"{digest_of(tuning)[:16]}" / "tuned.set"
        further = [] if Path(family).is_dir() else ["--size", options.size]
        further += ["--set", f"high.time_limit_s={options.limit}", "--seed", str(seed)]
        name = f"tuned, seed {seed}" if seed else "tuned"
        settings[name], methods[name] = map(str, tuned(family, output, options.tune, *further))
    for name, file in settings.items():
        chosen[f"scip+{name}"] = of_file(f"SCIP, {name}", "pyscipopt", "scip", file)
    for name, reference in methods.items():
        chosen[f"bife {name}"] = of_file(f"BiFE, {name}", "pyscipopt", "bife", reference)
    arms = list[Arm]()
    for name, peer in chosen.items():
        of_package = version(peer.package.partition(".")[0])
        files = [Path(argument) for argument in peer.command[2:] if Path(argument).is_file()]
        by = f"{of_package} {digest_of([file.read_text() for file in files])[:8]}" if files else of_package
        arms.append(Arm(name, peer, 0.0, by))
        if peer.own_gap is not None:
            arms.append(Arm(f"{name}, its own gap", peer, None, by))
    return arms


def measured(
    arms: Sequence[Arm], instances: Sequence[Instance], options: Namespace, home: Path
) -> list[Solve]:
    """Solve each instance with each seed by all arms in turn, but for what the store has; say so on standard error."""
    kept = Solves(home / "solves.jsonl")
    solves = list[Solve]()
    (home / "models").mkdir(parents=True, exist_ok=True)
    for turn, (instance, seed) in enumerate((each, seed) for each in instances for seed in options.seeds):
        file = home / "models" / f"{instance.digest}.mps"
        if not file.is_file():
            rewrite(instance.path, written := file.with_suffix(f".{os.getpid()}.mps"))
            written.rename(file)
        for place in range(len(arms)):
            arm = arms[(place + turn) % len(arms)]
            key = [arm.name, arm.version, arm.gap, instance.digest, seed, options.limit]
            if (answer := kept.answers.get(json.dumps(key))) is None:
                warm_up(arm, home)
                answer = ask(arm.peer, file, options.limit, arm.gap, seed)
                kept.add(key, answer)
                about = f"{answer.status} {answer.objective} in {answer.cpu_s:.2f} CPU s {answer.reason}"
                print(f"{instance.name} seed {seed} {arm.name}: {about}", file=sys.stderr, flush=True)
            solves.append(Solve(arm.name, instance.digest, seed, answer))
    return solves


_WARM: Final = set[str]()


def warm_up(arm: Arm, home: Path) -> None:
    """Let a solver load and compile once before it is measured: what the first process pays, no other does."""
    if arm.name not in _WARM:
        _WARM.add(arm.name)
        (tiny := home / "models" / "tiny.mps").write_text(TINY)
        ask(arm.peer, tiny, 60.0, arm.gap)


TINY: Final = """NAME tiny
ROWS
 N cost
 G row
COLUMNS
 M1 'MARKER' 'INTORG'
 x cost 1 row 2
 y cost 1 row 3
 M2 'MARKER' 'INTEND'
RHS
 rhs row 4
BOUNDS
 BV bound x
 BV bound y
ENDATA
"""


class Solves:
    """The solves in a file, a line each; a line that a kill cut off is solved anew."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.answers: dict[str, Answer] = {}
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        for line in text.splitlines(keepends=True):
            if line.endswith("\n"):
                row = json.loads(line)
                key = json.dumps(row.pop("key"))
                self.answers[key] = Answer(**row)
        if text and not text.endswith("\n"):
            path.write_text(text[: text.rfind("\n") + 1], encoding="utf-8")

    def add(self, key: list[Any], answer: Answer) -> None:
        """Keep a solve, on the disk when this returns."""
        self.answers[json.dumps(key)] = answer
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": key, **answer._asdict()}) + "\n")
            file.flush()
            os.fsync(file.fileno())


def outcomes(arms: Sequence[Arm], solves: Sequence[Solve]) -> list[str]:
    """Return for each solve of one instance whether it is right, wrong, refused or did not end (limit)."""
    of_name = {arm.name: arm for arm in arms}

    def agree(a: Answer, b: Answer, tolerance: float) -> bool:
        if {a.status, b.status} & UNSURE:
            return "optimal" not in {a.status, b.status}
        if a.status != b.status or a.objective is None or b.objective is None:
            return a.status == b.status
        return abs(a.objective - b.objective) <= tolerance * max(1.0, abs(a.objective), abs(b.objective))

    proofs = [
        solve for solve in solves if solve.answer.status in ENDED and of_name[solve.arm].gap is not None
    ]

    def supporters(proof: Solve) -> tuple[int, bool]:
        alike = {
            of_name[other.arm].peer.package
            for other in proofs
            if agree(proof.answer, other.answer, TOLERANCE)
        }
        return len(alike), proof.arm == SCIP

    truth = max(proofs, key=supporters, default=None)
    endings = list[str]()
    for solve in solves:
        status = solve.answer.status
        if status not in ENDED:
            endings.append("limit" if status == "limit" else "refused")
        else:
            right = truth is None or agree(solve.answer, truth.answer, of_name[solve.arm].tolerance)
            endings.append("right" if right else "wrong")
    return endings


def summary(
    arms: Sequence[Arm], instances: Sequence[Instance], solves: Sequence[Solve], limit_s: float
) -> Iterator[dict[str, Any]]:
    """Yield a row for each arm: what it costs, as ratios to SCIP default settings, and how its solves ended."""
    counts = {arm.name: Counter[str]() for arm in arms}
    reasons = {arm.name: Counter[str]() for arm in arms}
    costs: dict[str, dict[tuple[str, int], list[float]]] = {arm.name: {} for arm in arms}
    for instance in instances:
        here = [solve for solve in solves if solve.instance == instance.digest]
        ended = list(zip(here, outcomes(arms, here), strict=True))
        full_s = {"right": 0.0, "limit": limit_s}
        lasted_s = [
            max(solve.answer.process_s, full_s[outcome]) for solve, outcome in ended if outcome in full_s
        ]
        fined_s = 2.0 * max(lasted_s, default=limit_s)
        for solve, outcome in ended:
            answer = solve.answer
            counts[solve.arm][outcome] += 1
            if outcome in full_s:
                cost = [max(spent_s, full_s[outcome]) for spent_s in (answer.cpu_s, answer.process_s)]
            else:
                cost = [fined_s, fined_s]
                value = "" if answer.objective is None else f" {answer.objective:.9g}"
                reasons[solve.arm][answer.reason or f"{answer.status}{value} on {instance.name}"] += 1
            costs[solve.arm][solve.instance, solve.seed] = [max(spent_s, LEAST_S) for spent_s in cost]
    groups = {instance.digest: instance.group for instance in instances}
    for arm in arms:
        row: dict[str, Any] = {"solver": arm.name, "version": arm.version, "gap": gap_of(arm)}
        row |= {"groups": len(set(groups.values())), "solves": counts[arm.name].total()}
        for at, name in enumerate(("cpu_s", "process_s")):
            row[name] = round(geometric_mean([cost[at] for cost in costs[arm.name].values()]), 3)
            by_group: dict[str, list[float]] = {}
            for key, cost in costs[arm.name].items():
                by_group.setdefault(groups[key[0]], []).append(math.log(cost[at] / costs[SCIP][key][at]))
            interval = interval_of([math.fsum(logs) / len(logs) for logs in by_group.values()])
            names = (
                ("ratio", "ci_low", "ci_high")
                if at == 0
                else ("process_ratio", "process_low", "process_high")
            )
            row |= dict(zip(names, interval.values(), strict=True))
        row |= {outcome: counts[arm.name][outcome] for outcome in ("right", "limit", "wrong", "refused")}
        yield row | {"reasons": [text for text, _ in reasons[arm.name].most_common(3)]}


def gap_of(arm: Arm) -> float:
    return (arm.peer.own_gap or 0.0) if arm.gap is None else arm.gap


def shown(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as the table has it: a ratio is a bound where solves did not end, and none where none is right."""
    bound = "> " if row["limit"] else ""
    cells = {**row, "reasons": "; ".join(row["reasons"]) or None}
    for ratio, low, high, interval in (
        ("ratio", "ci_low", "ci_high", "interval"),
        ("process_ratio", "process_low", "process_high", "process_interval"),
    ):
        cells[ratio] = f"{bound}{row[ratio]}" if row["right"] or row["limit"] else "none"
        ends = row["right"] + row["limit"] and row[low] is not None
        cells[interval] = f"{row[low]} to {row[high]}" if ends else None
    return cells


if __name__ == "__main__":
    main()
