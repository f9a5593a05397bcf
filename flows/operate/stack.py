"""What `bife up` keeps running: the state others read, processes left behind, and starting again what ends."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

import psutil
from pydantic import Field, ValidationError

from bife_core.values import Value
from flows.operate.servers import Server, ServerError, answers
from tasks.home import Home, project_home
from tasks.locks import LockTimeoutError, process_lock

MARK: Final = "BIFE_UP"
"""Environment variable all processes of one `bife up` carry, whoever started them."""

_RESTARTS: Final = 5
_RESTARTS_WITHIN_S: Final = 600.0
_STOP_LIMIT_S: Final = 10.0
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
    path = state_file(home)
    partial = path.with_suffix(f".{os.getpid()}.partial")
    partial.write_text(state.model_dump_json(indent=1), encoding="utf-8")
    partial.replace(path)


@contextmanager
def alone(home: Home) -> Iterator[None]:
    """Hold the right to be the home's only `bife up`.

    Raises
    ------
    ServerError
        If another one holds it.
    """
    try:
        with process_lock(home.locks / "up.lock", timeout_s=0.0):
            yield
    except LockTimeoutError as error:
        state = read_state(home)
        pages = (
            ", ".join(f"{name} at {address}" for name, address in state.addresses.items()) if state else ""
        )
        what = f" with {pages}" if pages else ""
        raise ServerError(f"BiFE is already up in {home.root}{what}; `bife down` stops it.") from error


def end_marked(mark: str) -> int:
    """End all processes that carry a mark, wherever they were handed to, and return how many there were.

    Looked for again after the first are gone: one in charge may just have started another.
    """
    count = 0
    for _ in range(_PASSES):
        found = _marked(mark)
        count += len(found)
        for process in found:
            _send(process.terminate)
        _, stubborn = psutil.wait_procs(found, timeout=_STOP_LIMIT_S)
        for process in stubborn:
            _send(process.kill)
        psutil.wait_procs(stubborn, timeout=_STOP_LIMIT_S)
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


def _send(signal: Callable[[], None]) -> None:
    try:
        signal()
    except psutil.NoSuchProcess:
        return


class Kept:
    """A server that is started again when it ends by itself.

    Parameters
    ----------
    start : callable
        Starts it; the address of its page may be empty.
    """

    def __init__(self, address: str, server: Server, restart: Callable[[], Server]) -> None:
        self.address = address
        self.server = server
        self._restart = restart
        self._ended: deque[float] = deque(maxlen=_RESTARTS)

    @property
    def part(self) -> Part:
        """How the state describes it."""
        server = self.server
        return Part(
            name=server.name,
            pid=server.pid,
            address=self.address,
            health=server.health,
            log=server.log,
            restarts=len(self._ended),
        )

    def tend(self) -> str | None:
        """Start the server again if it has ended, and return a sentence about it.

        Raises
        ------
        ServerError
            If it has ended too often.
        """
        try:
            self.server.check()
        except ServerError as error:
            now = time.monotonic()
            if len(self._ended) == _RESTARTS and now - self._ended[0] < _RESTARTS_WITHIN_S:
                raise ServerError(
                    f"{error}; it has ended {_RESTARTS + 1} times within {_RESTARTS_WITHIN_S / 60:g} minutes."
                ) from error
            self._ended.append(now)
            self.server.stop()
            self.server = self._restart()
            return f"Started again: {error}"
        return None


def health(state: Up) -> dict[str, bool]:
    """Return which parts answer now."""
    return {part.name: answers(part.health) for part in state.parts}


def current() -> Up | None:
    """Return the `bife up` that runs in the home in use, or None."""
    state = read_state(project_home())
    return state if state is not None and state.alive else None
