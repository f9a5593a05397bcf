"""Both servers on PostgreSQL, with several searches at a time: all is recorded, nothing fails.

    pg_virtualenv -t python -m bench.postgres

Starts on the PostgreSQL of `pg_virtualenv`, by the commands of docs/how-to/offline-and-clusters.md, MLflow's server and
Prefect's. `bife run --preset smoke` then runs in several processes, each with a home of its own, and what they left on
disk is compared with what both servers hold. One JSON object: {postgresql, searches, wall_s, mlflow, prefect,
missing, complaints}; with `missing` sentences or `complaints` (errors in the logs) the exit code is 1.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench import emit, parser_of
from bife_flows.operate.servers import LOOPBACK, Server, free_port

PAGE = Path(__file__).resolve().parents[1] / "docs" / "how-to" / "offline-and-clusters.md"
_FLOWS = ("pipeline", "collection", "search", "evaluation")
_COMPLAINT = re.compile(r"\b(ERROR|FATAL|PANIC|CRITICAL)\b|^Traceback")
_EXPECTED = re.compile(
    "duplicate key value violates unique constraint|terminating autovacuum process due to administrator command"
)
"""Another writer was first, a record came twice, or the server stops: what must be there is looked for."""
_SETTLE_LIMIT_S = 60.0


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--searches", type=int, default=3, help="how many run at the same time")
    count = parser.parse_args().searches
    with tempfile.TemporaryDirectory(prefix="bife-postgres-") as directory:
        place = Path(directory)
        report = all_recorded(place, count)
        clusters = subprocess.run(["pg_lsclusters", "-h"], capture_output=True, text=True, check=True).stdout
        logs = [*sorted((place / "logs").glob("*.log")), Path(clusters.split()[-1])]
        report["complaints"] = [line for log in logs for line in complaints(log)]
    emit(report)
    if report["missing"] or report["complaints"]:
        sys.exit(1)


def all_recorded(place: Path, count: int) -> dict[str, Any]:
    location = "{PGUSER}:{PGPASSWORD}@{PGHOST}:{PGPORT}".format_map(os.environ)
    for name in ("mlflow", "prefect"):
        subprocess.run(["createdb", name], check=True)
    with ExitStack() as running:
        mlflow = running.enter_context(served("mlflow", "/health", place, location))
        prefect = running.enter_context(served("prefect", "/api/health", place, location))
        os.environ |= {"MLFLOW_TRACKING_URI": mlflow, "PREFECT_API_URL": f"{prefect}/api"}
        began = time.monotonic()
        missing = run_together(place, count)
        wall_s = time.monotonic() - began
        tracked, not_tracked = in_mlflow([place / f"home-{number}" for number in range(count)])
        shown, not_shown = in_prefect(count)
        return {
            "postgresql": os.environ["PGVERSION"],
            "searches": count,
            "wall_s": round(wall_s, 1),
            "mlflow": tracked,
            "prefect": shown,
            "missing": [*missing, *not_tracked, *not_shown],
        }


@contextmanager
def served(program: str, health: str, place: Path, location: str) -> Iterator[str]:
    """Run a server by the command of the page, on a free port, and yield its address."""
    variables, command = of_page(program, location, place)
    port = free_port(0)
    address = f"http://{LOOPBACK}:{port}"
    command += ["--host", LOOPBACK, "--port", str(port)]
    # Of the packages of this interpreter, whatever the search path says.
    command = [sys.executable, "-m", *command]
    variables |= {"PREFECT_HOME": str(place / "prefect"), "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
    log = place / "logs" / f"{program}.log"
    server = Server(program, command, variables, f"{address}{health}", log)
    try:
        server.wait_ready()
        yield address
    finally:
        server.stop()


def of_page(program: str, location: str, place: Path) -> tuple[dict[str, str], list[str]]:
    """Return variables and command that start a server according to the page, with its placeholders filled in."""
    text = PAGE.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if f"{program} server" in line and "://bife:" in line]
    if len(lines) != 1:
        sys.exit(f"{PAGE} must hold one command that starts {program} server, and holds {len(lines)}.")
    filled = lines[0].replace("bife:PASSWORD@HOST", location)
    filled = filled.replace("s3://bucket/mlflow", (place / "artifacts").as_uri())
    words = shlex.split(filled)
    variables = dict(word.split("=", 1) for word in words[: words.index(program)])
    return variables, words[words.index(program) :]


def run_together(place: Path, count: int) -> list[str]:
    """Run the searches at the same time and return a sentence for each that did not end well."""
    program = "from bife_core.cli.program import main; main()"
    command = [sys.executable, "-c", program, "run", "--preset", "smoke"]
    running = {}
    for number in range(count):
        home = place / f"home-{number}"
        home.mkdir()
        environment = os.environ | {"BIFE_HOME": str(home)}
        with (place / f"search-{number}.txt").open("wb") as output:
            running[number] = subprocess.Popen(
                [*command, "--workers", "1", "--seed", str(number)],
                env=environment,
                cwd=home,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
    codes = {number: process.wait() for number, process in running.items()}
    return [
        f"Search {number} ended with code {code}: {_last_line(place / f'search-{number}.txt')}"
        for number, code in codes.items()
        if code != 0
    ]


def in_mlflow(homes: Sequence[Path]) -> tuple[dict[str, int], list[str]]:
    """Compare MLflow's runs, points and rules with the files of each home, and return their numbers."""
    from mlflow import MlflowClient

    from bife_core import Store

    client = MlflowClient()
    ids = {experiment.name: experiment.experiment_id for experiment in client.search_experiments()}
    counted: Counter[str] = Counter()
    missing = [
        f"{home.name}: MLflow has no run of {row.key}."
        for home in homes
        for store in [Store(home)]
        for row in store.studies()
        if (store.cursor(f"mlflow {os.environ['MLFLOW_TRACKING_URI']}", row.key) or (0, ""))[0] < row.last
    ]
    for home in homes:
        for file in home.glob("runs/*/samples.json"):
            counts, wrong = _search(client, ids["bife-search"], file)
            counted.update(counts)
            missing += [f"{home.name}: {sentence}" for sentence in wrong]
    for name in ("bife-collection", "bife-evaluation"):
        runs = client.search_runs([ids[name]])
        counted[name.removeprefix("bife-") + "s"] = len(runs)
        missing += [f"{name} has an open run." for run in runs if run.info.status != "FINISHED"]
    for what in ("searches", "evaluations"):
        if counted[what] != len(homes):
            missing.append(f"{counted[what]} of {len(homes)} {what} are in MLflow.")
    return dict(counted), missing


