"""Draw the picture of a report with numbered marks, `docs/images/report.png`: `python -m bench.picture REPORT.html`.

Needs Chromium and playwright, which `make browser` installs. The numbers are those of the list in
`docs/tutorials/own-folder.md`.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Final

from bench.pictures import IMAGES, taken

_PICTURE: Final = IMAGES / "report.png"
_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
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
    from playwright.sync_api import sync_playwright

    report = Path(sys.argv[1]).resolve()
    browser_path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    with sync_playwright() as playwright:
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=browser_path, args=options)
        page = browser.new_page(viewport={"width": _WIDTH, "height": 900}, color_scheme="light")
        page.goto(report.as_uri())
        page.add_style_tag(content=_SHORTENED)
        for number, element in enumerate(_MARKED, start=1):
            page.locator(element).first.evaluate(_MARK, number)
        end = page.locator(_END).bounding_box()
        assert end is not None
        page.screenshot(
            path=_PICTURE, full_page=True, clip={"x": 0, "y": 0, "width": _WIDTH, "height": end["y"]}
        )
        browser.close()
    with Image.open(_PICTURE) as image:
        image.convert("RGB").quantize(64).save(_PICTURE, optimize=True)
    taken("report")
    print(_PICTURE)


if __name__ == "__main__":
    main()
