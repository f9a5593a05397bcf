"""The programs of `bife up`: Prefect's and MLflow's servers and the worker, who may reach them, with which password."""

from __future__ import annotations

import hashlib
import ipaddress
import os
import secrets
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import psutil

from bife_core.errors import ConfigError
from flows.operate.servers import LOOPBACK, MLFLOW_PORT, PREFECT_PORT, Server, free_port, with_own_code
from tasks.home import Home

AUTH_VARIABLE: Final = "BIFE_SERVER_AUTH"
"""Holds ``name:password`` of both pages."""

WORKER: Final = "worker"

_EVERYWHERE: Final = ("0.0.0.0", "::")
"""To listen on all addresses of this machine."""

_SHORTEST_PASSWORD: Final = 12
"""Characters; MLflow's server takes no shorter one and would not start."""

_LOGS_AS_USUAL: Final = {"PREFECT_LOGGING_LEVEL": "", "PREFECT_LOGGING_SERVER_LEVEL": ""}

_AUTH_FILE: Final = """[mlflow]
default_permission = READ
database_uri = sqlite:///{database}
authorization_function = mlflow.server.auth:authenticate_request_basic_auth
"""


@dataclass(frozen=True)
class Access:
    """Where the servers listen and what they ask for.

    Attributes
    ----------
    host : str
        Address to listen on.
    auth : str or None
        ``name:password``, asked for by both servers; None asks for nothing.
    """

    host: str = LOOPBACK
    auth: str | None = None

    @classmethod
    def at(cls, host: str) -> Access:
        """Return the access at an address, with the password the environment holds.

        Raises
        ------
        ConfigError
            If other machines could reach the servers without a password, or the password has no name.
        """
        auth = os.environ.get(AUTH_VARIABLE) or None
        if auth is not None and not all(auth.partition(":")):
            raise ConfigError(f"{AUTH_VARIABLE} must have the form name:password.")
        if auth is None and not is_loopback(host):
            raise ConfigError(
                f"At {host} other machines could start runs and read everything: set {AUTH_VARIABLE} to "
                "name:password in the environment or in mlflow.env, and both pages will ask for it."
            )
        return cls(host, auth)

    @property
    def reach(self) -> str:
        """Address this machine reaches the servers at."""
        if self.host in _EVERYWHERE:
            return LOOPBACK
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def shown(self) -> str:
        """Address a reader is told, who may be at another machine."""
        if self.host not in _EVERYWHERE:
            return self.reach
        return next((known for known in _addresses() if not is_loopback(known)), socket.gethostname())

    @property
    def names(self) -> list[str]:
        """All names a browser may use for the servers."""
        own = ["localhost", LOOPBACK] if is_loopback(self.host) or self.reach == LOOPBACK else []
        if is_loopback(self.host):
            return own
        known = [self.reach, socket.gethostname(), socket.getfqdn(), *_addresses()]
        return list(dict.fromkeys([*own, *known]))


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address.

    Examples
    --------
    >>> [is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0", "192.168.1.5")]
    [True, True, True, False, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _addresses() -> list[str]:
    """Return this machine's addresses: those of its name, which may be the loopback's alone, before all others."""
    named: list[str] = []
    with suppress(OSError):  # a machine whose own name does not resolve
        named = [str(entry[4][0]) for entry in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    held = [entry for entries in psutil.net_if_addrs().values() for entry in entries]
    return [*named, *(entry.address for entry in held if entry.family == socket.AF_INET)]


def mlflow_server(home: Home, access: Access, port: int | None) -> tuple[str, Server | None]:
    """Start MLflow on the home's database and return its address; a server of the user's own is only named.

    Raises
    ------
    TrackingError
        If the database cannot be made.
    ConfigError
        If the password is shorter than MLflow takes.
    ServerError
        If `port` is taken.
    """
    from tasks.tracking import store

    uri = store.tracking_uri()
    if uri.startswith(("http://", "https://")):
        return uri, None
    if access.auth is not None and len(access.auth.partition(":")[2]) < _SHORTEST_PASSWORD:
        raise ConfigError(
            f"The password in {AUTH_VARIABLE} must have at least {_SHORTEST_PASSWORD} characters, or MLflow does not "
            "start."
        )
    store.client()  # makes database and experiments, alone: two at once would break its first migration
    port = free_port(MLFLOW_PORT, access.host, port)
    command = [sys.executable, "-m", "mlflow", "server", "--host", access.host, "--port", str(port)]
    command += ["--workers", "1", "--backend-store-uri", uri]
    command += ["--artifacts-destination", (home.mlflow / "artifacts").as_uri()]
    registry = os.environ.get("MLFLOW_REGISTRY_URI")
    if registry:
        command += ["--registry-store-uri", registry]
    if not is_loopback(access.host) and not os.environ.get("MLFLOW_SERVER_ALLOWED_HOSTS"):
        hosts = [host for name in access.names for host in (name, f"{name}:{port}")]
        origins = [f"http://{name}:{port}" for name in access.names]
        command += ["--allowed-hosts", ",".join(hosts), "--cors-allowed-origins", ",".join(origins)]
    environment = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    if access.auth is not None:
        command += ["--app-name", "basic-auth"]
        environment |= _mlflow_password(home, access.auth)
    address, health = f"http://{access.shown}:{port}", f"http://{access.reach}:{port}/health"
    log = home.root / "logs" / "mlflow.log"
    return address, Server("MLflow", command, environment, health, log, address=address)


def _mlflow_password(home: Home, auth: str) -> dict[str, str]:
    # MLflow keeps the first password it was given in its database for ever: a new password gets a new database.
    which = hashlib.sha256(auth.encode()).hexdigest()[:16]
    settings = home.mlflow / f"auth-{which}.ini"
    settings.write_text(_AUTH_FILE.format(database=settings.with_suffix(".db")), encoding="utf-8")
    name, _, password = auth.partition(":")
    return {
        "MLFLOW_AUTH_CONFIG_PATH": str(settings),
        "MLFLOW_AUTH_ADMIN_USERNAME": name,
        "MLFLOW_AUTH_ADMIN_PASSWORD": password,
        "MLFLOW_FLASK_SERVER_SECRET_KEY": secrets.token_hex(32),
    }


def prefect_server(home: Home, access: Access, port: int | None) -> tuple[str, Server | None]:
    """Start Prefect on the home's database and return its address; a server of the user's own is only named.

    Raises
    ------
    ServerError
        If `port` is taken.
    """
    named = os.environ.get("PREFECT_API_URL")
    if named:
        return named.rstrip("/").removesuffix("/api"), None
    port = free_port(PREFECT_PORT, access.host, port)
    pages = home.prefect / "pages"
    origins = [f"http://{name}:{port}" for name in access.names]
    environment = {
        "PREFECT_SERVER_API_HOST": access.host,
        # By variable: with an option for the port, Prefect's pages would still ask port 4200.
        "PREFECT_SERVER_API_PORT": str(port),
        "PREFECT_UI_API_URL": f"http://{access.reach}:{port}/api" if is_loopback(access.host) else "/api",
        # By default any web page that is open in a browser could drive the API.
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": ",".join(origins),
        "PREFECT_SERVER_CSRF_PROTECTION_ENABLED": "true",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        # By default they are put into the installed package, which may be read-only and which other homes share.
        "PREFECT_SERVER_UI_STATIC_DIRECTORY": str(pages),
        **_LOGS_AS_USUAL,
    }
    if access.auth is not None:
        environment["PREFECT_SERVER_API_AUTH_STRING"] = access.auth
    command = [sys.executable, "-m", "prefect", "server", "start"]
    address, health = f"http://{access.shown}:{port}", f"http://{access.reach}:{port}/api/health"
    log = home.root / "logs" / "prefect.log"
    return address, Server("Prefect", command, environment, health, log, address=address)


def _pages(address: str) -> dict[str, str]:
    """Have what runs name of Prefect's pages open in the second version, as the server's own address does.

    Prefect leaves the version out of the addresses it makes, which then open the first.
    """
    named = os.environ.get("PREFECT_API_URL") or os.environ.get("PREFECT_UI_URL")
    return {} if named else {"PREFECT_UI_URL": f"{address}/v2"}


def worker(home: Home, access: Access, addresses: Mapping[str, str]) -> Server:
    """Start the program that registers the deployments and runs what is due."""
    port = free_port(0)
    prefect = addresses["Prefect"].rpartition(":")[2]
    environment = {
        "PREFECT_API_URL": os.environ.get("PREFECT_API_URL") or f"http://{access.reach}:{prefect}/api",
        # Runs write to MLflow's database directly, and name the pages that show it.
        "BIFE_MLFLOW_UI": os.environ.get("BIFE_MLFLOW_UI") or addresses["MLflow"],
        **_pages(addresses["Prefect"]),
        "PREFECT_WORKER_WEBSERVER_HOST": LOOPBACK,
        "PREFECT_WORKER_WEBSERVER_PORT": str(port),
        "PREFECT_WORKER_QUERY_SECONDS": "2",
        **_LOGS_AS_USUAL,
        **with_own_code(),
    }
    if access.auth is not None and not os.environ.get("PREFECT_API_AUTH_STRING"):
        environment["PREFECT_API_AUTH_STRING"] = access.auth
    command = [sys.executable, "-m", "flows.operate.serving"]
    health = f"http://{LOOPBACK}:{port}/health"
    return Server(WORKER, command, environment, health, home.root / "logs" / "worker.log")
