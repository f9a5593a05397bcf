"""`bife ui`: MLflow's and Prefect's pages on this machine, until Ctrl-C."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.consoles import standard_output
from flows.cli.interrupt import STOP_SIGNALS

if TYPE_CHECKING:
    from flows.operate.servers import Server

_POLL_S = 0.5


MlflowPort = Annotated[
    int | None,
    typer.Option(
        min=1, max=65535, metavar="PORT", show_default="5000 or the next free one", help="Port of MLflow."
    ),
]
PrefectPort = Annotated[
    int | None,
    typer.Option(
        min=1, max=65535, metavar="PORT", show_default="4200 or the next free one", help="Port of Prefect."
    ),
]


def ui(mlflow_port: MlflowPort = None, prefect_port: PrefectPort = None) -> None:
    """Start MLflow's and Prefect's pages, print their addresses, and stop both on Ctrl-C.

    Only this machine can open them. What `bife up` already shows, or a server of yours that MLFLOW_TRACKING_URI or
    PREFECT_API_URL names, is not started; its address is printed.
    """
    from flows.operate.page_servers import Access, mlflow_server, prefect_server
    from flows.operate.servers import LOOPBACK
    from flows.operate.stack import current
    from tasks.home import project_home

    console = standard_output()
    running_already = current()
    if running_already is not None:
        for name, address in running_already.addresses.items():
            console.print(f"{name:8} {address}", soft_wrap=True)
        return
    addresses: list[tuple[str, str]] = []
    servers: list[Server] = []
    with stop_signals(), ExitStack() as running:
        try:
            home, access = project_home(), Access.at(LOOPBACK)
            starts = ("MLflow", mlflow_server, mlflow_port), ("Prefect", prefect_server, prefect_port)
            for name, start, port in starts:
                address, server = start(home, access, port)
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
