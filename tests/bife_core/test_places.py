"""Where things are kept that no home has to itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from bife_core.places import compiled_code, core_slots
from bife_core.sandbox import CoreSlots


def test_all_homes_of_a_user_share_cores_and_compiled_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bife_core.sandbox.cores.usable_cores", lambda: (0, 1))
    monkeypatch.delenv("BIFE_CORE_SLOTS")
    monkeypatch.setenv("BIFE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("BIFE_HOME", str(tmp_path / "one"))
    here = core_slots()
    with CoreSlots().hold(0) as mine:
        monkeypatch.setenv("BIFE_HOME", str(tmp_path / "other"))
        assert core_slots() == here == tmp_path / "cores"
        assert compiled_code() == tmp_path / "native"
        with CoreSlots(here).hold(mine, lambda: True) as theirs:
            assert theirs != mine
