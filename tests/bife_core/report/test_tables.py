"""Tables in the paper's layout: what stands across, and what makes a table of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bife_core.benchmarks.config import FAMILIES
from bife_core.errors import ConfigError
from bife_core.plugins import Plugins
from bife_core.report.tables import split_setting


def test_a_setting_ends_in_a_size_that_some_family_comes_in(monkeypatch: pytest.MonkeyPatch) -> None:
    assert split_setting("OTS dmiplib") == ("OTS", "dmiplib")
    assert split_setting("CA transfer") == ("CA", "transfer")
    assert split_setting("plans of today") == ("plans of today", "")
    assert split_setting("knapsack huge") == ("knapsack huge", "")
    monkeypatch.setitem(FAMILIES, "knapsack", replace(FAMILIES["set_covering"], sizes={"huge": {}}))
    assert split_setting("knapsack huge") == ("knapsack", "huge")


def test_a_family_that_cannot_be_loaded_takes_no_table_away(monkeypatch: pytest.MonkeyPatch) -> None:
    load = Plugins.__getitem__

    def broken(self: Plugins[object], name: str) -> object:
        if name == "unit_commitment":
            raise ConfigError("update or uninstall it.")
        return load(self, name)

    monkeypatch.setattr(Plugins, "__getitem__", broken)
    assert split_setting("CA test") == ("CA", "test")
