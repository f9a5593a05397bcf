"""What an engine is: something that runs a function with JSON arguments in another process, here or far away."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol

from bife_core.errors import ConfigError


class Engine(Protocol):
    """Runs functions elsewhere.

    Attributes
    ----------
    slots : int
        Functions it runs at once.
    """

    @property
    def slots(self) -> int: ...  # noqa: D102

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Queue a function of a module both sides can import; arguments are plain JSON values."""
        ...

    def close(self) -> None:
        """Let go of the engine; what was started for it ends."""
        ...


def missing(kind: str, package: str) -> ConfigError:
    """Return the error for an engine whose package is not installed."""
    return ConfigError(
        f"The runner {kind!r} needs the package {package}, which is not installed; "
        f"install it with `pip install 'bife[{kind}]'` on every machine."
    )
