"""Whether an instance is like those that something was measured on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from bife_core.base.values import Value
from bife_core.base.wording import span_text

_FACTOR: Final = 1.5  # how far beyond the range of known instances a count may lie
_POINTS: Final = 10.0  # how far beyond it a share may lie, in percent points


class Likeness(Value):
    """The range of each number in the `bife_core.instances.formulation.shape` of some instances."""

    ranges: dict[str, tuple[float, float]]

    def difference(self, numbers: Mapping[str, float], names: Iterable[str] | None = None) -> str | None:
        """Return in what an instance of these `numbers` differs, or None if it is like the others; by default in any.

        >>> Likeness(ranges={"variables": (100.0, 200.0)}).difference({"variables": 500.0})
        'variables: 500 here, 100 to 200 there'
        """
        for name in dict.fromkeys((*self.ranges, *numbers)) if names is None else names:
            low, high = self.ranges.get(name, (0.0, 0.0))
            value = numbers.get(name, 0.0)
            share = name.startswith("%")
            below, above = (low - _POINTS, high + _POINTS) if share else (low / _FACTOR, high * _FACTOR)
            if not below <= value <= above:
                return f"{name}: {value:.4g} here, {span_text((low, high))} there"
        return None
