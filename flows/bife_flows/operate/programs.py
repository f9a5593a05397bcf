"""The programs of `bife up`, which are Prefect, MLflow and the worker: who may reach them, with which password."""

from __future__ import annotations

import hashlib
import ipaddress
import os
import secrets
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import psutil

from bife_core.base.errors import ConfigError
from bife_core.base.places import sqlite_url
from bife_core.store.home import Home
from bife_flows.operate.servers import HANGS_S, LOOPBACK, UVICORN, Server, free_port
from bife_tasks.home import mlflow_folder

AUTH_VARIABLE: Final = "BIFE_SERVER_AUTH"
"""Holds ``name:password`` of both pages."""

_EVERYWHERE: Final = ("0.0.0.0", "::")  # to listen on all addresses of this machine

_SHORTEST_PASSWORD: Final = 12  # characters; MLflow's server takes no shorter one and would not start

_USUAL_LOGS: Final = {"PREFECT_LOGGING_LEVEL": "", "PREFECT_LOGGING_SERVER_LEVEL": ""}
"""Prefect's own levels, where commands in a terminal silence it."""

_AUTH_FILE: Final = """[mlflow]
default_permission = READ
database_uri = {database}
authorization_function = mlflow.server.auth:authenticate_request_basic_auth
"""


@dataclass(frozen=True)
class Access:
    """The address the servers listen on, and the ``name:password`` both ask for; None asks for nothing."""

    host: str = LOOPBACK
    auth: str | None = None

    @classmethod
    def at(cls, host: str) -> Access:
        """Return the access at an address, with the password of the environment; `ConfigError` without a needed one."""
        auth = os.environ.get(AUTH_VARIABLE) or None
        name, _, password = (auth or "").partition(":")
        if auth is not None and (not name or len(password) < _SHORTEST_PASSWORD):
            least = f"the password at least {_SHORTEST_PASSWORD} characters"
            raise ConfigError(f"{AUTH_VARIABLE} must have the form name:password, and {least}.")
        access = cls(host, auth)
        if auth is None and not access.local:
            raise ConfigError(
                f"At {host} other machines could start runs and read everything: set {AUTH_VARIABLE} to "
                "name:password in the environment or in mlflow.env, and both pages will ask for it."
            )
        return access

    @property
    def local(self) -> bool:
        """Whether only this machine reaches the address."""
        return self.host == "localhost" or _is_loopback(self.host)

    @property
    def reach(self) -> str:
        """Address this machine reaches the servers at."""
        if self.host in _EVERYWHERE:
            return LOOPBACK
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def names(self) -> list[str]:
        """All names a browser may use for the servers, the one that other machines reach first."""
        if self.local:
            return [self.reach, "localhost", LOOPBACK]
        if self.host not in _EVERYWHERE:
            return [self.reach, socket.gethostname()]
        cards = [card for cards in psutil.net_if_addrs().values() for card in cards]
        addresses = [card.address for card in cards if card.family == socket.AF_INET]
        return [*sorted(addresses, key=_is_loopback), "localhost", socket.gethostname(), socket.getfqdn()]


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def ports(access: Access, prefect: int | None, mlflow: int | None) -> tuple[int, int]:
    """Return the ports of both servers; a `ServerError` says that another program has one that was asked for."""
    return free_port(4200, access.host, prefect), free_port(5000, access.host, mlflow)


def prefect_server(home: Home, access: Access, port: int) -> tuple[str, Server | None]:
    """Start Prefect on the home's database and return its address; a server of the user's is only named."""
    if address := os.environ.get("PREFECT_API_URL"):
        return address.rstrip("/").removesuffix("/api"), None
    environment = {
        "PREFECT_SERVER_API_HOST": access.host,
        "PREFECT_SERVER_API_PORT": str(port),
        "PREFECT_SERVER_API_AUTH_STRING": access.auth or os.environ.get("PREFECT_SERVER_API_AUTH_STRING", ""),
        "PREFECT_UI_API_URL": f"http://{access.reach}:{port}/api" if access.local else "/api",
        # By default any web page that is open in a browser could drive the API.
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": ",".join(f"http://{name}:{port}" for name in access.names),
        "PREFECT_SERVER_CSRF_PROTECTION_ENABLED": "true",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        # By default they are put into the installed package, which may be read-only and which other homes share.
        "PREFECT_SERVER_UI_STATIC_DIRECTORY": str(home.prefect / "pages"),
        **_USUAL_LOGS,
    }
    command = [*UVICORN, "bife_flows.operate.pages:app", "--log-level", "warning"]
    command += ["--host", access.host, "--port", str(port)]
    health = f"http://{access.reach}:{port}/api/health"
    server = Server("Prefect", command, environment, health, home.root / "logs" / "prefect.log", HANGS_S)
    return f"http://{access.names[0]}:{port}", server


