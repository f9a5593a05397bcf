"""Searches that begin with the best rules of earlier ones."""

import bife_core
from bife_core.run.study.archive import archived, descent, origin
from bife_core.run.study.journal import Ended, Journal, Opened
from bife_core.search import Sample, SearchCost
from bife_core.store import Store
from tests.bife_core.run.study.conftest import small


def ended(store, key, best):
    """Enter a search that ended."""
    assert store.folder is not None
    journal = Journal(store.folder / key, Opened(key=key, name=f"{key} bife"), store=store)
    journal.add(Ended(best=best, cost=SearchCost(search="bife"), samples=1))


def rule(number):
    source = f"def candidate_variable_score(f):\n    return f[24] + {number} * f[18]\n"
    return Sample(
        id=f"g00-c0{number}", generation=0, operator="i1", sha=f"sha{number}", source=source, f_hf=-1.0
    )


def test_the_best_rules_of_a_store_come_latest_first_each_once(tmp_path):
    store = Store(tmp_path)
    for key, best in (("auctions", rule(1)), ("grids", rule(2)), ("none", None), ("again", rule(1))):
        ended(store, key, best)
    result = archived(store, 9)
    assert [origin(source) for source in result] == [
        "From the archive: g00-c01 of the search again",
        "From the archive: g00-c02 of the search grids",
    ]
    assert result[0].endswith(rule(1).source or "-")
    assert archived(store, 1) == result[:1]
    ended(store, "third", rule(2).model_copy(update={"source": result[1]}))
    assert archived(store, 1)[0].count("From the archive") == 1, (
        "it is named by the search that found it last"
    )
    ended(store, "cuts", rule(3).model_copy(update={"source": ' {"kind": "component_rule", "source": ""}'}))
    assert archived(store, 9)[0] == archived(store, 1)[0] != result[0], "a method that is no rule is left out"
    assert origin(rule(1).source or "") == "The rule the search begins with."


def test_a_study_begins_with_the_archive_and_its_rules_say_that_they_descend_from_it(data, tmp_path):
    archive = Store(tmp_path / "archive")
    ended(archive, "grids", rule(2))
    config = small(search__first_rules=bife_core.archived(archive))
    study = bife_core.create_study(config, **data, folder=tmp_path / "new")
    result = study.run()
    (first,) = (sample for sample in result.samples if (sample.source or "").startswith("# From the archive"))
    assert first.valid
    assert first.f_lf is not None
    assert len(result.samples) == small().search.samples + 1, "it uses up no budget"
    child = Sample(id="g09-c00", generation=9, operator="e1", parents=(result.samples[0].id, first.id))
    grandchild = Sample(id="g09-c01", generation=9, operator="m1", parents=(child.id,))
    samples = (*result.samples, child)
    assert descent(grandchild, samples) == (
        "g09-c01 by m1 from g09-c00. From the archive: g00-c02 of the search grids"
    )
    assert descent(result.samples[0], samples) == result.samples[0].lineage
