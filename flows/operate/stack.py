"""`bife up`: Prefect's server, MLflow's and a worker, kept running as long as its process lives, and no longer."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil
from pydantic import ValidationError

from bife_core.files import write_whole
from bife_core.values import Value
from flows.operate import guard
from flows.operate.servers import Server, ServerError, answers
from flows.operate.signals import stop_signals
from tasks.home import Home

if TYPE_CHECKING:
    from flows.operate.programs import Access

_POLL_S: Final = 0.5


class Up(Value):
    """One `bife up`, as its file in the home describes it.

    `created` (Unix seconds) and `pid` together name its process for good; `addresses` are pages by name, and `health`
    what answers while a program works, empty until all have answered once.
    """

    pid: int
    created: float
    addresses: dict[str, str] = {}  # noqa: RUF012 - pydantic copies it
    health: dict[str, str] = {}  # noqa: RUF012

    @property
    def alive(self) -> bool:
        """Whether its process is still there; a younger one has only inherited the number."""
        return guard.runs(self.pid, self.created + 1.0)

    def answering(self) -> dict[str, bool]:
        """Return which programs answer now."""
        return {name: answers(address) for name, address in self.health.items()}


def state_file(home: Home) -> Path:
    """Return where the state of `bife up` is written."""
    return home.root / "up.json"


def read_state(home: Home) -> Up | None:
    """Return what the last `bife up` of a home wrote and has not removed, or None."""
    try:
        return Up.model_validate_json(state_file(home).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValidationError):
        return None


def current(home: Home) -> Up | None:
    """Return the `bife up` that runs in a home, or None."""
    state = read_state(home)
    return state if state is not None and state.alive else None


def require_down(home: Home) -> None:
    """Raise `ServerError` if BiFE is up in a home; wait for the end of what a killed one started."""
    state, deadline = read_state(home), time.monotonic() + 20.0
    if state is not None and state.alive:
        pages = "".join(f" {name} is at {address}." for name, address in state.addresses.items())
        raise ServerError(f"BiFE is already up in {home.root}; `bife down` stops it.{pages}")
    while state is not None and any(state.answering().values()) and time.monotonic() < deadline:
        time.sleep(_POLL_S)


def keep_up(
    home: Home,
    access: Access,
    ports: Mapping[str, int | None],
    say: Callable[[str], None],
    ready: Callable[[Mapping[str, str]], None],
) -> None:
    """Start everything in a home and keep it running until a signal asks for its end, or a program fails for good.

    `ports` are those that were asked for, by name of the page; `ready` gets the addresses once all answers.
    """
    from flows.operate.programs import mlflow_server, prefect_server, worker  # MLflow and Prefect with them

    require_down(home)
    own, servers, addresses = psutil.Process(), list[Server](), dict[str, str]()

    def write(health: Mapping[str, str]) -> None:
        state = Up(pid=own.pid, created=own.create_time(), addresses=addresses, health=dict(health))
        write_whole(state_file(home), state.model_dump_json(indent=1))

    with stop_signals(), ExitStack() as at_end:
        os.environ["BIFE_HOME"] = str(home.root)
        at_end.callback(state_file(home).unlink, missing_ok=True)
        guard.adopt_orphans()  # runs whose guard is killed
        at_end.callback(lambda: guard.end(own.children()))
        write({})
        try:
            say(f"Starting in {home.root}; the first time takes longer ...")
            for name, start in (("Prefect", prefect_server), ("MLflow", mlflow_server)):
                addresses[name], server = start(home, access, ports.get(name))
                if server is not None:
                    servers.append(server)
                    at_end.callback(server.stop)
            write({})
            for server in servers:
                server.wait_ready()
            servers.append(worker(home, access, addresses))
            # The first to be stopped, so that its runs can report how they end.
            at_end.callback(servers[-1].stop)
            servers[-1].wait_ready()
            ready(addresses)
            write({server.name: server.health for server in servers})
            while True:
                for server in servers:
                    if note := server.tend():
                        say(f"{time.strftime('%H:%M:%S')} {note}")
                time.sleep(_POLL_S)
        except KeyboardInterrupt:
            say("Stopping; runs that are under way can be retried later ...")


def take_down(state: Up) -> None:
    """Stop a `bife up` and wait for its end."""
    with suppress(psutil.NoSuchProcess):
        psutil.Process(state.pid).terminate()
    deadline = time.monotonic() + 60.0
    while state.alive and time.monotonic() < deadline:
        time.sleep(_POLL_S)
