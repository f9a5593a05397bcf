"""`bife ui`: MLflow's and Prefect's pages on this machine, until Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.consoles import standard_output
from flows.cli.interrupt import STOP_SIGNALS

if TYPE_CHECKING:
    from flows.cli.servers import Server

_POLL_S = 0.5


def ui(
    mlflow_port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65535, metavar="PORT", show_default="5000 or a free one", help="Port of MLflow."
        ),
    ] = None,
    prefect_port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65535, metavar="PORT", show_default="4200 or a free one", help="Port of Prefect."
        ),
    ] = None,
) -> None:
    """Start MLflow's and Prefect's pages, print their addresses, and stop both on Ctrl-C.

    Only this machine can open them. A server of yours that MLFLOW_TRACKING_URI or PREFECT_API_URL names is not
    started; its address is printed.
    """
    console = standard_output()
    addresses: list[tuple[str, str]] = []
    servers: list[Server] = []
    with stop_signals(), ExitStack() as running:
        try:
            for name, given in (("MLflow", mlflow_port), ("Prefect", prefect_port)):
                address, server = (_mlflow if name == "MLflow" else _prefect)(given)
                addresses.append((name, address))
                if server is not None:
                    running.callback(server.stop)
                    servers.append(server)
            if servers:
                console.print("Starting; this takes some seconds ...")
            for server in servers:
                server.wait_ready()
            for name, address in addresses:
                console.print(f"{name:8} {address}", soft_wrap=True)
            if not servers:
                return
            console.print("Press Ctrl-C to stop.")
            while True:
                for server in servers:
                    server.check()
                time.sleep(_POLL_S)
        except KeyboardInterrupt:
            # A second Ctrl-C must not leave one of them behind.
            for number in STOP_SIGNALS:
                signal.signal(number, signal.SIG_IGN)
            console.print("Stopping ...")


def _mlflow(port: int | None) -> tuple[str, Server | None]:
    from flows.cli.servers import LOOPBACK, MLFLOW_PORT, Server, free_port
    from tasks.home import project_home
    from tasks.tracking import store

    uri = store.tracking_uri()
    if uri.startswith(("http://", "https://")):
        return uri, None
    store.client()  # makes database and experiments, alone: two at once would break its first migration
    home = project_home()
    chosen = port or free_port(MLFLOW_PORT)
    address = f"http://{LOOPBACK}:{chosen}"
    command = [
        sys.executable,
        "-m",
        "mlflow",
        "server",
        "--host",
        LOOPBACK,
        "--port",
        str(chosen),
        "--workers",
        "1",
    ]
    command += ["--backend-store-uri", uri, "--artifacts-destination", (home.mlflow / "artifacts").as_uri()]
    registry = os.environ.get("MLFLOW_REGISTRY_URI")
    if registry:
        command += ["--registry-store-uri", registry]
    environment = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    server = Server("MLflow", command, environment, f"{address}/health", home.root / "logs" / "mlflow.log")
    return address, server


def _prefect(port: int | None) -> tuple[str, Server | None]:
    from flows.cli.servers import LOOPBACK, PREFECT_PORT, Server, free_port
    from tasks.home import project_home

    named = os.environ.get("PREFECT_API_URL")
    if named:
        return named.rstrip("/").removesuffix("/api"), None
    home = project_home()
    chosen = port or free_port(PREFECT_PORT)
    address = f"http://{LOOPBACK}:{chosen}"
    environment = {
        "PREFECT_SERVER_API_HOST": LOOPBACK,
        # By variable: with an option for the port, Prefect's pages would still ask port 4200.
        "PREFECT_SERVER_API_PORT": str(chosen),
        # By default any web page that is open in a browser could drive the API.
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": f"{address},http://localhost:{chosen}",
        "PREFECT_SERVER_CSRF_PROTECTION_ENABLED": "true",
        "PREFECT_LOGGING_LEVEL": "",
        "PREFECT_LOGGING_SERVER_LEVEL": "",
    }
    command = [sys.executable, "-m", "prefect", "server", "start"]
    server = Server(
        "Prefect", command, environment, f"{address}/api/health", home.root / "logs" / "prefect.log"
    )
    return address, server


@contextmanager
def stop_signals() -> Iterator[None]:
    """Let the signals of a closed terminal and of a shutdown end us as Ctrl-C does."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
