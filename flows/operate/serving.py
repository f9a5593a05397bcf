"""The worker of `bife up`: registers the deployments, runs what is due, and closes runs whose process is gone."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from itertools import count

from prefect.client.orchestration import get_client
from prefect.workers.process import ProcessWorker

from bife_core.errors import BifeError
from flows.operate.deployments import WORK_POOL, register
from flows.operate.running import close_abandoned
from flows.reporting.artifacts import renew
from tasks.tracking.subscriber import GONE, synchronise

_logger = logging.getLogger("prefect.bife")


def look_after() -> None:
    """Close runs whose process is gone, write to MLflow what it lacks, and renew the overview, for good."""
    for turn in count():
        time.sleep(10.0)
        try:
            with get_client(sync_client=True) as client:
                close_abandoned(client)
            left = synchronise(GONE)
            if left:
                _logger.warning(left)
            if turn % 6 == 0:  # once a minute
                renew()
        except Exception as error:  # noqa: BLE001 - a server that restarts, a full disk: the next look may do better
            _logger.warning("Runs that ended could not be looked after; this is tried again: %r", error)


def main() -> None:
    """Run what is due on this machine until a signal ends this process; its runs report their own end."""
    deadline = time.monotonic() + 120.0
    with get_client(sync_client=True) as client:
        while (trouble := client.api_healthcheck()) is not None:
            if time.monotonic() > deadline:
                raise BifeError(f"Prefect's API at {client.api_url} cannot be used: {trouble}.") from trouble
            time.sleep(1.0)
        for note in register(client):
            _logger.warning(note)
        close_abandoned(client, worker_starts=True)
    threading.Thread(target=look_after, daemon=True).start()
    worker = ProcessWorker(work_pool_name=WORK_POOL, name=socket.gethostname())
    asyncio.run(worker.start(with_healthcheck=True))


if __name__ == "__main__":
    main()
