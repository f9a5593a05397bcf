"""Local servers: started on a free port, waited for, started again, and stopped with all that they started."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import httpx
import psutil
from pydantic import ValidationError

from bife_core.base.errors import BifeError
from bife_core.base.values import Value
from bife_core.store import claims
from bife_core.store.home import Home
from bife_flows.operate import guard

LOOPBACK: Final = "127.0.0.1"
UVICORN: Final = (sys.executable, "-m", "uvicorn", "--factory")
START_LIMIT_S: Final = 180.0
"""Wall seconds; the first start on a slow disk prepares a database."""

POLL_S: Final = 0.5
"""Wall seconds between two looks at programs that run."""

_ASK_EVERY_S: Final = 10.0
HANGS_S: Final = 60.0
"""Wall seconds without an answer, once it has answered, after which a server hangs."""

_RESTARTS: Final = 5
_RESTARTS_WITHIN_S: Final = 600.0
_reserved: Final = set[tuple[str, int]]()
_LARGEST_LOG: Final = 10_000_000
"""Bytes; a larger log is renamed when its server starts, and the one renamed before is overwritten."""


class ServerError(BifeError):
    """A server did not start or ended by itself."""


def free_port(usual: int, host: str = LOOPBACK, wanted: int | None = None) -> int:
    """Return the port `wanted`, else `usual` or one of the next, else any; raise `ServerError` if it is taken."""
    following = range(usual + 1, usual + 10) if usual else ()
    for port in (usual, *following, 0) if wanted is None else (wanted,):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
                _reserve(host, port)
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise ServerError(f"Port {wanted or usual} of {host} cannot be used: another program has it.")


def _reserve(host: str, port: int) -> None:
    """Keep a port from other processes of BiFE until this one ends, since a server may listen minutes later only."""
    if port and (host, port) not in _reserved and sys.platform == "linux":
        with socket.socket(socket.AF_UNIX) as mark:
            mark.bind(f"\0bife {host} {port}")  # in no file system: gone with the process
            mark.detach()
        _reserved.add((host, port))


class Server:
    """A server program, which answers at `health`, and its guard, which ends it when this process ends.

    `environment` is added to that of this process; an empty value removes a variable. One that gives no answer for
    `hangs_s` is started again, None says never: what it started would end too.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        health: str,
        log: Path,
        hangs_s: float | None = None,
    ) -> None:
        self.name, self.health, self.log, self._command = name, health, log, command
        self._hangs_s = hangs_s
        # Without byte code each start would compile all modules anew.
        environment = {"PYTHONDONTWRITEBYTECODE": "", **environment}
        variables = os.environ | environment
        self._environment = {k: v for k, v in variables.items() if v or k not in environment}
        self._restarts_s: list[float] = []
        self._start()

    def _start(self) -> None:
        self._silent_s, self._silent_limit_s, self._asked_s = 0.0, START_LIMIT_S, time.monotonic()
        self.log.parent.mkdir(parents=True, exist_ok=True)
        if self.log.exists() and self.log.stat().st_size > _LARGEST_LOG:
            self.log.replace(self.log.with_name(f"{self.log.name}.1"))
        with self.log.open("ab") as output:
            self._logged = output.tell()
            self._process = subprocess.Popen(
                [sys.executable, guard.__file__, *self._command],
                env=self._environment,
                # Away from the user's directory: neither its settings files nor stray output belong to it.
                cwd=self.log.parent,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C in the terminal is for the owner
            )

    @property
    def pid(self) -> int:
        """Process id of the guard."""
        return self._process.pid

    def tend(self) -> str | None:
        """Start the server again if it has ended or hangs, and return a sentence.

        Raises `ServerError` if that happens too often.
        """
        try:
            self.check()
            self._require_answer()
        except ServerError as error:
            now = time.monotonic()
            self._restarts_s = [at for at in self._restarts_s if now - at < _RESTARTS_WITHIN_S]
            if len(self._restarts_s) == _RESTARTS:
                often = f"{_RESTARTS + 1} times within {_RESTARTS_WITHIN_S / 60:g} minutes"
                raise ServerError(f"{error} It has ended {often}.") from error
            self._restarts_s.append(now)
            self.stop()
            with suppress(ProcessLookupError):  # what a guard that was killed has left
                os.killpg(self.pid, signal.SIGKILL)
            self._start()
            return f"Started again: {error}"
        return None

    def _require_answer(self) -> None:
        """Ask the server now and then; raise `ServerError` if it has been silent for too long.

        What counts is the time between questions that got no answer: while this process was stopped, none was asked.
        """
        if self._hangs_s is None or time.monotonic() < self._asked_s + min(_ASK_EVERY_S, self._hangs_s / 6):
            return
        waited_s, self._asked_s = time.monotonic() - self._asked_s, time.monotonic()
        if answers(self.health):
            self._silent_s, self._silent_limit_s = 0.0, self._hangs_s
            return
        self._silent_s += min(waited_s, 2 * _ASK_EVERY_S)
        if self._silent_s > self._silent_limit_s:
            raise ServerError(f"{self.name} has not answered for {self._silent_s:.0f} s; see {self.log}.")

    def wait_ready(
        self, limit_s: float = START_LIMIT_S, waits: Callable[[str], object] | None = None
    ) -> None:
        """Return once the server answers; raise `ServerError` if it ends, or does nothing for too long.

        What computes is waited for, ten times as long at most. In a long wait `waits` is called once, with a sentence.
        """
        began = active = time.monotonic()
        used_s = 0.0
        while not answers(self.health, self.pid):
            self.check()
            now = time.monotonic()
            with suppress(psutil.Error):  # one that ended just now
                cpu_s = sum(sum(process.cpu_times()[:4]) for process in family(self.pid))
                active, used_s = (active, used_s) if abs(cpu_s - used_s) < 0.1 else (now, cpu_s)
            if now - active > limit_s or now - began > 10 * limit_s:
                raise ServerError(f"{self.name} did not answer within {limit_s:g} s; see {self.log}.")
            if waits is not None and now - began > limit_s / 12:
                waits(f"Waiting for {self.name}; if its modules are not compiled yet, that takes minutes.")
                waits = None
            time.sleep(0.25)

    def check(self) -> None:
        """Raise `ServerError`, with the last line of the log, if the server has ended."""
        code = self._process.poll()
        if code is not None:
            with self.log.open("rb") as log:
                log.seek(self._logged)
                last = log.read().decode(errors="replace").strip().rpartition("\n")[2].strip().rstrip(".")
            reason = f"the last line in {self.log} is: {last}" if last else f"{self.log} is empty"
            address = httpx.URL(self.health)
            with suppress(OSError), socket.create_connection((address.host, address.port or 80), 2.0):
                reason = f"another program has its address {self.health}"
            ending = f"ended with code {code}"
            with suppress(
                ValueError
            ):  # under a guard, one that a signal ended has 256 less its number as exit code
                ending = f"was ended by {signal.Signals(-code if code < 0 else 256 - code).name}"
            raise ServerError(f"{self.name} {ending}; {reason}.")

    def stop(self) -> None:
        """End the server and all that it started."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(25.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def answers(health: str, pid: int | None = None) -> bool:
    """Whether a server of this machine answers at an address, and well; with `pid` it must be of that process."""
    try:
        # No proxy set for the outside world, and no certificates, which take long to read, concern the loopback.
        well = httpx.get(health, timeout=2.0, trust_env=False, verify=False).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False
    return well and (pid is None or any(_listens(each, httpx.URL(health).port) for each in family(pid)))


def family(pid: int) -> list[psutil.Process]:
    """Return a process with all below it, empty where it is gone."""
    with suppress(psutil.Error):
        return [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    return []


def _listens(process: psutil.Process, port: int | None) -> bool:
    with suppress(psutil.Error):
        connections = process.net_connections("tcp")
        return any(each.status == psutil.CONN_LISTEN and each.laddr.port == port for each in connections)
    return False


class Up(Value):
    """One `bife up`, as its file in the home describes it.

    `pid`, `began_s` (seconds after the boot) and `boot` together name its process for good; `addresses` are pages by
    name, and `health` what answers while a program works, empty until all have answered once.
    """

    pid: int
    began_s: float
    boot: str
    addresses: dict[str, str] = {}  # noqa: RUF012 - pydantic copies it
    health: dict[str, str] = {}  # noqa: RUF012

    @classmethod
    def of(cls, pid: int, **parts: dict[str, str]) -> Up:
        """Return that of a process that runs."""
        return cls(pid=pid, began_s=claims.began_s(pid) or 0.0, boot=_boot(), **parts)

    @property
    def alive(self) -> bool:
        """Whether its process is still there; a younger one has only inherited the number."""
        return self.boot == _boot() and claims.runs(self.pid, self.began_s)

    def answering(self) -> dict[str, bool]:
        """Return which programs answer now."""
        return {name: answers(address, self.pid) for name, address in self.health.items()}

    def stop(self) -> None:
        """Ask its process to end, and wait until it has."""
        with suppress(psutil.NoSuchProcess):
            psutil.Process(self.pid).terminate()
        deadline = time.monotonic() + 60.0
        while self.alive and time.monotonic() < deadline:
            time.sleep(POLL_S)


def _boot() -> str:
    return claims.machine().partition(" ")[2]


def state_file(home: Home) -> Path:
    """Return where the state of `bife up` is written."""
    return home.root / "up.json"


def last_up(home: Home) -> Up | None:
    """Return the `bife up` that runs in a home, or was killed there; None after one that was stopped."""
    try:
        return Up.model_validate_json(state_file(home).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValidationError):
        return None


def current(home: Home) -> Up | None:
    """Return the `bife up` that runs in a home, or None."""
    state = last_up(home)
    return state if state is not None and state.alive else None


def link_to_pages(state: Up | None) -> None:
    """Have links lead to the pages of a `bife up`, unless the environment names others."""
    if state is not None:
        os.environ.setdefault("BIFE_MLFLOW_UI", state.addresses.get("MLflow", ""))


def require_down(home: Home) -> None:
    """Raise `ServerError` if BiFE is up in a home; wait for the end of what a killed one started."""
    state, deadline = last_up(home), time.monotonic() + 20.0
    if state is not None and state.alive:
        pages = "".join(f" {name} is at {address}." for name, address in state.addresses.items())
        raise ServerError(f"BiFE is already up in {home.root}; `bife down` stops it.{pages}")
    while state is not None and any(map(answers, state.health.values())) and time.monotonic() < deadline:
        time.sleep(POLL_S)
