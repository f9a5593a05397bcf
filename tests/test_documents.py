"""What the documents refer to is there; `rumdl` checks their links, and `make docs` that all pages are on the site."""

import re
from collections import Counter
from pathlib import Path

import pytest

from bench import reference
from bife_core.measure.low_measures import MEASURES
from bife_core.tuning.space import table

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def test_every_picture_is_shown():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    names = {path.name for path in (ROOT / "docs" / "images").iterdir()}
    assert {name for name in names if f"images/{name}" not in text} == set()


def test_the_commands_of_measurements_exist():
    for page in PAGES:
        for name in re.findall(r"python -m (bench[.\w]*\w)", page.read_text(encoding="utf-8")):
            assert (ROOT / f"{name.replace('.', '/')}.py").exists(), (
                f"{page.name} names {name}, which does not exist"
            )


def test_a_label_that_looks_like_a_path_is_where_its_link_leads():
    for page in PAGES:
        for label, target in re.findall(r"\[`?([\w./-]+)`?\]\(([^)#]+)", page.read_text(encoding="utf-8")):
            if "/" in label or "." in label:
                path = (page.parent / target).resolve().relative_to(ROOT).as_posix()
                assert path.endswith(label), f"{page.name}: [{label}] leads to {path}"


def test_the_rows_that_are_tuned_are_counted():
    text = (ROOT / "docs" / "how-to" / "configuration.md").read_text(encoding="utf-8")
    counts = Counter(row.group for row in table())
    assert re.findall(r"^\| ([\w ]+) \| (\d+) \|", text, flags=re.MULTILINE) == [
        (group, str(count)) for group, count in counts.items()
    ]
    assert f"{counts.total()} rows of one table" in text


def test_every_measure_of_f_lf_has_a_row():
    text = (ROOT / "docs" / "explanation" / "statistics.md").read_text(encoding="utf-8")
    (rows,) = re.findall(r"^\| `low.measure` .*\n\|[-|]+\n((?:\|.*\n)+)", text, flags=re.MULTILINE)
    assert re.findall(r"^\| `(\w+)`", rows, flags=re.MULTILINE) == list(MEASURES)


@pytest.mark.parametrize("page", reference.PAGES, ids=lambda page: page.stem)
def test_a_page_that_is_made_is_what_its_source_says(page):
    text = page.read_text(encoding="utf-8")
    assert text == reference.PAGES[page](), f"{page} is out of date: run `python -m bench.reference`"
