"""Prompts for language models, from the text files in `prompts/`: words after a dollar sign are filled in here."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib import resources
from string import Template
from typing import Final

import numpy as np

from bife_core.base.errors import ConfigError
from bife_core.base.values import digest_of
from bife_core.language.components import BRANCHING, COMPONENTS, Component
from bife_core.language.features import FEATURES, GROUPS
from bife_core.search.generators.account import Call
from bife_core.search.generators.base import FeatureRange, Message, PromptContext
from bife_core.search.generators.config import Prompts
from bife_core.search.generators.parsing import without_reasoning
from bife_core.search.population import by_high_fidelity, ranked
from bife_core.search.types import Operator, ReflectionRequest, Sample, WrittenRequest
from bife_core.solver.methods.references import code_of

OPERATORS: Final[tuple[Operator, ...]] = ("i1", "e1", "e2", "m1", "m2")
_SENTENCE: Final = " It has 25 words at most and begins with what sets the rule apart from others."
"""What informed prompts add on the description of a rule: in the list of earlier attempts it is all there is."""
_THINKING: Final = (
    "First think, in 200 words at most: what do the numbers above say, and what would a better rule do?\nThen"
)
"""What the form of an answer begins with in informed prompts: thoughts that come after the code cannot change it."""
_QUOTED: Final = 12_000  # characters of a rejected answer that are shown to its author again
_BESIDE: Final = 10  # features that are named beside the one that says most alone
_COSTS: Final = {
    "solve": "computed once per solve: free",
    "candidate": "a few numbers per candidate: cheap",
    "row": "a pass over the candidate's rows",
    "entry": "a pass over its rows and, once per LP, all their entries: the costliest",
}
"""What a group of features costs, in words."""
_EARLIER: Final = 12
"""Earlier attempts that a prompt has at most: the better half are the best, the others the latest."""
_LINE: Final = 240  # characters a thought or a reason may have in a list


@cache
def _template(name: str, component: Component = BRANCHING) -> Template:
    """Return a file of `prompts`: the component's own, or what does not speak of branching, or the one of branching."""
    folder = resources.files("bife_core.search.generators") / "prompts"
    others = () if component == BRANCHING else (f"{component.name}_{name}.md", f"any_{name}.md")
    path = next((folder / other for other in others if (folder / other).is_file()), folder / f"{name}.md")
    return Template(_worded(path.read_text(encoding="utf-8"), component))


def _worded(text: str, component: Component) -> str:
    """Return a text with the component's noun instead of the word rule."""
    if component.noun == "rule":
        return text
    return text.replace("Rule", component.noun.capitalize()).replace("rule", component.noun)


@cache
def feature_description(component: Component = BRANCHING) -> str:
    """Return the part of the prompt that explains the features, one line each under their group's heading."""
    lines: list[str] = []
    for group in dict.fromkeys(feature.group for feature in component.features):
        when = " (constant during a solve)" if group.cost == "solve" else " (updated at every node)"
        lines += ["", f"## {group.name.replace('_', ' ')}{when if component == BRANCHING else ''}"]
        members = [feature for feature in component.features if feature.group == group]
        lines += [f"- {component.argument}[{each.index}] {each.name}: {each.meaning}" for each in members]
    return "\n".join(lines).strip()


@cache
def prompt_version() -> str:
    """Return a hash of all prompt files and of the feature table, to be stored with what a model answered."""
    texts = "".join(f"{name}\0{text}\0" for name, text in prompt_files().items())
    return hashlib.sha256(f"{texts}{feature_description()}".encode()).hexdigest()[:16]


def prompt_files() -> dict[str, str]:
    """Return the texts that prompts are made of, by the names of their files."""
    paths = sorted((resources.files("bife_core.search.generators") / "prompts").iterdir(), key=str)
    return {path.name: path.read_text(encoding="utf-8") for path in paths}


def prompt_digest(messages: tuple[Message, ...]) -> str:
    """Return a hash of `messages`, equal exactly when roles and contents are."""
    return digest_of([message.model_dump() for message in messages])[:16]


