"""Whether a model is like those a rule was made for: of about their size, and built of the same constraints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bife_core.benchmarks.formulation import shape
from bife_core.scip.reading import read_model
from bife_core.values import Value

_FACTOR: Final = 1.5
"""How far beyond the range of known models a count may lie."""
_POINTS: Final = 10.0
"""How far beyond it a share may lie, in percent points."""
_LOOKED_AT: Final = 8
"""Models that are read to know the others by."""


class Likeness(Value):
    """The range of some models' `bife_core.benchmarks.formulation.shape`.

    Attributes
    ----------
    ranges : dict of str to (float, float)
        Smallest and largest number of each property; what none of them has is left out.

    Examples
    --------
    >>> known = Likeness(ranges={"variables": (100.0, 120.0), "% of variables: binary": (100.0, 100.0)})
    >>> known.difference({"variables": 130.0, "% of variables: binary": 100.0})
    >>> known.difference({"variables": 900.0, "% of variables: binary": 100.0})
    'variables: 900 here, 100 to 120 there'
    """

    ranges: dict[str, tuple[float, float]]

    def difference(self, found: dict[str, float]) -> str | None:
        """Return in what a model differs from those known, or None if it is like them.

        Parameters
        ----------
        found : dict of str to float
            The model's shape.
        """
        for name in dict.fromkeys((*self.ranges, *found)):
            low, high = self.ranges.get(name, (0.0, 0.0))
            value = found.get(name, 0.0)
            share = name.startswith("%")
            below, above = (low - _POINTS, high + _POINTS) if share else (low / _FACTOR, high * _FACTOR)
            if not below <= value <= above:
                known = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
                return f"{name}: {value:.4g} here, {known} there"
        return None


def likeness_of(models: Sequence[Path]) -> Likeness:
    """Return what some models have in common; of many the first few are read.

    Raises
    ------
    InstanceError
        If one cannot be read.
    """
    shapes = [shape(read_model(path)) for path in models[:_LOOKED_AT]]
    values = {
        name: [one.get(name, 0.0) for one in shapes]
        for name in dict.fromkeys(name for one in shapes for name in one)
    }
    return Likeness(ranges={name: (round(min(of), 2), round(max(of), 2)) for name, of in values.items()})
