"""What README says is measured by a command that goes on where it stopped: its numbers on paper, and a small run."""

import json
import math
import sys

import numpy as np
import pytest

from bench import claims, tables
from bench.claims import Measured, between, lines
from bife_core.measure.low import low_fidelity
from bife_core.run.presets import preset, with_overrides
from bife_core.search import SampleRequest
from bife_core.search.generators.base import PromptContext
from bife_core.search.generators.offline import OfflineGenerator
from bife_core.search.generators.offline.operators import sample_rule
from bife_core.solver.methods.base import RPB
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.scorer import RuleMethod
from tests.support.measured import BASELINE, RULE, summary
from tests.support.recorded import planted

SHIFT = math.log(0.5)


def test_searches_are_compared_by_all_ways_to_share_out_their_seeds():
    apart = between([SHIFT, SHIFT + 0.01], [0.0, 0.01, 0.02])
    assert (apart["p_value"], apart["counts"]) == (0.2, [2, 3]), "the most extreme of ten ways, on both sides"
    assert (apart["mean_ratios"], apart["ranges"][0]) == ([0.503, 1.01], [0.5, 0.505])
    assert between([0.1] * 3, [0.1] * 3)["p_value"] == 1.0
    assert between([0.1], [0.2, 0.3])["p_value"] is None, "one seed says nothing of others"


def test_a_search_without_a_rule_and_tuning_in_vain_count_as_rpb(tmp_path, monkeypatch, capsys):
    two = [Measured("a", RULE, 0), Measured("a", RULE, 1), Measured("b", None, 0), Measured("b", RULE, 1)]
    measured = [*two, Measured("tuned SCIP", Configuration()), Measured("relpscost", BASELINE)]
    *rows, facts, pair = lines(summary([1.0, 2.0, 4.0], [2.0, 4.0, 8.0]), measured)
    assert [(row["method"], row.get("search_seed"), row.get("ratio")) for row in rows] == [
        ("a", 0, 0.5), ("a", 1, 0.5), ("b", 0, 1.0), ("b", 1, 0.5),
        ("tuned SCIP", None, 1.0), ("relpscost", None, None),
    ]  # fmt: skip
    assert [row.get("note") for row in rows[2:5]] == [
        "b found no rule and counts as RPB", None, "tuned SCIP is RPB: no better parameters were found",
    ]  # fmt: skip
    assert (rows[0]["groups"], rows[0]["proofs"], rows[0]["proofs_rpb"], rows[0]["wins"]) == (3, 3, 3, 3)
    assert (facts["failures"], pair["searches"]) == ((), ("a", "b"))
    assert pair["mean_ratios"] == [0.5, round(math.sqrt(0.5), 3)]
    assert [pair[name] for name in ("ratio", "ci_low", "ci_high")] == [round(math.sqrt(0.5), 3)] * 3
    assert pair["p_rules"] == 0.25, "three instances of three, both sides"
    about = {"family": "set_covering", "size": "test", "solver": "default", "version": "abc"}
    printed = [json.dumps(about | row) for row in (*rows, facts, pair)]
    (file := tmp_path / "rows.jsonl").write_text("\n".join(printed))
    monkeypatch.setattr(sys, "argv", ["tables", str(file)])
    tables.main()
    assert "| set_covering | default | 3 | 4.0 |" in capsys.readouterr().out


def test_screened_rules_are_the_best_of_as_many_as_are_bred_for_a_fitted_one(monkeypatch):
    decisions = planted(60, sample_rule(np.random.default_rng(9)), doubt=0.1)
    requests = [SampleRequest(id=f"g00-c{seed}", generation=0, operator="i1", seed=seed) for seed in range(3)]
    context = PromptContext(benchmark="auctions")

    def f_lf(generator):
        drafts = [generator.generate(request, context) for request in requests]
        return [
            low_fidelity(RuleMethod(name="drawn", source=d.source or "").compiled, decisions) for d in drafts
        ]

    assert claims.Screened(decisions).drawn == 300
    monkeypatch.setattr(claims, "CHILDREN", 40)
    screened, again = (f_lf(claims.Screened(decisions)) for _ in range(2))
    assert screened == again
    assert min(screened) > max(f_lf(OfflineGenerator()))


@pytest.mark.slow
@pytest.mark.usefixtures("in_process", "quick_auctions")
def test_a_small_run_stops_all_at_equal_cost_and_goes_on_where_it_stopped(tmp_path, monkeypatch, capsys):
    few = {"search.samples": 4, "search.initial": 3, "search.population": 2, "high.instances": 1}
    small = with_overrides(preset("smoke", "combinatorial_auction"), few | {"collection.decisions": 5})
    monkeypatch.setattr(claims, "preset", lambda *_: small)
    monkeypatch.setattr(claims, "CHILDREN", 30)
    options = (
        "--families combinatorial_auction --searches bife screened --search-seeds 1 --instances 2 --seeds 0"
    )
    argv = ["claims", *options.split(), "--others", "general", "--store", str(tmp_path / "store")]
    monkeypatch.setattr(sys, "argv", [*argv, "--only-search"])
    claims.main()
    bife, screened = searches = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (bife["search"], bife["samples"], screened["search"]) == ("bife", 4, "screened")
    assert screened["solver_s"] >= bife["solver_s"]
    assert screened["screened"] == 30 * screened["samples"]
    monkeypatch.setattr(sys, "argv", argv)
    claims.main()
    again = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert again[:2] == searches
    rows = {(row["method"], row.get("search_seed")): row for row in again if "cpu_s" in row}
    assert {("bife", 0), ("screened", 0), ("paper_ca", None), ("general", None), (RPB, None)} <= rows.keys()
    assert again[-1]["searches"] == ["bife", "screened"]
    assert all(row["version"] for row in rows.values())
