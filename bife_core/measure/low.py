"""F_LF: how well a rule chooses where strong branching chose (paper, section Low-Fidelity Surrogate)."""

from __future__ import annotations

import time
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from bife_core.base.arguments import checked
from bife_core.base.values import Value
from bife_core.language.components import BRANCHING, COMPONENTS, Component
from bife_core.language.rules import REFERENCE_RULES, CompiledRule, Rejection, compile_rule
from bife_core.language.rules.literals import gates, literals, with_literals
from bife_core.language.rules.module import parameters
from bife_core.language.rules.types import RejectionKind
from bife_core.language.syntax import functions_in
from bife_core.measure.choices import Yardstick, behaviour_of, chosen_rows, score_columns, scores_of
from bife_core.measure.config import LowFidelityConfig
from bife_core.measure.decisions.nodes import has_nodes, nodes_of
from bife_core.measure.decisions.recorded import Decisions, numbers_in
from bife_core.measure.low_measures import LowMeasure
from bife_core.solver.methods.base import Method, ScipMethod
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import AnyReference, as_scoring, method_of, rule_of
from bife_core.solver.methods.scorer import NodeMethod, Written
from bife_core.solver.scip.node import Node
from bife_core.solver.units import FEATURES
from bife_core.workers import WorkerFailure, Workers

MEMORY_MB: Final = 2048.0
"""Address space that compiling and scoring a rule may take, beside the recorded decisions."""

TIME_LIMIT_S: Final = 30.0
"""Wall seconds before a rule that is scored is stopped and rejected (the paper's limit)."""

_ROOM_PER_NUMBER: Final = 32.0
"""Bytes in memory per number in a file of decisions: as it is read, in columns, and with room for a copy."""

_SPREAD: Final = 0.5  # standard deviation of the first settings tried, in log units
_REMARK: Final = "# Numbers were tuned on F_LF after this was written."

_TUNING_ROOM: Final = 3.0
"""How many times as long as scoring it so often would take, the tuning of a rule may take."""


@checked
def low_fidelity(method: AnyReference, decisions: Decisions, measure: LowMeasure = "accuracy") -> float:
    """Return F_LF, by default the share of decisions in which a method chooses as the expert did.

    Runs in this process and without a time limit; use `score_low` for a rule of unknown origin.

    Parameters
    ----------
    method : CompiledRule, Scorer, function, str or Path
        A rule or another method that scores candidates, or what names one (see `load_method`).
    decisions : Decisions
        At least one.
    measure : str
        What F_LF is, as in the setting `low.measure`.

    Raises
    ------
    DecisionsError, RuleError
        If there is no decision; if there is no such method, it scores no candidates, or it fails on one.
    """
    yardstick = Yardstick(decisions, measure)
    return yardstick.of_scores(scores_of(as_scoring(method), decisions))


class LowScore(Value):
    """F_LF of a rule, or the reason there is none.

    `regret` is the share of the best strong-branching score that its choices miss on average, and `behaviour` what they
    are, see `behaviour_of`. `source` is the rule with its numbers tuned, which all else is of then, or None.
    `seconds` are CPU seconds of compiling and scoring.
    """

    f_lf: float | None = None
    regret: float | None = None
    failure: str | None = None
    kind: RejectionKind | None = None
    sha: str | None = None
    behaviour: str | None = None
    source: str | None = None
    seconds: float = 0.0


