from __future__ import annotations


def test_plugins_are_listed_with_kind_name_and_package(bife):
    result = bife("plugins")
    assert result.exit_code == 0, result.output
    lines = [line.strip().split(maxsplit=2) for line in result.stdout.splitlines()]
    assert ["search", "bife", "BiFE"] in lines
    assert ["search", "eoh", "bife-rivals 0.1.0"] in lines
