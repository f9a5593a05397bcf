"""Branching rules: source text in, a compiled rule or a rejection out; the names are in `__init__.pyi`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