def score_low(
    source: str,
    decisions: Path | None,
    config: LowFidelityConfig,
    pool: Workers,
    limit_s: float = TIME_LIMIT_S,
    method: bool = False,
    component: str = BRANCHING.name,
) -> LowScore:
    """Compile and score a rule of a component in a worker that is killed at the time limit, and tune its numbers.

    `source` is a rule's; only with `method` it is the text of any method, which a search made. Without decisions the
    rule is only checked and compiled. A rule that ends its worker twice, or does not end in time, has no score. Raises
    `DecisionsError` if there is no such file, and `WorkerFailure` if the call failed for a reason that is not the
    rule's: the pool is closed, the machine fails a sound rule too.
    """
    FEATURES.prepare()
    about = {"measure": config.measure, "method": method, "component": component}
    arguments = about | {"decisions": decisions and str(decisions)}
    numbers = 0 if decisions is None else numbers_in(decisions)
    # What recorded nodes take is not known before, and no rule reads them.
    most_mb = None if method and has_nodes(decisions) else MEMORY_MB + _ROOM_PER_NUMBER * numbers / 2**20

    def ask(tune: int, limit_s: float, text: str = source) -> LowScore:
        answer = pool.submit(
            "bife_core.measure.low:score_text",
            arguments | {"source": text, "tune": tune},
            limit_s=limit_s,
            memory_mb=most_mb,
            reads=[] if decisions is None else [decisions],
        )
        return LowScore.model_validate(answer.result())

    sound = False
    try:
        try:
            score = ask(0, limit_s)
        except WorkerFailure as failure:
            if not failure.by_machine:
                raise
            # The machine may have failed, or the rule takes its memory: where a sound rule lives, another try counts.
            ask(0, limit_s, REFERENCE_RULES["pseudocost_product"].source)
            sound = True
            score = ask(0, limit_s)
    except WorkerFailure as failure:
        if failure.kind == "timeout":
            why = f"The rule was stopped at its limit of {limit_s:g} s."
            return LowScore(failure=why, kind="timeout", seconds=limit_s)
        if failure.kind == "died" and (sound or not failure.by_machine):
            return LowScore(failure=f"The rule ended its worker process twice: {failure}", kind="runtime")
        raise
    if not config.tune or score.f_lf is None:
        return score
    try:
        better = ask(config.tune, max(limit_s, _TUNING_ROOM * config.tune * score.seconds))
    except WorkerFailure as failure:
        if failure.kind == "closed":
            raise
        return score  # sound as its author wrote it; its numbers stay
    if better.f_lf is None:
        return score
    return better.model_copy(update={"seconds": score.seconds + better.seconds})


def score_text(
    source: str, decisions: str | None, measure: LowMeasure, tune: int, method: bool, component: str
) -> dict[str, Any]:
    """Score a rule in this process, its numbers tuned if that is wanted; what `score_low` calls in a worker."""
    recorded = None if decisions is None else _prepared(decisions, measure)
    if decisions is not None and method and has_nodes(Path(decisions)):
        _nodes(decisions)  # what happens here does not count against the method
    started = time.process_time()
    try:
        better = tuned(source, *recorded, tune) if recorded is not None and tune else None
        kind = COMPONENTS.find(component)
        chosen = method_of(source) if method and not better else rule_of(better or source, kind)
        score = _scored(chosen, kind, recorded, decisions).model_copy(update={"source": better})
    except Exception as error:  # noqa: BLE001 - the decisions are read: whatever happens now, the rule did it
        # Models are sent this, so it names no file.
        what = error.strerror if isinstance(error, OSError) else error
        score = LowScore(failure=f"Scoring the rule failed ({type(error).__name__}: {what}).", kind="runtime")
    return score.model_copy(update={"seconds": time.process_time() - started}).model_dump()


def _scored(
    method: Method, component: Component, recorded: tuple[Decisions, Yardstick] | None, path: str | None
) -> LowScore:
    rule: Method | CompiledRule | Rejection = method
    if isinstance(method, Written):
        rule = compile_rule(method.source, component=component)
    elif component != BRANCHING:
        rule = Rejection("signature", f"A rule of {component.name} was expected, not a {method.kind} method.")
    if isinstance(rule, Rejection):
        return LowScore(failure=rule.reason, kind=rule.kind)
    sha = method.identity
    if recorded is None or isinstance(method, Configuration | ScipMethod):  # SCIP's rules score no candidates
        return LowScore(sha=sha)
    decisions, yardstick = recorded
    nodes = _nodes(str(path)) if isinstance(rule, NodeMethod) else None
    scores = scores_of(rule if isinstance(rule, NodeMethod) else as_scoring(rule), decisions, nodes)
    chosen = chosen_rows(scores, decisions.offsets)
    if np.all(chosen < 0):
        why = "The rule chooses no candidate in any decision: every score is NaN or minus infinity."
        return LowScore(failure=why, kind="runtime", sha=sha)
    f_lf, regret = yardstick.f_lf(chosen), yardstick.regret(chosen)
    behaviour = behaviour_of(chosen, decisions.offsets)
    return LowScore(f_lf=f_lf, regret=regret, sha=sha, behaviour=behaviour)


