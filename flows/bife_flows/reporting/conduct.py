"""What every run does besides its stage: checks before, records for the tracker after, and who learns how it ended."""

from __future__ import annotations

import functools
import inspect
import os
import re
import socket
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Final, ParamSpec, TypeVar, cast

from prefect import Flow, flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import FlowRun, State
from prefect.context import FlowRunContext
from prefect.exceptions import MissingContextError
from prefect.logging import get_run_logger
from prefect.logging.loggers import flow_run_logger
from prefect.states import Completed, Failed
from pydantic import Field

from bife_core.base.errors import BifeError
from bife_core.base.wording import storable
from bife_core.run.observer import Observer
from bife_core.store.claims import began_s, runs
from bife_core.store.home import project_home
from bife_flows.reporting.artifacts import renew
from bife_flows.reporting.conductor import FLOWS, NOTHING_TO_DO, PrefectConductor, flow_runtime, worded
from bife_tasks.stores import ENDED, NOBODY, observer, observing, part_of, tracker

P = ParamSpec("P")
R = TypeVar("R")

_LATER: Final = ", not all of it in "
"""What follows the first part of the name of a run's state where a tracker, named after it, lacks records."""

_MACHINE: Final = "bife.machine"
_PROCESS: Final = "bife.pid"
_BEGAN: Final = "bife.began"


class RunLog(Observer):
    """Writes to the log of the flow run in which it is made, for runs without a terminal."""

    def __init__(self) -> None:
        self._of_the_flow: Any = get_run_logger()

    def log(self, level: int, text: str) -> None:
        """Write to the log of the present run, a task's within one."""
        try:
            logger = get_run_logger()
        except MissingContextError:  # in a thread that belongs to no run
            logger = self._of_the_flow
        logger.log(level, "%s", storable(text))


def _conducted(function: Callable[P, R], parameters: inspect.Signature | None) -> Callable[P, R]:
    """Have a flow check first that results can be kept, synchronise the tracker last, and end errors with a sentence.

    A flow that another one calls leaves that to it; so does a function that is called outside of any run.
    """

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> R:
        def conducted() -> R:
            if parameters is None:
                return worded(function(*args, **kwargs))
            config, *further = args  # the runtime has the observer that the run has by now
            return worded(cast(Callable[..., R], function)(config, flow_runtime(), *further, **kwargs))

        try:
            if not (present := PrefectConductor().present).stands_alone:
                return conducted()
            with part_of(present.number), observing(RunLog()) if observer() is NOBODY else nullcontext():
                require_room(wait_s=24 * 3600.0)
                renew()
                result = _synchronised(conducted())
                renew()
                return result
        except BifeError as error:
            if FlowRunContext.get() is None:
                raise
            # The caller of the flow still gets the error.
            return cast(R, Failed(message=str(error), data=error))

    # Prefect reads annotations as text and would look their names up here, where they mean nothing.
    run.__signature__ = parameters or inspect.signature(function, eval_str=True)  # type: ignore[attr-defined]
    return run


def require_room(wait_s: float = 0.0) -> None:
    """Raise `BifeError`, before anything is spent, if home or tracker cannot be written to, the latter for `wait_s`."""
    project_home().require_room()
    tracker().require(wait_s)


def _synchronised(result: R) -> R:
    """Write to the tracker what it lacks; where it cannot be reached, the run's state says so."""
    left = tracker().synchronise(ENDED)
    if not left:
        name_delivered()
        return result
    observer().note(left)
    state: State[Any] = result if isinstance(result, State) else Completed(data=result)
    if not state.is_completed():
        return result
    message = f"{state.message.rstrip('.')}. " if state.message else ""
    name = f"{state.name}{_LATER}{tracker().name}"
    return cast(R, Completed(name=name, message=f"{message}{left}", data=state.data))


def name_delivered() -> None:
    """Call runs of this machine what they are called otherwise, now that the tracker has all it lacked."""
    later = _LATER + tracker().name
    names = [f"{name}{later}" for name in ("Completed", NOTHING_TO_DO)]
    waited = FlowRunFilter.model_validate({"state": {"name": {"any_": names}}})
    with get_client(sync_client=True) as client:
        for run in client.read_flow_runs(flow_run_filter=waited):
            if (was := run.state) is not None and own_process(run) is not None:
                message = (was.message or "").partition(f"{tracker().name} lacks")[0].rstrip()
                name = (was.name or "").removesuffix(later)
                now: State[Any] = Completed(name=name, message=message, data=was.data)
                client.set_flow_run_state(run.id, now, force=True)


def name_owner(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:
    """Label a flow run that begins with machine and process: Prefect notes only a worker's, and no machine."""
    with get_client(sync_client=True) as client:
        process = {_PROCESS: os.getpid(), _BEGAN: began_s(os.getpid()) or 0.0}
        client.update_flow_run_labels(flow_run.id, {_MACHINE: socket.gethostname(), **process})


def own_process(flow_run: FlowRun) -> int | None:
    """Return the process id of a run of this machine; None for any other run."""
    pid = flow_run.labels.get(_PROCESS)
    return pid if flow_run.labels.get(_MACHINE) == socket.gethostname() and isinstance(pid, int) else None


def gone(flow_run: FlowRun) -> bool | None:
    """Whether the process of a run of this machine is gone, whose number another one may have; None for any other."""
    pid, began = own_process(flow_run), flow_run.labels.get(_BEGAN)
    return None if pid is None else not runs(pid, began if isinstance(began, float) else None)


def report_end(flow: Flow[..., Any] | None, flow_run: FlowRun, state: State[Any]) -> None:
    """Record why a run, and so its searches, ended; a hook for all bad ends, by a worker called without the flow."""
    if flow_run.parent_task_run_id is not None:
        return  # the run it is part of ends too
    by_person = state.is_cancelling() or state.is_cancelled()
    reason = state.message or ENDED
    sentence = f"Cancelled: {reason}" if by_person else reason
    left = tracker().synchronise(sentence, by_person=by_person, of=str(flow_run.id))
    if left:
        flow_run_logger(flow_run, flow).warning(left)


def described(about: str, **bounds: Any) -> Any:
    """Return what a form says of a parameter, as an extra: Prefect drops a plain description."""
    return Field(json_schema_extra={"description": about}, **bounds)


def _keeping_names(pattern: str) -> Callable[[], str]:
    """Return what names runs by a pattern of their parameters, but for those that a person named.

    Prefect itself names a run by two words with a dash between.
    """

    def name() -> str:
        context = FlowRunContext.get()
        assert context is not None, "Prefect calls this in a run"
        present = context.flow_run.name if context.flow_run is not None else ""
        by_prefect = re.fullmatch("[A-Za-z]+-[A-Za-z]+|", present)
        return pattern.format(**context.parameters or {}) if by_prefect else present

    return name


def stage(
    name: str, about: str = "{config.instances.label}", parameters: inspect.Signature | None = None
) -> Callable[[Callable[P, R]], Flow[P, R]]:
    """Return a decorator that makes a flow; runs are called by `name` and what they are about.

    A name that a person gave a run stays. `parameters` are those of a stage's flow, which gives the stage its runtime.
    """

    def made(function: Callable[P, R]) -> Flow[P, R]:
        decorated = flow(
            name=name,
            flow_run_name=_keeping_names(f"{name} {about}"),
            on_running=[name_owner],
            on_failure=[report_end],
            on_crashed=[report_end],
            on_cancellation=[report_end],
        )(_conducted(function, parameters))
        if parameters is not None:
            FLOWS[function] = decorated
        return decorated

    return made
