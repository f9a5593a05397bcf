"""Figures of a search and of an evaluation, each a new `matplotlib.figure.Figure`; no global state is used."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
