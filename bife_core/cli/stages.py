"""The commands of stages: `tune`, `collect`, `search`, `evaluate`, `run`, which is all of them, and `demo`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from typer import Option

from bife_core.base.wording import counted
from bife_core.cli.consoles import full_name, number, say, show_code, show_facts, show_heading, show_table
from bife_core.cli.options import Output, check_kept, keep, resolve, with_options
from bife_core.cli.outcome import CommandEnd, ExitCode, complain
from bife_core.cli.running import run_stage

if TYPE_CHECKING:
    from bife_core.run.config import PipelineConfig
    from bife_core.run.observer import TrackedRun
    from bife_core.run.stages.results import EvaluationResult, PipelineResult, TuningResult
    from bife_core.run.study import SearchOutcome
    from bife_core.search import Sample

_RULE: Final = (
    "A Python file, a reference rule (`bife rules list`), models:/NAME@ALIAS, runs:/ID for the best rule of a "
    "search, a built-in of SCIP such as pscost, a settings file of SCIP (.set), a JSON file of a method, or a "
    "plugin's method; may be repeated, the first leads."
)
_SECONDS: Final = (
    "CPU seconds of solves after which no trial begins; SCIP default settings have half, or one solve."
)
_PERMUTE: Final = (
    "Solve each instance N times: as its file has it, then with other seeds and rows and columns permuted, all methods "
    "alike. The result says how much of it is luck of the tree. Default: the seeds of `evaluation.seeds`."
)
_METHOD: Final = "What may branch beside RPB; may be repeated."


@with_options
def collect(**options: Any) -> None:
    """Record expert samples: strong branching's decisions, which F_LF is measured on."""
    result = run_stage("collection", resolve(options))
    recorded = result.summary
    samples = ("expert samples", f"{recorded.decisions} with {recorded.candidates} candidates")
    show_facts([samples, ("instances", str(len(recorded.instances))), ("file", str(recorded.path))])
    show_tracked(result.run)


@with_options
def search(**options: Any) -> None:
    """Search for a rule; expert samples are collected first where they are missing."""
    config = resolve(options)
    result: SearchOutcome = run_stage("search", config, rules=True)
    show_rule(required(result), config, result)
    spent = result.spending
    facts = [
        ("samples", f"{len(result.samples)}, of which {result.failures} gave no valid rule"),
        ("took", str(timedelta(seconds=round(result.seconds)))),
        ("file", str(result.best_rule)),
    ]
    if spent.calls:
        used = f"{spent.calls} calls, {spent.tokens:,} tokens, cost {spent.price()}{spent.caveat}"
        facts.append(("model API", used))
    show_heading("The search")
    show_facts(facts)
    show_tracked(result.run, [("all rules", result.run.ranking)])
    finish(config, None, result)


@with_options
def evaluate(
    *,
    rule: Annotated[list[str], Option(metavar="REF", help=_RULE)],
    permute: Annotated[int | None, Option(min=2, metavar="N", show_default=False, help=_PERMUTE)] = None,
    **options: Any,
) -> None:
    """Compare rules and other methods with RPB on held-out instances, and write the report."""
    if permute is not None:  # a seed above 0 permutes; what --set says wins
        options["settings"] = [f"evaluation.seeds={[*range(permute)]}", *(options["settings"] or ())]
    config = resolve(options)
    methods = (*rule, config.evaluation.baseline)
    result = run_stage("evaluation", config, rule[0], others=tuple(rule[1:]), methods=methods)
    show_comparison(result)
    show_tracked(result.run, [("report", str(result.directory / "report.html"))])
    finish(config, result)


@with_options
def tune(
    *,
    seconds: Annotated[float, Option(min=0, metavar="S", help=_SECONDS)] = 600.0,
    output: Output = Path("tuned.set"),
    method: Annotated[
        list[str] | None, Option(metavar="REF", show_default="general and pscost", help=_METHOD)
    ] = None,
    **options: Any,
) -> None:
    """Tune SCIP's settings, and what branches under them, on the design instances; write both to files."""
    config = resolve(options)
    check_kept(output, config.instances.folder, *options.values(), method)
    from bife_core.run.stages.tune import AT_HAND
    from bife_core.solver.methods.base import RPB
    from bife_core.solver.methods.configuration import is_part

    methods = tuple(method or AT_HAND)
    result: TuningResult = run_stage("tuning", config, seconds, methods, rules=True)
    best = result.tuning.configuration
    # What was measured is with what the solver sets itself; limits, tolerances and seeds are no part of a method.
    params = {name: value for name, value in config.solver.effective.items() if is_part(name)}
    advice = keep(best.model_copy(update={"params": params | best.params}), output)
    if best.identity == RPB:
        longer = result.tuning.longer if result.tuning.best.choices else ""  # else said before
        advice = f"{output} has SCIP default settings: solve as before, or tune for longer.{longer}"
    say(advice)
    show_tracked(result.run)


