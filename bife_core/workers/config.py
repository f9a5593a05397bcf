"""The section `runner` of the configuration."""

from __future__ import annotations

from pydantic import Field

from bife_core.base.values import Value


class RunnerConfig(Value):
    """Where solves and scores run, and how many at once; the rules found do not depend on it."""

    address: str | None = Field(
        None,
        description="Dask scheduler, such as tcp://head:8786, whose machines share the home's folder; None is this "
        "machine.",
    )
    workers: int | None = Field(
        None, ge=1, description="Solver processes of this machine, one pinned per core; none uses all cores."
    )
