"""Other solvers on the same instances; `python -m bife_core.measure.peers NAME FILE SECONDS GAP SEED` is one solve."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, NamedTuple

# A process that solves imports nothing but its solver, as its whole CPU time is measured too.
if TYPE_CHECKING:
    from bife_core.solver.scip.solve import SolveResult


class Answer(NamedTuple):
    """How a solve ended (optimal, limit, refused, ...), and the CPU seconds of solving and of the whole process."""

    status: str
    objective: float | None = None
    cpu_s: float = 0.0
    process_s: float = 0.0
    reason: str = ""


class Peer(NamedTuple):
    """A solver: its name, the package it needs, its process but for the last four arguments, and its own gap if any."""

    label: str
    package: str
    command: tuple[str, ...]
    own_gap: float | None = None


def highs(file: str, gap: float | None, seed: int) -> Iterator[Any]:
    """Solve with HiGHS."""
    import highspy

    solver = highspy.Highs()
    gaps = {} if gap is None else {"mip_rel_gap": gap, "mip_abs_gap": gap}
    for name, value in {"output_flag": False, "threads": 1, "random_seed": seed, **gaps}.items():
        if solver.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise ValueError(f"HiGHS refuses {name} = {value}")
    if solver.readModel(file) == highspy.HighsStatus.kError:
        raise ValueError("HiGHS cannot read the file")
    yield
    solver.run()
    status = solver.modelStatusToString(solver.getModelStatus()).lower()
    yield {"status": status, "objective": solver.getInfo().objective_function_value}


def cp_sat(file: str, gap: float | None, seed: int) -> Iterator[Any]:
    """Solve with CP-SAT, which scales what is no integer, or refuses."""
    from ortools.linear_solver.python import model_builder

    model, solver = model_builder.Model(), model_builder.Solver("sat")
    if not model.import_from_mps_file(file):
        raise ValueError("OR-Tools cannot read the file")
    gaps = "" if gap is None else f",relative_gap_limit:{gap},absolute_gap_limit:{gap}"
    solver.set_solver_specific_parameters(f"num_workers:1,random_seed:{seed}{gaps}")
    yield
    status = solver.solve(model).name.lower()
    yield {"status": status, "objective": solver.objective_value if status == "optimal" else None}


_CONSIDERED: Final = 0.1  # the ratio to SCIP's time from which on a peer is worth considering
_ALONE: Final = (sys.executable, "-m", "bife_core.measure.peers")
AT_HAND: Final = {
    "highs": Peer("HiGHS", "highspy", (*_ALONE, "highs"), 1e-4),
    "cp_sat": Peer("CP-SAT", "ortools", (*_ALONE, "cp_sat"), 1e-4),
}
"""The free solvers that `bife doctor` asks, which are installed apart."""


def ask(peer: Peer, file: Path, limit_s: float, gap: float | None = 0.0, seed: int = 0) -> Answer:
    """Solve a file in MPS on one thread within `limit_s` CPU seconds; gap None is the solver's own."""
    command = [*peer.command, str(file), str(limit_s), json.dumps(gap), str(seed)]
    before, alone = cpu_s_of(resource.RUSAGE_CHILDREN), {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    alone["PYTHONDONTWRITEBYTECODE"] = ""  # one that compiles what it imports takes twice as long to start
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=os.environ | alone, timeout=4 * limit_s + 240
        )
    except subprocess.TimeoutExpired:
        return Answer("limit", None, limit_s, limit_s, "stopped by the clock on the wall")
    process_s = cpu_s_of(resource.RUSAGE_CHILDREN) - before
    if done.returncode == -signal.SIGXCPU:
        return Answer("limit", None, limit_s, process_s)
    if done.returncode:
        reason = f"{done.returncode}: {done.stderr.strip()[-300:]}"
        return Answer("failed", None, process_s, process_s, reason)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith('{"cpu_s"')]
    answer = Answer(**{"process_s": process_s, **json.loads(line)})
    return answer._replace(status="limit") if answer.cpu_s > limit_s else answer