@with_options
def run(**options: Any) -> None:
    """Find settings and a rule, from instances to registry: tune, collect, search, evaluate, register."""
    config = resolve(options)
    result: PipelineResult = run_stage("pipeline", config, methods=(config.evaluation.baseline,), rules=True)
    show_discovery(result)
    finish(config, result.evaluation, result.search)


@with_options
def demo(**options: Any) -> None:
    """Find settings and a rule for combinatorial auctions in minutes, without a language model; say what to do next."""
    config = resolve(options, instances="combinatorial_auction")  # whose budgets are for minutes
    result: PipelineResult = run_stage("pipeline", config, methods=(config.evaluation.baseline,), rules=True)
    show_discovery(result)
    rule = result.registered.reference if result.registered else "pseudocost_product"
    api = "BIFE_LLM_BASE_URL=... BIFE_LLM_MODEL=... BIFE_LLM_API_KEY=..."
    show_heading("What next")
    in_python = ("in PySCIPOpt", f'import bife_core; bife_core.attach(model, "{rule}")')
    with_api = ("with a model API", f"{api} bife run --generator openai")
    show_facts([("on your own instances", "bife run --instances DIR"), in_python, with_api])
    finish(config, result.evaluation, result.search)


def show_discovery(result: PipelineResult) -> None:
    """Print all that a pipeline found; raise `CommandEnd` if there is no rule."""
    from bife_core.language.components import COMPONENTS
    from bife_core.solver.methods.references import branching_of

    if result.evaluation is None:
        required(result.search)
        return
    if result.final is not None:
        show_rule(result.final, result.config, result.search)
    else:
        lead = full_name(branching_of(result.evaluation.method).name)
        noun = COMPONENTS.find(result.config.search.component).noun
        say(f"Under the tuned settings {lead} branches; no {noun} found is chosen before it.")
    if result.choice is not None:
        say(result.choice.sentence)
    show_comparison(result.evaluation)
    for sentence in filter(None, (result.no_champion, result.advice)):
        say(sentence)
    standing, registered, method = "not yet", result.registered, result.evaluation.method
    if registered is not None:
        aliases = ", ".join(registered.aliases) or "no alias"
        standing = f"{registered.name} version {registered.version} ({aliases})"
    facts = [
        ("all rules", result.search.run.ranking),
        ("evaluation", result.evaluation.run.run_id),
        ("registered", standing),
        ("report", str(result.evaluation.directory / "report.html")),
        ("files", str(result.search.folder)),
        (method.name, str(result.evaluation.directory / method.file_name)),
    ]
    show_tracked(result.search.run, facts)


def required(result: SearchOutcome) -> Sample:
    """Return the best rule of a search; raise `CommandEnd` if it has none."""
    if result.best is not None:
        return result.best
    early = f"{result.ended_by} " if result.ended_by else ""
    raise CommandEnd(
        f"{early}None of the {len(result.samples)} samples became a rule that solves the design instances "
        f"({result.failures} failed); samples.json in {result.folder} says why for each."
    )


def finish(
    config: PipelineConfig, evaluated: EvaluationResult | None, search_result: SearchOutcome | None = None
) -> None:
    """Show how each instance of a folder ended; raise `CommandEnd` if methods proved different things of one."""
    if config.instances.folder is not None:
        show_optima(evaluated, search_result)
    differing = evaluated.summary.mismatches if evaluated else ()
    differing += search_result.mismatches if search_result else ()
    for sentence in differing:
        complain(f"Proven optima differ: {sentence}")
    if differing:
        sentence = "A branching rule must never change an optimum: please report this with the instance."
        raise CommandEnd(sentence, ExitCode.DISAGREEMENT)


