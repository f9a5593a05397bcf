"""Local servers: started on a free loopback port, waited for, and stopped with everything they started."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

import psutil

from bife_core.errors import BifeError

LOOPBACK: Final = "127.0.0.1"
MLFLOW_PORT: Final = 5000
PREFECT_PORT: Final = 4200

_START_LIMIT_S: Final = 180.0
"""Wall seconds; the first start on a slow disk prepares a database."""
_STOP_LIMIT_S: Final = 10.0
_POLL_S: Final = 0.25


class ServerError(BifeError):
    """A server did not start or stopped by itself."""


def free_port(preferred: int) -> int:
    """Return `preferred` if nobody listens there, else a port the system chooses."""
    for port in (preferred, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise ServerError("No port is free on this machine; close a program that holds many connections.")


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
        What it prints goes there.
    """

    def __init__(
        self, name: str, command: Sequence[str], environment: Mapping[str, str], health: str, log: Path
    ) -> None:
        self.name = name
        self.health = health
        self.log = log
        variables = {k: v for k, v in (os.environ | dict(environment)).items() if v or k not in environment}
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                env=variables,
                # Away from the user's directory: neither its settings files nor stray output belong to it.
                cwd=log.parent,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_ready(self, limit_s: float = _START_LIMIT_S) -> None:
        """Return once the server answers.

        Raises
        ------
        ServerError
            If it ends or takes too long, with the last thing it printed.
        """
        deadline = time.monotonic() + limit_s
        while not self._answers():
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
            lines = self.log.read_text(encoding="utf-8", errors="replace").split("\n")
            said = next((line.strip() for line in reversed(lines) if line.strip()), "nothing")
            raise ServerError(f"{self.name} ended with code {code}; its last line in {self.log} is: {said}")

    def stop(self) -> None:
        """End the server and all its descendants, by force if they do not go."""
        family = self._family()
        self._signal_group(signal.SIGTERM)
        _, stubborn = psutil.wait_procs(family, timeout=_STOP_LIMIT_S)
        self._signal_group(getattr(signal, "SIGKILL", signal.SIGTERM))
        for process in stubborn:
            if process.is_running():
                process.kill()
        psutil.wait_procs(stubborn, timeout=_STOP_LIMIT_S)
        self._process.wait()

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

    def _answers(self) -> bool:
        # A proxy set for the outside world has no business on the loopback.
        opener = build_opener(ProxyHandler({}))
        try:
            with opener.open(self.health, timeout=2.0) as reply:
                return bool(reply.status == 200)
        except (URLError, OSError):
            return False
