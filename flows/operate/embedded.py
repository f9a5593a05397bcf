"""Prefect's embedded API, in a process group of its own that never outlives the run it serves.

Prefect would start it in the group of the run: Ctrl-C on a terminal would end the API before the run can tell it
what happened, and a run that is killed would leave it behind for ever. And whoever has Prefect start it imports all of
its server too, which takes seconds.

Two parts of Prefect 3.8 that are not public are used, for it has no setting for either: ``PREFECT__SERVER_*`` variables
tell its server that it serves one client, and `background_workers.Worker` does the API's chores, at a pace that keeps
it busy while all solve. `tests/flows/operate/test_upstream.py` fails first when one of them changes.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
from datetime import timedelta
from functools import cache, partial
from typing import Final

from prefect.context import refresh_global_settings_context
from prefect.settings import get_current_settings

from flows.operate.servers import LOOPBACK, Server, free_port
from tasks.home import project_home

_LONGEST_STOP_S: Final = 5.0
_FOR_NOBODY: Final = {
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "false",
    "PREFECT_SERVER_EVENTS_STREAM_OUT_ENABLED": "false",
}
"""Nobody watches the event feed of an API that ends with its run, and automations wait for `bife up`.

Flow runs, task runs, their states and artifacts are written down all the same. Storing events, streaming them and
trying them on automations is half of what a task costs the API.
"""
_CHORES_EVERY: Final = timedelta(seconds=2)
"""How often the API looks for work of its own, such as clearing up; Prefect's pace keeps it busy while all solve."""


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
        "PREFECT__SERVER_EPHEMERAL": "1",
        "PREFECT__SERVER_FINAL": "1",
        **_FOR_NOBODY,
        **get_current_settings().to_environment_variables(exclude_unset=True),
    }
    server = Server(
        "Prefect's embedded API",
        [sys.executable, "-m", "flows.operate.embedded", str(port)],
        environment,
        f"{address}/health",
        # What it prints is for whoever looks into its troubles; on the terminal it would bury the run's own words.
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
    sys.stdin.buffer.read()
    threading.Timer(_LONGEST_STOP_S, os._exit, args=(1,)).start()
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """Serve the API on a port of this machine until the parent ends."""
    gc.disable()
    import uvicorn
    from docket import Worker
    from prefect.server.api import background_workers
    from prefect.server.api.server import create_app

    gc.freeze()  # nothing of all that goes away again
    gc.enable()

    at_leisure = partial(Worker, minimum_check_interval=_CHORES_EVERY, scheduling_resolution=_CHORES_EVERY)
    background_workers.Worker = at_leisure  # type: ignore[attr-defined,assignment]
    threading.Thread(target=_end_with_parent, daemon=True).start()
    uvicorn.run(
        create_app,
        factory=True,
        host=LOOPBACK,
        port=int(sys.argv[1]),
        log_level="error",
        lifespan="on",
    )


if __name__ == "__main__":
    main()
