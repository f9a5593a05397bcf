"""Tables on terminals of any width."""

import pytest

from bife_core.cli.consoles import show_table

COLUMNS = ("family", "champion", "ratio to RPB", "last search", "found")
CHAMPION = ("combinatorial_auction", "bife-combinatorial_auction 12")
ROW = (*CHAMPION, "0.650 (0.550 to 0.720)", "3 hours ago", "g04-c01")


@pytest.fixture
def shown(monkeypatch, capsys):
    def show(width, columns=COLUMNS, rows=(ROW,), **more):
        monkeypatch.setenv("COLUMNS", str(width))
        show_table(columns, rows, **more)
        return capsys.readouterr().out

    return show


@pytest.mark.parametrize("width", range(20, 140, 5))
def test_no_width_breaks_a_word(shown, width):
    text = shown(width, numbers=False)
    for word in " ".join((*COLUMNS, *ROW)).split():
        assert word in text
    assert CHAMPION[0] in shown(width, COLUMNS[1::-1], [CHAMPION[::-1]], numbers=False), "last"


def test_what_fits_is_one_line_and_what_is_too_wide_is_a_list(shown):
    assert len(shown(120).splitlines()) == 2
    lines = ("family        combinatorial_auction", "champion      bife-combinatorial_auction 12")
    assert tuple(shown(60).splitlines()[:2]) == lines


def test_a_path_in_the_last_column_is_folded(shown):
    text = shown(60, ("check", "finding"), [("home", "/srv/" + "x" * 90)], numbers=False)
    assert text.replace("\n", "").replace(" ", "").endswith("/srv/" + "x" * 90)
    assert max(map(len, text.splitlines())) <= 60


def test_a_column_is_as_wide_as_the_lines_of_its_name(shown):
    assert shown(20, ("a", "one\nother", "b"), [("x", "1", "2")]).splitlines()[1].rstrip() == "a  other  b"
