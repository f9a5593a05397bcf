"""`bife plugins`: what can be chosen by name, and which package brings it."""

from __future__ import annotations

from flows.cli.consoles import show_table, standard_output


def plugins() -> None:
    """List families, searches, generators and kinds of methods, and the package each comes from."""
    from bife_core.benchmarks.config import FAMILIES
    from bife_core.generators.config import GENERATORS
    from bife_core.methods.base import METHODS
    from bife_core.search import SEARCHES

    kinds = (FAMILIES, SEARCHES, GENERATORS, METHODS)
    rows = [(kind.kind, name, package) for kind in kinds for name, package in kind.listed()]
    show_table(standard_output(), ("kind", "name", "package"), rows, numbers=False)
