"""What is known of a registered rule, whether it earns the alias ``champion``, and what a page shows of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final, NamedTuple

from pydantic import Field, ValidationError

from bife_core.base.values import Value
from bife_core.base.wording import counted, fits, interval_text, storable
from bife_core.measure.evaluation.comparison import WORTHWHILE, Finding, Ratio, finding, p_text
from bife_core.measure.evaluation.metrics import METRICS, judged_by
from bife_core.solver.methods.base import RPB, Method
from bife_core.solver.scip.cost import Cost

CHALLENGER: Final = "challenger"
CHAMPION: Final = "champion"

UNGATED: Final = " (alias set by hand, without the gate)"
REFUSALS: Final = {"rejected": "refused it", "rolled_back": "took it out of use"}
"""Beginnings of the tags that hold a decision against a version, with what was done."""
REPLACED: Final = "replaced_version"
SUPERSEDED: Final = "superseded_at"

MOST_IN_CARD: Final = 3800
"""Characters of a card: databases of registries take 5,000, with the links that follow."""

_UNNUMBERED: Final = "VERSION"  # in a card, the number of the version until it has one
_LANGUAGES: Final = {"rule": "python", "configuration": "ini"}
_SENTENCE: Final = 600  # characters of a sentence of it; the evidence has all


class Origin(Value):
    """The search a rule came from; empty for a rule written by hand."""

    search_key: str = ""
    search_run: str = ""
    f_lf: float | None = None
    f_hf: float | None = None
    cost: str = ""
    decisions_digest: str = ""
    lineage: str = ""


class Evidence(Origin, Ratio):
    """What is known of a rule when it is registered; each field becomes a tag of its version.

    `p_value` is that of the exact test, adjusted, and `time_ratio` the ratio of CPU times. `unfinished` solves ended at
    a limit, and `brought` has the factors of an ablation on design instances. `use` is which use of the test instances
    this was, 0 for one that counts for no champion. `likeness` is JSON of their
    `bife_core.base.likeness.Likeness`. `solver` names the settings of SCIP, and `solver_params` is JSON of
    those that differ from SCIP's defaults. ``champion...`` compares with the champion beside it.
    """

    sha: str
    brought: str = ""
    benchmark: str
    size: str
    p_value: float
    time_ratio: float | None = None
    baseline: str
    seeds: int
    unfinished: int = 0
    mismatches: int = 0
    use: int = 1
    evaluation_run: str
    test_digest: str
    likeness: str = ""
    solver: str = ""
    solver_digest: str = ""
    solver_params: str = ""
    champion_sha: str = ""
    champion_ratio: float | None = None
    champion_ci_low: float | None = None
    champion_ci_high: float | None = None
    champion_p_value: float | None = None
    champion_obstacle: str = ""

    @property
    def finding(self) -> Finding:
        """What interval and test say of it beside the baseline."""
        return finding(self.ci_low, self.ci_high, self.p_value, self.confidence)


class GateDecision(NamedTuple):
    """Whether the evidence earns a rule the alias ``champion``, why, and where they stand apart the numbers for it."""

    promote: bool
    reason: str
    numbers: str = ""

    @property
    def sentence(self) -> str:
        """The reason with its numbers."""
        return f"{self.reason}{f': {self.numbers}' if self.numbers else ''}."


def gate(rule: Evidence, champion: Evidence | RegisteredRule | None) -> GateDecision:
    """Return whether a challenger earns the alias ``champion`` by the numbers alone.

    By its metric, no count of work, it must be better than RPB on held-out instances, and than the present champion on
    the same ones in the same evaluation, in the sense of `bife_core.measure.evaluation.comparison.finding` and without
    `Ratio.doubt`. Rules that were judged by different metrics, or under different settings of SCIP, do not compete.
    """
    words = METRICS[rule.metric].words
    better, worse = ("faster", "slower") if rule.metric == "time" else ("better", "worse")
    against_rpb = f"{rule.ratio:.3f} of RPB's {words}"
    takes = f"It takes {against_rpb}"
    numbers = ""
    if judged_by(rule.metric) != rule.metric:
        reason = f"It was judged by {words}, and fewer {words} make no champion"
    elif rule.baseline != RPB:
        reason = f"It was compared with {rule.baseline}, not with {RPB} (RPB)"
    elif not rule.use:
        reason = "Its test instances served a search or were chosen among others, so they are not held out"
    elif rule.mismatches:
        reason = "Its solves and RPB's prove different optima, which is a defect"
    elif hindered := rule.obstacle:
        reason = f"It cannot count as {better} than RPB: {hindered}"
    elif rule.finding != "better" and not (rule.further and rule.ratio <= WORTHWHILE):
        reason = f"It is not known to be {better} than RPB"
        numbers = f"{against_rpb}, {interval_text(rule.ci_low, rule.ci_high)}, {p_text(rule.p_value)}"
    elif rule.doubt:
        tested = counted(rule.instances, "held-out instance", rule.groups)
        uses = f" at use {rule.use} of some of them" if rule.use > 1 else ""
        reason = f"{takes} on {tested}{uses}, but {rule.doubt}"
    elif champion is None:
        return GateDecision(True, f"{takes}; there is no champion yet")
    elif champion.solver_digest != rule.solver_digest:
        reason = (
            f"{takes} under {rule.solver}, but the champion was measured under {champion.solver}, and only rules "
            "measured under the same settings of SCIP compete"
        )
        if not champion.solver_digest:
            reason += "; to let this one be champion, take the other out of use (`bife rules rollback`)"
    elif champion.metric != rule.metric:
        other = METRICS[champion.metric].words
        reason = (
            f"{takes}, but the champion was judged by {other}, and only rules judged by the same metric compete; "
            f"evaluate it by {other} too (evaluation.metric={champion.metric})"
        )
    elif champion.sha == rule.sha:
        return GateDecision(True, f"{takes}; the champion is the same rule")
    elif rule.champion_sha != champion.sha or rule.champion_ratio is None or rule.champion_p_value is None:
        reason = "It was not measured side by side with the present champion; evaluate it once more"
    elif rule.champion_obstacle:
        reason = f"{takes}, but beside the champion {rule.champion_obstacle}"
    else:
        low, high, p = rule.champion_ci_low, rule.champion_ci_high, rule.champion_p_value
        beside = f"{rule.champion_ratio:.3f} of the champion's ({interval_text(low, high)}, {p_text(p)})"
        if finding(low, high, p, rule.confidence) == "better":
            return GateDecision(True, f"{takes} and {beside}")
        reason = f"{takes}, but {beside}: it may be {worse} than the champion"
    return GateDecision(False, reason, numbers)


def refusal(tags: Mapping[str, str], test_digest: str | None = None) -> str:
    """Return who decided against a version, on `test_digest` if given, and why; empty if no person did."""
    for word, done in REFUSALS.items():
        at = tags.get(f"{word}_at", "")
        if at and test_digest in (None, tags.get(f"{word}_test_digest")):
            return f"{tags.get(f'{word}_by', '')} {done} on {at[:10]} ({tags.get(f'{word}_reason', '')})"
    return ""


class RegisteredRule(Value):
    """One version in the registry, and what its tags say; `card` is its description in Markdown."""

    name: str
    version: int
    aliases: tuple[str, ...]
    tags: dict[str, str]
    card: str = Field("", repr=False)

    @property
    def reference(self) -> str:
        """What `load_method` takes."""
        return f"models:/{self.name}/{self.version}"

    @property
    def sha(self) -> str:
        """Hash of the rule, empty for a version that was registered by other means."""
        return self.tags.get("sha", "")

    @property
    def solver(self) -> str:
        """What the settings of SCIP are called that it was measured under."""
        return self.tags.get("solver") or "settings that were not recorded"

    @property
    def solver_digest(self) -> str:
        """Hash of these settings, empty where they were not recorded."""
        return self.tags.get("solver_digest", "")

    @property
    def replaced(self) -> str:
        """Number of the version that it replaced as champion, empty if it replaced none."""
        return self.tags.get(REPLACED, "")

    @cached_property
    def evidence(self) -> Evidence | None:
        """What was known of it when it was registered; None for a version that was registered by other means."""
        try:
            return Evidence.model_validate(
                {k: self.tags[k] for k in Evidence.model_fields.keys() & self.tags.keys()}
            )
        except ValidationError:
            return None

    @property
    def ungated(self) -> bool:
        """Whether it is champion by an alias set by hand: no decision made it so, or a later one ended that."""
        ended = max(self.tags.get(word, "") for word in ("rolled_back_at", SUPERSEDED))
        return CHAMPION in self.aliases and self.tags.get("approved_at", "") <= ended

    @property
    def standing(self) -> str:
        """Its aliases, and whether it became champion without the gate."""
        return " ".join(self.aliases) + UNGATED * self.ungated

    @property
    def metric(self) -> Cost:
        """What it was judged by, CPU time by default."""
        return self.evidence.metric if self.evidence is not None else "time"

    @property
    def entry(self) -> tuple[str, str, str]:
        """What versions of one rule differ in: the search it is from, its metric and its settings of SCIP."""
        return self.tags.get("search_key", ""), self.metric, self.solver_digest

    @property
    def refusal(self) -> str:
        """The decision of a person that keeps this version from being challenger, as a sentence; empty without one."""
        return refusal(self.tags, self.tags.get("test_digest"))


def model_card(name: str, method: Method, evidence: Evidence) -> str:
    """Return the description of a version: how good it is, what it is, how it is used, and where it holds."""
    language = _LANGUAGES.get(method.kind, "json")
    budget = getattr(method, "budget", None)
    limited = f"RPB has a budget of {budget} before the rule branches.\n\n" if budget else ""
    if evidence.brought:
        limited += f"What brought it, on design instances: {fits(evidence.brought, _SENTENCE)}.\n\n"
    against = "RPB" if evidence.baseline == RPB else fits(evidence.baseline, 80)
    surely = ", not significant" if evidence.finding == "undecided" else ""
    title = f"{evidence.ratio:.3f} of {against}'s {METRICS[evidence.metric].words}{surely}"
    head = f"## {evidence.incomparable or title}\n\n{fits(_measured(evidence), _SENTENCE)}\n\n{limited}```{language}\n"
    where = "\n".join(f"- {fits(fact, _SENTENCE)}" for fact in _where(evidence) if fact)
    text, end = storable(method.shown.rstrip()), "\n```\n"
    foot = f"{_use(name)}\n\n### Where it holds\n\n{where}"
    if len(head) + len(text) + len(end) + len(foot) > MOST_IN_CARD:
        end += f"This is the beginning of {len(text):,} characters: `artifacts/{method.file_name}` has all.\n"
    return f"{head}{text[: MOST_IN_CARD - len(head) - len(end) - len(foot)]}{end}{foot}"


def _measured(rule: Evidence) -> str:
    better = "faster" if rule.metric == "time" else "better"
    tested = f"{counted(rule.instances, 'held-out instance', rule.groups)} of {fits(rule.benchmark, 120)}"
    size = f", size {rule.size}" if rule.size else ""
    worst = f" The worst, {rule.worst_instance}, takes {rule.worst:.3f}." if rule.worst_instance else ""
    return (
        f"{interval_text(rule.ci_low, rule.ci_high, confidence=rule.confidence)}, {p_text(rule.p_value)}; below 1 "
        f"is {better}. Measured on {tested}{size}, {counted(rule.seeds, 'seed')} each, under "
        f"{rule.solver or 'settings that were not recorded'}. {rule.proofs} of {rule.solves} solves end with a proof, "
        f"of the baseline's {rule.baseline_proofs}.{worst}"
    )


def _use(name: str) -> str:
    reference = f"models:/{name}/{_UNNUMBERED}"
    return (
        f"\n### Use it\n\n```python\nbife_core.attach(model, {reference!r})  # a model of PySCIPOpt\n```\n"
        f"```sh\nbife solve MODEL.mps --rule {reference}\nbife export {reference}  # for SCIP without Python\n```\n"
        f"`models:/{name}@{CHAMPION}` is the version in use, whichever that is."
    )


def numbered(card: str, name: str, number: int) -> str:
    """Return the card of a version of `name` with the number that it has been given."""
    return card.replace(f"models:/{name}/{_UNNUMBERED}", f"models:/{name}/{number}")


def _where(rule: Evidence) -> list[str]:
    """Return what limits the headline, and where the rule is from."""
    words = METRICS[rule.metric].words
    time = rule.time_ratio if rule.metric != "time" else None
    champion = f"Beside the champion it takes {rule.champion_ratio or 0:.3f} of its {words}."
    scores = (("F_LF", rule.f_lf), ("F_HF", rule.f_hf))
    scored = "".join(f", {score} {value:.4g}" for score, value in scores if value is not None)
    return [
        f"SCIP's settings: {rule.solver_params}." if rule.solver_params not in ("", "{}") else "",
        "Other instances, settings and versions of SCIP were not tried; `bife evaluate` measures it on yours.",
        f"Slower on {rule.slower} of {rule.groups}; on at most {rule.slower_share:.0%} of such instances.",
        f"CPU time: {time:.3f} of the baseline's." if time is not None else "",
        f"{counted(rule.unfinished, 'solve')} ended at a limit." if rule.unfinished else "",
        champion if rule.champion_ratio is not None else "",
        rule.champion_obstacle and f"Beside the champion {rule.champion_obstacle}.",
        f"Found by the search {rule.search_key}: {rule.lineage or 'no sample'}{scored}."
        if rule.search_key
        else "",
    ]