def _parent(number: int, parent: Sample, context: PromptContext | None, component: Component) -> str:
    thought = _description(parent, context) or "Its author left no description."
    fields = {"number": number, "thought": thought, "source": code_of(parent.source or "").strip()}
    if context is None:
        return _template("parent", component).substitute(fields).strip()
    shown = "\n\n".join(part for part in (scores(parent, context), context.executions.get(parent.id)) if part)
    return _template("scored_parent", component).substitute(fields, scores=shown).strip()


def assemble(
    request: WrittenRequest, context: PromptContext, prompts: Prompts = "informed", *, answer: bool = True
) -> tuple[Message, ...]:
    """Return the messages that ask a language model for one rule or one reflection.

    The order is the paper's: problem, operator with the selected parents, rule template, which a reflection lacks and
    so does what says not how to `answer`. It is one user message: some servers ignore or refuse system messages.
    """
    component, facts = COMPONENTS.find(request.component), context if prompts == "informed" else None
    shown = [
        _parent(number, parent, facts, component) for number, parent in enumerate(request.parents, start=1)
    ]
    hints = "\n".join(f"- {' '.join(hint.split())}" for hint in request.hints) or "- (none yet)"
    if facts is not None and facts.likeness is not None:
        shown.append(f"Rule 1 and rule 2 choose the same candidate in {facts.likeness:.0%} of the decisions.")
    measured = facts is not None and facts.features
    features = measured_features(context) if measured else feature_description(component)
    about = {name: getattr(component, name) for name in ("about", "function", "argument", "n_features")}
    table = about | {"features": features}
    kind = context.benchmark.replace("_", " ")
    fitting = facts is not None and facts.fitting
    operator = "m2_fitted" if fitting and request.operator == "m2" else request.operator
    standing = _worded(_standing(request, facts), component)
    fields = {"parents": "\n\n".join(shown), "hints": hints, "standing": standing}
    task = _operator(operator, request, component).substitute(fields, count=len(request.parents))
    before, behind = ([], []) if facts is None else _facts(request, facts, component)
    # What is the same for all rules of a search comes first: providers bill such a beginning at less.
    parts = [_template("problem", component).substitute(table, benchmark=kind), *before, task, *behind]
    if answer and not isinstance(request, ReflectionRequest):
        first, sentence = ("First", "") if facts is None else (_THINKING, _SENTENCE)
        texts = {"first": _worded(first, component), "sentence": _worded(sentence, component)}
        parts.append(_template("template", component).substitute(table, **texts))
    return (Message(role="user", content="\n\n".join(part.strip() for part in parts) + "\n"),)


def _operator(name: Operator, request: WrittenRequest, component: Component) -> Template:
    """Return the operator's part of the prompt: the request's own, or the file of that name."""
    if request.prompt is not None:
        return Template(request.prompt)
    if request.operator not in OPERATORS:
        raise ConfigError(
            f"The operator {request.operator!r} is not one of {', '.join(OPERATORS)}: its search must give a prompt."
        )
    return _template(name, component)


def _standing(request: WrittenRequest, context: PromptContext | None) -> str:
    """Return what the only parent is, as far as solves show."""
    if context is not None and request.parents:
        parent = request.parents[0]
        if parent.eliminated is not None:
            return "a rule that was eliminated by racing, since it was too slow to be kept"
        if parent.f_hf is None:
            return "a rule that was not evaluated in the solver"
        if _best(parent, context):
            return "the best rule so far"
        if context.rpb is not None and parent.f_hf < context.rpb:
            return "a rule that works, but is slower than SCIP's own"
    return "a rule that works"


