"""What `bife up` keeps running: the state others read, processes left behind, and starting again what ends."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

import psutil
from pydantic import Field, ValidationError

from bife_core.files import write_whole
from bife_core.store import ClaimTimeoutError
from bife_core.values import Value
from flows.operate.programs import WORKER, Access, mlflow_server, prefect_server, worker
from flows.operate.servers import MLFLOW_PORT, PREFECT_PORT, Server, ServerError, answers
from flows.operate.signals import stop_signals
from tasks.home import Home, project_home
from tasks.stores import home_store

MARK: Final = "BIFE_UP"
"""Environment variable all processes of one `bife up` carry, whoever started them."""

_STOP_LIMIT_S: Final = 10.0
_DOWN_LIMIT_S: Final = 60.0
_POLL_S: Final = 0.5
_PASSES: Final = 3


class Part(Value):
    """A program that is kept running.

    Attributes
    ----------
    address : str
        Its page, or empty where it has none.
    health : str
        Address that answers while it works.
    restarts : int
        How often it ended by itself and was started again.
    """

    name: str
    pid: int
    address: str
    health: str
    log: Path
    restarts: int = 0


class Up(Value):
    """One `bife up`, as its file in the home describes it.

    Attributes
    ----------
    pid, created : int, float
        The process in charge and when it was made (Unix seconds): together they name it for good.
    mark : str
        Value of `MARK` in all its processes.
    phase : str
        How far it is.
    addresses : dict of str to str
        Pages by name, those of servers that were there before included.
    """

    pid: int
    created: float
    mark: str
    home: Path
    since: datetime
    phase: Literal["starting", "ready", "stopping"] = "starting"
    addresses: dict[str, str] = Field(default_factory=dict)
    parts: tuple[Part, ...] = ()

    @property
    def alive(self) -> bool:
        """Whether the process in charge is still there."""
        try:
            process = psutil.Process(self.pid)
            return process.status() != psutil.STATUS_ZOMBIE and abs(process.create_time() - self.created) < 1
        except psutil.NoSuchProcess:
            return False

    @classmethod
    def of_this_process(cls, home: Home) -> Up:
        """Return the state of a start that begins now."""
        own = psutil.Process()
        mark = f"{own.pid}-{own.create_time():.2f}"
        return cls(pid=own.pid, created=own.create_time(), mark=mark, home=home.root, since=datetime.now(UTC))


def state_file(home: Home) -> Path:
    """Return where the state of `bife up` is written."""
    return home.root / "up.json"


def read_state(home: Home) -> Up | None:
    """Return what the home's last `bife up` wrote, or None; it may be dead by now."""
    try:
        return Up.model_validate_json(state_file(home).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValidationError):
        return None


def write_state(home: Home, state: Up) -> None:
    """Write the state at once or not at all."""
    write_whole(state_file(home), state.model_dump_json(indent=1))


@contextmanager
def alone(home: Home) -> Iterator[None]:
    """Hold the right to be the home's only `bife up`.

    Raises
    ------
    ServerError
        If another one holds it.
    """
    try:
        with home_store().claim("up", timeout_s=0.0):
            yield
    except ClaimTimeoutError as error:
        state = read_state(home)
        pages = [f"{name} at {address}" for name, address in state.addresses.items()] if state else []
        what = f" with {', '.join(pages)}" if pages else ""
        raise ServerError(f"BiFE is already up in {home.root}{what}; `bife down` stops it.") from error


def end_marked(mark: str) -> int:
    """End all processes that carry a mark, wherever they were handed to, and return how many there were.

    Looked for again after the first are gone: one in charge may just have started another.
    """
    count = 0
    for _ in range(_PASSES):
        found = _marked(mark)
        count += len(found)
        for end in (psutil.Process.terminate, psutil.Process.kill):
            for process in found:
                with suppress(psutil.NoSuchProcess):
                    end(process)
            _, found = psutil.wait_procs(found, timeout=_STOP_LIMIT_S)
    return count


def _marked(mark: str) -> list[psutil.Process]:
    own = psutil.Process()
    spared = {own.pid, *(parent.pid for parent in own.parents())}
    found = []
    for process in psutil.process_iter():
        try:
            alive = process.pid not in spared and process.status() != psutil.STATUS_ZOMBIE
            if alive and process.environ().get(MARK) == mark:
                found.append(process)
        except (psutil.Error, OSError):  # another user's, or gone meanwhile
            continue
    return found


