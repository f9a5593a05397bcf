"""A Dask cluster: an address of a scheduler, or worker processes started here."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from bife_core.errors import ConfigError
from bife_core.sandbox import usable_cores
from tasks.engines.base import missing

_CONNECT_LIMIT_S = 60


class DaskEngine:
    """Runs functions on a Dask cluster; one whose worker is lost is run again on another by Dask itself.

    Parameters
    ----------
    address : str or None
        Of the scheduler, such as ``tcp://head:8786``; None starts a cluster on this machine.
    workers : int or None
        Worker processes of a cluster started here; None takes one per usable core.

    Raises
    ------
    ConfigError
        If Dask is not installed, or nobody answers at the address.
    """

    def __init__(self, address: str | None, workers: int | None) -> None:
        try:
            from distributed import Client, LocalCluster
        except ImportError as error:
            raise missing("dask", "distributed") from error
        # Each step of a cluster at work is a line on the level they come with, which is no news to a run's reader.
        logging.getLogger("distributed").setLevel(logging.WARNING)
        self._cluster: Any = None
        if address is None:
            self._cluster = LocalCluster(
                n_workers=workers or len(usable_cores()),
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address=None,
            )
        try:
            self._client = Client(address or self._cluster, timeout=_CONNECT_LIMIT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"No Dask scheduler answers at {address} ({error}); check runner.address, or leave it out to "
                "start a cluster on this machine."
            ) from error

    @property
    def slots(self) -> int:
        """Threads of all workers, at least 1; a cluster may grow while it is used."""
        return max(1, sum(int(count) for count in self._client.nthreads().values()))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Queue a function."""
        promised: Future[Any] = Future()
        sent = self._client.submit(function, *arguments, pure=False)

        def arrived(answer: Any) -> None:
            if not promised.set_running_or_notify_cancel():
                return
            try:
                promised.set_result(answer.result())
            except Exception as error:  # noqa: BLE001 - whatever it was, the caller of the future gets it
                promised.set_exception(error)

        sent.add_done_callback(arrived)
        promised.add_done_callback(lambda future: sent.cancel() if future.cancelled() else None)
        return promised

    def close(self) -> None:
        """Leave the cluster, and end it if it was started here."""
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()
