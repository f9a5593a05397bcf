"""A model API that outlives every kill and keeps book of what it was paid for."""

from __future__ import annotations

import hashlib
import json
import random
import threading
import time
from collections import defaultdict
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from tests.support.model_answers import MODEL, good_answer

CLIENT_REQUEST: Final = "x-client-request-id"
_RULES: Final = 10_000


@dataclass(frozen=True)
class Answered:
    """An answer that left the server whole."""

    request: str
    unix_s: float


class PaidApi:
    """Answers every request with a rule that depends on the request alone, after a while; a context manager.

    Parameters
    ----------
    seed : int
        Of the times answers take.
    """

    def __init__(self, seed: int) -> None:
        self.answered: list[Answered] = []
        self._rng = random.Random(seed)
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.api = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def environment(self) -> dict[str, str]:
        """What a run must find in its environment."""
        return {
            "BIFE_LLM_BASE_URL": f"http://127.0.0.1:{self._server.server_address[1]}/v1",
            "BIFE_LLM_MODEL": MODEL,
            "BIFE_LLM_API_KEY": "sk-chaos",
        }

    def __enter__(self) -> PaidApi:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def pause_s(self) -> float:
        """Return how long the next answer takes."""
        with self._lock:
            return self._rng.uniform(0.1, 0.8)

    def deliver(self, request: str) -> None:
        """Take note that an answer has left whole."""
        with self._lock:
            self.answered.append(Answered(request, time.time()))

    def again(self) -> dict[str, list[float]]:
        """Return the requests that were answered more than once, with the times of their answers."""
        times: dict[str, list[float]] = defaultdict(list)
        with self._lock:
            for answer in self.answered:
                times[answer.request].append(answer.unix_s)
        return {request: stamps for request, stamps in times.items() if len(stamps) > 1}


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        pass

    def do_POST(self) -> None:
        api: PaidApi = self.server.api  # type: ignore[attr-defined]
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        # The number of the try is no part of the request: the second try is what must not happen.
        named = self.headers.get(CLIENT_REQUEST, "").rpartition(".")[0]
        request = named or hashlib.sha256(json.dumps(body["messages"]).encode()).hexdigest()
        time.sleep(api.pause_s())
        data = json.dumps(_completion(request)).encode()
        try:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            self.wfile.flush()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # killed while it waited: nothing was delivered
            return
        if named:  # two requests for a first rule read the same, so only their names tell them apart
            api.deliver(request)


def _completion(request: str) -> dict[str, Any]:
    number = int(hashlib.sha256(request.encode()).hexdigest(), 16) % _RULES
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": good_answer(number)},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 200, "total_tokens": 1200},
    }
