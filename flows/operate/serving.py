"""The worker of `bife up`: registers the deployments, runs what is due, and finds runs whose process is gone."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from typing import Final
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.workers.process import ProcessWorker

from bife_core.errors import BifeError
from flows.operate.abandoned import cancelling_here, close_abandoned
from flows.operate.deployments import WORK_POOL, register
from tasks.tracking import GONE, synchronise

_LOOK_EVERY_S: Final = 3.0
_DELIVER_EVERY_S: Final = 20.0
_API_LIMIT_S: Final = 120.0

_logger = logging.getLogger("prefect.bife")


def _keep_looking() -> None:
    """Mark runs whose process is gone, and deliver what waits, as long as this process lives, whatever the trouble.

    That includes what runs in terminals left.
    """
    suspects: set[UUID] = set()
    deliver_at_s = 0.0
    while True:
        try:
            with get_client(sync_client=True) as client:
                while True:
                    suspects = close_abandoned(client, suspects)
                    if time.monotonic() >= deliver_at_s and not cancelling_here(client):
                        deliver_at_s = time.monotonic() + _DELIVER_EVERY_S
                        left = synchronise(GONE)
                        if left:
                            _logger.warning(left)
                    time.sleep(_LOOK_EVERY_S)
        except Exception as error:  # noqa: BLE001 - a server that restarts, a full disk: nobody else looks
            _logger.warning("What runs left could not be looked for; it is tried again: %r", error)
        time.sleep(_LOOK_EVERY_S)


def _wait_for(client: SyncPrefectClient) -> None:
    """Wait until the API answers: it may be starting again for the same reason as we are."""
    deadline = time.monotonic() + _API_LIMIT_S
    while (trouble := client.api_healthcheck()) is not None:
        if time.monotonic() > deadline:
            raise BifeError(f"Prefect's API at {client.api_url} cannot be used: {trouble}.") from trouble
        time.sleep(1.0)


def main() -> None:
    """Run what is due on this machine until a signal ends this process; its runs report their own end."""
    with get_client(sync_client=True) as client:
        _wait_for(client)
        for note in register(client):
            _logger.warning(note)
    threading.Thread(target=_keep_looking, daemon=True).start()
    worker = ProcessWorker(work_pool_name=WORK_POOL, name=socket.gethostname())
    asyncio.run(worker.start(with_healthcheck=True))


if __name__ == "__main__":
    main()