def _search(client: Any, experiment: str, file: Path) -> tuple[dict[str, int], list[str]]:
    key, rows = file.parent.name, json.loads(file.read_text(encoding="utf-8"))
    parents = client.search_runs([experiment], f"tags.`bife.key` = '{key}'")
    if [run.info.status for run in parents] != ["FINISHED"]:
        return {}, [f"the search {key} has {len(parents)} runs, or is open."]
    parent = parents[0].info.run_id
    children = client.search_runs([experiment], f"tags.`mlflow.parentRunId` = '{parent}'", max_results=1000)
    metrics = {run.data.tags["sample_id"]: run.data.metrics for run in children}
    wrong = [
        f"{row['id']} has no {fidelity}, or another one."
        for row in rows
        for fidelity in ("f_lf", "f_hf")
        if metrics.get(row["id"], {}).get(fidelity) != row[fidelity]
    ]
    if len(children) != len(rows) or metrics.keys() != {row["id"] for row in rows}:
        wrong.append(f"{len(children)} runs stand for {len(rows)} samples.")
    generations = sorted({row["generation"] for row in rows})
    steps = sorted(point.step for point in client.get_metric_history(parent, "samples_total"))
    if steps != generations:
        wrong.append(f"its curve has the steps {steps}, not {generations}.")
    versions = client.search_model_versions(f"tags.search_key = '{key}'")
    if len(versions) != 1:
        wrong.append(f"{len(versions)} of its rules are registered, not 1.")
    counts = {"searches": 1, "samples": len(children), "points": len(steps), "rules": len(versions)}
    return counts, wrong


def in_prefect(count: int) -> tuple[dict[str, int], list[str]]:
    """Compare Prefect's flow runs and task runs with what must have run, and return their numbers."""
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        deadline = time.monotonic() + _SETTLE_LIMIT_S
        while True:  # the server writes task runs down some time after it heard of them
            states = Counter(_pages(client, "task_runs"))
            if not states.keys() - {"COMPLETED", "FAILED", "CRASHED"} or time.monotonic() > deadline:
                break
            time.sleep(1.0)
        flows = Counter(_pages(client, "flow_runs"))
    missing = []
    if flows != {"COMPLETED": count * len(_FLOWS)}:
        missing.append(f"Prefect's flow runs are {dict(flows)}, not {count * len(_FLOWS)} completed ones.")
    if states.keys() != {"COMPLETED"}:
        missing.append(f"Prefect's task runs are {dict(states)}, not all completed.")
    return {"flow_runs": flows.total(), "task_runs": states.total()}, missing


def _pages(client: Any, what: str) -> Iterator[str]:
    offset = 0
    while page := client.request("POST", f"/{what}/filter", json={"offset": offset, "limit": 200}).json():
        yield from (run["state_type"] for run in page)
        offset += len(page)


def complaints(log: Path) -> Iterator[str]:
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        if _COMPLAINT.search(line) and not _EXPECTED.search(line):
            yield f"{log.stem}: {line}"


def _last_line(path: Path) -> str:
    return next(
        reversed(path.read_text(encoding="utf-8", errors="replace").strip().splitlines()), "nothing said"
    )


if __name__ == "__main__":
    main()
