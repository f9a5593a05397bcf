"""A chat API to test against: a real HTTP server on a free loopback port that plays a script, scene by scene.

    with ModelApi(["rate_limited", "reset", "good"]) as api:
        ...                      # point BIFE_LLM_BASE_URL at api.base_url
        assert len(api.requests) == 3

Each POST takes the next scene of the script; after the last one the scene `then` is played for ever. Run as a
program it serves until interrupted: ``python -m tests.support.model_api good hang good``.
"""

from __future__ import annotations

import argparse
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "stand-in"
USAGE = {"prompt_tokens": 1000, "completion_tokens": 200, "total_tokens": 1200}
"""What every completion says it used."""

_FORMS = (
    ("slack times the geometric mean of the gains", "slack * math.sqrt(up * down)"),
    ("slack times the harmonic mean of the gains", "slack * 2.0 * up * down / (up + down)"),
    ("the smaller gain first, the larger as a tie-breaker", "min(up, down) + 0.1 * max(up, down)"),
    ("gains weighed by tight rows", "slack * up * down * (1.0 + active)"),
    ("logarithms of gains and of tight rows", "math.log1p(up) + math.log1p(down) + math.log1p(active)"),
)


def rule_source(number: int) -> str:
    """Return the `number`-th good rule; no two numbers give the same one."""
    _, expression = _FORMS[number % len(_FORMS)]
    head = "import math\n\n\n" if "math." in expression else ""
    return f"""{head}def candidate_variable_score(variable_features) -> float:
    slack = variable_features[18]
    up = max(variable_features[20], 1e-6)
    down = max(variable_features[21], 1e-6)
    active = variable_features[48]
    return {expression} + {1 + number} * 1e-6 * slack
"""


def skeleton_source(number: int) -> str:
    """Return the `number`-th good skeleton: a good rule whose last weight is a parameter."""
    head, _, last = rule_source(number).rstrip().rpartition(" + ")
    bounds = 'BOUNDS = {"weight": (0.0, 2.0)}\n\n\ndef '
    signature = "candidate_variable_score(variable_features, weight=0.5)"
    head = head.replace("def ", bounds, 1).replace("candidate_variable_score(variable_features)", signature)
    return f"{head} + weight * {last}\n"


def good_answer(number: int) -> str:
    """Return the text of the `number`-th good answer."""
    thought, _ = _FORMS[number % len(_FORMS)]
    return f"{{It is {thought}}}\n\n```python\n{rule_source(number)}```\n"


