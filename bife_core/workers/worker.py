"""The program of a worker: one line of JSON in, one out, over pipes that printing cannot disturb."""

from __future__ import annotations

import gc
import json
import os
import queue
import sys
import threading
from typing import Any, BinaryIO

from bife_core.workers.base import describe_exception, resolve
from bife_core.workers.confinement import Confinement, confine, end_process_group, is_clean, limited


def answer(line: bytes) -> bytes:
    """Run one request and return its answer as one line of JSON, whatever the call raises."""
    message: dict[str, Any] = {"ticket": None}
    try:
        request = json.loads(line)
        message["ticket"] = request["ticket"]
        with limited(request["limit_s"], request["memory_mb"]):
            result = resolve(request["call"])(**request["arguments"])
        return json.dumps(message | {"ok": True, "result": result, "clean": is_clean()}).encode() + b"\n"
    except BaseException as error:  # noqa: BLE001 - a call may raise anything; all of it becomes the answer
        reason, detail = describe_exception(error)
        message |= {"ok": False, "reason": reason, "detail": detail, "error_type": type(error).__name__}
        return json.dumps(message | {"clean": is_clean()}).encode() + b"\n"


def _watch(requests: BinaryIO, inbox: queue.SimpleQueue[bytes]) -> None:
    for line in requests:
        inbox.put(line)
    # The parent closed the pipe or died, so no one waits for the result of a call in the main thread.
    end_process_group()


def main() -> None:
    """Serve requests until the parent closes the pipe."""
    gc.set_threshold(100_000, 20, 20)  # what calls import stays
    options = json.loads(sys.argv[1])
    requests, responses, lifeline = (options[name] for name in ("requests", "responses", "lifeline"))
    for descriptor in (requests, responses, lifeline):
        os.set_inheritable(descriptor, False)  # a process the call leaves behind must not keep it open
    confinement = Confinement.model_validate(options["confinement"])
    confine(options["core"], lifeline, options["parent"], confinement)
    inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_watch, args=(os.fdopen(requests, "rb"), inbox), daemon=True).start()
    with os.fdopen(responses, "wb") as pipe:
        line = b'{"ready": true}\n'
        while True:
            pipe.write(line)
            pipe.flush()
            line = answer(inbox.get())


if __name__ == "__main__":
    main()
