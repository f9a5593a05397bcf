"""The child process of a pool: reads one request a line, runs it, answers one line.

Requests and answers travel over pipes of their own, so nothing a call or SCIP prints can disturb them.
Started as ``python -m bife_core.sandbox.worker``; not meant to be run by hand.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import threading
from typing import Any, BinaryIO

from bife_core.sandbox.calls import describe_exception, resolve
from bife_core.sandbox.confinement import confine, end_process_group, is_clean, limited
from bife_core.sandbox.limits import Confinement


def answer(line: bytes) -> dict[str, Any]:
    """Run one request and return its answer, whatever happens in the call.

    Parameters
    ----------
    line : bytes
        JSON object with `call`, `arguments`, `ticket`, `limit_s` and `memory_mb`.

    Returns
    -------
    dict
        ``{"ok": True, "result": ...}`` or ``{"ok": False, "reason": ..., "detail": ..., "error_type": ...}``, with
        the `ticket` of the request and whether the worker is still `clean`.
    """
    message: dict[str, Any] = {"ticket": None}
    try:
        request = json.loads(line)
        message["ticket"] = request["ticket"]
        with limited(request["limit_s"], request["memory_mb"]):
            result = resolve(request["call"])(**request["arguments"])
    except BaseException as error:  # noqa: BLE001 - a call may raise anything; all of it becomes the answer
        reason, detail = describe_exception(error)
        message |= {"ok": False, "reason": reason, "detail": detail, "error_type": type(error).__name__}
    else:
        message |= {"ok": True, "result": result}
    return message | {"clean": is_clean()}


def encode(message: dict[str, Any]) -> bytes:
    """Return a message as one line of JSON; a result JSON cannot hold becomes a failure."""
    try:
        return json.dumps(message).encode() + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        reason = f"The call returned something JSON cannot hold: {error}."
        failure = {"ok": False, "reason": reason, "detail": "", "error_type": type(error).__name__}
        kept = {"ticket": message["ticket"], "clean": message["clean"]}
        return json.dumps(failure | kept).encode() + b"\n"


def _watch(requests: BinaryIO, inbox: queue.SimpleQueue[bytes]) -> None:
    for line in requests:
        inbox.put(line)
    # The parent closed the pipe or died. The main thread may be deep in a call: nobody waits for its result.
    end_process_group()


def main() -> None:
    """Serve requests until the parent closes the pipe."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("requests", "responses", "lifeline", "parent"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--core", type=int, default=None)
    parser.add_argument("--confinement", type=Confinement.model_validate_json, required=True)
    options = parser.parse_args()
    for descriptor in (options.requests, options.responses, options.lifeline):
        # A process the call leaves behind must not keep these pipes open.
        os.set_inheritable(descriptor, False)
    in_force = confine(options.core, options.lifeline, options.parent, options.confinement)
    requests = os.fdopen(options.requests, "rb")
    responses = os.fdopen(options.responses, "wb", buffering=0)
    inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_watch, args=(requests, inbox), daemon=True).start()
    _send(responses, json.dumps({"in_force": in_force}).encode() + b"\n")
    while True:
        _send(responses, encode(answer(inbox.get())))


def _send(pipe: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[pipe.write(view) :]


if __name__ == "__main__":
    main()