@lru_cache(maxsize=1)
def _nodes(path: str) -> tuple[Node, ...]:
    return tuple(nodes_of(Path(path)))


@lru_cache(maxsize=2)
def _prepared(path: str, measure: LowMeasure) -> tuple[Decisions, Yardstick]:
    decisions = Decisions.load(path)
    return decisions, Yardstick(decisions, measure)


def tuned(source: str, decisions: Decisions, yardstick: Yardstick, trials: int, seed: int = 0) -> str | None:
    """Return the rule with the numbers of highest F_LF among those tried; None if none is better than its own.

    CMA-ES (Hansen, 2016) on the logarithms of the numbers of the scoring function, until `trials` settings were tried
    and the batch is done. The rule is compiled once with its numbers lifted: each is read from a feature that the rule
    does not read, so that a setting costs no more than scoring the recorded candidates. A number that a feature is
    compared with, see `gates`, stays among that feature's recorded values, beyond which a gate is always open or shut.
    Of the best setting each number goes back to the author's that F_LF does not fall without.
    """
    rule = compile_rule(source)
    places = [literal for literal in literals(source) if literal.of_score]
    if isinstance(rule, Rejection) or not places:
        return None
    free = [index for index in range(len(decisions.columns)) if index not in rule.features][: len(places)]
    places = places[: len(free)]
    (argument,) = parameters(functions_in(source)[BRANCHING.function])
    lifted = compile_rule(with_literals(source, places, [f"{argument}[{index}]" for index in free]))
    if isinstance(lifted, Rejection):
        return None
    columns = decisions.columns.copy()
    used = np.array(sorted(lifted.features), dtype=np.int64)
    scores = np.empty(decisions.n_candidates)
    author = np.array([literal.value for literal in places])
    least, most = np.zeros(len(places)), np.full(len(places), np.inf)
    compared = gates(source)
    for place, literal in enumerate(places):
        if (index := compared.get((literal.line, literal.begin))) is not None:
            low, high = decisions.columns[index].min(), decisions.columns[index].max()
            if low < literal.value < high:
                least[place], most[place] = low, high

    def f_lf(numbers: np.ndarray) -> float:
        columns[free] = numbers[:, np.newaxis]
        score_columns(lifted.address, columns, decisions.offsets, used, scores)
        return yardstick.of_scores(scores)

    import cmaes  # here, for it brings scipy's statistics, which take most of a second to import

    best, best_numbers = f_lf(author), author
    # One number has no covariance to learn; the second that CMA-ES needs is ignored.
    search = cmaes.CMA(mean=np.zeros(max(2, len(places))), sigma=_SPREAD, seed=seed)
    for _ in range(0, trials, search.population_size):
        if search.should_stop():
            break
        generation = []
        for _ in range(search.population_size):
            step = search.ask()
            numbers = np.array([float(f"{value:.3g}") for value in author * np.exp(step[: len(places)])])
            numbers = np.where((least < numbers) & (numbers < most), numbers, author)
            reached = f_lf(numbers)
            if reached > best:
                best, best_numbers = reached, numbers
            generation.append((step, -reached))
        search.tell(generation)
    if best_numbers is author:
        return None
    # The longest way first: what moved most has most to explain.
    for place in np.argsort(-np.abs(np.log(best_numbers / author)), kind="stable"):
        returned = best_numbers.copy()
        returned[place] = author[place]
        if (reached := f_lf(returned)) >= best:
            best, best_numbers = reached, returned
    changed = np.flatnonzero(best_numbers != author)
    texts = [repr(float(number)) for number in best_numbers[changed]]
    better = with_literals(source, [places[place] for place in changed], texts)
    # The author's words may name numbers that are others now.
    return better if better.startswith(_REMARK) else f"{_REMARK}\n{better}"
