"""The style of figures, in the colours of Okabe and Ito, and their files for print and for pages in light and dark."""

from __future__ import annotations

import html
import io
import re
import warnings
from base64 import b64encode
from pathlib import Path
from typing import Any, Final, Literal

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from bife_core.base.files import write_whole

BLUE: Final = "#0072B2"
ORANGE: Final = "#D55E00"
GREEN: Final = "#009E73"
YELLOW: Final = "#E69F00"
GREY: Final = "#6E6E6E"
GRID: Final = "#E5E5E5"

_LONGEST: Final = 64  # most characters of a name, so that labels leave width to the axes

_VARIABLES: Final = {
    "#000000": "--ink",
    "#FFFFFF": "--card",
    GRID: "--grid",
    GREY: "--muted",
    BLUE: "--blue",
    ORANGE: "--orange",
    GREEN: "--green",
    YELLOW: "--yellow",
}
"""Variables of a page that replace the colours of a figure."""


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches that pyplot does not manage."""
    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def label(name: str) -> str:
    """Return a name for a figure: on one line, not too long, no formula, and not hidden from a legend."""
    name = " ".join(name.split())
    if len(name) > _LONGEST:
        name = f"{name[: _LONGEST // 2]}…{name[1 - _LONGEST // 2 :]}"
    return (" " + name if name.startswith("_") else name).replace("$", r"\$")


def tidy(axes: Axes, *, grid: str = "both") -> None:
    """Remove needless spines, and put a pale grid behind the data."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, axis=grid, color=GRID, linewidth=0.8)  # type: ignore[arg-type]
    axes.set_axisbelow(True)


def readable_log(axes: Axes, of: Literal["x", "y"] = "x") -> None:
    """Make an axis logarithmic with readable ticks, also within one decade."""
    axes.set(**{f"{of}scale": "log"})
    axis = axes.xaxis if of == "x" else axes.yaxis
    low, high = axis.get_view_interval()
    wide = high / low > 12
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)) if wide else MaxNLocator(4, prune=None))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def save(
    figure: Figure, directory: Path, stem: str, formats: tuple[str, ...] = ("png", "svg", "pdf")
) -> list[Path]:
    """Write a figure in each format and return the files; equal figures give equal files."""
    files = [directory / f"{stem}.{kind}" for kind in formats]
    stamps = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with rc_context({"svg.hashsalt": stem}):
        for path, kind in zip(files, formats, strict=True):
            write_whole(path, _drawn(figure, format=kind, metadata=stamps.get(kind)))
    return files


def data_url(figure: Figure) -> str:
    """Return a figure as an address that holds it, for pages without files."""
    return f"data:image/png;base64,{b64encode(_drawn(figure, format='png')).decode()}"


def _drawn(figure: Figure, **options: Any) -> bytes:
    """Return a figure's file, without warnings of characters that the font lacks."""
    content = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(content, **options)
    return content.getvalue()


def inline_svg(figure: Figure, name: str, description: str) -> str:
    """Return a figure as SVG for a page: with text, colours as CSS variables, and ids that begin with `name`."""
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        svg = _drawn(figure, format="svg", transparent=True, metadata={"Date": None}).decode()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\b(id="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    for colour, variable in _VARIABLES.items():
        svg = re.sub(colour, f"var({variable}, {colour})", svg, flags=re.IGNORECASE)
    # The page gives the width; the view box keeps the proportions.
    head, _, body = svg.partition(">")
    box = re.findall(r'viewBox="[^"]+"', head)[0]
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'{box} role="img" aria-label="{html.escape(description)}">{body}'
    )
