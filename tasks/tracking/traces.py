"""One MLflow trace per model call, with the times, tokens and costs it really had."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mlflow
from mlflow.entities import SpanEvent, SpanStatus, SpanStatusCode, SpanType

# Two things are no part of MLflow's public interface. A preview can be given to the trace of the active span only, and
# its public way to make a span active starts it now, where these calls began when they did (mlflow/mlflow#15919). And
# a trace whose second request an outage took has no tags, unless the span brings them along under this prefix.
# The tests of previews and of half traces fail first when either changes.
from mlflow.tracing.constant import SpanAttributeKey
from mlflow.tracing.provider import safe_set_span_in_context

from bife_core.generators.base import Attempt, Message
from bife_core.study.journal import AnyEntry, Drafted, Unanswered
from tasks.tracking.store import client

# Names that MLflow documents (Token Usage and Cost Tracking, Attribute Mapping Reference, search by run).
_MODEL = "mlflow.llm.model"
_TOKENS = "mlflow.chat.tokenUsage"
_COST = "mlflow.llm.cost"
_SOURCE_RUN = "mlflow.sourceRun"
_CALL = "bife.call"
_RUN = "bife.run"
_DELIVERY = "bife.delivery"
_NS = 1_000_000_000
_TRIES = 2
"""The server may have been away only while the first try was made."""


@dataclass(frozen=True)
class TracedCall:
    """One call to a model API and what it was made for.

    Attributes
    ----------
    name : str
        Unique within its evolution, such as ``g03-c05.1``.
    inputs : dict
        Operator, generation and parents: what the list of traces shows, since prompts begin alike.
    """

    name: str
    inputs: dict[str, Any]
    model: str
    messages: tuple[Message, ...]
    attempt: Attempt


def calls_of(entry: AnyEntry) -> list[TracedCall]:
    """Return the calls that an entry tells of."""
    if not isinstance(entry, Drafted | Unanswered) or entry.draft is None:
        return []
    request, draft = entry.request, entry.draft
    return [
        TracedCall(
            name=f"{request.id}.{number}",
            inputs={
                "operator": request.operator,
                "generation": request.generation,
                "parents": [parent.id for parent in request.parents],
            },
            model=draft.model,
            messages=draft.messages[: attempt.asked],
            attempt=attempt,
        )
        for number, attempt in enumerate(draft.attempts, start=1)
    ]


def store_traces(calls: Sequence[TracedCall], *, run_id: str, experiment_id: str) -> set[str]:
    """Store calls that have no trace yet, tie them to a run, and return the names of those that were not taken.

    Raises
    ------
    MlflowException
        If the store cannot be asked which it took.
    """
    # MLflow's tracer logs its own failures and goes on, so what counts is what can be read back. Only what is delivered
    # now is looked at, so that the last of thousand costs what the first did, whenever they were made.
    delivery = uuid.uuid4().hex
    left = {call.name for call in calls}
    for _ in range(_TRIES):
        for call in calls:
            if call.name in left:
                _store(call, run_id, experiment_id, delivery)
        left -= stored_traces(run_id, experiment_id, delivery)
        if not left:
            break
    return left


def stored_traces(run_id: str, experiment_id: str, delivery: str | None = None) -> set[str]:
    """Return the names of the calls that have a trace tied to a run, of one delivery or of all.

    MLflow writes a trace in two requests. What an outage between the two has left is deleted.
    """
    names: set[str] = set()
    halves: list[str] = []
    token: str | None = None
    chosen = f"tags.`{_RUN}` = '{run_id}'" if delivery is None else f"tags.`{_DELIVERY}` = '{delivery}'"
    while True:
        page = client().search_traces(
            locations=[experiment_id],
            filter_string=chosen,
            include_spans=False,
            max_results=500,
            page_token=token,
        )
        for trace in page:
            if _SOURCE_RUN in trace.info.trace_metadata:
                names.add(trace.info.tags.get(_CALL, ""))
            else:
                halves.append(trace.info.trace_id)
        token = page.token
        if not token:
            break
    if halves:
        client().delete_traces(experiment_id, trace_ids=halves)
    return names


def _store(call: TracedCall, run_id: str, experiment_id: str, delivery: str) -> None:
    attempt = call.attempt
    began = int(attempt.started_unix_s * _NS)
    span = mlflow.start_span_no_context(
        call.name,
        span_type=SpanType.CHAT_MODEL,
        inputs=call.inputs | {"messages": [message.model_dump() for message in call.messages]},
        tags={
            _CALL: call.name,
            _RUN: run_id,
            _DELIVERY: delivery,
            "recorded": str(attempt.recorded).lower(),
            "operator": str(call.inputs.get("operator", "")),
            "generation": str(call.inputs.get("generation", "")),
        },
        metadata={_SOURCE_RUN: run_id},
        experiment_id=experiment_id,
        start_time_ns=began,
    )
    with safe_set_span_in_context(span):
        mlflow.update_current_trace(request_preview=_asked_for(call))
    span.set_attributes(_attributes(call))
    # These become tags with the span, so that a trace which is never completed is known for what it is.
    known = {_RUN: run_id, _DELIVERY: delivery}
    span.set_attributes(
        {f"{SpanAttributeKey.TRACE_TAG_PREFIX}{name}": value for name, value in known.items()}
    )
    if attempt.status == "ok":
        status = SpanStatus(SpanStatusCode.OK)
    else:
        reason = attempt.error or "the call failed and gave no reason"
        status = SpanStatus(SpanStatusCode.ERROR, reason)
        span.add_event(_exception(reason))
    span.end(outputs=attempt.answer, status=status, end_time_ns=began + int(attempt.seconds * _NS))


def _asked_for(call: TracedCall) -> str:
    """Return a call's purpose in a few words, such as "g03-c05.1: m1 in generation 3 from g02-c01"."""
    operator, generation = call.inputs.get("operator", "?"), call.inputs.get("generation", "?")
    parents = ", ".join(call.inputs.get("parents", ()))
    return f"{call.name}: {operator} in generation {generation}" + (f" from {parents}" if parents else "")


def _exception(reason: str) -> SpanEvent:
    # MLflow's stubs make the class look abstract; it is not.
    return SpanEvent("exception", attributes={"exception.message": reason})  # type: ignore[abstract]


def _attributes(call: TracedCall) -> dict[str, Any]:
    attempt = call.attempt
    attributes: dict[str, Any] = {
        _MODEL: call.model,
        _TOKENS: {
            "input_tokens": attempt.prompt_tokens,
            "output_tokens": attempt.completion_tokens,
            "total_tokens": attempt.prompt_tokens + attempt.completion_tokens,
        },
    }
    if attempt.http_status is not None:
        attributes["http_status"] = attempt.http_status
    if attempt.cost_usd is not None:
        attributes[_COST] = {"total_cost": float(attempt.cost_usd)}
        if attempt.prompt_cost_usd is not None:
            answer = attempt.cost_usd - attempt.prompt_cost_usd
            attributes[_COST] |= {"input_cost": float(attempt.prompt_cost_usd), "output_cost": float(answer)}
    return attributes
