"""What BiFE itself takes beside SCIP: CPU time of a solve by RPB, and of whole processes, against plain PySCIPOpt.

    python -m bench.overhead --families combinatorial_auction set_covering --instances 3 --rounds 7

First one JSON object per instance: {instance, nodes, plain_s, ratio, ci_low, ci_high}, the time in `optimize` of
`bife_core.solve` over that of PySCIPOpt alone, in turn, for the same tree. Then {process, cpu_s, beside_s}: what a
process takes that solves a model of two variables, and what of it is more than PySCIPOpt takes alone.
"""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import pyscipopt

from bench import emit, instances_of, interval_of, parse, rounded
from bife_core import solve
from bife_core.measure.peers import cpu_s_of

_MODEL = (
    "Maximize\n obj: x + 2 y\nSubject To\n a: 3 x + 5 y <= 7.5\n b: 4 x + 2 y <= 9.1\nGeneral\n x y\nEnd\n"
)
_RULE = "def candidate_variable_score(f):\n    return f[20] * f[21]\n"
_PLAIN = "import pyscipopt; m = pyscipopt.Model(); m.hideOutput(); m.readProblem('model.lp'); m.optimize()"
_BIFE = [sys.executable, "-c", "from bife_core.cli.program import main; main()"]
_PROCESSES = {
    "PySCIPOpt alone": [sys.executable, "-c", _PLAIN],
    "bife_core.solve, RPB": [sys.executable, "-c", "import bife_core; bife_core.solve('model.lp')"],
    "bife_core.solve, a rule": [
        sys.executable,
        "-c",
        "import bife_core; bife_core.solve('model.lp', 'rule.py')",
    ],
    "bife solve --rule relpscost": [*_BIFE, "solve", "model.lp", "--rule", "relpscost"],
    "bife solve --rule FILE": [*_BIFE, "solve", "model.lp", "--rule", "rule.py"],
    "bife solve": [*_BIFE, "solve", "model.lp"],
    "bife --help": [*_BIFE, "--help"],
    "bife rules list": [*_BIFE, "rules", "list"],
    "bife calls": [*_BIFE, "calls"],
    "bife status": [*_BIFE, "status"],
}


def plain(path: Path) -> tuple[float, int]:
    """Return the CPU seconds of PySCIPOpt's `optimize`, and the nodes."""
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(str(path))
    began = time.thread_time()
    model.optimize()
    return time.thread_time() - began, model.getNTotalNodes()


def cpu_of(words: Sequence[str], folder: str) -> float:
    """Return the CPU seconds of a process and its children."""
    before_s = cpu_s_of()
    subprocess.run(words, cwd=folder, capture_output=True, check=False)
    return cpu_s_of() - before_s


def main() -> None:
    options = parse(__doc__, instances=3, rounds=7)
    for family in options.families:
        for path in instances_of(family, options):
            logs, times = [], []
            for _ in range(options.rounds):
                seconds, nodes = plain(path)
                result = solve(path)
                if result.nodes != nodes:
                    raise SystemExit(f"{path.name}: {result.nodes} nodes, {nodes} by PySCIPOpt alone.")
                logs.append(math.log(result.cpu_s / seconds))
                times.append(seconds)
            line = {"instance": path.name.split(".")[0], "nodes": nodes} | rounded({"plain_s": median(times)})
            emit({"family": family} | line | interval_of(logs))
    with TemporaryDirectory(prefix="bife-bench-") as folder:
        Path(folder, "model.lp").write_text(_MODEL)
        Path(folder, "rule.py").write_text(_RULE)
        processes: dict[str, list[float]] = {name: [] for name in _PROCESSES}
        for _ in range(options.rounds):
            for name, words in _PROCESSES.items():
                processes[name].append(cpu_of(words, folder))
        alone = median(processes["PySCIPOpt alone"])
        for name, taken in processes.items():
            emit({"process": name} | rounded({"cpu_s": median(taken), "beside_s": median(taken) - alone}))


if __name__ == "__main__":
    main()
