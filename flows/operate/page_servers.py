"""The programs behind the pages: MLflow's and Prefect's servers, who may reach them, and with which password."""

from __future__ import annotations

import hashlib
import ipaddress
import os
import secrets
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bife_core.errors import ConfigError
from flows.operate.prefect_lists import PrefectServer
from flows.operate.servers import LOOPBACK, MLFLOW_PORT, PREFECT_PORT, Server, free_port, required_port
from tasks.home import Home

AUTH_VARIABLE: Final = "BIFE_SERVER_AUTH"
"""Holds ``name:password`` of both pages."""

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
        if self.host in ("0.0.0.0", "::"):
            return LOOPBACK
        return f"[{self.host}]" if ":" in self.host else self.host

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
    try:
        return [str(entry[4][0]) for entry in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    except OSError:
        return []  # a machine whose own name does not resolve


def mlflow_server(home: Home, access: Access, port: int | None) -> tuple[str, Server | None]:
    """Start MLflow on the home's database and return its address; a server of the user's own is only named.

    Raises
    ------
    TrackingError
        If the database cannot be made.
    ServerError
        If `port` is taken.
    """
    from tasks.tracking import store

    uri = store.tracking_uri()
    if uri.startswith(("http://", "https://")):
        return uri, None
    store.client()  # makes database and experiments, alone: two at once would break its first migration
    port = free_port(MLFLOW_PORT, access.host) if port is None else required_port(port, access.host)
    address = f"http://{access.reach}:{port}"
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
    server = Server("MLflow", command, environment, f"{address}/health", home.root / "logs" / "mlflow.log")
    return address, server


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
    port = free_port(PREFECT_PORT, access.host) if port is None else required_port(port, access.host)
    address = f"http://{access.reach}:{port}"
    origins = [f"http://{name}:{port}" for name in access.names]
    environment = {
        "PREFECT_SERVER_API_HOST": access.host,
        # By variable: with an option for the port, Prefect's pages would still ask port 4200.
        "PREFECT_SERVER_API_PORT": str(port),
        "PREFECT_UI_API_URL": f"{address}/api" if is_loopback(access.host) else "/api",
        # By default any web page that is open in a browser could drive the API.
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": ",".join(origins),
        "PREFECT_SERVER_CSRF_PROTECTION_ENABLED": "true",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "PREFECT_LOGGING_LEVEL": "",
        "PREFECT_LOGGING_SERVER_LEVEL": "",
    }
    if access.auth is not None:
        environment["PREFECT_SERVER_API_AUTH_STRING"] = access.auth
    command = [sys.executable, "-m", "prefect", "server", "start"]
    log = home.root / "logs" / "prefect.log"
    return address, PrefectServer(home.prefect / "pages", command, environment, f"{address}/api/health", log)


def package_root() -> Path:
    """Return the directory this package is imported from."""
    return Path(__file__).resolve().parents[2]
