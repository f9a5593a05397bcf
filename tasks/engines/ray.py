"""A Ray cluster: an address of its head, or one started here."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, cast

from bife_core.errors import ConfigError
from bife_core.sandbox import usable_cores
from tasks.engines.base import missing

_REPEATS = 3
"""How often Ray runs a function again whose worker is lost."""


class RayEngine:
    """Runs functions on a Ray cluster, each on one of its CPUs; one whose worker is lost is run again by Ray itself.

    Parameters
    ----------
    address : str or None
        Of the head, such as ``ray://head:10001``, or ``auto``; None starts a cluster on this machine.
    workers : int or None
        CPUs of a cluster started here; None takes all usable ones.

    Raises
    ------
    ConfigError
        If Ray is not installed, or nobody answers at the address.
    """

    def __init__(self, address: str | None, workers: int | None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        try:
            import ray
        except ImportError as error:
            raise missing("ray", "ray") from error
        self._ray = ray
        self._sent: dict[Callable[..., Any], Any] = {}
        here: dict[str, Any] = {"num_cpus": workers or len(usable_cores()), "include_dashboard": False}
        try:
            ray.init(
                address=address,
                ignore_reinit_error=True,
                configure_logging=False,
                log_to_driver=False,
                **(here if address is None else {}),
            )
        except (OSError, RuntimeError, ValueError) as error:
            raise ConfigError(
                f"No Ray cluster answers at {address or 'this machine'} ({error}); check runner.address."
            ) from error

    @property
    def slots(self) -> int:
        """CPUs of the cluster, at least 1."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Queue a function."""
        if function not in self._sent:  # a function travels to the cluster each time it is made remote
            self._sent[function] = self._ray.remote(num_cpus=1, max_retries=_REPEATS)(function)
        return cast("Future[Any]", self._sent[function].remote(*arguments).future())

    def close(self) -> None:
        """Leave the cluster, and end it if it was started here."""
        self._ray.shutdown()
