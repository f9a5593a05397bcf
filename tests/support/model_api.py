"""A chat API to test against: a real HTTP server on a free loopback port that plays a script, scene by scene.

    with ModelApi(["rate_limited", "reset", "good"]) as api:
        ...                      # point BIFE_LLM_BASE_URL at api.base_url
        assert len(api.requests) == 3

Each POST takes the next scene of the script, or a `Said` that is sent as it is; after the last one `then` is played
for ever.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.model_answers import MODEL, completion
from tests.support.model_scenes import SCENES

CLIENT_REQUEST = "x-client-request-id"


@dataclass(frozen=True)
class Said:
    """A reply that no scene plays: a status, a body (JSON unless it is a text or bytes), headers."""

    status: int
    body: object
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class ReceivedRequest:
    """What a client sent."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    scene: str | Said
    received_s: float = field(default_factory=time.monotonic)


class ModelApi:
    """The server, as a context manager.

    Parameters
    ----------
    script : iterable of str or Said
        Names of scenes, see `SCENES`, and replies that are none.
    then : str or Said
        The same for requests after the script's end.
    listing : Said or None
        What the list of models is; by default the one that answers. Who asked for it is in `listed`.
    key : str or None
        When given, requests with another key are refused as by the scene `bad_key`.
    delay_s : float
        Seconds before each good answer.
    """

    def __init__(self, script=(), *, then="good", listing=None, key=None, delay_s=0.0):
        self.delay_s = delay_s
        self.delivered = []
        self._script = list(script)
        unknown = {scene for scene in (*self._script, then) if isinstance(scene, str)} - set(SCENES)
        if unknown:
            raise ValueError(f"There are no scenes {sorted(unknown)}; there are {sorted(SCENES)}.")
        self._then = then
        self.key = key
        self.listing = listing or Said(200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        self.listed = []
        self.requests = []
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._answers = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), ModelRequest)
        self._server.daemon_threads = True
        self._server.api = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def base_url(self):
        """The address to give to a client."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def environment(self):
        """What a program must find in its environment."""
        named = {"BIFE_LLM_BASE_URL": self.base_url, "BIFE_LLM_MODEL": MODEL}
        return named | ({"BIFE_LLM_API_KEY": self.key} if self.key is not None else {})

    def configure(self, monkeypatch, **settings):
        """Have this process find the API, with further settings: ``timeout_s=1``."""
        own = {f"BIFE_LLM_{name.upper()}": str(value) for name, value in settings.items()}
        for name, value in (self.environment | own).items():
            monkeypatch.setenv(name, value)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def next_answer(self):
        """Return the running number of a good answer, from 0."""
        with self._lock:
            self._answers += 1
            return self._answers - 1

    def deliver(self, request):
        """Take note that the answer to a request, by its name, has left whole."""
        self.delivered.append(request)

    def take(self, path, headers, body):
        """Record a request and return the scene to play for it."""
        with self._lock:
            number = len(self.requests)
            scene = self._script[number] if number < len(self._script) else self._then
            if self.key is not None and headers.get("authorization") != f"Bearer {self.key}":
                scene = "bad_key"
            self.requests.append(ReceivedRequest(path, headers, body, scene))
            return scene


class ModelRequest(BaseHTTPRequestHandler):
    """One request, and the ways a scene has to answer it."""

    @property
    def api(self):
        return self.server.api

    @property
    def sent_headers(self):
        return {name.lower(): value for name, value in self.headers.items()}

    def say(self, said):
        if isinstance(said.body, str | bytes):
            self.send_text(said.status, said.body, "text/plain", **said.headers)
        else:
            self.reply(said.status, said.body, **said.headers)

    def log_message(self, format, *args):  # noqa: A002 - the base class names it so
        pass

    def do_GET(self):
        if self.path.partition("?")[0] == "/v1/models":
            self.api.listed.append(ReceivedRequest(self.path, self.sent_headers, {}, self.api.listing))
            self.say(self.api.listing)
        else:
            self.reply_error(404, "there is nothing here")

    def do_POST(self):
        length = int(self.headers.get("content-length", 0))
        body = json.loads(self.rfile.read(length) or b"{}")
        self.prompt = "".join(str(message.get("content")) for message in body.get("messages", []))
        scene = self.api.take(self.path, self.sent_headers, body)
        try:
            if isinstance(scene, Said):
                self.say(scene)
            else:
                SCENES[scene](self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client gave up, as some scenes want it to

    def reply(self, status, body, **headers):
        self.send_text(status, json.dumps(body), "application/json", **headers)

    def reply_error(self, status, message, code=None, **headers):
        self.reply(status, {"error": {"message": message, "type": "error", "code": code}}, **headers)

    def send_text(self, status, text, content_type, **headers):
        data = text.encode() if isinstance(text, str) else text
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)
        if status == 200 and self.command == "POST":
            self.api.deliver(self.headers.get(CLIENT_REQUEST, ""))

    def answer(self, text, finish_reason="stop", **more):
        """Send a chat completion with `text` as the model's message; `more` becomes part of the message."""
        self.reply(200, completion(text, finish_reason, **more))