def show_rule(best: Sample, config: PipelineConfig, search_result: SearchOutcome) -> None:
    """Print a rule of a search with its fidelities, in words, and the F_HF of others beside them."""
    from bife_core.language.components import COMPONENTS
    from bife_core.measure.evaluation.metrics import METRICS

    component = COMPONENTS.find(config.search.component)
    show_heading(f"The {component.noun} ({best.lineage})")
    if best.thought:
        say(" ".join(best.thought.split()))
    show_code(best.source or "")
    say()
    facts = []
    if best.f_lf is not None:
        words = component.low_fidelity
        if not component.low:
            words = f"{config.low.measure} on {len(best.behaviour or '')} expert samples"
        facts.append(("F_LF", f"{best.f_lf:.3f}: {words}"))
    if best.f_hf is not None:
        cost = METRICS[config.high.cost].words
        others = "".join(f"; of {name} {number(value)}" for name, value in search_result.references.items())
        facts += [("F_HF", f"{number(best.f_hf)}: minus the mean {cost} over the design instances{others}")]
    show_facts(facts)


def show_comparison(result: EvaluationResult) -> None:
    """Print all methods side by side on held-out instances, then the ratio with all that qualifies it."""
    from bife_core.measure.evaluation.metrics import method_table
    from bife_core.run.stages.conclusions import measured

    summary = result.summary
    instances = counted(summary.lead.instances, "held-out instance", summary.lead.groups)
    show_heading(f"Against {full_name(summary.baseline)} on {instances}")
    table = method_table(summary.frame, summary.protocol.metric)
    rows = []
    for method, entry in zip(table.index, table.to_dict("records"), strict=True):
        solved = f"{entry['solved']} of {entry['solves']}{'*' * (entry['missing'] > 0)}"
        means = (number(entry[name]) for name in ("time", "nodes", "lp_iterations"))
        rows.append((full_name(method), solved, *means, f"{entry['inference_share']:.1%}"))
    show_table(("method", "solved", "CPU s", "nodes", "LP iterations", "in branching"), rows)
    say("Means are geometric over all solves; missing ones (*) count as at least the time limit.")
    show_facts(measured(result))


def show_optima(evaluated: EvaluationResult | None, search_result: SearchOutcome | None) -> None:
    """Print how each instance of a folder ended: held-out ones under both methods, design ones under the rule."""
    rows = []
    if evaluated is not None:
        summary = evaluated.summary
        ended = {(row["digest"], row["seed"], row["method"]): row for row in summary.rows}
        for digest, seed in dict.fromkeys(key[:2] for key in ended):
            both = [ended[digest, seed, method] for method in (summary.baseline, summary.rule)]
            status = " / ".join(dict.fromkeys(str(solve["status"]) for solve in both))
            shown = {"primal_bound": 10, "cpu_s": 4, "nodes": 10}
            cells = [number(solve[what], digits) for what, digits in shown.items() for solve in both]
            rows.append((both[0]["instance"], "test", str(seed), status, *cells))
    for solve in search_result.best_solves if search_result is not None else ():
        objective, seconds = number(solve.primal_bound, 10), f"{solve.cpu_s:.2f}"
        cells = ["-", objective, "-", seconds, "-", str(solve.nodes)]
        rows.append((solve.instance, "design", str(solve.seed), solve.status, *cells))
    baseline = evaluated.summary.baseline if evaluated is not None else "relpscost"
    columns = [f"{what}\n{of}" for what in ("objective", "CPU s", "nodes") for of in (baseline, "rule")]
    show_heading("Instances")
    show_table(("instance", "part", "seed", "status", *columns), rows)


def show_tracked(run: TrackedRun, facts: Sequence[tuple[str, str]] = ()) -> None:
    """Print where the tracker has a run, and `facts`."""
    rows = [("run", run.run_id), ("this run", run.url)] if run.tracker else []
    if rows and not run.run_id:
        rows = [("run", f"not in {run.tracker} yet; the same command writes it")]
    elif rows and not run.url.startswith("http"):
        rows.insert(1, ("pages", f"run `bife up`, then append to {run.tracker}'s address"))
    show_heading(run.tracker or "Results")
    show_facts([*rows, *(fact for fact in facts if fact[1])])
