"""`bife up`, `bife down`, `bife status`: everything that runs from the pages; and `bife ui`: the pages alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from flows.cli.consoles import show_facts, show_table, standard_output
from flows.cli.outcome import CommandEnd, ExitCode
from flows.operate.servers import LOOPBACK, MLFLOW_PORT, PREFECT_PORT, with_own_code

if TYPE_CHECKING:
    from tasks.home import Home

_FIRST_PAGE = {"MLflow": "/#/experiments?workflowType=machine_learning"}
"""Where to begin; by itself MLflow shows its pages for language models, without the registry."""
_POLL_S = 0.5
_START_LIMIT_S = 600.0


def _port(page: str, usual: int) -> Any:
    shown = f"{usual} or the next free one"
    return typer.Option(min=1, max=65535, metavar="PORT", show_default=shown, help=f"Port of {page}.")


def _page(name: str, address: str) -> str:
    return f"{address}{_FIRST_PAGE.get(name, '')}"


MlflowPort = Annotated[int | None, _port("MLflow", MLFLOW_PORT)]
PrefectPort = Annotated[int | None, _port("Prefect", PREFECT_PORT)]


def up(
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Return once everything runs; `bife down` stops it.")
    ] = False,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="Address to listen on. Other than loopback needs BIFE_SERVER_AUTH."
        ),
    ] = LOOPBACK,
    mlflow_port: MlflowPort = None,
    prefect_port: PrefectPort = None,
) -> None:
    """Start Prefect, MLflow and a worker, and keep them running: runs are started from Prefect's page.

    Servers of yours that PREFECT_API_URL or MLFLOW_TRACKING_URI name are used and not started.
    """
    from flows.operate.programs import Access
    from flows.operate.stack import alone, keep_up
    from tasks.home import project_home

    console, home, access = standard_output(), project_home(), Access.at(host)
    ports = {"MLflow": mlflow_port, "Prefect": prefect_port}
    if detach:
        with alone(home):
            pass
        _detached(home, host, ports)
        return

    def show(addresses: Mapping[str, str]) -> None:
        console.print()
        show_facts(
            console,
            [
                ("Prefect", f"{addresses['Prefect']}   start, schedule, watch and approve runs"),
                (
                    "MLflow",
                    f"{_page('MLflow', addresses['MLflow'])}   compare runs, samples and registered rules",
                ),
                ("logs", str(home.root / "logs")),
                ("stop", "Ctrl-C, or `bife down`"),
            ],
        )

    keep_up(home, access, ports, lambda text: console.print(text, markup=False, soft_wrap=True), show)


def _detached(home: Home, host: str, ports: Mapping[str, int | None]) -> None:
    """Start `bife up` as a process of its own and wait until it is ready.

    Raises
    ------
    CommandEnd
        If it ends, with the sentence it ended with.
    """
    from flows.operate.stack import read_state

    log = home.root / "logs" / "up.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-c", "from flows.cli import main; main()", "up", "--host", host]
    for page, port in ports.items():
        command += [f"--{page.lower()}-port", str(port)] if port is not None else []
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            env=os.environ | {"BIFE_HOME": str(home.root)} | with_own_code(),
            cwd=log.parent,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    console = standard_output()
    deadline = time.monotonic() + _START_LIMIT_S
    with console.status("Starting ..."):
        while (state := read_state(home)) is None or state.pid != process.pid or state.phase != "ready":
            if process.poll() is not None:
                said = log.read_text(encoding="utf-8", errors="replace").split("\n")
                last = next((line for line in reversed(said) if line.strip()), f"It said nothing in {log}.")
                raise CommandEnd(last.removeprefix("Error: "), ExitCode.ERROR)
            if time.monotonic() > deadline:
                process.terminate()
                raise CommandEnd(f"BiFE was not up within {_START_LIMIT_S:g} s; see {log}.", ExitCode.ERROR)
            time.sleep(_POLL_S)
    console.print(log.read_text(encoding="utf-8").strip(), markup=False, soft_wrap=True)


def down() -> None:
    """Stop what `bife up` started in this home; runs under way are stopped and can be retried later."""
    from flows.operate.stack import read_state, take_down
    from tasks.home import project_home

    console, home = standard_output(), project_home()
    state = read_state(home)
    if state is None:
        console.print(f"BiFE is not up in {home.root}.", soft_wrap=True)
        return
    with console.status("Stopping ..."):
        left = take_down(home, state)
    console.print("Stopped." + (f" Left behind and stopped too: {left}." if left else ""))


def status(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Say what `bife up` runs in this home and whether it answers; the exit code is 1 if not all does."""
    from flows.operate.stack import current, health
    from tasks.home import project_home

    console, home, state = standard_output(), project_home(), current()
    report: dict[str, Any] = {"home": str(home.root), "up": state is not None, "parts": [], "healthy": False}
    if state is not None:
        answering = health(state)
        known = state.model_dump(mode="json", include={"pid", "since", "phase", "addresses", "parts"})
        report |= known | {"parts": [part | {"healthy": answering[part["name"]]} for part in known["parts"]]}
        report["healthy"] = state.phase == "ready" and all(answering.values())
    if as_json:
        typer.echo(json.dumps(report, indent=2))
    elif state is None:
        console.print(f"BiFE is not up in {home.root}; `bife up` starts it.", soft_wrap=True)
    else:
        marks = {True: Text("answers", style="green"), False: Text("does not answer", style="bold red")}
        rows = [
            (part["name"], marks[part["healthy"]], str(part["pid"]), part["address"] or "-")
            for part in report["parts"]
        ]
        show_table(console, ("part", "state", "process", "address"), rows, numbers=False)
        show_facts(console, [("home", str(home.root)), ("logs", str(home.root / "logs"))])
    if not report["healthy"]:
        raise typer.Exit(int(ExitCode.ERROR))


def ui(mlflow_port: MlflowPort = None, prefect_port: PrefectPort = None) -> None:
    """Start MLflow's and Prefect's pages, print their addresses, and stop both on Ctrl-C.

    Only this machine can open them. What `bife up` already shows, or a server of yours that MLFLOW_TRACKING_URI or
    PREFECT_API_URL names, is not started; its address is printed.
    """
    from flows.operate.programs import Access
    from flows.operate.signals import stop_signals
    from flows.operate.stack import Programs, current
    from tasks.home import project_home

    console = standard_output()

    def show(addresses: Mapping[str, str]) -> None:
        for name, address in addresses.items():
            console.print(f"{name:8} {_page(name, address)}", soft_wrap=True)

    running = current()
    if running is not None:
        show(running.addresses)
        return
    ports = {"MLflow": mlflow_port, "Prefect": prefect_port}
    with stop_signals(), Programs(project_home(), Access.at(LOOPBACK), ports) as programs:
        try:
            for note in programs.start_pages():
                console.print(note)
            if programs.parts:
                console.print("Starting; this takes some seconds ...")
            programs.wait_ready()
            show(programs.addresses)
            if programs.parts:
                console.print("Press Ctrl-C to stop.")
                for note in programs.tend():
                    console.print(note, markup=False, soft_wrap=True)
        except KeyboardInterrupt:
            console.print("Stopping ...")
