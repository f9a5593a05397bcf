"""Which instances test a rule: none that a search or an earlier choice has seen, and how often they were used."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from bife_core.base.stats import CONFIDENCE, confidence_of, fewest_instances
from bife_core.base.values import digest_of
from bife_core.base.wording import counted
from bife_core.instances.base import Instance, marks
from bife_core.instances.folder import FolderBenchmark, fewest_usable
from bife_core.measure.evaluation.comparison import fewest_for_champion
from bife_core.measure.evaluation.protocol import enter_comparisons, key_of
from bife_core.run.config import InstancesConfig, PipelineConfig
from bife_core.run.stages.runtime import InstanceSet, Runtime
from bife_core.solver.methods.base import Method
from bife_core.store.store import Served

_LIKELY: Final = 0.7
"""Ratio for which test instances that were used less often have to suffice, so that those used more often are left."""


def own_test_instances(instances: InstancesConfig, rule: Method) -> InstancesConfig:
    """Return the test instances of a family that belong to a rule, whatever the settings; a folder has what it has."""
    seed = instances.seed if instances.folder is not None else int(digest_of(rule.identity)[:8], 16)
    return instances.model_copy(update={"seed": seed})


def unseen_instances(config: PipelineConfig, runtime: Runtime, of_rule: str = "none") -> InstanceSet:
    """Return test instances for an evaluation that may promote a rule: none that ever served a search in this store.

    Nor one of a folder that judged a rule beside instances, or in groups, that changed since: whoever changed them may
    have known the outcome. First come those that served the most comparisons of the rule, whose keys begin with
    `of_rule`, so that no setting gives it others; then, as far as needed, those that served the fewest of any.
    """
    count, where = max(config.evaluation.instances, config.evaluation.most_instances), config.instances
    drawn = runtime.instances(where, "test", count if where.folder is None else sys.maxsize)
    ledger, folder = runtime.store.served(), runtime.benchmark(where).opened
    groups, judged = defaultdict[str, list[Instance]](list), defaultdict[str, set[str]](set)
    usable = folder.usable if isinstance(folder, FolderBenchmark) else drawn.instances
    for instance in usable:
        groups[instance.group].append(instance)
    for mark, served in ledger.items():
        for key in served.comparisons if where.folder is not None else ():
            judged[key].add(mark)
    now = {key: marks(each for each in usable if each.digest in then) for key, then in judged.items()}
    altered = {key for key, then in judged.items() if now[key] != then}
    uses, unseen = dict[str, tuple[int, int]](), set[str]()
    for group in {instance.group for instance in drawn.instances}:
        # What a group of files is called says nothing: those of another folder may be called alike.
        members = groups[group]
        known_marks = marks(members) if where.folder is None else {instance.digest for instance in members}
        entries = [ledger.get(mark, Served("test")) for mark in known_marks]
        belongs = [key.startswith(of_rule) for key in max((entry.comparisons for entry in entries), key=len)]
        uses[group] = -sum(belongs), [*belongs, True].index(True)  # others that came later change nothing
        if all(entry.split == "test" and altered.isdisjoint(entry.comparisons) for entry in entries):
            unseen.add(group)
    held_out = [instance for instance in drawn.instances if instance.group in unseen]
    order = sorted(held_out or drawn.instances, key=lambda instance: uses[instance.group])
    for level in sorted({level for _, level in uses.values()}):
        chosen = [
            instance for instance in order if uses[instance.group][0] or uses[instance.group][1] <= level
        ][:count]
        fewest = fewest_instances(confidence_of(level + 1, CONFIDENCE), _LIKELY)
        if len({instance.group for instance in chosen}) >= fewest:
            break
    tested, notes = tuple(instance for instance in drawn.instances if instance in chosen), drawn.notes
    if held_out and len(held_out) < len(drawn.instances):
        left_out = counted(len(drawn.instances) - len(held_out), "test instance")
        notes += (f"{left_out} served a search before, or judged rules beside others, and are left out.",)
    use = 1 + max(uses[instance.group][1] for instance in tested) if held_out else 0
    return drawn.model_copy(update={"instances": tested, "notes": notes, "use": use})


def take_test_instances(
    config: PipelineConfig,
    runtime: Runtime,
    methods: Sequence[Method],
    rules: Sequence[Method],
    promoting: bool,
) -> InstanceSet:
    """Return the test instances that methods are solved on, entered in the store as compared by those of our rules."""
    settings = config.evaluation
    if promoting:
        drawn = unseen_instances(config, runtime, key_of(methods[0]))
    else:
        drawn = runtime.instances(config.instances, "test", settings.instances)
    use = enter_comparisons(
        runtime.store, rules, methods, drawn.instances, settings, config.solver, promoting
    )
    return drawn.model_copy(update={"use": use if drawn.use else 0})


def no_champion_by(tested: InstanceSet, config: PipelineConfig, runtime: Runtime) -> tuple[str, ...]:
    """Return why no rule can become champion by test instances of a folder, in a sentence, if none can."""
    folder = runtime.benchmark(config.instances).opened
    if not isinstance(folder, FolderBenchmark):
        return ()
    if not tested.use:
        return (
            "No rule can become champion: all test instances of the folder served a search, or judged rules beside "
            "instances that are gone or in other groups; add others.",
        )
    parts = (tested.instances, folder.parts["test"])
    few, most = (len({instance.group for instance in part}) for part in parts)
    fewest = fewest_for_champion(tested.use)
    further = max(fewest_usable(fewest) - len(folder.ordered), 1)
    remedies = [f"add {counted(further, 'instance')} or more to the folder"] if most < fewest else []
    if few < min(most, fewest):
        remedies.append(f"set evaluation.most_instances to {fewest} or more")
    which = f" at use {tested.use} of some of them" if tested.use > 1 else ""
    reason = f"No rule can become champion by {few} test instances, {fewest} are needed{which}: "
    return (f"{reason}{' and '.join(remedies)}.",) if few < fewest else ()
