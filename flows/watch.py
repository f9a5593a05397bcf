"""A champion is compared with RPB on new instances; where it has become slower, a person is asked to demote it."""

from __future__ import annotations

from bife_core.evaluation.comparing import Comparison
from bife_core.methods.base import RPB
from bife_core.methods.loading import load_method
from bife_core.registry.base import PromotionError
from bife_core.registry.choosing import registered_name
from bife_core.report import Story
from bife_core.settings import Settings
from bife_core.wording import counted
from flows.conclusions import link
from flows.reporting.artifacts import show_conclusion
from flows.reporting.conduct import CHAMPION_SLOWER, announce, stage
from flows.results import TrackedRun
from tasks.evaluation import evaluate, track_evaluation
from tasks.registry.reading import champion_of
from tasks.states import NOTHING_TO_DO, with_message
from tasks.stores import observer
from tasks.tracking.store import EVALUATION
from tasks.watch import ChampionWatch, standing


@stage("watch")
def watch(config: Settings) -> Comparison | None:
    """Compare the champion with RPB on instances that served nothing yet, and propose its demotion if it is slower.

    Returns RPB's comparison with the champion by all that was watched.

    Parameters
    ----------
    config : Settings
        Its `instances`, `solver`, `evaluation` and `runner` are read; `evaluation.instances` are solved at most.
    """
    champion = champion_of(config.instances, config.solver)
    if champion is None:
        name = registered_name(config.instances, config.solver)
        raise PromotionError(f"{name} has no champion to watch; `bife rules list` shows what is registered.")
    settings = config.evaluation.model_copy(update={"baseline": RPB, "metric": champion.metric})
    config = config.model_copy(update={"evaluation": settings})
    method, page = load_method(champion.reference), ""
    watched = ChampionWatch(method, config.solver)
    new = watched.take_instances(config)
    observer().stage("watch", f"{champion.reference} on {counted(len(new.instances), 'new instance')}")
    if new.instances:
        summary = evaluate([method], new, config)
        run_id = track_evaluation(config, [method], new, summary, Story(notes=new.notes))
        watched.add_evaluation(summary)
        page = link("the comparison in MLflow", TrackedRun.of(EVALUATION, run_id).url)
    found = watched.comparison(champion.metric, settings.time_limit_s)
    slower, reason = standing(found)
    if slower and watched.propose_once():
        payload = {"name": champion.name, "version": champion.version, "reason": reason}
        announce(CHAMPION_SLOWER, f"model.{champion.name}", payload)
    show_conclusion(config.instances.label, "watch", f"# {champion.reference}\n\n{reason}\n\n{page}")
    return with_message(found, reason, None if new.instances else NOTHING_TO_DO)
