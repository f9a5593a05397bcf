"""What can become of a request to a chat API: good answers, bad ones, and all sorts of trouble on the way."""

import json
import socket
import struct
import time
from contextlib import suppress

from bife_core.language.components import BRANCHING
from tests.support.model_answers import USAGE, completion, good_answer, rule_source

_USE = "```python\nfeatures = [0.0] * 72\nprint(candidate_variable_score(features))\n```"
_ODD_JSON = '{"a": NaN, "b": "\\ud800 \\u0000", "c": ' + "9" * 400 + "}"
_ODD_USAGE = {"prompt_tokens": "many", "completion_tokens": -3}


def _next(handler):
    """Return the next good answer."""
    return good_answer(handler.api.next_answer())


def _fenced(name, value):
    return f"```python\ndef {name}(variable_features):\n    return {value}\n```"


def _good(handler):
    time.sleep(handler.api.delay_s)
    handler.answer(_next(handler))


def _apt(handler):
    """Answer what the prompt asks for: a hint, a lesson or a rule."""
    number = handler.api.next_answer()
    if "Write the hint alone" in handler.prompt:
        handler.answer(f"Favour slack and pscost_up.\nHint number {number}.")
    elif "Write the lesson alone" in handler.prompt:
        handler.answer(f"<think>What do they share?</think>Lesson {number}: favour slack.")
    else:
        handler.answer(good_answer(number))


def _unfenced(handler):
    source = rule_source(handler.api.next_answer())
    handler.answer(f"The rule multiplies fractionality and gains.\n\n{source}\nI hope it helps.")


def _hang(handler):
    handler.api.closing.wait()
    handler.close_connection = True


def _keep_alive(handler):
    """Send blank lines for ever, as servers do that keep a connection open."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.end_headers()
    handler.close_connection = True
    with suppress(OSError):
        while not handler.api.closing.wait(0.05):
            handler.wfile.write(b"\n")


def _reset(handler):
    # Lingering for zero seconds makes the close a reset instead of an orderly end.
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True


def _reset_inside(handler):
    data = json.dumps(completion(good_answer(0))).encode()
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data[: len(data) // 2])
    handler.wfile.flush()
    time.sleep(0.1)
    _reset(handler)


def _without_usage(handler):
    body = completion(_next(handler))
    del body["usage"]
    handler.reply(200, body)


def _sent_key(handler):
    return handler.headers.get("authorization", "").removeprefix("Bearer ")


def _key_in_answer(handler):
    key = _sent_key(handler)
    source = rule_source(handler.api.next_answer())
    handler.answer(f"{{A rule for the holder of {key}}}\n```python\n# {key}\n{source}```")


SCENES = {
    "good": _good,
    "apt": _apt,
    "unfenced": _unfenced,
    "two_blocks": lambda handler: handler.answer(f"{_next(handler)}\nUse it like this:\n\n{_USE}"),
    "empty": lambda handler: handler.answer(""),
    "null": lambda handler: handler.answer(None),
    "refusal": lambda handler: handler.answer("I am sorry, but I cannot help with that request."),
    "no_code": lambda handler: handler.answer("{A good idea}\n```\nslack times gain\n```"),
    "wrong_name": lambda handler: handler.answer(_fenced("score", "variable_features[18]")),
    "broken_code": lambda handler: handler.answer(f"{{Half a rule}}\n{_fenced(BRANCHING.function, '(1 +')}"),
    "cut_off": lambda handler: handler.answer(_next(handler)[:200], "length"),
    "not_json": lambda handler: handler.send_text(200, "<p>Welcome to the proxy</p>", "text/html"),
    "refusal_field": lambda handler: handler.answer(None, refusal="I will not write that."),
    "filtered": lambda handler: handler.answer(None, "content_filter"),
    "huge": lambda handler: handler.answer("word " * 600_000),
    "reset_inside": _reset_inside,
    "no_choices": lambda handler: handler.reply(200, completion("") | {"choices": []}),
    "without_usage": _without_usage,
    "odd_usage": lambda handler: handler.reply(200, completion(_next(handler)) | {"usage": _ODD_USAGE}),
    "deep_json": lambda handler: handler.send_text(200, "[" * 50_000 + "]" * 50_000, "application/json"),
    "odd_json": lambda handler: handler.send_text(200, _ODD_JSON, "application/json"),
    "redirect": lambda handler: handler.reply(308, {}, Location="http://127.0.0.1:9/?token=never-shown"),
    "key_in_error": lambda handler: handler.reply_error(500, f"cannot handle the key {_sent_key(handler)}"),
    "key_in_answer": _key_in_answer,
    "billed_failure": lambda handler: handler.reply(500, {"error": {"message": "gave up"}, "usage": USAGE}),
    "error_inside": lambda handler: handler.reply(200, {"error": {"message": "upstream is down"}}),
    "rate_limited": lambda handler: handler.reply_error(429, "too many requests", Retry_After="0.2"),
    "server_error": lambda handler: handler.reply_error(500, "internal error"),
    "overloaded": lambda handler: handler.reply_error(503, "overloaded"),
    "context_overflow": lambda handler: handler.reply_error(400, "the prompt has too many tokens"),
    "no_credit": lambda handler: handler.reply_error(429, "quota exceeded", "insufficient_quota"),
    "bad_key": lambda handler: handler.reply_error(
        401, f"no such key: {_sent_key(handler)}", "invalid_api_key"
    ),
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
