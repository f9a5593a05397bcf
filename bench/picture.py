"""Draw the picture of a report with numbered marks, `docs/images/report.png`: `python -m bench.picture REPORT.html`.

Needs Chromium and playwright, which `make browser` installs. The numbers are those of the list in
`docs/tutorials/own-folder.md`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from pkgutil import resolve_name
from typing import Final

from bench.pictures import IMAGES, taken

_PICTURE: Final = IMAGES / "report.png"
_WIDTH: Final = 1200

_MARKED: Final = (
    "h1",
    ".keys b",
    ".keys p",
    ".keys figure",
    "h2:text-is('What was found')",
    "h2:text-is('What brought it')",
    "h2:text-is('Results')",
    "h2:text-is('What to keep in mind')",
)
"""What is marked, in the order of the numbers."""

_END: Final = "h2:text-is('The search')"
"""The picture ends above it."""

_SHORTENED: Final = """
    h2 { margin-top: 1.4rem } pre { max-height: 7.5rem; overflow: hidden }
    main .figures, main .note, details:not([open]) { display: none }
"""
"""What makes the page short enough for a picture."""

_MARK: Final = """(element, number) => {
    const mark = document.createElement("div"), box = element.getBoundingClientRect();
    mark.textContent = number;
    const left = box.left - (box.left > 300 ? 14 : 38), top = box.top + Math.min(box.height, 60) / 2 - 14;
    Object.assign(mark.style, {
        position: "absolute", left: `${left + scrollX}px`, top: `${top + scrollY}px`,
        width: "28px", height: "28px", borderRadius: "50%", background: "#d55e00", color: "#fff",
        font: "600 16px/28px Helvetica, Arial, sans-serif", textAlign: "center", zIndex: 9,
    });
    document.body.append(mark);
}"""


def main() -> None:
    from PIL import Image

    window = resolve_name("tests.browser.chromium:window")  # which has no types
    report = Path(sys.argv[1]).resolve()
    with window() as page:
        page.set_viewport_size({"width": _WIDTH, "height": 900})
        page.goto(report.as_uri())
        page.add_style_tag(content=_SHORTENED)
        for number, element in enumerate(_MARKED, start=1):
            page.locator(element).first.evaluate(_MARK, number)
        end = page.locator(_END).bounding_box()
        assert end is not None
        page.screenshot(
            path=_PICTURE, full_page=True, clip={"x": 0, "y": 0, "width": _WIDTH, "height": end["y"]}
        )
    with Image.open(_PICTURE) as image:
        image.convert("RGB").quantize(64).save(_PICTURE, optimize=True)
    taken("report")
    print(_PICTURE)


if __name__ == "__main__":
    main()
