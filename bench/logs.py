"""Where SCIP stays behind Gurobi: presolving, root, cuts by kind and time of a node, read from both programs' logs.

    pip install -e '.[peers]'
    python -m bench.logs independent_set generalised_assignment --instances 3 --draw 5 --method tuned.json

Both solve the same MPS file on one thread with gap 0 for at most `--limit` CPU seconds: SCIP under default settings,
with each `--method`, and Gurobi; `{family}` in a method is the family. One JSON object for each solver and family, of
medians over instances: {family, solver, instances, rows, columns, nonzeros, nodes, closed, root_s, ms_per_node, cpu_s,
cuts}. `rows` to `nonzeros` are what presolving left; `closed` is the share of the gap between the LP of the file and
the optimum that is closed before branching. `root_s` of `cpu_s` CPU seconds passed before the second node. `cuts` has
the kinds that the final LP or log counts, the most frequent first.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench import benchmark_of, emit, model_of, parse
from bife_core.measure.peers import rewrite

GUROBI: Final = "gurobi"
_CUT: Final = re.compile(r"^\s+([A-Z][\w\s-]+): (\d+)$", re.MULTILINE)
_SEPARATOR: Final = re.compile(r"^  ((?:> )?\w[\w -]*?) *:((?: +[\d.-]+){10})", re.MULTILINE)
_PARENTS: Final = frozenset({"aggregation", "gomory"})
"""Separators whose cuts SCIP counts again below them, by kind."""
_KINDS: Final = 4
_COUNTS: Final = ("rows", "columns", "nonzeros", "nodes")


def main() -> None:
    options = parse(__doc__, "families", instances=3, limit=120.0, method=[])
    for family in options.families:
        instances = benchmark_of(family, options).instances("test", options.instances)
        with TemporaryDirectory() as folder:
            files = [Path(folder) / f"{each.digest}.mps" for each in instances]
            for instance, file in zip(instances, files, strict=True):
                rewrite(instance.path, file)
            methods = [method.replace("{family}", family) for method in options.method]
            for solver in ("", *methods, GUROBI):
                rows = [_apart(file, solver, options.limit) for file in files]
                emit({"family": Path(family).name, "solver": solver or "scip", **summary(rows)})


def _apart(file: Path, solver: str, limit_s: float) -> dict[str, Any]:
    """Return what a process of its own says of a solve."""
    command = [sys.executable, "-c", "from bench.logs import tell; tell()", str(file), solver, str(limit_s)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{file.name}, {solver or 'scip'}: {done.stderr.strip()[-500:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def tell() -> None:
    file, solver, limit_s = sys.argv[1:]
    emit(of_gurobi(file, float(limit_s)) if solver == GUROBI else of_scip(file, solver, float(limit_s)))


def of_gurobi(file: str, limit_s: float) -> dict[str, Any]:
    """Solve with Gurobi and return what its log and attributes say."""
    import gurobipy
    from gurobipy import GRB

    with TemporaryDirectory() as folder:
        log = Path(folder) / "gurobi.log"
        model = gurobipy.read(file, gurobipy.Env(params={"LogToConsole": 0}))
        relaxed = model.relax()
        relaxed.optimize()
        presolved = model.presolve()
        root = {"root": relaxed.ObjVal, "root_s": 0.0}

        def at_root(model: Any, where: int) -> None:
            if where == GRB.Callback.MIP and model.cbGet(GRB.Callback.MIP_NODCNT) == 0:
                bound = max(root["root"], model.cbGet(GRB.Callback.MIP_OBJBND))
                root.update(root=bound, root_s=time.process_time() - before_s)

        for name, value in {"LogFile": str(log), "Threads": 1, "MIPGap": 0.0, "TimeLimit": limit_s}.items():
            model.setParam(name, value)
        before_s = time.process_time()
        model.optimize(at_root)
        spent_s = time.process_time() - before_s
        cuts = Counter({kind: int(count) for kind, count in _CUT.findall(log.read_text())})
    return {
        "rows": presolved.NumConstrs,
        "columns": presolved.NumVars,
        "nonzeros": presolved.NumNZs,
        "lp": relaxed.ObjVal,
        **root,
        "optimum": model.ObjVal,
        "nodes": model.NodeCount,
        "cpu_s": spent_s,
        "cuts": cuts,
    }


def of_scip(file: str, method: str, limit_s: float) -> dict[str, Any]:
    """Solve with SCIP and return what its statistics say."""
    from pyscipopt import SCIP_EVENTTYPE, Eventhdlr

    from bife_core import attach

    class Second(Eventhdlr):  # type: ignore[misc]  # PySCIPOpt has no types
        """Notes the CPU seconds before the second node, and the bound: `getDualboundRoot` may be infinite later."""

        root_s: float | None = None
        bound: float | None = None

        def eventinit(self) -> None:
            self.model.catchEvent(SCIP_EVENTTYPE.NODEFOCUSED, self)

        def eventexec(self, event: Any) -> None:
            if self.root_s is None and event.getNode().getNumber() > 1:
                self.root_s, self.bound = time.process_time(), self.model.getDualbound()

    model = model_of(Path(file), {"limits/gap": 0.0, "limits/time": limit_s})
    linear = model_of(Path(file), {"presolving/maxrounds": 0, "presolving/maxrestarts": 0})
    for variable in linear.getVars():
        linear.chgVarType(variable, "C")
    linear.optimize()
    if method:
        attach(model, method)
    second = Second()
    model.includeEventhdlr(second, "second node", "notes when it begins")
    before_s = time.process_time()
    model.optimize()
    spent_s = time.process_time() - before_s
    with TemporaryDirectory() as folder:
        model.writeStatistics(str(to := Path(folder) / "statistics"))
        text = to.read_text()
    separators = text.partition("\nSeparators ")[2].partition("\nCutselectors ")[0]
    cuts = Counter[str]()
    for name, numbers in _SEPARATOR.findall(separators):
        *_, applied = numbers.split()
        if applied.isdigit() and name not in _PARENTS:
            cuts[name.removeprefix("> ")] += int(applied)
    presolved = text.partition("\nPresolved Problem ")[2]
    counts = {
        "columns": r"Variables +: (\d+)",
        "rows": r"Constraints +: (\d+)",
        "nonzeros": r"Nonzeros +: (\d+)",
    }
    matches = {name: re.search(pattern, presolved) for name, pattern in counts.items()}
    return {
        **{name: None if match is None else int(match[1]) for name, match in matches.items()},
        "lp": linear.getObjVal(),
        "root": model.getObjVal() if second.bound is None else second.bound,
        "optimum": model.getObjVal(),
        "nodes": model.getNTotalNodes(),
        "root_s": spent_s if second.root_s is None else second.root_s - before_s,
        "cpu_s": spent_s,
        "cuts": cuts,
    }


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return medians over instances."""
    middle = {
        name: median(values) if (values := [row[name] for row in rows if row[name] is not None]) else None
        for name in (*_COUNTS, "root_s", "cpu_s")
    }
    spans = [(row["optimum"] - row["lp"], row["root"] - row["lp"]) for row in rows]
    closed = [min(1.0, gained / span) for span, gained in spans if span > 1e-9]
    later = [1e3 * (row["cpu_s"] - row["root_s"]) / (row["nodes"] - 1) for row in rows if row["nodes"] > 1]
    cuts = Counter[str]()
    for row in rows:
        cuts.update(row["cuts"])
    return {
        "instances": len(rows),
        **{name: middle[name] for name in _COUNTS},
        "closed": round(median(closed), 3) if closed else None,
        "root_s": round(middle["root_s"] or 0.0, 2),
        "ms_per_node": round(median(later), 2) if later else None,
        "cpu_s": round(middle["cpu_s"] or 0.0, 2),
        "cuts": {kind: round(count / len(rows)) for kind, count in cuts.most_common(_KINDS) if count},
    }


if __name__ == "__main__":
    main()
