"""How a stage is run: nothing is spent where results cannot be kept, and what waits for MLflow is delivered."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, ParamSpec, TypeVar, cast

from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.states import Completed

from flows.reporting.events import stands_alone
from flows.reporting.observer import observer, observing, watched
from flows.safeguards.log import RunLog
from tasks.home import project_home
from tasks.states import in_plain_words
from tasks.tracking import GONE, synchronise
from tasks.tracking.store import require_store

P = ParamSpec("P")
R = TypeVar("R")


def conducted(stage: Callable[P, R]) -> Callable[P, R]:
    """Have a flow checked before it begins and delivered when it ends, and its errors told as sentences.

    A flow that another one calls is left to that one; so is a function that is called outside of any run.
    """

    @functools.wraps(stage)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        if not stands_alone():
            return stage(*args, **kwargs)
        with _told():
            require_room()
            result = stage(*args, **kwargs)
            return _delivered(result)

    run.__signature__ = inspect.signature(stage, eval_str=True)  # type: ignore[attr-defined]
    return in_plain_words(run)


def require_room() -> None:
    """Make sure before anything is spent that results can be kept.

    Raises
    ------
    BifeError
        If the home or MLflow's store cannot be written to.
    """
    project_home().require_room()
    require_store()


@contextmanager
def _told() -> Iterator[None]:
    """Have what happens told to the run's log, unless somebody watches."""
    with ExitStack() as stack:
        if not watched() and FlowRunContext.get() is not None:
            stack.enter_context(observing(RunLog()))
        yield


def _delivered(result: R) -> R:
    """Deliver what waits for MLflow; where some cannot be, the run's state says so, and its log."""
    left = synchronise(GONE)
    if not left:
        return result
    observer().note(left)
    state: State[Any] | None = result if isinstance(result, State) else None
    if state is not None and not state.is_completed():
        return result
    said = f"{state.message.rstrip('.')}. " if state is not None and state.message else ""
    name = f"{state.name if state is not None else 'Completed'}, not all of it in MLflow"
    data = state.data if state is not None else result
    return cast(R, Completed(name=name, message=f"{said}{left}", data=data))
