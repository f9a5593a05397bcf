"""An evaluation, or several, as a page a referee can read, and as tables in Markdown and LaTeX."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
