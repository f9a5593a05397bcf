"""The bench of F_LF against F_HF: its numbers on paper, and a small run that goes on where it stopped."""

import json
import sys

import numpy as np
import pytest

from bench.fidelity import foretold, main
from bife_core.base.places import compiled_code
from bife_core.measure.low_measures import MEASURES
from bife_core.store import Store


def test_tau_is_the_mean_over_measurements():
    up = np.arange(12.0)
    same = foretold([(up, up), (up, up**3)])
    assert (same["tau"], same["low"], same["high"], same["top5"], same["rules"]) == (1, 1, 1, 1, 12)
    mixed = foretold([(up, up), (up, -up)])
    assert mixed["tau"] == 0
    assert foretold([(np.zeros(12), up)])["tau"] is None, "what gives all the same foretells nothing"


@pytest.mark.long
def test_a_small_run_is_repeated_from_its_store(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("BIFE_CACHE_DIR", str(compiled_code().parent))  # not compiled anew
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    options = "--families combinatorial_auction --size tiny --instances 2 --rules-count 4 --decisions 10 --cost nodes"
    monkeypatch.setattr(sys, "argv", ["fidelity", *options.split(), "--store", str(tmp_path / "store")])
    main()
    first = capsys.readouterr().out
    solved = []
    monkeypatch.setattr(Store, "put_solve", lambda store, key, body: solved.append(key))
    main()
    assert capsys.readouterr().out == first
    assert solved == []
    facts, *lines = map(json.loads, first.splitlines())
    assert facts["decisions"] == facts["pruned"] + facts["tightenable"] + facts["genuine"] == 10
    foretelling = [line for line in lines if "variant" in line]
    assert [line["variant"] for line in foretelling] == [*MEASURES, "ceiling"]
    for line in foretelling:
        assert line["rules"] == 4 - facts["without_f_hf"]
        assert -1 <= line["tau"] <= 1
        assert 0 <= line["top5"] <= 1
