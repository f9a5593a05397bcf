"""SCIP's settings, tuned with the methods at hand, around a rule that was found, or without any rule."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Any, Final

from bife_core.base.files import write_whole
from bife_core.base.values import as_params, digest_of
from bife_core.base.wording import counted
from bife_core.instances.base import Instance
from bife_core.measure.evaluation.comparison import change_text, evidence_text
from bife_core.measure.evaluation.summary import EvaluationSummary, evaluate
from bife_core.run.config import EvaluationConfig, PipelineConfig
from bife_core.run.show import plots
from bife_core.run.stages.precheck import PRECHECKED
from bife_core.run.stages.records import TUNING, Record
from bife_core.run.stages.results import TuningResult
from bife_core.run.stages.runtime import InstanceSet, Runtime
from bife_core.run.study import content_of
from bife_core.run.study.identity import generator_identity
from bife_core.run.study.journal import claim_on
from bife_core.search.generators import (
    Account,
    DraftingStoppedError,
    Message,
    NoDraftError,
    Spending,
    open_generator,
)
from bife_core.search.generators.prompting import prompt_files
from bife_core.solver.machine import this_machine
from bife_core.solver.methods.base import RPB, Method
from bife_core.solver.methods.configuration import FILE_NAME, Configuration
from bife_core.solver.methods.references import load_method
from bife_core.solver.scip.solve import SolveSettings
from bife_core.tuning.ablation import Ablation, ablate
from bife_core.tuning.large_classes import READ
from bife_core.tuning.proposals import MOST, read_configurations
from bife_core.tuning.space import (
    FOUND,
    FROM_INSTANCES,
    Choices,
    FamilyFacts,
    Row,
    Space,
    choices_text,
    is_class,
)
from bife_core.tuning.tuner import Tuning, tune as _tune
from bife_core.workers import WorkerFailure

AT_HAND: Final = ("general", "pscost")
"""What may branch beside RPB where no rule was found yet."""

_SHOWN: Final = 3
_SHOWN_S: Final = 10.0
"""Instances whose statistics a model is shown, and CPU seconds that each solve for them may take."""

_CALLS: Final = "calls.json"
_FIGURE: Final = "trials.png"
_RECORD_EVERY_S: Final = 10.0
"""Wall seconds after which a tuning that is under way is recorded again: that takes a fraction of one."""

_TRIED_S: Final = 60.0
"""CPU seconds of `try_starts` beside those of SCIP default settings: it is to end within two minutes on two cores."""


def tune(
    config: PipelineConfig,
    runtime: Runtime,
    seconds: float,
    methods: Sequence[str] = AT_HAND,
    name: str = "tuned",
    searched: Method | None = None,
    first: Sequence[Choices] = (),
    beside: bool = False,
) -> TuningResult:
    """Tune SCIP's settings on the design instances; tuning that was interrupted goes on.

    The last trial begins before solves have taken `seconds` of CPU time, of which SCIP default settings take half at
    most, or one solve, unless their solves come on top (`beside`). Beside RPB may branch what `methods` refer to. The
    rule or start that was `searched` for takes part too. `first` are choices to begin with.
    """
    runtime.observer.stage("tuning", f"SCIP's settings, {seconds:.0f} CPU seconds of solves")
    if not beside:
        runtime.observer.note(
            f"SCIP default settings are solved with first: for half of the {seconds:.0f} CPU seconds at most, but one "
            f"solve at least, which may take {config.high.time_limit_s:.0f}."
        )
    design, settings = runtime.instances(config.instances, "design", config.tune.instances), config.tune
    space = Space(
        ({} if searched is None else {FOUND: searched})
        | {reference: runtime.method(reference) for reference in methods},
        settings.groups,
        (*settings.fixed, *config.solver.effective),
        _family_facts(config, runtime, design.instances),
    )

    proposals, account = ([], None) if searched else _proposed(config, runtime, design.instances, space)
    branching = {choice: method.identity for choice, method in space.methods.items()}
    facts = [seconds, branching, searched and searched.identity, proposals, list(first), beside]
    record = _begun(config, design, name, facts, account, runtime.began_unix_s)
    study = f"tuning-{record.key}"

    def work() -> Tuning:
        with (
            runtime.alone(f"tuning {design.content}", f"the tuning of SCIP on {design.label}"),
            runtime.store.claim(claim_on(study)),
        ):
            runtime.tracker.show(study, record)
            written_s = time.monotonic()

            def show(tuning: Tuning) -> None:
                nonlocal written_s
                spent_s = tuning.tuned_s if beside else tuning.cpu_s
                runtime.observer.progress(int(min(spent_s, seconds)), max(int(seconds), 1))
                if tuning.trials[-1].raced.won or tuning.trials[-1].reason:
                    led = [trial.choices for trial in tuning.trials[:-1] if trial.raced.won]
                    runtime.observer.note(tuning.trials[-1].line(len(tuning.trials) - 1, led[-1]))
                if time.monotonic() >= written_s + _RECORD_EVERY_S:
                    runtime.tracker.show(study, _as_of(record, tuning, runtime.home.runs / study))
                    written_s = time.monotonic()

            return _tune(
                design.instances,
                runtime.solving(config),
                space,
                seconds,
                proposals=proposals,
                first=first,
                seed=config.search.seed or 0,
                usual_s=None if beside else seconds / 2,
                shown=show,
            )

    tuned = runtime.conductor.step("tune", f"tune SCIP for {seconds:.0f} CPU seconds", work)
    tuned, validated = (tuned, "") if beside else _validated(config, runtime, design, tuned, seconds)
    return _recorded(record, runtime, design, tuned, name, account, validated)


def _validated(
    config: PipelineConfig, runtime: Runtime, design: InstanceSet, tuning: Tuning, seconds: float
) -> tuple[Tuning, str]:
    """Return a tuning and what it saves on instances that chose nothing, on as many as take about `seconds` at most.

    One that saves nothing there, or what may be chance both there and on the design instances, ends with SCIP default
    settings.
    """
    if not tuning.best.choices:
        return tuning, ""
    drawn = runtime.instances(config.instances, "validation", config.validation.instances).instances
    chose = {instance.digest for instance in design.instances}
    fresh = [instance for instance in drawn if instance.digest not in chose]
    if not fresh:
        return (
            tuning,
            "That is on the instances that chose it, and no others are left to validate it: add some.",
        )
    usual = tuning.trials[0].raced
    each_s = 2.0 * usual.cpu_s / max(sum(cost is not None for cost in usual.costs), 1)
    instances = fresh[: max(int(seconds / max(each_s, 1e-9)), 1)]
    runtime.observer.stage("validation", f"{counted(len(instances), 'instance')} that chose nothing")
    limits = {"seeds": (config.high.seed,), "time_limit_s": config.high.time_limit_s, "metric": tuning.cost}
    protocol, pool, observer = EvaluationConfig(**limits), runtime.workers(config.runner), runtime.observer

    def work() -> EvaluationSummary:
        kept, shown = runtime.store, (observer.progress, observer.note)
        return evaluate([tuning.configuration], instances, protocol, pool, kept, *shown, solver=config.solver)

    lead = runtime.conductor.step("validate", "compare with SCIP default settings", work).lead
    sentence = f"On instances that chose nothing it takes {change_text(lead)} ({evidence_text(lead)})"
    saves = bool(lead.incomparable) or lead.ratio < 1.0
    shown = not lead.incomparable and lead.ci_high is not None and lead.ci_high < 1.0
    if saves and (shown or not tuning.by_chance):
        return tuning, f"{sentence}."
    usual_settings = tuning.model_copy(update={"configuration": Configuration()})
    why = "which may be chance as on those that chose it, so" if saves else "so"
    return usual_settings, f"{sentence}, {why} SCIP default settings stay."


def _family_facts(config: PipelineConfig, runtime: Runtime, design: Sequence[Instance]) -> FamilyFacts:
    """Return what the first instances allow to tune; nothing if that is not tuned."""
    if config.tune.groups and not FROM_INSTANCES & {*config.tune.groups}:
        return FamilyFacts()
    paths = [instance.path for instance in design[:READ]]
    call, arguments = "bife_core.tuning.large_classes:in_worker", {"instances": [*map(str, paths)]}
    facts = runtime.workers(config.runner).submit(call, arguments, limit_s=600.0, reads=paths).result()
    return FamilyFacts.model_validate(facts)


def _explained(row: Row) -> bool:
    """Whether a prompt explains a row, which is no parameter of SCIP."""
    return is_class(row.name) or "/" not in row.name


def _proposed(
    config: PipelineConfig, runtime: Runtime, design: Sequence[Instance], space: Space
) -> tuple[list[tuple[Choices, str]], Account | None]:
    """Return what a language model proposes, if one is configured, and its calls; its answer is found again."""
    shown, note = design[:_SHOWN], runtime.observer.note
    facts = [content_of(shown), config.solver.digest, config.tune.groups]
    study = f"configurations-{digest_of([*facts, generator_identity(config.generator)])[:16]}"
    account = Account(runtime.store, study, config.budget, say=note)

    def prompt() -> tuple[Message, ...]:
        limit_s = min(config.high.time_limit_s, _SHOWN_S)
        settings = SolveSettings(time_limit_s=limit_s, solver=config.solver).model_dump(mode="json")
        arguments = {"instances": [str(instance.path) for instance in shown], "settings": settings}
        call, reads = "bife_core.tuning.statistics:described", [instance.path for instance in shown]
        described = (
            runtime.workers(config.runner).submit(call, arguments, limit_s=600.0, reads=reads).result()
        )
        runtime.store.append(study, "asked", {})  # lists of calls leave out studies without events
        fields = described | {
            "benchmark": (config.generator.about or config.instances.kind).replace("_", " "),
            "space": "\n".join(
                f"- {row.name}: {' | '.join(row.choices)}{f' ({row.description})' * _explained(row)}"
                for row in space.rows
            ),
        }
        template = Template(prompt_files()["configurations.md"])
        return (Message(role="user", content=template.substitute(fields, most=MOST)),)

    with runtime.alone(study, "asking a model"), runtime.conductor.model_key(config.generator):
        ask = getattr(open_generator(config.generator, account), "ask", None)
        if ask is None:
            return [], None
        try:
            answer = ask(f"configurations-{content_of(shown)}", prompt) or ""
        except DraftingStoppedError:
            raise
        except (NoDraftError, WorkerFailure) as error:
            note(f"No model proposes configurations: {error}")
            return [], account
    configurations = read_configurations(answer, space)
    note(
        f"A model proposes {counted(len(configurations), 'configuration')}, for {account.spending().tokens:,} tokens."
    )
    return configurations, account


def what_brought(
    config: PipelineConfig, runtime: Runtime, winner: Method, tuned: TuningResult, again: TuningResult
) -> Ablation | None:
    """Return what brought a configuration that one tuning made, or a later one; None where that is left out."""
    settings = config.tune
    if not settings.ablation or winner.identity == RPB or tuned.tuning.too_short:
        return None
    made = again if again.tuning.configuration.identity == winner.identity else tuned
    runtime.observer.stage("ablation", "what each group of settings brought")
    design = runtime.instances(config.instances, "design", settings.instances)
    fixed, choices = (*settings.fixed, *config.solver.effective), made.tuning.best.choices

    def work() -> Ablation:
        with runtime.alone(f"tuning {design.content}", f"the tuning of SCIP on {design.label}"):
            solving = runtime.solving(config)
            return ablate(
                winner, choices, design.instances, solving, settings.ablation * settings.seconds, fixed
            )

    return runtime.conductor.step("ablate", f"measure what brought {winner.name}", work)


def try_starts(config: PipelineConfig, runtime: Runtime) -> Tuning:
    """Return what SCIP and the starting configurations take on the first design instances."""
    instances = runtime.benchmark(config.instances).instances("design", PRECHECKED)
    methods = {reference: load_method(reference) for reference in AT_HAND}
    space = Space(methods, (), config.solver.effective, _family_facts(config, runtime, instances))
    return _tune(instances, runtime.solving(config), space, _TRIED_S, seed=None)


def _begun(
    config: PipelineConfig,
    design: InstanceSet,
    name: str,
    inputs: list[Any],
    account: Account | None,
    began_unix_s: float,
) -> Record:
    """Return the record of a tuning that begins; its key is of all that it will be computed from."""
    settings = config.model_dump(mode="json", include={"instances", "solver", "high", "tune"})
    facts = [settings, design.content, name, inputs, config.search.seed, this_machine().digest]
    return Record(
        experiment=TUNING,
        key=digest_of(facts)[:16],
        name=f"{config.instances.label} {name}",
        params=as_params(settings) | {"design_instances": design.content},
        metrics={},
        tags={"kind": "tuning", "benchmark": config.instances.label},
        calls=account.study if account else "",
        began_unix_s=began_unix_s,
        state="running",
    )


def _as_of(record: Record, tuning: Tuning, folder: Path) -> Record:
    """Return the record of a tuning with the trials so far, drawn in a file of its folder."""
    course, best = tuning.course, tuning.best
    plots.save(plots.trials(course), folder, Path(_FIGURE).stem, formats=("png",))
    seconds = [int(spent_s) for spent_s, *_ in course]
    curves = {
        "ratio": tuple(zip(seconds, (best for *_, best in course), strict=True)),
        "trial_ratio": tuple((at, ratio) for at, (_, ratio, _) in zip(seconds, course, strict=True) if ratio),
    }
    metrics = {"ratio": best.raced.ratio, "trials": len(tuning.trials), "solver_s": tuning.cpu_s}
    tags = {"sha": tuning.configuration.identity, "settings": choices_text(best.choices)}
    shown = {"metrics": metrics, "curves": curves, "note": tuning.sentence, "files": (_FIGURE,)}
    return record.model_copy(update={**shown, "tags": record.tags | tags})


def _recorded(
    record: Record,
    runtime: Runtime,
    design: InstanceSet,
    tuning: Tuning,
    name: str,
    account: Account | None,
    validated: str,
) -> TuningResult:
    """Write what was tuned and the calls of a model to disk, record both, and return what was tuned."""
    method = tuning.configuration.model_copy(update={"name": name})
    file = f"{name}.set" if method.file_name == FILE_NAME else method.file_name
    path = runtime.home.runs / f"tuning-{record.key}" / file
    write_whole(path, method.text)
    if account:
        calls = [call.model_dump(mode="json") for call in account.calls()]
        write_whole(path.parent / _CALLS, json.dumps(calls, indent=1))
    record = _as_of(record, tuning, path.parent)
    ended = {
        "state": "finished",
        "note": f"{tuning.sentence} {validated}\n\n```\n{method.shown}```",
        "files": (file, *record.files, *([_CALLS] if account else [])),
        "children": _trials(tuning, record.key),
    }
    run = runtime.record(path.parent.name, record.model_copy(update=ended))
    notes = runtime.noted((*design.notes, *tuning.notes, tuning.sentence, *filter(None, [validated])))
    spent = account.spending() if account else Spending()
    return TuningResult(tuning=tuning, path=path, run=run, notes=notes, spending=spent)


def _trials(tuning: Tuning, key: str) -> tuple[Record, ...]:
    """Return each trial with all that any of them changed, since a chart leaves out what lacks one of its axes."""
    changed = sorted({name for trial in tuning.trials for name in trial.choices})
    return tuple(
        Record(
            experiment=TUNING,
            key=f"{key}-{number:03}",
            name=f"t{number:03}{' *' if raced.won else ''}",
            params={name: trial.choices.get(name, "SCIP default") for name in changed},
            metrics=raced.model_dump(include={"ratio", "seen", "cpu_s"}),
            curves={"ratio_by_instance": tuple(enumerate(tuning.ratios(trial), 1))},
            tags={"kind": "trial", "origin": "model" if trial.reason else "", "reason": trial.reason}
            | {"outcome": "best" if raced.won else raced.failed or raced.eliminated or "not better"},
            note=choices_text(trial.choices),
        )
        for number, (trial, raced) in enumerate((tried, tried.raced) for tried in tuning.trials)
    )
