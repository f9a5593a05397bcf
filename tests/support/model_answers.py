"""What the stand-in for a chat API says: rules and whole completions."""

MODEL = "stand-in"
USAGE = {"prompt_tokens": 1000, "completion_tokens": 200, "total_tokens": 1200}
"""What every completion says it used."""

_FORMS = (
    ("slack times the geometric mean of the gains", "slack * (up * down) ** 0.5"),
    ("slack times the harmonic mean of the gains", "slack * 2.0 * up * down / (up + down)"),
    ("the smaller gain first, the larger as a tie-breaker", "min(up, down) + 0.1 * max(up, down)"),
    ("gains weighed by tight rows", "slack * up * down * (1.0 + active)"),
    ("logarithms of gains and of tight rows", "math.log1p(up) + math.log1p(down) + math.log1p(active)"),
)


def rule_source(number):
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


def good_answer(number):
    """Return the text of the `number`-th good answer."""
    thought, _ = _FORMS[number % len(_FORMS)]
    return f"{{It is {thought}}}\n\n```python\n{rule_source(number)}```\n"


def completion(text, finish_reason="stop", **more):
    """Return a chat completion as the API's JSON."""
    message = {"role": "assistant", "content": text, **more}
    choices = [{"index": 0, "message": message, "finish_reason": finish_reason}]
    about = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": MODEL}
    return {**about, "choices": choices, "usage": dict(USAGE)}
