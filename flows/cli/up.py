"""`bife up`, `bife down` and `bife status`: everything that runs from the pages, with one command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.consoles import plain_table, show_facts, standard_output
from flows.cli.interrupt import STOP_SIGNALS
from flows.cli.outcome import CommandEnd, ExitCode
from flows.cli.ui import MlflowPort, PrefectPort, stop_signals

if TYPE_CHECKING:
    from rich.console import Console

    from flows.operate.page_servers import Access
    from flows.operate.servers import Server
    from flows.operate.stack import Kept, Up
    from tasks.home import Home

WORKER = "worker"

_POLL_S = 0.5
_START_LIMIT_S = 600.0
_STOP_LIMIT_S = 60.0
_JSON = typer.Option("--json", help="Print JSON.")


def up(
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Return once everything runs; `bife down` stops it.")
    ] = False,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="Address to listen on. Other than loopback needs BIFE_SERVER_AUTH."
        ),
    ] = "127.0.0.1",
    mlflow_port: MlflowPort = None,
    prefect_port: PrefectPort = None,
) -> None:
    """Start Prefect, MLflow and a worker, and keep them running: runs are started from Prefect's page.

    Servers of yours that PREFECT_API_URL or MLFLOW_TRACKING_URI name are used and not started.
    """
    from flows.operate.page_servers import Access
    from flows.operate.stack import alone
    from tasks.home import project_home

    home, access = project_home(), Access.at(host)
    if detach:
        with alone(home):
            pass
        _detached(home, host, mlflow_port, prefect_port)
        return
    with alone(home):
        _run(home, access, mlflow_port, prefect_port)


def _run(home: Home, access: Access, mlflow_port: int | None, prefect_port: int | None) -> None:
    from flows.operate.stack import MARK, Up, end_marked, read_state, state_file, write_state

    console = standard_output()
    former = read_state(home)
    if former is not None and (left := end_marked(former.mark)):
        console.print(
            f"An earlier `bife up` was killed; what it left behind was stopped (processes: {left})."
        )
    state = Up.of_this_process(home)
    os.environ[MARK] = state.mark
    os.environ["BIFE_HOME"] = str(home.root)
    with ExitStack() as at_end, stop_signals():
        at_end.callback(state_file(home).unlink, missing_ok=True)
        write_state(home, state)
        try:
            kept: list[Kept] = []
            at_end.callback(_stop, kept, state.mark)
            state = _start(console, home, access, state, kept, mlflow_port, prefect_port)
            _show(console, state)
            write_state(home, state)  # last: whoever waits for it reads what was shown
            while True:
                for one in kept:
                    said = one.tend()
                    if said is not None:
                        console.print(f"{time.strftime('%H:%M:%S')} {said}", markup=False, soft_wrap=True)
                        state = state.model_copy(update={"parts": tuple(k.part for k in kept)})
                        write_state(home, state)
                time.sleep(_POLL_S)
        except KeyboardInterrupt:
            # A second Ctrl-C must not leave one of them behind.
            for number in STOP_SIGNALS:
                signal.signal(number, signal.SIG_IGN)
            write_state(home, state.model_copy(update={"phase": "stopping"}))
            console.print("Stopping; runs that are under way can be retried later ...")


def _stop(kept: list[Kept], mark: str) -> None:
    """Stop all programs, the worker first: a run that is stopped can still tell Prefect so."""
    from flows.operate.stack import end_marked

    worker = [one.server for one in kept if one.server.name == WORKER]
    pages = [one.server for one in kept if one.server.name != WORKER]
    for server in worker:
        server.stop()
    with ThreadPoolExecutor() as several:
        list(several.map(lambda server: server.stop(), pages))
    end_marked(mark)  # a run whose worker was killed belongs to nobody's family any more


def _start(
    console: Console,
    home: Home,
    access: Access,
    state: Up,
    kept: list[Kept],
    mlflow_port: int | None,
    prefect_port: int | None,
) -> Up:
    """Start all programs, wait until they answer, and return the state that says so."""
    from flows.operate.page_servers import mlflow_server, prefect_server
    from flows.operate.servers import MLFLOW_PORT, PREFECT_PORT
    from flows.operate.stack import Kept, write_state

    addresses: dict[str, str] = {}
    programs = (
        ("Prefect", prefect_server, prefect_port, PREFECT_PORT),
        (
            "MLflow",
            mlflow_server,
            mlflow_port,
            MLFLOW_PORT,
        ),
    )
    console.print(f"Starting in {home.root}; the first time takes longer ...", soft_wrap=True)
    for name, program, given, usual in programs:
        address, server = program(home, access, given)
        addresses[name] = address
        if server is None:
            continue
        port = int(address.rpartition(":")[2])
        if given is None and port != usual:
            console.print(f"Port {usual} is taken by another program, so {name} uses {port}.")
        kept.append(Kept(address, server, lambda start=program, at=port: _started(start(home, access, at))))  # type: ignore[misc]
    state = state.model_copy(update={"addresses": addresses, "parts": tuple(one.part for one in kept)})
    write_state(home, state)
    for one in kept:
        one.server.wait_ready()

    def start_worker() -> Server:
        return _worker(home, access, addresses)

    kept.append(Kept("", start_worker(), start_worker))
    kept[-1].server.wait_ready()
    return state.model_copy(update={"phase": "ready", "parts": tuple(one.part for one in kept)})


def _started(pair: tuple[str, Server | None]) -> Server:
    server = pair[1]
    assert server is not None
    return server


def _worker(home: Home, access: Access, addresses: dict[str, str]) -> Server:
    """Start the program that registers the deployments and runs what is due."""
    from flows.operate.page_servers import package_root
    from flows.operate.servers import LOOPBACK, Server, free_port

    port = free_port(0)
    path = os.environ.get("PYTHONPATH")
    environment = {
        "PREFECT_API_URL": os.environ.get("PREFECT_API_URL") or f"{addresses['Prefect']}/api",
        # Runs write to MLflow's database directly, and name the pages that show it.
        "BIFE_MLFLOW_UI": addresses["MLflow"],
        "PREFECT_WORKER_WEBSERVER_HOST": LOOPBACK,
        "PREFECT_WORKER_WEBSERVER_PORT": str(port),
        "PREFECT_WORKER_QUERY_SECONDS": "2",
        "PREFECT_LOGGING_LEVEL": "",
        "PREFECT_LOGGING_SERVER_LEVEL": "",
        "PYTHONPATH": os.pathsep.join([str(package_root()), *([path] if path else [])]),
    }
    if access.auth is not None and not os.environ.get("PREFECT_API_AUTH_STRING"):
        environment["PREFECT_API_AUTH_STRING"] = access.auth
    command = [sys.executable, "-m", "flows.operate.serving"]
    health = f"http://{LOOPBACK}:{port}/health"
    return Server(WORKER, command, environment, health, home.root / "logs" / "worker.log")


def _show(console: Console, state: Up) -> None:
    console.print()
    rows = [
        ("Prefect", f"{state.addresses['Prefect']}   start, schedule, watch and approve runs"),
        ("MLflow", f"{state.addresses['MLflow']}   compare runs, samples and registered rules"),
        ("logs", str(state.home / "logs")),
        ("stop", "Ctrl-C, or `bife down`"),
    ]
    show_facts(console, rows)


def _detached(home: Home, host: str, mlflow_port: int | None, prefect_port: int | None) -> None:
    """Start `bife up` as a process of its own and wait until it is ready.

    Raises
    ------
    CommandEnd
        If it ends, with the sentence it ended with.
    """
    from flows.operate.page_servers import package_root
    from flows.operate.stack import read_state

    log = home.root / "logs" / "up.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    path = os.environ.get("PYTHONPATH")
    inherited = os.pathsep.join([str(package_root()), *([path] if path else [])])
    command = [sys.executable, "-c", "from flows.cli import main; main()", "up", "--host", host]
    for option, port in (("--mlflow-port", mlflow_port), ("--prefect-port", prefect_port)):
        command += [option, str(port)] if port is not None else []
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            env=os.environ | {"BIFE_HOME": str(home.root), "PYTHONPATH": inherited},
            cwd=log.parent,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    console = standard_output()
    deadline = time.monotonic() + _START_LIMIT_S
    with console.status("Starting ..."):
        while time.monotonic() < deadline:
            state = read_state(home)
            if state is not None and state.pid == process.pid and state.phase == "ready":
                break
            if process.poll() is not None:
                raise CommandEnd(_last_sentence(log), ExitCode.ERROR)
            time.sleep(_POLL_S)
        else:
            process.terminate()
            raise CommandEnd(f"BiFE was not up within {_START_LIMIT_S:g} s; see {log}.", ExitCode.ERROR)
    console.print(log.read_text(encoding="utf-8").strip(), markup=False, soft_wrap=True)


def _last_sentence(log: Path) -> str:
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return lines[-1].removeprefix("Error: ") if lines else f"`bife up` ended and said nothing in {log}."


def down() -> None:
    """Stop what `bife up` started in this home; runs under way are stopped and can be retried later."""
    import psutil

    from flows.operate.stack import end_marked, read_state, state_file
    from tasks.home import project_home

    console, home = standard_output(), project_home()
    state = read_state(home)
    if state is None:
        console.print(f"BiFE is not up in {home.root}.", soft_wrap=True)
        return
    if state.alive:
        process = psutil.Process(state.pid)
        process.terminate()
        try:
            with console.status("Stopping ..."):
                process.wait(_STOP_LIMIT_S)
        except psutil.TimeoutExpired:
            process.kill()
    left = end_marked(state.mark)
    state_file(home).unlink(missing_ok=True)
    console.print("Stopped." + (f" Left behind and stopped too: {left}." if left else ""))


def status(as_json: Annotated[bool, _JSON] = False) -> None:
    """Say what `bife up` runs in this home and whether it answers; the exit code is 1 if not all does."""
    from flows.operate.stack import health, read_state
    from tasks.home import project_home

    console, home = standard_output(), project_home()
    state = read_state(home)
    alive = state is not None and state.alive
    report: dict[str, Any] = {"home": str(home.root), "up": alive, "parts": []}
    if state is not None and alive:
        answering = health(state)
        report |= {"pid": state.pid, "since": state.since.isoformat(), "phase": state.phase}
        report |= {"addresses": state.addresses}
        report["parts"] = [
            part.model_dump(mode="json") | {"healthy": answering[part.name]} for part in state.parts
        ]
    report["healthy"] = bool(
        alive and state and state.phase == "ready" and all(part["healthy"] for part in report["parts"])
    )
    if as_json:
        import json

        typer.echo(json.dumps(report, indent=2))
    elif not alive:
        console.print(f"BiFE is not up in {home.root}; `bife up` starts it.", soft_wrap=True)
    else:
        table = plain_table("part", "state", "process", "address", numbers=False)
        for part in report["parts"]:
            mark = "[green]answers[/]" if part["healthy"] else "[bold red]does not answer[/]"
            table.add_row(part["name"], mark, str(part["pid"]), part["address"] or "-")
        console.print(table)
        show_facts(console, [("home", str(home.root)), ("logs", str(home.root / "logs"))])
    if not report["healthy"]:
        raise typer.Exit(int(ExitCode.ERROR))
