"""MAP-Elites' grid: programs by what they are like, so that unlike ones do not compete.

Two axes, as in the published configuration of OpenEvolve. Complexity is the number of nodes of the program's syntax
tree, on a logarithmic scale. Diversity is how far the features it reads are from those of the program the search began
with (Jaccard distance). Neither moves while the search goes on, so a program stays in its cell.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from bife_core import Rejection
from bife_core.extend import check_source, complexity

LEAST_NODES: Final = 16
MOST_NODES: Final = 1024
"""Ends of the scale of complexity; what lies beyond is in the outermost cells."""


class Cell(NamedTuple):
    """A cell of the grid, by its number on either axis."""

    complexity: int
    diversity: int

    def distance(self, other: Cell) -> int:
        """Return the number of steps between two cells."""
        return abs(self.complexity - other.complexity) + abs(self.diversity - other.diversity)


def cell_of(source: str, reference: frozenset[int], bins: int) -> Cell:
    r"""Return the cell of a program.

    Parameters
    ----------
    source : str
        A rule that was checked.
    reference : frozenset of int
        Features that the first program reads.
    bins : int
        Cells along each axis.

    Examples
    --------
    >>> reading = "def candidate_variable_score(f):\n    return f[20] * f[{}]\n"
    >>> cell_of(reading.format(21), frozenset({20, 21}), 10), cell_of(reading.format(18), frozenset({20, 21}), 10)
    (Cell(complexity=0, diversity=0), Cell(complexity=0, diversity=6))
    """
    nodes = complexity(source)["ast_nodes"]
    size = math.log(max(nodes, LEAST_NODES) / LEAST_NODES) / math.log(MOST_NODES / LEAST_NODES)
    read = features_of(source)
    union = len(read | reference)
    far = 1 - len(read & reference) / union if union else 0.0
    return Cell(min(int(size * bins), bins - 1), min(int(far * bins), bins - 1))


def features_of(source: str) -> frozenset[int]:
    """Return the features a program reads; none where its text does not determine them."""
    checked = check_source(source)
    return frozenset() if isinstance(checked, Rejection) else checked.features or frozenset()
