"""What an evolution needs of this home: its journal, its account, its evaluator, alone on the machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bife_core.config import PipelineConfig
from bife_core.decisions.collecting import CollectionSummary
from bife_core.generators import Account, open_generator
from bife_core.generators.calls import CallStore
from bife_core.study import Opened, evolution_facts, evolution_key, generator_identity
from tasks.collection import decisions_dataset
from tasks.home import project_home
from tasks.instances import InstanceSet
from tasks.stores import alone_at, home_store
from tasks.tracking.records import flat


def require_generator(config: PipelineConfig) -> None:
    """Make sure that rules can be written as far as that can be known before anything is spent.

    Raises
    ------
    GeneratorError
        If a setting of the generator is missing.
    ConfigError
        If the budget limits money and the model's prices are not known.
    """
    open_generator(config.generator, Account(CallStore(home_store(), ""), config.budget))


def describe_evolution(
    config: PipelineConfig,
    decisions: CollectionSummary | None,
    design: InstanceSet,
    training: InstanceSet | None,
) -> Opened:
    """Return the identity of an evolution and what lists of runs say of it.

    Raises
    ------
    GeneratorError
        If the environment's settings of the model API cannot be used.
    """
    facts = evolution_facts(
        config,
        config.instances.label,
        generator_identity(config.generator),
        decisions.digest if decisions is not None else None,
        design.instances,
        training.instances if training is not None else (),
    )
    read = [decisions_dataset(config.instances, decisions)] if decisions is not None else []
    read += [chosen.dataset for chosen in (design, training) if chosen is not None]
    search, label = config.search, config.instances.label
    return Opened(
        key=evolution_key(facts),
        name=f"{label} {search.method} {config.origin_of_rules} seed {search.seed}",
        params=flat(facts)
        | {"search.samples": search.samples}
        | flat({"instances": config.instances.model_dump(mode="json")}),
        tags={"benchmark": label, "search": search.method},
        datasets=tuple(read),
        prompts=config.generator.kind == "openai",
        origin=config.origin_of_rules,
    )


@contextmanager
def alone_in_evolution(key: str) -> Iterator[Path]:
    """Keep other processes from running the same evolution at the same time, and yield its folder.

    Others wait, and then find it done. What another machine has of it is fetched first, and what this one has is
    given to others at the end, whatever end.
    """
    folder = project_home().runs / key
    with alone_at(f"evolution {key}", f"the evolution {key}"):
        yield folder
