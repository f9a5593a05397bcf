"""The stages as flows: Prefect tries their parts again, and the tracker has all that is found."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, Final, TypeVar

from prefect import Flow
from pydantic.json_schema import SkipJsonSchema

from bife_core.run.settings import Settings
from bife_core.run.stages.collect import collect
from bife_core.run.stages.evaluate import evaluate
from bife_core.run.stages.pipeline import run
from bife_core.run.stages.search import search as search_for_rules
from bife_core.run.stages.tune import tune
from bife_core.run.stages.watch import watch as watch_champion
from bife_core.solver.methods.base import AnyMethod
from bife_flows.reporting.conduct import described, stage

R = TypeVar("R")

_HIDE: Final[Any] = SkipJsonSchema  # leaves a parameter out of the form on Prefect's page

_METHOD: Final = "A file on the worker's machine, a reference rule such as paper_ca, or models:/NAME@ALIAS"
_TYPES: Final[dict[str, Any]] = {
    "config": Settings,
    "rule": Annotated[str, described(f"{_METHOD}.", min_length=1)] | _HIDE[AnyMethod],
    "others": Annotated[tuple[str | _HIDE[AnyMethod], ...], described(f"Further methods. {_METHOD}.")],
    "as_challenger": Annotated[bool, described("Register the rule, and make it challenger.")],
}
"""What the form has for parameters, by name, in place of what the stage has; flows pass methods as they are."""


def _flow(name: str, function: Callable[..., R], between_flows: tuple[str, ...] = ()) -> Flow[..., R]:
    """Return the flow of a stage, with its parameters but the runtime; some are only passed `between_flows`."""
    signature = inspect.signature(function, eval_str=True)
    parameters = []
    for each in signature.parameters.values():
        kind = _TYPES.get(each.name, each.annotation)
        if each.name != "runtime":
            parameters.append(each.replace(annotation=_HIDE[kind] if each.name in between_flows else kind))
    return stage(name, parameters=signature.replace(parameters=parameters))(function)


collection = _flow("collection", collect, ("rest",))
tuning = _flow("tuning", tune, ("searched", "first", "beside"))
search = _flow("search", search_for_rules, ("decisions", "beside", "rest"))
evaluation = _flow("evaluation", evaluate, ("choice", "story", "found_by", "promoting"))
pipeline = _flow("pipeline", run)
watch = _flow("watch", watch_champion)
