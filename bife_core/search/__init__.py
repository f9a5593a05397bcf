"""Searches over branching rules: values that ask for samples and solves, and take the answers; see `__init__.pyi`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
