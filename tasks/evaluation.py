"""Tasks that compare methods with a baseline on held-out instances and write the comparison to MLflow."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from prefect import task

from bife_core.benchmarks.base import Instance, marks
from bife_core.benchmarks.config import FAMILIES
from bife_core.benchmarks.folder import FolderBenchmark, fewest_usable
from bife_core.config import InstancesConfig, PipelineConfig
from bife_core.evaluation.choosing import Choice
from bife_core.evaluation.measuring import enter_comparisons, key_of
from bife_core.evaluation.summary import EvaluationSummary, evaluate as _evaluate
from bife_core.files import write_whole
from bife_core.methods.base import Method
from bife_core.report import Story
from bife_core.stats import CONFIDENCE, confidence_of, fewest_instances
from bife_core.store.store import Served
from bife_core.values import digest_of, flat
from bife_core.wording import counted
from tasks import evaluation_files
from tasks.collection import InstanceSet, prepare_instances
from tasks.home import RECORD, project_home
from tasks.instances import benchmark
from tasks.states import TRIED_AGAIN
from tasks.stores import alone_at, home_store, observer
from tasks.tracking import store
from tasks.tracking.subscriber import Record, track_record
from tasks.workers import worker_pool

_MEASURED: Final = {"ratio", "node_ratio", "wins", "losses", "missing", "proofs", "baseline_proofs"}
_LIKELY: Final = 0.7
"""Ratio for which test instances that were used less often have to suffice, so that those used more often are left."""


def evaluation_folder(methods: Sequence[Method], instances: InstanceSet, summary: EvaluationSummary) -> Path:
    """Return where the files of an evaluation lie, by its methods, instances, settings, machine and solves."""
    facts = [
        list(dict.fromkeys(method.identity for method in methods)),
        instances.content,
        summary.protocol.model_dump(mode="json"),
        summary.solver.model_dump(mode="json"),
        summary.machine.digest if summary.machine is not None else "",
        summary.rows,
        summary.use,
        [summary.form(), summary.lead.form()],
    ]
    return project_home().runs / f"evaluation-{digest_of(facts)[:16]}"


def own_test_instances(instances: InstancesConfig, rule: Method) -> InstancesConfig:
    """Return the test instances of a family that belong to a rule, whatever the settings; a folder has what it has."""
    seed = instances.seed if instances.folder is not None else int(digest_of(rule.identity)[:8], 16)
    return instances.model_copy(update={"seed": seed})


def unseen_instances(config: PipelineConfig, of_rule: str = "none") -> InstanceSet:
    """Return test instances for an evaluation that may promote a rule: none that ever served a search in this store.

    Of a folder none is taken either that judged a rule together with others, or in other groups, than there are now:
    who took these away, or grouped them anew, may have known how they came out. Those come first that served the most
    comparisons of the rule, whose keys begin with `of_rule`, so that no setting gives it others. Then come those that
    served the fewest of any; where these suffice, the others are left.
    """
    count, where = max(config.evaluation.instances, config.evaluation.most_instances), config.instances
    drawn = prepare_instances(where, "test", count if where.folder is None else sys.maxsize)
    ledger, folder = home_store().served(), benchmark(where).opened
    groups, judged = defaultdict[str, list[Instance]](list), defaultdict[str, set[str]](set)
    every = folder.usable if isinstance(folder, FolderBenchmark) else drawn.instances
    for one in every:
        groups[one.group].append(one)
    for mark, served in ledger.items():
        for key in served.comparisons if where.folder is not None else ():
            judged[key].add(mark)
    altered = {
        key for key, then in judged.items() if marks(one for one in every if one.digest in then) != then
    }
    uses, unseen = dict[str, tuple[int, int]](), set[str]()
    for group in {one.group for one in drawn.instances}:
        # What a group of files is called says nothing: those of another folder may be called alike.
        known = marks(groups[group]) if where.folder is None else {one.digest for one in groups[group]}
        entries = [ledger.get(mark, Served("test")) for mark in known]
        own = [key.startswith(of_rule) for key in max((entry.comparisons for entry in entries), key=len)]
        uses[group] = -sum(own), [*own, True].index(True)  # others that came later change nothing
        if all(entry.split == "test" and altered.isdisjoint(entry.comparisons) for entry in entries):
            unseen.add(group)
    held_out = [one for one in drawn.instances if one.group in unseen]
    order = sorted(held_out or drawn.instances, key=lambda one: uses[one.group])
    for level in sorted({level for _, level in uses.values()}):
        chosen = [one for one in order if uses[one.group][0] or uses[one.group][1] <= level][:count]
        fewest = fewest_instances(confidence_of(level + 1, CONFIDENCE), _LIKELY)
        if len({one.group for one in chosen}) >= fewest:
            break
    tested, notes = tuple(one for one in drawn.instances if one in chosen), drawn.notes
    if held_out and len(held_out) < len(drawn.instances):
        left_out = counted(len(drawn.instances) - len(held_out), "test instance")
        notes += (f"{left_out} served a search before, or judged rules beside others, and are left out.",)
    use = 1 + max(uses[one.group][1] for one in tested) if held_out else 0
    return drawn.model_copy(update={"instances": tested, "notes": notes, "use": use})


def take_test_instances(
    config: PipelineConfig, methods: Sequence[Method], rules: Sequence[Method], promoting: bool
) -> InstanceSet:
    """Return the test instances that methods are solved on, entered in the store as compared by those of our rules."""
    settings = config.evaluation
    if promoting:
        drawn = unseen_instances(config, key_of(methods[0]))
    else:
        drawn = prepare_instances(config.instances, "test", settings.instances)
    use = enter_comparisons(home_store(), rules, methods, drawn.instances, settings, config.solver)
    return drawn.model_copy(update={"use": use if drawn.use else 0})


def no_champion_by(tested: InstanceSet, config: PipelineConfig) -> tuple[str, ...]:
    """Return why no rule can become champion by test instances of a folder, in a sentence, if none can."""
    folder = benchmark(config.instances).opened
    if not isinstance(folder, FolderBenchmark):
        return ()
    if not tested.use:
        return (
            "No rule can become champion: all test instances of the folder served a search, or judged rules beside "
            "instances that are gone or in other groups; add others.",
        )
    few, most = (len({one.group for one in some}) for some in (tested.instances, folder.parts["test"]))
    fewest = fewest_instances(confidence_of(tested.use, CONFIDENCE))
    further = max(fewest_usable(fewest) - len(folder.ordered), 1)
    remedies = [f"add {counted(further, 'instance')} or more to the folder"] if most < fewest else []
    if few < min(most, fewest):
        remedies.append(f"set evaluation.most_instances to {fewest} or more")
    which = f" at use {tested.use} of some of them" if tested.use > 1 else ""
    reason = f"No rule can become champion by {few} test instances, {fewest} are needed{which}: "
    return (f"{reason}{' and '.join(remedies)}.",) if few < fewest else ()


@task(
    name="evaluate",
    task_run_name="evaluate {methods[0].name} against {config.evaluation.baseline}",
    **TRIED_AGAIN,
)
def evaluate(
    methods: Sequence[Method],
    instances: InstanceSet,
    config: PipelineConfig,
    beat: Sequence[str] | None = None,
) -> EvaluationSummary:
    """Solve instances with all methods; solves that are stored are reused.

    With `beat`, identities of methods, it stops once it is decided whether the first is better than these and the
    baseline. Of an evaluation that was made before the record of then is returned, with its day and duration. A
    `SolverError` says that the baseline has no solve at all.
    """
    lead, family = methods[0], FAMILIES.get(config.instances.benchmark)
    # What tables call the instances, such as "CA transfer".
    setting = config.instances.label if family is None else f"{family.label} {config.instances.size}"
    with alone_at(f"evaluation {lead.identity} {instances.content}", f"the evaluation of {lead.name}"):
        summary = _evaluate(
            methods,
            instances.instances,
            config.evaluation,
            worker_pool(config.runner),
            home_store(),
            observer().progress,
            observer().note,
            setting=setting,
            use=instances.use,
            solver=config.solver,
            beat=beat,
        )
    folder = evaluation_folder(methods, instances, summary)
    return evaluation_files.read_summary(folder) if (folder / RECORD).is_file() else summary


@task(name="track evaluation", task_run_name="write the evaluation to MLflow", **TRIED_AGAIN)
def track_evaluation(
    config: PipelineConfig,
    methods: Sequence[Method],
    instances: InstanceSet,
    summary: EvaluationSummary,
    story: Story,
    choice: Choice | None = None,
) -> str:
    """Write an evaluation with its report to disk, once, and to MLflow, and return the id of its run.

    The `story` is what the report holds beside the solves: the command, and the search that led to the rule. `choice`
    says how the rule was chosen on validation instances. A report that fails takes nothing else away: a note says so,
    and the next run of the same command tries again.
    """
    lead, compared, label = methods[0], summary.lead, config.instances.label
    folder = evaluation_folder(methods, instances, summary)
    if not (folder / RECORD).is_file():
        if choice is not None:
            write_whole(folder / "validation.json", choice.model_dump_json(indent=1))
        evaluation_files.write_evaluation(folder, summary, lead, story)
    if not (folder / evaluation_files.PAGE).is_file():
        try:
            evaluation_files.write_report(folder, evaluation_files.load_report([str(folder)])[0])
        except Exception as error:  # noqa: BLE001 - whatever a name does to a page, the result is to be registered
            reason = f"{type(error).__name__}: {store.first_line(error)}"
            observer().note(
                f"The report could not be written ({reason}); `bife report {folder}` tries again."
            )
    written = folder / evaluation_files.TABLES[0]
    about = written.read_text(encoding="utf-8") if written.is_file() else summary.conclusion
    tables = {
        "solves_table.json": summary.rows,
        "comparisons_table.json": tuple(comparison.model_dump() for comparison in summary.comparisons),
    }
    steps = story.ablation.steps if story.ablation is not None else ()
    tables |= {"validation_table.json": choice.solves} if choice is not None else {}
    tables |= {"ablation_table.json": tuple(map(dict, steps))} if steps else {}
    settings = config.model_dump(mode="json", include={"instances", "solver", "evaluation"})
    record = Record(
        experiment=store.EVALUATION,
        key=folder.name.removeprefix("evaluation-"),
        name=f"{label} {summary.rule} vs {summary.baseline}",
        params=flat(settings)
        | {"rule": summary.rule, "rule_sha": lead.identity, "methods": " ".join(summary.methods)}
        | {"test_instances": instances.content},
        metrics={
            **compared.model_dump(include=_MEASURED),
            "ratio_low": compared.ci_low,
            "ratio_high": compared.ci_high,
            "p_value": compared.p_adjusted,
            "mismatches": len(summary.mismatches),
        },
        tags={
            "kind": "evaluation",
            "benchmark": label,
            "rule_sha": lead.identity,
            "metric": compared.metric,
            "conclusion": compared.finding,
            "mlflow.note.content": f"{about}\nThe whole report: {evaluation_files.PAGE}",
        },
        tables=tables,
        files=tuple(sorted(path.name for path in folder.iterdir())),
    )
    return track_record(folder, record)
