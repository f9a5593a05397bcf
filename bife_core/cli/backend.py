"""What runs the stages of commands: this process, or what another package offers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple, TypeAlias

from bife_core.base.places import read_settings_files
from bife_core.base.plugins import Plugins

if TYPE_CHECKING:
    from bife_core.registry.base import Registry
    from bife_core.run.config import PipelineConfig
    from bife_core.run.observer import Observer
    from bife_core.run.stages.runtime import Runtime

PLAIN: Final = "BIFE_PLAIN"
"""Environment variable that has commands run stages in this process, whatever is installed."""

_STAGES: Final = {
    "collection": "collect:collect",
    "tuning": "tune:tune",
    "search": "search:search",
    "evaluation": "evaluate:evaluate",
    "pipeline": "pipeline:run",
}
"""Module and function of each stage, which are imported when it runs."""


class Finding(NamedTuple):
    """What a check of `bife doctor` found, in a sentence or less."""

    state: Literal["ok", "warn", "fail"]
    text: str


Check: TypeAlias = Callable[[], Finding]


class Backend:
    """Runs stages in this process; a subclass does so in its own way, and adds commands that operate it."""

    installed: ClassVar[bool] = True
    """Whether the packages it needs are there."""

    checks: ClassVar[Mapping[str, Check]] = {}
    """What `bife doctor` checks besides."""

    def __init__(self) -> None:
        read_settings_files()

    @property
    def commands(self) -> tuple[Callable[..., None], ...]:
        """Commands that operate it."""
        return ()

    def registry(self) -> Registry:
        """Return the registry of rules."""
        from bife_core.registry.local import LocalRegistry
        from bife_core.store.home import project_home

        return LocalRegistry(project_home())

    def runtime(self, observer: Observer | None = None) -> Runtime:
        """Return a runtime for what is no stage."""
        from bife_core.run.stages.runtime import Runtime
        from bife_core.run.stages.tracker import tracker_of
        from bife_core.store.home import project_home

        return Runtime(observer=observer, tracker=tracker_of(project_home()))

    def reporter(self) -> Callable[[str], object]:
        """Return a function that records why this process is being stopped; loads all that stages need."""
        from bife_core.run.study.journal import stop_journals

        return stop_journals

    @contextmanager
    def running(self, stage: str, config: PipelineConfig, observer: Observer) -> Iterator[Callable[..., Any]]:
        """Give a context the function that runs a stage with its further arguments."""
        runtime = self.runtime(observer)
        runtime.home.require_room()
        yield partial(resolve_name(f"bife_core.run.stages.{_STAGES[stage]}"), config, runtime)


BACKENDS: Final = Plugins[type[Backend]](
    kind="backend",
    group="bife.backends",
    builtin={},
    fits=lambda offered: isinstance(offered, type) and issubclass(offered, Backend),
    form="a subclass of Backend",
)


def backend() -> Backend:
    """Return the first backend of another package that has all it needs, unless `PLAIN` is set, else this process."""
    offered = () if os.environ.get(PLAIN) else BACKENDS
    return next((kind for kind in map(BACKENDS.find, offered) if kind.installed), Backend)()
