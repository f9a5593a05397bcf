"""Where things are kept that no home has to itself."""

import os

import pytest

from bife_core.base.errors import ConfigError
from bife_core.base.places import compiled_code, core_slots, usable
from bife_core.workers import CoreSlots, WorkerFailure, WorkerPool


def test_all_homes_of_a_user_share_cores_and_compiled_code(tmp_path, monkeypatch):
    monkeypatch.setattr("bife_core.workers.cores.usable_cores", lambda: (0, 1))
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


@pytest.mark.parametrize("below", ["", "deeper"])
def test_a_cache_that_cannot_be_used_is_replaced_by_a_folder_that_the_user_has_to_himself(
    tmp_path, monkeypatch, below
):
    (tmp_path / "cache").write_text("a file in its place")
    monkeypatch.setattr("bife_core.workers.cores.usable_cores", lambda: (0,))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delenv("BIFE_CORE_SLOTS")
    monkeypatch.setenv("BIFE_CACHE_DIR", str(tmp_path / "cache" / below))
    mine = tmp_path / f"bife-{os.getuid()}"
    assert [usable(compiled_code()), usable(core_slots())] == [mine / "native", mine / "cores"]
    assert mine.stat().st_mode & 0o777 == 0o700
    with CoreSlots().hold(0), pytest.raises(WorkerFailure, match="waited for a core"):
        CoreSlots().hold(0, lambda: True).__enter__()
    with WorkerPool(1) as pool:
        assert pool.submit("bife_core.workers.selftest:echo", {"value": 1}, limit_s=60).result() == 1


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_cache_of_another_user_is_used_for_locks_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (theirs := tmp_path / "theirs").mkdir()
    os.chown(theirs, 4242, -1)
    assert usable(theirs, shared=True) == theirs
    assert usable(theirs) == tmp_path / "bife-0" / "theirs"


def test_code_in_a_folder_of_another_user_is_not_run(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"bife-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "cache").write_text("")
    with pytest.raises(ConfigError, match="set BIFE_CACHE_DIR to a folder of yours"):
        usable(tmp_path / "cache" / "native")
