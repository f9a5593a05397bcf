"""Local servers: started on a free loopback port, waited for, and stopped with everything they started."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

import psutil

from bife_core.errors import BifeError

LOOPBACK: Final = "127.0.0.1"
MLFLOW_PORT: Final = 5000
PREFECT_PORT: Final = 4200
START_LIMIT_S: Final = 180.0
"""Wall seconds; the first start on a slow disk prepares a database."""

_RESTARTS: Final = 5
_RESTARTS_WITHIN_S: Final = 600.0
_PORTS_TRIED: Final = 10
_LARGEST_LOG: Final = 10_000_000
"""Bytes; a larger log is put aside when its server starts, and the one put aside before is dropped."""
_TAIL: Final = 20_000
_STOP_LIMIT_S: Final = 10.0
_POLL_S: Final = 0.25


class ServerError(BifeError):
    """A server did not start or stopped by itself."""


def free_port(usual: int, host: str = LOOPBACK, asked: int | None = None) -> int:
    """Return the port that was asked for, else `usual` or one of the next, else one the system chooses.

    Raises
    ------
    ServerError
        If the port that was asked for is taken, or none is free.
    """
    following = range(usual + 1, usual + _PORTS_TRIED) if usual else ()
    for port in (usual, *following, 0) if asked is None else (asked,):
        found = _bindable(host, port)
        if found is not None:
            return found
    if asked is not None:
        raise ServerError(f"Port {asked} of {host} cannot be used: another program has it; name another one.")
    raise ServerError("No port is free on this machine; close a program that holds many connections.")


def _bindable(host: str, port: int) -> int | None:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return None
        return int(probe.getsockname()[1])


def with_own_code() -> dict[str, str]:
    """Return the environment in which another Python imports this code, wherever it runs."""
    path = os.environ.get("PYTHONPATH")
    root = str(Path(__file__).resolve().parents[2])
    return {"PYTHONPATH": os.pathsep.join([root, *([path] if path else [])])}


class Server:
    """A server program in a process group of its own.

    Parameters
    ----------
    name : str
        For messages.
    command : sequence of str
        Program and arguments.
    environment : mapping
        What it gets on top of this process's environment; an empty value takes a variable away.
    health : str
        Address that answers once it serves.
    log : Path
        What it prints is added there.
    address : str
        Of its page, if it has one.
    lifeline : bool
        Give it a standard input that ends when this process does, however that ends.

    Attributes
    ----------
    restarts : int
        How often it ended by itself and was started again.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        health: str,
        log: Path,
        address: str = "",
        lifeline: bool = False,
    ) -> None:
        self.name = name
        self.health = health
        self.log = log
        self.address = address
        self._command = command
        self._input = subprocess.PIPE if lifeline else subprocess.DEVNULL
        self._variables = {
            k: v for k, v in (os.environ | {**environment}).items() if v or k not in environment
        }
        self.restarts = 0
        self._ended: deque[float] = deque(maxlen=_RESTARTS)
        self._start()

    def _start(self) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        if self.log.exists() and self.log.stat().st_size > _LARGEST_LOG:
            self.log.replace(self.log.with_name(f"{self.log.name}.1"))
        with self.log.open("ab") as output:
            self._begin = output.tell()
            self._process = subprocess.Popen(
                self._command,
                env=self._variables,
                # Away from the user's directory: neither its settings files nor stray output belong to it.
                cwd=self.log.parent,
                stdin=self._input,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def tend(self) -> str | None:
        """Start the server again if it has ended, and return a sentence about it.

        Raises
        ------
        ServerError
            If it has ended too often.
        """
        try:
            self.check()
        except ServerError as error:
            now = time.monotonic()
            if len(self._ended) == _RESTARTS and now - self._ended[0] < _RESTARTS_WITHIN_S:
                raise ServerError(
                    f"{error}; it has ended {_RESTARTS + 1} times within {_RESTARTS_WITHIN_S / 60:g} minutes."
                ) from error
            self.restarts += 1
            self._ended.append(now)
            self.stop()
            self._start()
            return f"Started again: {error}"
        return None

    def wait_ready(self, limit_s: float = START_LIMIT_S) -> None:
        """Return once the server answers.

        Raises
        ------
        ServerError
            If it ends or takes too long, with the last thing it printed.
        """
        deadline = time.monotonic() + limit_s
        while not answers(self.health):
            self.check()
            if time.monotonic() > deadline:
                raise ServerError(f"{self.name} did not answer within {limit_s:g} s; see {self.log}.")
            time.sleep(_POLL_S)

    def check(self) -> None:
        """Raise if the server has ended.

        Raises
        ------
        ServerError
            With the last thing it printed.
        """
        code = self._process.poll()
        if code is not None:
            raise ServerError(
                f"{self.name} ended with code {code}; its last line in {self.log} is: {self._said()}"
            )

    @property
    def pid(self) -> int:
        """Process id, also the id of the process group."""
        return self._process.pid

    def stop(self) -> None:
        """End the server and all its descendants, by force if they do not go."""
        family = self._family()
        self._signal_group(signal.SIGTERM)
        for process in family[1:]:  # some have a process group of their own
            with suppress(psutil.NoSuchProcess):
                process.terminate()
        _, stubborn = psutil.wait_procs(family, timeout=_STOP_LIMIT_S)
        self._signal_group(getattr(signal, "SIGKILL", signal.SIGTERM))
        for process in stubborn:
            if process.is_running():
                process.kill()
        psutil.wait_procs(stubborn, timeout=_STOP_LIMIT_S)
        self._process.wait()

    def _said(self) -> str:
        """Return the last line this process printed."""
        with self.log.open("rb") as printed:
            printed.seek(max(self._begin, self.log.stat().st_size - _TAIL))
            lines = printed.read().decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "nothing")

    def _family(self) -> list[psutil.Process]:
        try:
            parent = psutil.Process(self._process.pid)
            return [parent, *parent.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def _signal_group(self, number: int) -> None:
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):  # all gone (macOS: only zombies are left)
            return


def answers(health: str, limit_s: float = 2.0) -> bool:
    """Whether a server of this machine answers at an address, and well."""
    # A proxy set for the outside world has no business on the loopback.
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(health, timeout=limit_s) as reply:
            return bool(reply.status == 200)
    except (URLError, OSError):
        return False