def mlflow_server(home: Home, access: Access, port: int) -> tuple[str, Server | None]:
    """Start MLflow on the home's database and return its address; a server of the user's is only named."""
    from bife_tasks.tracking import mlflow_runs  # which loads MLflow

    uri = mlflow_runs.tracking_uri()
    if uri.startswith(("http://", "https://")):
        return uri, None
    mlflow_runs.client()  # makes database and experiments, alone: two at once would break its first migration
    command = [sys.executable, "-m", "mlflow", "server", "--host", access.host, "--port", str(port)]
    command += ["--workers", "1", "--backend-store-uri", uri]
    command += ["--artifacts-destination", (mlflow_folder(home) / "artifacts").as_uri()]
    if not access.local:
        hosts = [host for name in access.names for host in (name, f"{name}:{port}")]
        origins = [f"http://{name}:{port}" for name in access.names]
        command += ["--allowed-hosts", ",".join(hosts), "--cors-allowed-origins", ",".join(origins)]
    environment = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    if access.auth is not None:
        command += ["--app-name", "basic-auth"]
        environment |= _mlflow_password(home, access.auth)
    health = f"http://{access.reach}:{port}/health"
    server = Server("MLflow", command, environment, health, home.root / "logs" / "mlflow.log", HANGS_S)
    return f"http://{access.names[0]}:{port}", server


def _mlflow_password(home: Home, auth: str) -> dict[str, str]:
    # MLflow keeps the first password it was given in its database for ever: a new password gets a new database.
    settings = mlflow_folder(home) / f"auth-{hashlib.sha256(auth.encode()).hexdigest()[:16]}.ini"
    # In such files a % begins a reference to another setting.
    database = sqlite_url(settings.with_suffix(".db")).replace("%", "%%")
    settings.write_text(_AUTH_FILE.format(database=database), encoding="utf-8")
    name, _, password = auth.partition(":")
    return {
        "MLFLOW_AUTH_CONFIG_PATH": str(settings),
        "MLFLOW_AUTH_ADMIN_USERNAME": name,
        "MLFLOW_AUTH_ADMIN_PASSWORD": password,
        "MLFLOW_FLASK_SERVER_SECRET_KEY": secrets.token_hex(32),
    }


def worker(home: Home, access: Access, addresses: Mapping[str, str]) -> Server:
    """Start the program that registers the deployments and runs what is due."""
    port, prefect, user_api = free_port(0), addresses["Prefect"], os.environ.get("PREFECT_API_URL")
    environment = {
        "PREFECT_API_URL": user_api or f"http://{access.reach}:{prefect.rpartition(':')[2]}/api",
        "PREFECT_API_AUTH_STRING": os.environ.get("PREFECT_API_AUTH_STRING") or access.auth or "",
        # Prefect leaves the version of its pages out of the addresses it makes, which then open the first.
        "PREFECT_UI_URL": os.environ.get("PREFECT_UI_URL") or ("" if user_api else f"{prefect}/v2"),
        # Runs write to MLflow's database directly, and name the pages that show it.
        "BIFE_MLFLOW_UI": os.environ.get("BIFE_MLFLOW_UI") or addresses.get("MLflow", ""),
        "PREFECT_WORKER_WEBSERVER_HOST": LOOPBACK,
        "PREFECT_WORKER_WEBSERVER_PORT": str(port),
        "PREFECT_WORKER_QUERY_SECONDS": "2",
        **_USUAL_LOGS,
    }
    command = [sys.executable, "-m", "bife_flows.operate.serving"]
    health = f"http://{LOOPBACK}:{port}/health"
    return Server("worker", command, environment, health, home.root / "logs" / "worker.log")
