"""Calls that travel between two homes through a root that neither shares."""

from __future__ import annotations

from pathlib import Path

from tasks.engines.packing import arrive, bring_back, depart, pack


def test_what_a_call_reads_and_writes_travels(root, homes, tmp_path):
    here = homes("here")
    model = here / "instances" / "model.mps.gz"
    model.parent.mkdir()
    model.write_bytes(b"a model")
    own = tmp_path / "my own.lp"
    own.write_text("another")
    part = here / "decisions" / "part.parquet"
    given = {"path": str(model), "own": str(own), "part": str(part), "source": "def f():\n  pass", "n": 3}
    packed = pack(given, root)
    assert packed["path"] == {"$file": "instances/model.mps.gz"}
    assert str(tmp_path) not in str(packed)

    there = homes("there")
    local = arrive(packed, root)
    assert Path(local["path"]).read_bytes() == b"a model"
    assert Path(local["own"]).read_text() == "another"
    assert local["source"] == given["source"]
    assert Path(local["part"]).is_relative_to(there)
    Path(local["part"]).write_bytes(b"decisions")
    Path(local["part"]).with_suffix(".json").write_text("{}")
    keys = depart(packed, local, root)

    homes("here")
    bring_back(keys, root)
    assert part.read_bytes() == b"decisions"
    assert part.with_suffix(".json").read_text() == "{}"


def test_without_a_root_paths_stay_paths(tmp_path):
    given = {"path": str(tmp_path)}
    assert arrive(pack(given, ""), "") == given
