"""Without Prefect and MLflow the same is found and recorded: who tries again is all that differs."""

from collections import Counter

import pytest
from sqlalchemy import insert, select

from bife_core.registry.evidence import CHALLENGER
from bife_core.run.presets import with_overrides
from bife_core.run.stages import pipeline
from bife_core.run.stages.records import read_record
from bife_core.run.stages.runtime import Runtime
from bife_core.store.database import solves
from bife_core.store.home import Home, project_home

pytestmark = pytest.mark.slow

TIMED = {"test_instances", "runner.workers"}


def found(result):
    return [
        (sample.id, sample.sha, sample.f_lf, sample.f_hf, sample.failure) for sample in result.search.samples
    ]


def records(store, keys):
    """Return what records hold but times, by their kind."""
    stored = [read_record(store, key)[0] for key in keys]
    return {
        record.experiment: (
            {name: value for name, value in record.params.items() if name not in TIMED},
            record.metrics.keys(),
            record.tags.keys(),
            record.tables.keys(),
            record.files,
        )
        for record in stored
    }


def test_the_same_is_found_and_recorded_without_prefect_and_mlflow(smoke, tmp_path):
    runtime = Runtime(Home(tmp_path / "home"))
    both = [project_home().store, runtime.store]
    with both[
        1
    ]._database.writing() as connection:  # solves are the same whoever asks for them: they are not made twice
        kept = both[0]._database.rows(select(solves))
        connection.execute(insert(solves), [row._asdict() for row in kept])
    plain = pipeline.run(with_overrides(smoke.config, {"search.seed": 0}), runtime)
    assert found(plain) == found(smoke.result)
    assert plain.search.key == smoke.result.search.key
    assert plain.choice.chosen == smoke.result.choice.chosen
    assert plain.evaluation.method.identity == smoke.result.evaluation.method.identity
    assert CHALLENGER in plain.registered.aliases
    kinds = [Counter(event.kind for event in one.events(plain.search.key)) for one in both]
    assert kinds[0] == kinds[1]
    collected = {row.key for row in runtime.store.studies() if row.kind == "collection"}
    assert len(collected) == 1
    assert records(both[0], [*collected, smoke.result.evaluation.directory.name]) == records(
        both[1], [*collected, plain.evaluation.directory.name]
    )
