"""What can become of a request to a chat API: good answers, bad ones, and all sorts of trouble on the way."""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from tests.support.model_answers import USAGE, completion, good_answer, rule_source

if TYPE_CHECKING:
    from tests.support.model_api import ModelRequest


def _good(handler: ModelRequest) -> None:
    time.sleep(handler.api.delay_s)
    handler.answer(good_answer(handler.api.next_answer()))


def _apt(handler: ModelRequest) -> None:
    """Answer what the prompt asks for: a hint, a lesson or a rule."""
    number = handler.api.next_answer()
    if "Write the hint alone" in handler.prompt:
        handler.answer(f"Favour slack and pscost_up.\nHint number {number}.")
    elif "Write the lesson alone" in handler.prompt:
        handler.answer(f"<think>What do they share?</think>Lesson {number}: favour slack.")
    else:
        handler.answer(good_answer(number))


def _unfenced(handler: ModelRequest) -> None:
    source = rule_source(handler.api.next_answer())
    handler.answer(f"The rule multiplies fractionality and gains.\n\n{source}\nI hope it helps.")


def _two_blocks(handler: ModelRequest) -> None:
    example = "```python\nfeatures = [0.0] * 72\nprint(candidate_variable_score(features))\n```"
    handler.answer(good_answer(handler.api.next_answer()) + "\nUse it like this:\n\n" + example)


def _wrong_name(handler: ModelRequest) -> None:
    handler.answer("```python\ndef score(variable_features):\n    return variable_features[18]\n```")


def _broken_code(handler: ModelRequest) -> None:
    handler.answer(
        "{Half a rule}\n```python\ndef candidate_variable_score(variable_features):\n    return (1 +\n```"
    )


def _cut_off(handler: ModelRequest) -> None:
    handler.answer(good_answer(handler.api.next_answer())[:200], "length")


def _not_json(handler: ModelRequest) -> None:
    handler.send_text(200, "<html><body>Welcome to the proxy</body></html>", "text/html")


def _rate_limited(handler: ModelRequest) -> None:
    handler.reply_error(429, "too many requests", Retry_After="0.2")


def _no_credit(handler: ModelRequest) -> None:
    handler.reply_error(429, "you exceeded your current quota", "insufficient_quota")


def _bad_key(handler: ModelRequest) -> None:
    handler.reply_error(401, f"incorrect API key provided: {_sent_key(handler)}", "invalid_api_key")


def _hang(handler: ModelRequest) -> None:
    handler.api.closing.wait()
    handler.close_connection = True


def _keep_alive(handler: ModelRequest) -> None:
    """Send blank lines for ever, as servers do that keep a connection open."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.end_headers()
    handler.close_connection = True
    with suppress(OSError):
        while not handler.api.closing.wait(0.05):
            handler.wfile.write(b"\n")


def _reset(handler: ModelRequest) -> None:
    # Lingering for zero seconds makes the close a reset instead of an orderly end.
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True


def _reset_inside(handler: ModelRequest) -> None:
    data = json.dumps(completion(good_answer(0))).encode()
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data[: len(data) // 2])
    handler.wfile.flush()
    time.sleep(0.1)
    _reset(handler)


def _without_usage(handler: ModelRequest) -> None:
    body = completion(good_answer(handler.api.next_answer()))
    del body["usage"]
    handler.reply(200, body)


def _odd_usage(handler: ModelRequest) -> None:
    body = completion(good_answer(handler.api.next_answer()))
    handler.reply(200, body | {"usage": {"prompt_tokens": "many", "completion_tokens": -3}})


def _no_choices(handler: ModelRequest) -> None:
    handler.reply(200, completion("") | {"choices": []})


def _redirect(handler: ModelRequest) -> None:
    handler.reply(308, {}, Location="http://127.0.0.1:9/elsewhere?token=never-shown")


def _deep_json(handler: ModelRequest) -> None:
    handler.send_text(200, "[" * 50_000 + "]" * 50_000, "application/json")


def _odd_json(handler: ModelRequest) -> None:
    handler.send_text(200, '{"a": NaN, "b": "\\ud800 \\u0000", "c": ' + "9" * 400 + "}", "application/json")


def _sent_key(handler: ModelRequest) -> str:
    return handler.headers.get("authorization", "").removeprefix("Bearer ")


def _key_in_error(handler: ModelRequest) -> None:
    handler.reply_error(500, f"could not handle the key {_sent_key(handler)}")


def _key_in_answer(handler: ModelRequest) -> None:
    key = _sent_key(handler)
    source = rule_source(handler.api.next_answer())
    handler.answer(f"{{A rule for the holder of {key}}}\n```python\n# {key}\n{source}```")


def _failed_but_billed(handler: ModelRequest) -> None:
    handler.reply(500, {"error": {"message": "gave up"}, "usage": USAGE})


SCENES: dict[str, Callable[[ModelRequest], None]] = {
    "good": _good,
    "apt": _apt,
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
    "reset_inside": _reset_inside,
    "no_choices": _no_choices,
    "without_usage": _without_usage,
    "odd_usage": _odd_usage,
    "deep_json": _deep_json,
    "odd_json": _odd_json,
    "redirect": _redirect,
    "key_in_error": _key_in_error,
    "key_in_answer": _key_in_answer,
    "billed_failure": _failed_but_billed,
    "error_inside": lambda handler: handler.reply(200, {"error": {"message": "upstream is down"}}),
    "rate_limited": _rate_limited,
    "server_error": lambda handler: handler.reply_error(500, "internal error"),
    "overloaded": lambda handler: handler.reply_error(503, "overloaded"),
    "context_overflow": lambda handler: handler.reply_error(400, "the prompt has too many tokens"),
    "no_credit": _no_credit,
    "bad_key": _bad_key,
    "forbidden": lambda handler: handler.reply_error(403, "not from here"),
    "no_model": lambda handler: handler.reply_error(404, "the model does not exist", "model_not_found"),
    "bad_request": lambda handler: handler.reply_error(
        400, "there is something wrong", "invalid_request_error"
    ),
    "hang": _hang,
    "keep_alive": _keep_alive,
    "reset": _reset,
}
"""What the server can do with a request."""
