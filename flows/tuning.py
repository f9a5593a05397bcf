"""SCIP's settings, tuned with the methods at hand, around a rule that was found, or without any rule."""

from __future__ import annotations

from pydantic.json_schema import SkipJsonSchema

from bife_core.methods.base import RPB, Method
from bife_core.methods.loading import load_method
from bife_core.settings import Settings
from bife_core.tuning.ablation import Ablation
from bife_core.tuning.space import Choices
from flows.reporting.conduct import stage
from flows.results import TrackedRun, TuningResult
from tasks.collection import prepare_instances
from tasks.states import with_message
from tasks.stores import noted, observer
from tasks.tracking.store import TUNING
from tasks.tuning import ablate, track_tuning, tune

AT_HAND = ("general", "pscost")
"""What may branch beside RPB where no rule was found yet."""


@stage("tuning")
def tuning(
    config: Settings,
    seconds: float,
    methods: tuple[str, ...] = AT_HAND,
    name: str = "tuned",
    # Left out of the form on Prefect's page: only another flow has them.
    found: SkipJsonSchema[Method | None] = None,
    starts: SkipJsonSchema[tuple[Choices, ...]] = (),
) -> TuningResult:
    """Tune SCIP's settings on the design instances; tuning that was interrupted goes on.

    Parameters
    ----------
    config : Settings
        Its `instances`, `solver`, `tune`, `high` and `runner` are read.
    seconds : float
        CPU seconds that solves may have taken when the last trial begins, those of SCIP default settings left out.
    methods : tuple of str
        References to what may branch beside RPB.
    name : str
        What the configuration is called.
    found : Method, optional
        A rule that a search found, which may branch too.
    starts : tuple of dict
        Choices to begin with.
    """
    observer().stage("tuning", f"SCIP's settings, {seconds:.0f} CPU seconds of solves")
    design = prepare_instances(config.instances, "design", config.tune.instances)
    given = {} if found is None else {"found": found}
    given |= {reference: load_method(reference) for reference in methods}
    tuned = tune.submit(config, design, seconds, given, starts).result()
    path, run_id = track_tuning(config, design, tuned, name)
    notes = noted((*design.notes, *tuned.notes, tuned.sentence))
    run = TrackedRun.of(TUNING, run_id)
    result = TuningResult(tuning=tuned, path=path, run=run, notes=notes)
    return with_message(result, tuned.sentence)


def what_brought(
    config: Settings, winner: Method, tuned: TuningResult, again: TuningResult
) -> Ablation | None:
    """Return what brought a configuration that one tuning made, or a later one; None where that is left out."""
    if not config.tune.ablation or winner.identity == RPB:
        return None
    made = again if again.tuning.configuration.identity == winner.identity else tuned
    observer().stage("ablation", "what each group of settings brought")
    design = prepare_instances(config.instances, "design", config.tune.instances)
    return ablate.submit(config, design, winner, made.tuning.best.choices).result()
