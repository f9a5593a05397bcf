"""Prefect's embedded API, in a process group of its own that never outlives the run it serves.

Prefect would start it in the group of the run: Ctrl-C on a terminal would end the API before the run can tell it
what happened, and a run that is killed would leave it behind for ever.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
from functools import cache
from typing import Final

from prefect.context import refresh_global_settings_context
from prefect.settings import get_current_settings

from flows.operate.servers import LOOPBACK, Server, free_port
from tasks.home import project_home

_LONGEST_STOP_S: Final = 5.0
_NO_EVENT_FEED: Final = {
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "false",
    "PREFECT_SERVER_EVENTS_STREAM_OUT_ENABLED": "false",
}
"""An API that ends with its run needs no event feed, and automations wait for `bife up`.

Flow runs, task runs, their states and artifacts are written down all the same. Storing events, streaming them and
trying them on automations is half of what a task costs the API.
"""


@cache
def start() -> None:
    """Start the API and have all of Prefect in this process use it; a second call changes nothing.

    Raises
    ------
    ServerError
        If it ends or takes too long to start.
    """
    port = free_port(0)
    address = f"http://{LOOPBACK}:{port}/api"
    environment = {
        "BIFE_HOME": str(project_home().root),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "PREFECT_UI_ENABLED": "0",
        **_NO_EVENT_FEED,
        **get_current_settings().to_environment_variables(exclude_unset=True),
    }
    server = Server(
        "Prefect's embedded API",
        [sys.executable, "-m", "flows.operate.embedded", str(port)],
        environment,
        f"{address}/health",
        # On the terminal it would bury the run's own words.
        project_home().root / "logs" / "prefect-embedded.log",
        lifeline=True,
    )
    atexit.register(server.stop)
    server.wait_ready()
    # The variable itself stays unset: it tells whether the server is one of the user's.
    os.environ["PREFECT_API_URL"] = address
    try:
        refresh_global_settings_context()
    finally:
        del os.environ["PREFECT_API_URL"]


def _end_with_parent() -> None:
    # Not by `sys.stdin`: its lock, held at the interpreter's end, would abort the process.
    while os.read(0, 1024):
        pass
    threading.Timer(_LONGEST_STOP_S, os._exit, args=(1,)).start()
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """Serve the API on a port of this machine until the parent ends."""
    gc.disable()
    import uvicorn
    from prefect.server.api.server import create_app

    gc.freeze()  # nothing of all that goes away again
    gc.enable()

    threading.Thread(target=_end_with_parent, daemon=True).start()
    uvicorn.run(
        create_app(ephemeral=True, final=True),
        host=LOOPBACK,
        port=int(sys.argv[1]),
        log_level="error",
        lifespan="on",
    )


if __name__ == "__main__":
    main()