@dataclass
class ReceivedRequest:
    """What a client sent."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    scene: str
    received_s: float = field(default_factory=time.monotonic)


class ModelApi:
    """The server, as a context manager.

    Parameters
    ----------
    script : iterable of str
        Names of scenes, see `SCENES`.
    then : str
        The scene for requests after the script's end.
    key : str or None
        When given, requests with another key are refused as by the scene `bad_key`.
    retry_after_s : float
        What the scene `rate_limited` asks clients to wait.
    message : str
        What the scene `bad_request` complains of.
    delay_s : float
        Seconds before each good answer.
    port : int
        Port to listen on; 0 takes a free one.
    """

    def __init__(
        self,
        script: Iterable[str] = (),
        *,
        then: str = "good",
        key: str | None = None,
        retry_after_s: float = 0.2,
        message: str = "there is something wrong with the request",
        delay_s: float = 0.0,
        port: int = 0,
    ) -> None:
        self.delay_s = delay_s
        self.delivered: list[str] = []
        self._script = list(script)
        unknown = {*self._script, then} - set(SCENES)
        if unknown:
            raise ValueError(f"There are no scenes {sorted(unknown)}; there are {sorted(SCENES)}.")
        self._then = then
        self.key = key
        self.retry_after_s = retry_after_s
        self.message = message
        self.requests: list[ReceivedRequest] = []
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._answers = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _Handler)
        self._server.daemon_threads = True
        self._server.api = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def base_url(self) -> str:
        """The address to give to a client."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> ModelApi:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def next_answer(self) -> int:
        """Return the running number of a good answer, from 0."""
        with self._lock:
            self._answers += 1
            return self._answers - 1

    def take(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> str:
        """Record a request and return the scene to play for it."""
        with self._lock:
            number = len(self.requests)
            scene = self._script[number] if number < len(self._script) else self._then
            if self.key is not None and headers.get("authorization") != f"Bearer {self.key}":
                scene = "bad_key"
            self.requests.append(ReceivedRequest(path, headers, body, scene))
            return scene


class _Handler(BaseHTTPRequestHandler):
    @property
    def api(self) -> ModelApi:
        api: ModelApi = self.server.api  # type: ignore[attr-defined]
        return api

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        pass

    def do_GET(self) -> None:
        if self.path.endswith("/models"):
            model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "tests"}
            self.reply(200, {"object": "list", "data": [model]})
        else:
            self.reply_error(404, "there is nothing here")

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", 0))
        body = json.loads(self.rfile.read(length) or b"{}")
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.prompt = "".join(str(message.get("content")) for message in body.get("messages", []))
        scene = self.api.take(self.path, headers, body)
        try:
            SCENES[scene](self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client gave up, as some scenes want it to

    def reply(self, status: int, body: object, **headers: str) -> None:
        self.send_text(status, json.dumps(body), "application/json", **headers)

    def reply_error(self, status: int, message: str, code: str | None = None, **headers: str) -> None:
        self.reply(status, {"error": {"message": message, "type": "error", "code": code}}, **headers)

    def send_text(self, status: int, text: str, content_type: str, **headers: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def answer(self, text: str | None, finish_reason: str = "stop", **more: object) -> None:
        """Send a chat completion with `text` as the model's message; `more` becomes part of the message."""
        self.reply(200, completion(text, finish_reason, **more))
        self.api.delivered.append(self.headers.get("x-client-request-id", ""))


def completion(text: str | None, finish_reason: str = "stop", **more: object) -> dict[str, Any]:
    """Return a chat completion as the API's JSON."""
    message = {"role": "assistant", "content": text, **more}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": dict(USAGE),
    }


def _good(handler: _Handler) -> None:
    time.sleep(handler.api.delay_s)
    handler.answer(good_answer(handler.api.next_answer()))


def _apt(handler: _Handler) -> None:
    """Answer what the prompt asks for: a hint, a lesson, a skeleton or a rule."""
    number = handler.api.next_answer()
    if "Write the hint alone" in handler.prompt:
        handler.answer(f"Favour slack and pscost_up.\nHint number {number}.")
    elif "Write the lesson alone" in handler.prompt:
        handler.answer(f"<think>What do they share?</think>Lesson {number}: favour slack.")
    elif "BOUNDS" in handler.prompt:
        handler.answer(f"{{A weighed rule}}\n```python\n{skeleton_source(number)}```\n")
    else:
        handler.answer(good_answer(number))


def _boundless(handler: _Handler) -> None:
    source = skeleton_source(handler.api.next_answer()).replace("BOUNDS", "LIMITS")
    handler.answer(f"```python\n{source}```")


def _unfenced(handler: _Handler) -> None:
    source = rule_source(handler.api.next_answer())
    handler.answer(f"The rule multiplies fractionality and gains.\n\n{source}\nI hope it helps.")


def _two_blocks(handler: _Handler) -> None:
    example = "```python\nfeatures = [0.0] * 72\nprint(candidate_variable_score(features))\n```"
    handler.answer(good_answer(handler.api.next_answer()) + "\nUse it like this:\n\n" + example)


def _wrong_name(handler: _Handler) -> None:
    handler.answer("```python\ndef score(variable_features):\n    return variable_features[18]\n```")


def _broken_code(handler: _Handler) -> None:
    handler.answer(
        "{Half a rule}\n```python\ndef candidate_variable_score(variable_features):\n    return (1 +\n```"
    )


def _cut_off(handler: _Handler) -> None:
    handler.answer(good_answer(handler.api.next_answer())[:200], "length")


def _not_json(handler: _Handler) -> None:
    handler.send_text(200, "<html><body>Welcome to the proxy</body></html>", "text/html")


def _rate_limited(handler: _Handler) -> None:
    handler.reply_error(429, "too many requests", Retry_After=str(handler.api.retry_after_s))


def _rate_limited_until(handler: _Handler) -> None:
    handler.reply_error(
        429, "too many requests", Retry_After=formatdate(time.time() + handler.api.retry_after_s, usegmt=True)
    )


def _rate_limited_oddly(handler: _Handler) -> None:
    handler.reply_error(429, "too many requests", Retry_After="nan")


def _no_credit(handler: _Handler) -> None:
    handler.reply_error(429, "you exceeded your current quota", "insufficient_quota")


def _bad_key(handler: _Handler) -> None:
    handler.reply_error(401, f"incorrect API key provided: {_sent_key(handler)}", "invalid_api_key")


def _hang(handler: _Handler) -> None:
    handler.api.closing.wait()
    handler.close_connection = True


def _reset(handler: _Handler) -> None:
    # Lingering for zero seconds makes the close a reset instead of an orderly end.
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True


def _slow_drip(handler: _Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    while not handler.api.closing.wait(0.02):
        handler.wfile.write(b" ")


def _cut(handler: _Handler, text: str, *, reset: bool) -> None:
    """Send the first part of a body whose end never comes: the connection is closed, or reset."""
    data = text.encode()
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data[: len(data) // 2])
    handler.wfile.flush()
    if reset:
        time.sleep(0.1)
        _reset(handler)
    handler.close_connection = True


def _reset_inside(handler: _Handler) -> None:
    _cut(handler, json.dumps(completion(good_answer(0))), reset=True)


def _closed_inside(handler: _Handler) -> None:
    _cut(handler, json.dumps(completion(good_answer(0))), reset=False)


def _truncated_json(handler: _Handler) -> None:
    handler.send_text(200, json.dumps(completion(good_answer(0)))[:400], "application/json")


def _without_usage(handler: _Handler) -> None:
    body = completion(good_answer(handler.api.next_answer()))
    del body["usage"]
    handler.reply(200, body)


def _odd_usage(handler: _Handler) -> None:
    body = completion(good_answer(handler.api.next_answer()))
    handler.reply(200, body | {"usage": {"prompt_tokens": "many", "completion_tokens": -3}})


def _plain_text(handler: _Handler) -> None:
    body = json.dumps(completion(good_answer(handler.api.next_answer())))
    handler.send_text(200, "\ufeff" + body, "text/plain")


def _no_choices(handler: _Handler) -> None:
    handler.reply(200, completion("") | {"choices": []})


def _endless(handler: _Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.end_headers()
    while not handler.api.closing.is_set():
        handler.wfile.write(b" " * 65536)


def _redirect(handler: _Handler) -> None:
    handler.reply(308, {}, Location="http://127.0.0.1:9/elsewhere?token=never-shown")


def _deep_json(handler: _Handler) -> None:
    handler.send_text(200, "[" * 50_000 + "]" * 50_000, "application/json")


def _odd_json(handler: _Handler) -> None:
    handler.send_text(200, '{"a": NaN, "b": "\\ud800 \\u0000", "c": ' + "9" * 400 + "}", "application/json")


def _sent_key(handler: _Handler) -> str:
    return handler.headers.get("authorization", "").removeprefix("Bearer ")


def _key_in_error(handler: _Handler) -> None:
    handler.reply_error(500, f"could not handle the key {_sent_key(handler)}")


def _key_in_answer(handler: _Handler) -> None:
    key = _sent_key(handler)
    source = rule_source(handler.api.next_answer())
    handler.answer(f"{{A rule for the holder of {key}}}\n```python\n# {key}\n{source}```")


def _failed_but_billed(handler: _Handler) -> None:
    handler.reply(500, {"error": {"message": "gave up"}, "usage": USAGE})


SCENES: dict[str, Callable[[_Handler], None]] = {
    "good": _good,
    "apt": _apt,
    "boundless": _boundless,
    "unfenced": _unfenced,
    "two_blocks": _two_blocks,
    "empty": lambda handler: handler.answer(""),
    "null": lambda handler: handler.answer(None),
    "refusal": lambda handler: handler.answer("I am sorry, but I cannot help with that request."),
    "no_code": lambda handler: handler.answer("{A good idea}\n```\nslack times gain\n```"),
    "wrong_name": _wrong_name,
    "broken_code": _broken_code,
    "cut_off": _cut_off,
    "not_json": _not_json,
    "refusal_field": lambda handler: handler.answer(None, refusal="I will not write that."),
    "filtered": lambda handler: handler.answer(None, "content_filter"),
    "huge": lambda handler: handler.answer("word " * 600_000),
    "endless": _endless,
    "reset_inside": _reset_inside,
    "closed_inside": _closed_inside,
    "truncated_json": _truncated_json,
    "empty_body": lambda handler: handler.send_text(200, "", "application/json"),
    "no_choices": _no_choices,
    "without_usage": _without_usage,
    "odd_usage": _odd_usage,
    "plain_text": _plain_text,
    "deep_json": _deep_json,
    "odd_json": _odd_json,
    "redirect": _redirect,
    "key_in_error": _key_in_error,
    "key_in_answer": _key_in_answer,
    "rate_limited_until": _rate_limited_until,
    "rate_limited_oddly": _rate_limited_oddly,
    "bad_gateway": lambda handler: handler.send_text(502, "<html>bad gateway</html>", "text/html"),
    "billed_failure": _failed_but_billed,
    "key_refused_inside": lambda handler: handler.reply(
        200, {"error": {"message": "no auth credentials found", "code": 401}}
    ),
    "error_inside": lambda handler: handler.reply(200, {"error": {"message": "upstream is down"}}),
    "rate_limited": _rate_limited,
    "rate_limited_silent": lambda handler: handler.reply_error(429, "too many requests"),
    "server_error": lambda handler: handler.reply_error(500, "internal error"),
    "overloaded": lambda handler: handler.reply_error(503, "overloaded"),
    "context_overflow": lambda handler: handler.reply_error(400, "the prompt has too many tokens"),
    "no_credit": _no_credit,
    "bad_key": _bad_key,
    "forbidden": lambda handler: handler.reply_error(403, "not from here"),
    "no_model": lambda handler: handler.reply_error(404, "the model does not exist", "model_not_found"),
    "bad_request": lambda handler: handler.reply_error(400, handler.api.message, "invalid_request_error"),
    "hang": _hang,
    "reset": _reset,
    "slow_drip": _slow_drip,
}
"""What the server can do with a request."""


def main() -> None:
    """Serve the scenes named on the command line until interrupted."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("scenes", nargs="*", metavar="SCENE", choices=[[], *SCENES])
    parser.add_argument("--then", default="good", choices=list(SCENES))
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args()
    with ModelApi(arguments.scenes, then=arguments.then, port=arguments.port) as api:
        print(f"BIFE_LLM_BASE_URL={api.base_url} BIFE_LLM_MODEL={MODEL}", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print(f"{len(api.requests)} requests")


if __name__ == "__main__":
    main()
