"""A model API that outlives every kill and counts the answers it gave."""

from __future__ import annotations

import hashlib
import json
import random
import threading
import time
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from tests.support.model_answers import MODEL, completion, good_answer

CLIENT_REQUEST: Final = "x-client-request-id"
_RULES: Final = 10_000


class PaidApi:
    """Answers every request with a rule that depends on the request alone, after a time drawn from `seed`.

    A context manager; `answered` has the Unix times at which answers left the server whole, by request.
    """

    def __init__(self, seed: int) -> None:
        self.answered: defaultdict[str, list[float]] = defaultdict(list)
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
            self.answered[request].append(time.time())

    def again(self) -> dict[str, list[float]]:
        """Return the requests that were answered more than once, with the times of their answers."""
        return {request: times for request, times in self.answered.items() if len(times) > 1}


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
        number = int(hashlib.sha256(request.encode()).hexdigest(), 16) % _RULES
        data = json.dumps(completion(good_answer(number))).encode()
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
