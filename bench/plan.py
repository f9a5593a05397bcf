"""What a cluster of many cores has to carry, computed from what `bench.orchestration` measured.

Reads the JSON lines that `python -m bench.orchestration --preset quick --runners ... > FILE` printed and, for a number
of cores and some lengths of a solve, prints one JSON object each: {cores, runner, solve_s, evolutions, calls_a_s,
network_kb_s, flow_share, flow_cores, cores_a_flow, mlflow_runs_a_minute, mlflow_mb_an_hour, prefect_mb_an_hour}.

- `evolutions`: so many run at a time, each on as many cores as its widest generation after the first uses.
- `calls_a_s` and `network_kb_s`: solves handed out by all flows, and what travels of them; models and decisions travel
  once per machine.
- `flow_share`: share of a core that handing out its solves costs one flow; `cores_a_flow`: cores it could keep busy
  were its search wide enough; `flow_cores`: cores all flows need for everything they do.
- the rates at which MLflow and Prefect get samples of all evolutions, each of which solves 20 instances.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench import parser_of, tell
from bife_core.config import PipelineConfig


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("measured", type=Path, help="what bench.orchestration printed")
    parser.add_argument("--cores", type=int, default=1000)
    parser.add_argument("--solve-s", type=float, nargs="+", default=[1.0, 10.0, 60.0])
    parser.add_argument("--runner", default="dask")
    options = parser.parse_args()
    lines = [json.loads(line) for line in options.measured.read_text(encoding="utf-8").splitlines()]
    measured = next(line for line in lines if "preset" in line)
    sizes = next(line["bytes"] for line in lines if "bytes" in line)
    call = next(line for line in lines if line.get("runner") == options.runner)
    for solve_s in options.solve_s:
        tell(plan(options.cores, solve_s, measured, sizes, call))


def plan(
    cores: int, solve_s: float, measured: dict[str, Any], sizes: dict[str, Any], call: dict[str, Any]
) -> dict[str, Any]:
    """Return what a cluster has to carry on which all cores solve, each solve taking as long as given."""
    paper = PipelineConfig()
    # One sample of each operator a generation; those that reach tau solve all design instances.
    width = len(paper.search.operators) * paper.high.instances
    evolutions = max(1, round(cores / width))
    calls_a_s = cores / solve_s
    samples_a_s = calls_a_s / paper.high.instances
    flow_s_a_call = call["flow_ms_a_call"] / 1e3
    flow_s = calls_a_s * flow_s_a_call + samples_a_s * measured["ms_a_sample"] / 1e3
    mlflow = sizes["mlflow_database_a_sample"] + sizes["mlflow_artifacts_a_sample"]
    return {
        "cores": cores,
        "runner": call["runner"],
        "solve_s": solve_s,
        "evolutions": evolutions,
        "calls_a_s": round(calls_a_s, 1),
        "network_kb_s": round(calls_a_s * (sizes["call"] + sizes["result"]) / 1e3, 1),
        "flow_share": round(calls_a_s / evolutions * flow_s_a_call, 4),
        "flow_cores": round(flow_s, 2),
        "cores_a_flow": round(solve_s / (call["ms_a_call"] / 1e3)),
        "mlflow_runs_a_minute": round(60 * samples_a_s, 1),
        "mlflow_mb_an_hour": round(3600 * samples_a_s * mlflow / 1e6, 1),
        "prefect_mb_an_hour": round(3600 * samples_a_s * sizes["prefect_database_a_sample"] / 1e6, 1),
    }


if __name__ == "__main__":
    main()
