"""Prefect's embedded API, in a process group of its own that never outlives the run it serves.

Prefect would start it in the group of the run: Ctrl-C on a terminal would end the API before the run can tell it
what happened, and a run that is killed would leave it behind for ever.

Prefect 3.8 offers no setting for either, nor for the pace of the API's chores: `SubprocessASGIServer` starts its
command in `_run_uvicorn_command`, keeps one server a process in `_instances`, and tells it by ``PREFECT__SERVER_*``
variables that it serves one client; the API's chores are done by `background_workers.Worker`. `prefect server start`
is no way round: every client of this process would have to be told its address before Prefect is imported, and it
runs the services of a server that stays. `tests/flows/operate/test_upstream.py` fails first when one of these parts
changes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from datetime import timedelta
from functools import partial
from typing import Any, Final

from prefect.server.api.server import SubprocessASGIServer
from prefect.settings import get_current_settings

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


class EmbeddedApi(SubprocessASGIServer):
    """The API Prefect's clients of this process find; `install` puts it in the place of Prefect's own."""

    def _run_uvicorn_command(self) -> subprocess.Popen[Any]:
        settings = get_current_settings().to_environment_variables(exclude_unset=True)
        own = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"}
        own |= _FOR_NOBODY
        # What it prints is for whoever looks into its troubles; on the terminal it would bury the run's own words.
        log = project_home().root / "logs" / "prefect-embedded.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "flows.operate.embedded", str(self.port)],
                env={**os.environ, **own, **settings, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stdin=subprocess.PIPE,  # closed by the system when this process ends, however it ends
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )


def install() -> None:
    """Have Prefect's clients in this process use an `EmbeddedApi`; a second call changes nothing."""
    # Prefect keeps the one server of a process under the port that was asked for, which is none.
    if not isinstance(SubprocessASGIServer(), EmbeddedApi):
        SubprocessASGIServer._instances.pop(None, None)
        EmbeddedApi()


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    threading.Timer(_LONGEST_STOP_S, os._exit, args=(1,)).start()
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """Serve the API on a port of this machine until the parent ends."""
    import uvicorn
    from docket import Worker
    from prefect.server.api import background_workers

    at_leisure = partial(Worker, minimum_check_interval=_CHORES_EVERY, scheduling_resolution=_CHORES_EVERY)
    background_workers.Worker = at_leisure  # type: ignore[attr-defined,assignment]
    threading.Thread(target=_end_with_parent, daemon=True).start()
    uvicorn.run(
        "prefect.server.api.server:create_app",
        factory=True,
        host="127.0.0.1",
        port=int(sys.argv[1]),
        log_level="error",
        lifespan="on",
    )


if __name__ == "__main__":
    main()