def serve(solving: Callable[[str, float | None, int], Iterator[Any]]) -> None:
    """Solve as the last four arguments of this process say, and print fields of an `Answer` on a line.

    `solving` takes a file, a gap and a seed; it yields once after reading, and then the fields.
    """
    file, limit_s, gap, seed = sys.argv[-4:]
    steps = solving(file, json.loads(gap), int(seed))
    try:
        next(steps)
        began = cpu_s_of(resource.RUSAGE_SELF), cpu_s_of(resource.RUSAGE_CHILDREN)
        resource.setrlimit(resource.RLIMIT_CPU, (int(began[0] + float(limit_s)) + 2, resource.RLIM_INFINITY))
        answer = next(steps)
        spent_s = cpu_s_of(resource.RUSAGE_SELF) + cpu_s_of(resource.RUSAGE_CHILDREN) - sum(began)
    except Exception as error:  # noqa: BLE001 - whatever a solver raises, it does not take the instance
        answer, spent_s = {"status": "refused", "reason": f"{type(error).__name__}: {error}"}, 0.0
    print("\n" + json.dumps({"cpu_s": spent_s, **answer}), flush=True)


def cpu_s_of(who: int = resource.RUSAGE_CHILDREN) -> float:
    """Return the CPU seconds, user and system, of this process or of its children that ended."""
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def rewrite(path: Path, to: Path) -> int:
    """Write an instance as minimised MPS with short names, which all solvers read alike; -1 if it was maximised."""
    from bife_core.base.errors import InstanceError
    from bife_core.solver.scip.reader import read_model

    model = read_model(path)
    if others := {row.getConshdlrName() for row in model.getConss()} - {"linear"}:
        raise InstanceError(
            f"{path.name} has constraints of type {', '.join(others)}; peers take linear ones."
        )
    maximised = model.getObjectiveSense() == "maximize"
    if maximised:
        model.setObjective(-model.getObjective() - model.getObjoffset(), "minimize")
    model.writeProblem(str(to), genericnames=True, verbose=False)
    return -1 if maximised else 1


def beside(solves: Sequence[tuple[Path, SolveResult]], limit_s: float) -> Iterator[str]:
    """Yield a sentence for each peer at hand on instances and their solves by SCIP default settings."""
    from bife_core.base.stats import geometric_mean
    from bife_core.solver.scip.cost import LEAST
    from bife_core.solver.scip.solve import PROVEN, disagree

    peers = [peer for peer in AT_HAND.values() if find_spec(peer.package)]
    if not peers:
        yield "`pip install highspy ortools` lets this command say what HiGHS and CP-SAT take."
    with TemporaryDirectory() as folder:
        files = [Path(folder) / f"{at}.mps" for at in range(len(solves))]
        signs = [rewrite(path, file) for (path, _), file in zip(solves, files, strict=True)]
        for peer in peers if solves else ():
            ratios, unlike = list[float](), 0
            for (_, usual), file, sign in zip(solves, files, signs, strict=True):
                answer = ask(peer, file, limit_s)
                value = answer.objective and sign * answer.objective
                ended = usual.model_copy(update={"status": answer.status, "primal_bound": value})
                unlike += answer.status not in {*PROVEN, "limit"} or disagree(usual, ended)
                usual_s = usual.cpu_s if usual.finished else limit_s
                ratios.append(max(answer.cpu_s, LEAST["time"]) / max(usual_s, LEAST["time"]))
            if unlike:
                yield f"{peer.label} refuses, fails or contradicts SCIP on {unlike} of {len(solves)} instances."
            elif (ratio := geometric_mean(ratios)) <= _CONSIDERED:
                yield f"{peer.label} is {1 / ratio:.0f} times as fast here: consider it."
            else:
                yield f"{peer.label} takes {ratio:.2f} of the CPU time of SCIP default settings."


if __name__ == "__main__":
    serve({"highs": highs, "cp_sat": cp_sat}[sys.argv[1]])
