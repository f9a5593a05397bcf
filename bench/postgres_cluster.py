"""A throw-away cluster of Debian's PostgreSQL, and the databases in it.

``python -m bench.postgres_cluster COMMAND ...`` runs a command that finds the address of one with the databases `bife`
and `mlflow` in BIFE_TEST_POSTGRES, as the tests of the store and of the registry do.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bife_flows.operate.servers import LOOPBACK, free_port

OWNER = "bife"
_ADMINISTRATOR = "postgres"
"""Of the cluster; as root also the user of this machine its programs run as, since they refuse to run as root."""
_DEBIAN = Path("/usr/lib/postgresql")


class Cluster:
    """PostgreSQL in a directory of its own: its administrator by a socket in there, others by password."""

    def __init__(self, programs: Path, data: Path) -> None:
        self._programs = programs
        self._data = data
        self._port = free_port(0)
        self._password = secrets.token_hex(16)
        self._user = _ADMINISTRATOR if os.geteuid() == 0 else None

    @classmethod
    @contextmanager
    def running(cls, place: Path, log: Path) -> Iterator[Cluster]:
        """Make a cluster below a directory, run it, and stop it at the end."""
        place.chmod(0o755)  # another user has to get to its own directory below
        cluster = cls(installed_programs(), place / "cluster")
        cluster._make(log)
        try:
            yield cluster
        finally:
            cluster._call("pg_ctl", "-D", str(cluster._data), "-m", "fast", "-w", "stop")

    @property
    def location(self) -> str:
        """``USER:PASSWORD@HOST:PORT`` of the user the databases belong to."""
        return f"{OWNER}:{self._password}@{LOOPBACK}:{self._port}"

    @property
    def version(self) -> str:
        """Version of the server."""
        return self._query("postgres", "SHOW server_version")

    def create(self, name: str) -> None:
        """Make a database that belongs to `OWNER`, who is no administrator."""
        self._call("createdb", *self._access(), "--owner", OWNER, name)

    def megabytes(self, name: str) -> float:
        """Return the size of a database."""
        return float(self._query(name, "SELECT pg_database_size(current_database()) / 1e6"))

    def _make(self, log: Path) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.touch()
        self._data.mkdir(mode=0o700)
        if self._user is not None:
            for path in (self._data, log):
                shutil.chown(path, self._user)
        checks = ["--auth-local=trust", "--auth-host=scram-sha-256"]
        self._call("initdb", "-D", str(self._data), "-U", _ADMINISTRATOR, "-E", "UTF8", *checks)
        options = f"-p {self._port} -h {LOOPBACK} -k {self._data}"
        self._call("pg_ctl", "-D", str(self._data), "-w", "-l", str(log), "-o", options, "start")
        self._query("postgres", f"CREATE ROLE {OWNER} LOGIN PASSWORD '{self._password}'")

    def _access(self) -> list[str]:
        return ["-h", str(self._data), "-p", str(self._port), "-U", _ADMINISTRATOR]

    def _query(self, database: str, statement: str) -> str:
        return self._call("psql", *self._access(), "-d", database, "-Atc", statement).strip()

    def _call(self, program: str, *arguments: str) -> str:
        command = [str(self._programs / program), *arguments]
        # The server inherits what it is given, so a pipe would stay open until the server ends.
        with (self._data.parent / f"{program}.txt").open("w+") as output:
            done = subprocess.run(
                command,
                user=self._user,
                group=self._user,
                extra_groups=None if self._user is None else [],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            output.seek(0)
            text = output.read()
        if done.returncode:
            sys.exit(f"{command[0]} ended with code {done.returncode}: {text.strip()}")
        return text


def installed_programs() -> Path:
    """Return where PostgreSQL's programs are; Debian keeps those of a server away from the search path."""
    versions = sorted(_DEBIAN.glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    program = str(versions[-1]) if versions else shutil.which("initdb")
    if program is None:
        sys.exit("PostgreSQL is not installed: initdb was not found; `apt-get install postgresql` brings it.")
    if os.geteuid() == 0 and not any(entry.pw_name == _ADMINISTRATOR for entry in pwd.getpwall()):
        sys.exit(f"PostgreSQL does not run as root, and there is no user {_ADMINISTRATOR!r} to run it as.")
    return Path(program).resolve().parent


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="bife-postgres-") as directory:
        place = Path(directory)
        with Cluster.running(place, place / "postgresql.log") as cluster:
            for name in ("bife", "mlflow"):
                cluster.create(name)
            address = f"postgresql+psycopg2://{cluster.location}"
            done = subprocess.run(sys.argv[1:], env=os.environ | {"BIFE_TEST_POSTGRES": address})
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
