"""BiFE as a library: the public interface is in `__init__.pyi`; each name is loaded when it is first used."""

import gc
from typing import Any

import lazy_loader

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    collects = gc.isenabled()
    gc.disable()  # what is imported stays, and the collector would look through it again and again
    try:
        return _load(name)
    finally:
        if collects:
            gc.enable()
