"""From ``"bife_core.module:function"`` to the function, and from an exception to an answer."""

from __future__ import annotations

import importlib
import re
import traceback
from collections.abc import Callable
from typing import Any, Final

from bife_core.errors import BifeError

_CALL: Final = re.compile(r"bife_core(\.[A-Za-z]\w*)+:[A-Za-z]\w*")

_DETAIL_LINES: Final = 12


def well_formed(call: str) -> bool:
    """Tell whether `call` names a public function of this package."""
    return _CALL.fullmatch(call) is not None


def resolve(call: str) -> Callable[..., Any]:
    """Return the function a call names.

    Raises
    ------
    BifeError
        If it is not a public function written in a module of `bife_core`.
    """
    if not well_formed(call):
        raise BifeError(f"A worker runs only 'bife_core.module:function', not {call!r}.")
    module_name, _, name = call.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise BifeError(f"A worker cannot run {call!r}: {error}.") from error
    function: Callable[..., Any] | None = getattr(module, name, None)
    written_in = getattr(function, "__module__", None) or ""
    if not callable(function) or not f"{written_in}.".startswith("bife_core."):
        raise BifeError(f"A worker cannot run {call!r}: {module_name} defines no function {name!r}.")
    return function


def describe_exception(error: BaseException) -> tuple[str, str]:
    """Return one sentence about an exception and its trimmed traceback."""
    lines = traceback.format_exception(error)
    detail = "".join(lines).splitlines()
    if len(detail) > _DETAIL_LINES:
        detail = [detail[0], "  ...", *detail[-(_DETAIL_LINES - 2) :]]
    if isinstance(error, BifeError):
        return str(error), "\n".join(detail)
    message = " ".join(str(error).split())
    name = type(error).__name__
    return f"{name}: {message}" if message else f"{name} was raised.", "\n".join(detail)
