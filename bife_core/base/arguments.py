"""Checks of arguments by their annotations, before a public function does anything."""

from __future__ import annotations

import inspect
import re
import reprlib
from collections.abc import Callable, Sequence
from functools import cache, wraps
from numbers import Integral, Real
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from bife_core.base.errors import ConfigError
from bife_core.base.files import can_be_path

P = ParamSpec("P")
R = TypeVar("R")


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Have a function refuse bad paths and arguments of other types than annotated; iterators are not looked into."""
    signature = inspect.signature(function)

    @cache
    def hints() -> dict[str, Any]:  # annotations may name what stands further down in their module
        return get_type_hints(function, include_extras=True)

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            hint = hints().get(name, Any)
            if not _fits(value, hint):
                expected = re.sub(r"[a-z_]+\.", "", inspect.formatannotation(hint))  # without modules
                raise ConfigError(f"{name} was expected to be {expected} and is {reprlib.repr(value)}.")
            for path in value if isinstance(value, list | tuple) else [value]:
                if _names_files(hint) and isinstance(path, str | Path) and not can_be_path(path):
                    raise ConfigError(f"{name} is {reprlib.repr(str(path))}, which no file can be called.")
        return function(*args, **kwargs)

    return called


def _fits(value: object, hint: Any) -> bool:
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        return any(_fits(value, member) for member in inner)
    if kind is Literal:
        return any(type(value) is type(word) and value == word for word in inner)
    if kind in (int, float):
        return isinstance(value, Integral if kind is int else Real) and not isinstance(value, bool)
    if kind is Sequence:
        if isinstance(value, str | bytes) or not isinstance(value, Sequence):
            return False
        return all(_fits(item, inner[0]) for item in value)
    return kind in (Any, Annotated) or isinstance(value, kind)


def _names_files(hint: Any) -> bool:
    inner = () if get_origin(hint) is Annotated else get_args(hint)
    return hint is Path or any(map(_names_files, inner))
