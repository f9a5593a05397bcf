"""One MLflow trace per model call, with the times, tokens and costs it really had."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import mlflow
from mlflow.entities import SpanEvent, SpanStatus, SpanStatusCode, SpanType

# Two things are no part of MLflow's public interface. A preview can be given to the trace of the active span only, and
# its public way to make a span active starts it now, where these calls began when they did (mlflow/mlflow#15919). And
# a trace whose second request an outage took has no tags, unless the span brings them along under this prefix.
# The tests of previews and of half traces fail first when either changes.
from mlflow.tracing.constant import SpanAttributeKey
from mlflow.tracing.provider import safe_set_span_in_context

from bife_core.generators.base import Attempt, Message
from bife_core.search import WrittenRequest
from bife_core.study.journal import AnyEntry, Drafted, Unanswered
from tasks.tracking.store import client

_SOURCE_RUN: Final = "mlflow.sourceRun"
"""By which MLflow searches for the traces of a run."""
_CALL: Final = "bife.call"
_RUN: Final = "bife.run"
_DELIVERY: Final = "bife.delivery"


@dataclass(frozen=True)
class TracedCall:
    """One call to a model API and what it was made for; its name is unique in its evolution, such as ``g03-c05.1``."""

    name: str
    request: WrittenRequest
    model: str
    messages: tuple[Message, ...]
    attempt: Attempt


def calls_of(entry: AnyEntry) -> list[TracedCall]:
    """Return the calls that an event reports."""
    if not isinstance(entry, Drafted | Unanswered) or entry.draft is None:
        return []
    request, draft = entry.request, entry.draft
    return [
        TracedCall(f"{request.id}.{number}", request, draft.model, draft.messages[: attempt.asked], attempt)
        for number, attempt in enumerate(draft.attempts, start=1)
    ]


def store_traces(calls: Sequence[TracedCall], run_id: str, experiment_id: str) -> set[str]:
    """Store calls that have no trace yet, tie them to a run, and return the names of those that were not taken."""
    # MLflow's tracer logs its own failures and goes on, so what counts is what can be read back. Only the traces of
    # this delivery are read, so that the last of thousand costs what the first did.
    delivery, left = uuid.uuid4().hex, {call.name for call in calls}
    for _ in range(2):  # the server may have been away during the first attempt alone
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
    chosen = f"tags.`{_RUN}` = '{run_id}'" if delivery is None else f"tags.`{_DELIVERY}` = '{delivery}'"
    names: set[str] = set()
    halves: list[str] = []
    token: str | None = ""
    while token is not None:
        page = client().search_traces(
            locations=[experiment_id],
            filter_string=chosen,
            include_spans=False,
            max_results=500,
            page_token=token or None,
        )
        for trace in page:
            if _SOURCE_RUN in trace.info.trace_metadata:
                names.add(trace.info.tags.get(_CALL, ""))
            else:
                halves.append(trace.info.trace_id)
        token = page.token or None
    if halves:
        client().delete_traces(experiment_id, trace_ids=halves)
    return names


def _store(call: TracedCall, run_id: str, experiment_id: str, delivery: str) -> None:
    attempt, request = call.attempt, call.request
    parents = [parent.id for parent in request.parents]
    began_ns, ties = int(attempt.started_unix_s * 1e9), {_RUN: run_id, _DELIVERY: delivery}
    purpose = {"operator": request.operator, "generation": request.generation}
    span = mlflow.start_span_no_context(
        call.name,
        span_type=SpanType.CHAT_MODEL,
        inputs={
            **purpose,
            "parents": parents,
            "messages": [message.model_dump() for message in call.messages],
        },
        tags={
            _CALL: call.name,
            **ties,
            "recorded": str(attempt.recorded).lower(),
            **{name: str(value) for name, value in purpose.items()},
        },
        metadata={_SOURCE_RUN: run_id},
        experiment_id=experiment_id,
        start_time_ns=began_ns,
    )
    origin = f" from {', '.join(parents)}" if parents else ""
    with safe_set_span_in_context(span):
        # Prompts begin alike, so that the list of traces shows what the call was for.
        preview = f"{call.name}: {request.operator} in generation {request.generation}{origin}"
        mlflow.update_current_trace(request_preview=preview)
    tokens = {
        "input_tokens": attempt.prompt_tokens,
        "output_tokens": attempt.completion_tokens,
        "total_tokens": attempt.prompt_tokens + attempt.completion_tokens,
    }
    # The ties become tags with the span, so that a trace which is never completed can be recognised.
    span.set_attributes(
        {f"{SpanAttributeKey.TRACE_TAG_PREFIX}{name}": value for name, value in ties.items()}
        | {"mlflow.llm.model": call.model, "mlflow.chat.tokenUsage": tokens}
    )
    if attempt.http_status is not None:
        span.set_attribute("http_status", attempt.http_status)
    if attempt.cost_usd is not None:
        costs = {"total_cost": float(attempt.cost_usd)}
        if attempt.prompt_cost_usd is not None:
            costs["input_cost"] = float(attempt.prompt_cost_usd)
            costs["output_cost"] = float(attempt.cost_usd - attempt.prompt_cost_usd)
        span.set_attribute("mlflow.llm.cost", costs)
    status = SpanStatus(SpanStatusCode.OK)
    if attempt.status != "ok":
        reason = attempt.error or "the call failed and gave no reason"
        status = SpanStatus(SpanStatusCode.ERROR, reason)
        # MLflow's stubs make the class look abstract; it is not.
        span.add_event(SpanEvent("exception", attributes={"exception.message": reason}))  # type: ignore[abstract]
    span.end(outputs=attempt.answer, status=status, end_time_ns=began_ns + int(attempt.seconds * 1e9))