def _facts(
    request: WrittenRequest, context: PromptContext, component: Component
) -> tuple[list[str], list[str]]:
    """Return what is known, before and behind the operator's part."""
    facts, behind = list[str](), list[str]()
    sampled = not isinstance(request, ReflectionRequest)
    best = by_high_fidelity(context.earlier)[:1] if sampled and request.parents else ()
    best = tuple(rule for rule in best if rule.id not in {parent.id for parent in request.parents})
    earlier = earlier_attempts(context, shown=(*request.parents, *best)) if sampled else ""
    if context.instances:
        listed = "\n".join(f"- {sentence}" for sentence in context.instances)
        facts.append(_template("instances", component).substitute(instances=listed))
    if context.low and (request.parents or earlier or context.features):
        facts.append(_template("scores", component).substitute(low=context.low, high=context.high))
    if context.fitting and sampled:
        facts.append(_template("fitted").template)
    if any(context.executions.values()):
        facts.append(_template("execution", component).template)
    if context.theme:
        behind.append(_template("theme", component).substitute(theme=context.theme))
    if earlier:
        behind.append(_template("earlier", component).substitute(earlier=earlier))
    tau = _template("tau", component)
    stands = [] if context.tau is None else [tau.substitute(tau=f"{context.tau:.3f}").strip()]
    stands += [_parent(len(request.parents) + 1, rule, context, component) for rule in best]
    if stands:
        behind.append("\n\n".join(("# Where the search stands", *stands)))
    return facts, behind


def assemble_repair(first: Call, reason: str) -> tuple[Message, ...]:
    """Return the conversation that asks for a second answer, given the first call and why its answer is no rule."""
    quoted = without_reasoning(first.answer or "").strip()[:_QUOTED].strip()
    return (
        *first.messages,
        Message(role="assistant", content=quoted or "(no text)"),
        Message(role="user", content=_template("repair").substitute(reason=reason).strip() + "\n"),
    )


def measured_features(context: PromptContext) -> str:
    """Return the features that distinguish candidates, with their quantiles, and the others by name."""
    lines = [
        "[i] is variable_features[i]. Behind each feature stand its smallest value, 10 % quantile, median, 90 %",
        "quantile and largest value over all candidates of the recorded decisions, and F_LF (see below) of choosing",
        "by it alone, in the better direction.",
    ]
    shown = [r for r in context.features if not r.constant and r.repeats is None]
    for group in GROUPS:
        members = [r for r in shown if FEATURES[r.index].group == group]
        if members:
            lines += [
                "",
                f"## {group.name.replace('_', ' ')} ({_COSTS[group.cost]})",
                *map(_measured, members),
            ]
    if beside := [feature for feature in shown if feature.times_best is not None]:
        best = max(shown, key=lambda feature: feature.alone or 0.0)
        beside = sorted(beside, key=lambda feature: feature.times_best or 0.0, reverse=True)[:_BESIDE]
        products = ", ".join(f"[{other.index}]^{other.power:g} {other.times_best:.2f}" for other in beside)
        first = f"{_name(best.index)} ({best.alone:.2f})"
        lines += ["", f"What adds most to the best, {first}: F_LF of its product with {products}."]
    same = [(r.index, r.repeats) for r in context.features if r.repeats is not None]
    repeated = [f"{_name(index)} = {_name(other)}" for index, other in same]
    if repeated:
        lines += ["", f"Left out, since they say the same here, up to the sign: {', '.join(repeated)}."]
    constant = [f"{_name(r.index)} = {r.quantiles[0]:.3g}" for r in context.features if r.constant]
    if constant:
        lines += ["", f"Of no use here, since all candidates have the same value: {', '.join(constant)}."]
    return "\n".join(lines)


def _name(index: int) -> str:
    return f"[{index}] {FEATURES[index].name}"


def _measured(feature: FeatureRange) -> str:
    line = f"- {_name(feature.index)}: {FEATURES[feature.index].meaning} "
    line += f"[{' | '.join(f'{value:.3g}' for value in feature.quantiles)}]"
    return line if feature.alone is None else f"{line}, alone {feature.alone:.2f}, {feature.first} first"


