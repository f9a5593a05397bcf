"""Prefect's API for runs without a server: of this process alone, and gone with it.

Prefect's own ephemeral mode leaves its server behind when the process is killed, and Ctrl-C in a terminal ends that
server before the run can report its end.
"""

from __future__ import annotations

import atexit
import os
import sys
from functools import cache

from prefect.context import refresh_global_settings_context
from prefect.settings import get_current_settings

from bife_core.migrations import note_version
from flows.operate.servers import LOOPBACK, Server, free_port, require_readable
from tasks.home import project_home


@cache
def start() -> None:
    """Start the API and have all of Prefect in this process use it; a second call changes nothing."""
    require_readable(project_home())
    port = free_port(0)
    address = f"http://{LOOPBACK}:{port}/api"
    environment = {
        "PREFECT__SERVER_EPHEMERAL": "1",
        "PREFECT__SERVER_FINAL": "1",
        # Storing events, streaming them and trying them on automations is half of what a task costs the API.
        "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED": "false",
        "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "false",
        "PREFECT_SERVER_EVENTS_STREAM_OUT_ENABLED": "false",
        **get_current_settings().to_environment_variables(exclude_unset=True),
    }
    serve = ["uvicorn", "--factory", "prefect.server.api.server:create_app", "--log-level", "error"]
    serve += ["--lifespan", "on", "--host", LOOPBACK, "--port", str(port)]
    server = Server(
        "Prefect's embedded API",
        [sys.executable, "-m", *serve],
        environment,
        f"{address}/health",
        project_home().root / "logs" / "prefect-embedded.log",
    )
    atexit.register(server.stop)
    server.wait_ready()
    note_version(project_home().prefect / "prefect.db", "prefect")
    # The variable itself stays unset: it says that the server is one of the user's.
    os.environ["PREFECT_API_URL"] = address
    try:
        refresh_global_settings_context()
    finally:
        del os.environ["PREFECT_API_URL"]
