"""Branching methods on a folder of unlike instances, such as MIPLIB's, in the numbers that the field reports.

    python -m bench.miplib DIR --seeds 0 1 --store STORE > rows.jsonl && python -m bench.tables rows.jsonl

As in the reports on SCIP's releases: shifted geometric means of CPU time (shift 1 s) and nodes (shift 100) over
instances and seeds, by which SCIP permutes an instance. A solve without a proof counts with the time limit; nodes are
compared on instances that every method solved; instances that no method branches on are counted apart.

One JSON object a line: for each instance {instance, cpu_s, nodes, not_proven} by method, geometric means over seeds;
{instances, not_branched, failures, mismatches}; for each method {method, solves, solved, not_proven, sgm_cpu_s,
sgm_cpu_s_ratio, sgm_nodes, sgm_nodes_ratio, node_instances, ratio, ci_low, ci_high, worst, worst_instance}, ratios to
RPB's; `solved` counts instances proven under every seed, `worst` is of instances that take one of the two over 1 s.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from bench import GENERAL, emit, home_of, interval_of, parse
from bife_core import compare
from bife_core.base.stats import geometric_mean
from bife_core.extend import RPB, EvaluationSummary
from bife_core.measure.evaluation.comparison import branched
from bife_core.measure.evaluation.metrics import METRICS

SHIFTS: Final = {"cpu_s": 1.0, "nodes": 100.0}
LONG_S: Final = 1.0
"""CPU seconds that one of two methods takes at least where the worst ratio is looked for."""


def main() -> None:
    options = parse(
        __doc__, "families", seeds=[0, 1], methods=[RPB, "pscost", GENERAL.partition(",")[0], GENERAL],
        time_limit=60.0, solver="default", store=None, workers=1,
    )  # fmt: skip
    for folder in map(Path, options.families):
        with home_of(options.store) as home:
            summary = compare(
                options.methods,
                folder,
                seeds=options.seeds,
                settings=options.solver,
                time_limit_s=options.time_limit,
                workers=options.workers,
                store=home,
            )
        for row in rows(summary):
            emit(row if "instance" in row else {"folder": folder.name} | row)


def rows(summary: EvaluationSummary) -> Iterator[dict[str, Any]]:
    """Yield a line for each instance, one of what was left out or wrong, and one for each method."""
    every, rpb = summary.frame, summary.baseline
    seconds = METRICS["time"].of(every).where(every["solved"], summary.protocol.time_limit_s)
    nodes = METRICS["nodes"].of(every)
    frame = branched(every.assign(cpu_s=seconds, nodes=nodes, not_proven=~every["solved"]))
    by_both = frame.groupby(["instance", "method"])
    means = by_both[["cpu_s", "nodes"]].agg(geometric_mean).unstack()
    unproven = by_both["not_proven"].sum().unstack()
    for name in means.index:
        shown = {"cpu_s": means["cpu_s"], "nodes": means["nodes"], "not_proven": unproven}
        yield {"instance": name} | {what: part.loc[name].round(3).to_dict() for what, part in shown.items()}
    facts = {"instances": len(means), "not_branched": every["digest"].nunique() - len(means)}
    yield facts | {"failures": list(summary.failures), "mismatches": list(summary.mismatches)}
    by_all = frame[frame["instance"].isin(unproven.index[(unproven == 0).all(axis="columns")])]
    for method in dict.fromkeys([rpb, *summary.methods]) if len(means) else ():
        failing = unproven[method]
        yield {
            "method": method,
            "solves": int((frame["method"] == method).sum()),
            "solved": int((failing == 0).sum()),
            "not_proven": int(failing.sum()),
            **shifted(frame, method, rpb, "cpu_s"),
            **shifted(by_all, method, rpb, "nodes"),
            "node_instances": by_all["digest"].nunique(),
            **(beside(means["cpu_s"][method], means["cpu_s"][rpb]) if method != rpb else {}),
        }


def shifted(frame: pd.DataFrame, method: str, baseline: str, what: str) -> dict[str, float]:
    """Return the shifted geometric mean of a method's solves, and its ratio to the baseline's; nothing of none."""
    if frame.empty:
        return {}
    mean, other = (
        geometric_mean(frame.loc[frame["method"] == name, what] + SHIFTS[what]) - SHIFTS[what]
        for name in (method, baseline)
    )
    return {f"sgm_{what}": round(mean, 2), f"sgm_{what}_ratio": round(mean / other, 3)}


def beside(times: pd.Series[float], other: pd.Series[float]) -> dict[str, Any]:
    line: dict[str, Any] = interval_of(np.log(times / other))
    ratios = (times / other)[(times > LONG_S) | (other > LONG_S)]
    if len(ratios):
        line |= {"worst": round(float(ratios.max()), 3), "worst_instance": ratios.idxmax()}
    return line


if __name__ == "__main__":
    main()