def scores(sample: Sample, context: PromptContext) -> str:
    """Return F_LF and F_HF of a rule, and where it fails, in a line."""
    best = ["It is the best rule so far."] if _best(sample, context) else []
    return " ".join([f"{_fidelities(sample, context)}.", *best, *context.failings.get(sample.id, ())])


def _best(sample: Sample, context: PromptContext) -> bool:
    solved = [other.f_hf for other in (sample, *context.earlier) if other.f_hf is not None]
    return sample.f_hf is not None and len(solved) > 1 and sample.f_hf >= max(solved)


def earlier_attempts(context: PromptContext, shown: Iterable[Sample]) -> str:
    """Return a line for each of a dozen earlier attempts at most, or nothing; `shown` are left out."""
    left_out = {sample.id for sample in shown}
    # One that was never written says nothing of rules, and why may name the address of the service.
    written = (sample for sample in context.earlier if sample.valid or sample.source or sample.thought)
    tried = [sample for sample in written if sample.id not in left_out]
    best = {sample.id for sample in [attempt for attempt in ranked(tried) if attempt.valid][: _EARLIER // 2]}
    others = [sample for sample in tried if sample.id not in best][-(_EARLIER - len(best)) :]
    chosen = best | {sample.id for sample in others}
    return "\n".join(_attempt(sample, context) for sample in tried if sample.id in chosen)


def _attempt(sample: Sample, context: PromptContext) -> str:
    fate = _fidelities(sample, context) if sample.valid else f"failed: {_short(sample.failure or '')}"
    return f"- {_short(_description(sample, context) or 'a rule without a description')}: {fate}"


def _fidelities(sample: Sample, context: PromptContext) -> str:
    parts = [] if sample.f_lf is None else [f"F_LF {sample.f_lf:.3f}"]
    if sample.id in context.regrets:
        parts.append(f"regret {context.regrets[sample.id]:.3f}")
    if sample.f_hf is not None:
        rpb = context.rpb
        relative = f" ({sample.f_hf / rpb:.2f} times the cost of SCIP's own rule)" if rpb else ""
        parts.append(f"F_HF {sample.f_hf:.4g}{relative}")
    elif sample.eliminated is not None:
        parts.append(f"eliminated by racing: {_short(sample.eliminated)}")
    parts += [
        f"chose in all recorded decisions like a rule of {_fidelities(other, context)}"
        for other in context.earlier
        if other.id == sample.duplicate_of
    ]
    return ", ".join(parts) or "not scored"


def _description(sample: Sample, context: PromptContext | None) -> str | None:
    """Return what its author says of a rule."""
    if sample.thought and context is not None and sample.id in context.fitted:
        return f"{sample.thought.rstrip('.')} (its numbers were fitted since)."
    return sample.thought


def _short(text: str) -> str:
    line = " ".join(text.split()).rstrip(".")
    return line if len(line) <= _LINE else f"{line[: _LINE - 3]}..."


@cache
def themes() -> tuple[tuple[frozenset[str], str], ...]:
    """Return the themes of initial prompts: the roles they need, and the sentence.

    A model without memory that reads one prompt twelve times writes one rule twelve times.
    """
    pairs = (line.split(": ", 1) for line in _template("themes").template.splitlines())
    return tuple((frozenset(roles.split()), sentence) for roles, sentence in pairs)


def theme(
    seed: int, number: int, features: Iterable[FeatureRange] = (), component: Component = BRANCHING
) -> str:
    """Return the theme of a search's rule of that number; all are drawn once before any is drawn again.

    A theme is left out where all features of a role that it needs are constant. A component may have none.

    Examples
    --------
    >>> len({theme(7, number) for number in range(len(themes()))}) == len(themes())
    True
    """
    varying = {FEATURES[number.index].group.role for number in features if not number.constant}
    offered = [sentence for roles, sentence in themes() if not varying or roles <= varying]
    if component != BRANCHING:
        offered = [*component.themes] or [""]
    rounds, place = divmod(number, len(offered))
    order = np.random.Generator(np.random.PCG64([seed, rounds])).permutation(len(offered))
    return offered[int(order[place])]
