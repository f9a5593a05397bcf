"""One MLflow trace per model call, with the times, tokens and costs it really had."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import mlflow
from mlflow.entities import SpanType, TraceInfo
from mlflow.entities.model_registry import PromptVersion
from mlflow.tracing.provider import safe_set_span_in_context

from bife_core.base.wording import counted, storable
from bife_core.run.stages.records import SEARCH
from bife_core.search.generators.account import Call
from bife_core.search.generators.prompting import OPERATORS, feature_description, prompt_files, prompt_version
from bife_core.solver.machine import this_machine
from bife_tasks.stores import home_store, observer
from bife_tasks.tracking.mlflow_runs import client, experiment_id

PROMPTS: Final = "bife."
"""Beginning of the names of prompts in MLflow's registry; the operator follows, or `_SHARED` if it has no file."""

_SHARED: Final = "prompts"
_VERSION: Final = "prompt_version"  # tag of a prompt: `bife_core.search.generators.prompting.prompt_version`

_SOURCE_RUN: Final = "mlflow.sourceRun"  # by which MLflow searches for the traces of a run
_TAG: Final = "mlflow.traceTag."
"""Prefix of span attributes that become tags of the trace; others come by a second request, which may be lost."""
_TRIES: Final = 2
_AT_ONCE: Final = 100  # traces that one request deletes
_INTERRUPTED: Final = "The process ended before the answer came; whether it was billed is not known."


def store_traces(study: str, calls: Sequence[Call], run_id: str, owner: str) -> dict[str, str]:
    """Store the calls that have no trace, tied to a run; the observer learns of those MLflow did not take.

    Returns the trace of the last call for each key.

    The `owner` is the run, or an account whose calls several runs share, of which the first has the traces.
    """
    # MLflow's tracer logs its own failures and goes on, so what counts is what can be read back.
    left = {f"{call.key}.{call.number}": call for call in calls}
    linked = list[tuple[Call, str]]()
    for tried in range(_TRIES + 1):
        for generation in {call.generation for call in left.values()}:
            for name, trace in _stored(owner, generation).items():
                linked += [(left.pop(name), trace)] if name in left else []
        for name, call in left.items() if tried < _TRIES else ():
            again = any(call.key == other.key and call.number < other.number for other in calls)
            _store(name, call, run_id, owner, refused=again and call.status == "ok")
    linked.sort(key=lambda each: each[0].number)
    for call, trace in linked:
        if prompts := _prompts(call.prompt_version, call.operator):
            client().link_prompt_versions_to_trace(prompts, trace)
            client().link_prompt_version_to_run(run_id, prompts[0])
    if left:
        names = f"{counted(len(left), 'call')} of {study} ({', '.join(sorted(left)[:10])})"
        observer().note(f"MLflow did not take the traces of {names}; {home_store().name} has them.")
    return {call.key: trace for call, trace in linked}


@cache
def _prompts(version: str, operator: str) -> list[PromptVersion]:
    """Return an operator's prompt of a version in MLflow, made where it lacks it; nothing if it is not ours."""
    if version != prompt_version():
        return []
    files = prompt_files()
    texts_of = {
        name: text for name, text in files.items() if name.partition(".")[0] in (operator, f"any_{operator}")
    }
    of_others = (
        {f"{prefix}{other}.md" for other in OPERATORS for prefix in ("", "any_")} if texts_of else set()
    )
    parts = texts_of | {name: text for name, text in files.items() if name not in of_others}
    what = f"operator {operator}" if texts_of else "all operators"
    name = PROMPTS + (operator if texts_of else _SHARED)
    with home_store().claim(name):
        stored = client().search_prompt_versions(name) if client().get_prompt(name) else []
        equal = [prompt for prompt in stored if prompt.tags.get(_VERSION) == version]
        texts = "\n".join(f"# {part}\n\n{text}" for part, text in parts.items())
        variables = re.sub(r"\$(\w+)", r"{{\1}}", f"{texts}\n# Features\n\n{feature_description()}\n")
        message = (
            f"Prompt of {what} in BiFE {this_machine().versions['bife']}: its own text, then what all share"
        )
        tags = {_VERSION: version}
        return equal or [client().register_prompt(name, variables, commit_message=message, tags=tags)]


def delete_traces(run_id: str) -> None:
    """Delete the traces of a run."""
    _delete([trace.trace_id for trace in _search(f"tags.`bife.run` = '{run_id}'")])


def _delete(ids: list[str]) -> None:
    for start in range(0, len(ids), _AT_ONCE):
        client().delete_traces(experiment_id(SEARCH), trace_ids=ids[start : start + _AT_ONCE])


def _search(wanted: str) -> list[TraceInfo]:
    traces = mlflow.search_traces(
        locations=[experiment_id(SEARCH)], filter_string=wanted, include_spans=False, return_type="list"
    )
    return [trace.info for trace in traces]


def _stored(owner: str, generation: int) -> dict[str, str]:
    """Return the traces of a generation's calls by their names; what an outage left half is deleted."""
    traces = _search(f"tags.`bife.run` = '{owner}' and tags.generation = '{generation}'")
    _delete([trace.trace_id for trace in traces if _SOURCE_RUN not in trace.trace_metadata])
    return {
        trace.tags["bife.call"]: trace.trace_id for trace in traces if _SOURCE_RUN in trace.trace_metadata
    }


def _store(name: str, call: Call, run_id: str, owner: str, *, refused: bool) -> None:
    began_ns = int(call.started_unix_s * 1e9)
    purpose = {"operator": call.operator or call.kind, "generation": call.generation}
    tags = {"bife.call": name, "bife.run": owner} | ({"outcome": "refused"} if refused else {})
    tags |= {key: str(value) for key, value in purpose.items()}
    tags |= {"cost": "unknown"} if call.cost_usd is None else {}
    attributes: dict[str, Any] = {_TAG + key: value for key, value in tags.items()} | {
        "mlflow.llm.model": call.model,
        "mlflow.chat.tokenUsage": {
            "input_tokens": call.prompt_tokens,
            "output_tokens": call.completion_tokens,
            "total_tokens": call.prompt_tokens + call.completion_tokens,
        },
    }
    if call.http_status is not None:
        attributes["http_status"] = call.http_status
    if call.cost_usd is not None:
        attributes["mlflow.llm.cost"] = {"total_cost": float(call.cost_usd)}
    origin = f" from {', '.join(call.parents)}" if call.parents else ""
    what = f"{name}: {purpose['operator']} in generation {call.generation}{origin}"
    messages = [
        {key: storable(text) for key, text in message.model_dump().items()} for message in call.messages
    ]
    span = mlflow.start_span_no_context(
        what,
        span_type=SpanType.CHAT_MODEL,
        inputs={**purpose, "parents": list(call.parents), "messages": messages},
        attributes=attributes,
        tags=tags,
        metadata={_SOURCE_RUN: run_id},
        experiment_id=experiment_id(SEARCH),
        start_time_ns=began_ns,
    )
    with safe_set_span_in_context(span):
        # Prompts begin alike, so that the list of traces shows what the call was for. MLflow has no other way to say so
        # (mlflow/mlflow#15919), and no public one to enter a span that has its own start time.
        mlflow.update_current_trace(request_preview=what)
    if call.status != "ok":
        span.record_exception(storable(call.error or _INTERRUPTED))
    answer = call.answer if call.answer is None else storable(call.answer)
    span.end(outputs=answer, end_time_ns=began_ns + int(call.seconds * 1e9))
