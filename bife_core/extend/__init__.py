"""What other packages build on: `__init__.pyi` lists the names, each is loaded when it is first used."""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

_MODULES = {
    alias.name: statement.module
    for statement in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(statement, ast.ImportFrom)
    for alias in statement.names
}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    package = import_module(str(_MODULES[name]))
    if not hasattr(package, name):  # a module of it
        import_module(f"{package.__name__}.{name}")
    value = globals()[name] = getattr(package, name)
    return value


def __dir__() -> list[str]:
    return __all__