class Programs:
    """Prefect's and MLflow's servers and perhaps a worker, kept running; a context manager that stops them.

    Parameters
    ----------
    ports : mapping
        Ports that were asked for, by name of the page.

    Attributes
    ----------
    addresses : dict of str to str
        Pages by name, those of servers that were there before included.
    """

    def __init__(self, home: Home, access: Access, ports: Mapping[str, int | None]) -> None:
        self.addresses: dict[str, str] = {}
        self._home, self._access, self._ports = home, access, ports
        self._servers: list[Server] = []

    def __enter__(self) -> Programs:
        return self

    def __exit__(self, *_: object) -> None:
        # The worker first: a run that is stopped can still tell Prefect so.
        pages = [server for server in self._servers if server.name != WORKER]
        for server in self._servers[len(pages) :]:
            server.stop()
        with ThreadPoolExecutor() as several:
            list(several.map(Server.stop, pages))

    @property
    def parts(self) -> tuple[Part, ...]:
        """How the state describes what was started."""
        return tuple(Part.model_validate(server, from_attributes=True) for server in self._servers)

    def start_pages(self) -> Iterator[str]:
        """Start both pages without waiting for them, and yield a sentence for each that is not where it usually is."""
        pages = ("Prefect", prefect_server, PREFECT_PORT), ("MLflow", mlflow_server, MLFLOW_PORT)
        for name, start, usual in pages:
            asked = self._ports.get(name)
            self.addresses[name], server = start(self._home, self._access, asked)
            if server is None:
                continue
            self._servers.append(server)
            port = self.addresses[name].rpartition(":")[2]
            if asked is None and port != str(usual):
                yield f"Port {usual} is taken by another program, so {name} uses {port}."

    def wait_ready(self) -> None:
        """Return once all that was started answers.

        Raises
        ------
        ServerError
            If one does not.
        """
        for server in self._servers:
            server.wait_ready()

    def start_worker(self) -> None:
        """Start the worker, whose pages must answer by now, and wait for it."""
        self._servers.append(worker(self._home, self._access, self.addresses))
        self._servers[-1].wait_ready()

    def tend(self) -> Iterator[str]:
        """Look after all for good; yield a sentence for each that was started again.

        Raises
        ------
        ServerError
            If one has ended too often.
        """
        while True:
            yield from filter(None, [server.tend() for server in self._servers])
            time.sleep(_POLL_S)


def keep_up(
    home: Home,
    access: Access,
    ports: Mapping[str, int | None],
    say: Callable[[str], None],
    ready: Callable[[Mapping[str, str]], None],
) -> None:
    """Start everything in a home and keep it running until a signal asks for its end.

    Parameters
    ----------
    say : callable
        Told in sentences what happens.
    ready : callable
        Called with the addresses once all answers.

    Raises
    ------
    ServerError
        If the home is up already, or a program does not start or ends too often.
    """
    with alone(home), stop_signals(), ExitStack() as at_end:
        former = read_state(home)
        if former is not None and (left := end_marked(former.mark)):
            say(f"An earlier `bife up` was killed; what it left behind was stopped (processes: {left}).")
        state = Up.of_this_process(home)
        os.environ |= {MARK: state.mark, "BIFE_HOME": str(home.root)}
        at_end.callback(state_file(home).unlink, missing_ok=True)
        at_end.callback(
            end_marked, state.mark
        )  # a run whose worker was killed is of nobody's family any more
        programs = at_end.enter_context(Programs(home, access, ports))

        def write(**changed: Any) -> None:
            nonlocal state
            present = {"addresses": programs.addresses, "parts": programs.parts}
            state = state.model_copy(update=present | changed)
            write_state(home, state)

        write()
        try:
            say(f"Starting in {home.root}; the first time takes longer ...")
            for note in programs.start_pages():
                say(note)
            write()
            programs.wait_ready()
            programs.start_worker()
            ready(programs.addresses)
            write(phase="ready")  # last: whoever waits for it reads what was shown
            for note in programs.tend():
                say(f"{time.strftime('%H:%M:%S')} {note}")
                write()
        except KeyboardInterrupt:
            write(phase="stopping")
            say("Stopping; runs that are under way can be retried later ...")


def take_down(home: Home, state: Up) -> int:
    """Stop a `bife up` and return how many processes it had left behind."""
    if state.alive:
        process = psutil.Process(state.pid)
        process.terminate()
        try:
            process.wait(_DOWN_LIMIT_S)
        except psutil.TimeoutExpired:
            process.kill()
    left = end_marked(state.mark)
    state_file(home).unlink(missing_ok=True)
    return left


def health(state: Up) -> dict[str, bool]:
    """Return which parts answer now."""
    return {part.name: answers(part.health) for part in state.parts}


def current() -> Up | None:
    """Return the `bife up` that runs in the home in use, or None."""
    state = read_state(project_home())
    return state if state is not None and state.alive else None
