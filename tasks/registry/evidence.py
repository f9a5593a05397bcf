"""What is known of a rule when it is registered, and whether that makes it champion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from bife_core.evaluation.comparing import finding, obstacle
from bife_core.evaluation.conclusion import p_text
from bife_core.evaluation.metrics import METRICS, judged_by
from bife_core.scip.builtin import RPB
from bife_core.scip.cost import Cost
from bife_core.search import Sample
from bife_core.stats import fewest_instances
from bife_core.values import Value
from bife_core.wording import interval_text


class Origin(Value):
    """The search a rule came from; empty for a rule written by hand."""

    evolution_key: str = ""
    evolution_run: str = ""
    f_lf: float | None = None
    f_hf: float | None = None
    cost: str = ""
    decisions_digest: str = ""
    lineage: str = ""


class Evidence(Origin):
    """What is known of a rule when it is registered; each field becomes a tag of its version.

    Attributes
    ----------
    metric : str
        What the rule is judged by, see `bife_core.evaluation.metrics.judged_by`; rules compete that share it.
    ratio, ci_low, ci_high, p_value, confidence : float
        The rule's cost by that metric over the baseline's on held-out instances: geometric mean with its interval at
        that level, and the adjusted p-value of the exact test.
    time_ratio : float
        CPU time over the baseline's, whatever the rule is judged by.
    solves, missing, unfinished, proofs, baseline_proofs : int
        Solves of the rule; those of them that gave no result or a wrong one, and that ended at a limit; those that
        ended with a proof, and the baseline's that did.
    models : str
        JSON of the `bife_core.benchmarks.formulation.Likeness` of the held-out instances; empty where it is not known.
    look : int
        Which look at its test set the evaluation was; the confidence is that of the look.
    champion_ratio, champion_ci_low, champion_ci_high, champion_p_value : float
        Cost by that metric over the champion's in the same evaluation.
    champion_obstacle : str
        Why the rule cannot count as better than the champion whatever its ratio; empty if it can.
    """

    sha: str
    benchmark: str
    size: str
    metric: Cost = "time"
    ratio: float
    ci_low: float | None = None
    ci_high: float | None = None
    p_value: float
    confidence: float
    time_ratio: float | None = None
    baseline: str
    instances: int
    seeds: int
    solves: int
    missing: int = 0
    unfinished: int = 0
    proofs: int
    baseline_proofs: int
    mismatches: int = 0
    look: int = 0
    evaluation_run: str
    test_digest: str
    models: str = ""
    champion_sha: str = ""
    champion_ratio: float | None = None
    champion_ci_low: float | None = None
    champion_ci_high: float | None = None
    champion_p_value: float | None = None
    champion_obstacle: str = ""


class GateDecision(Value):
    """Whether the evidence earns a rule the alias ``champion``, and why."""

    promote: bool
    reason: str


def lineage(best: Sample) -> str:
    """Return in one line who wrote a rule from what.

    Examples
    --------
    >>> lineage(Sample(id="g01-c02", generation=1, operator="m1", parents=("g00-c00",)))
    'g01-c02 by m1 from g00-c00'
    """
    parents = f" from {', '.join(best.parents)}" if best.parents else ""
    return f"{best.id} by {best.operator}{parents}"


def gate(challenger: Evidence, champion: str | None, champion_metric: Cost = "time") -> GateDecision:
    """Return whether a challenger earns the alias ``champion`` by the numbers alone.

    Parameters
    ----------
    champion : str or None
        Hash of the present champion, if there is one.
    champion_metric : str
        What that champion was judged by.

    Notes
    -----
    By its metric it must be better than RPB on held-out instances, and than the present champion on the same ones in
    the same evaluation, in the sense of `bife_core.evaluation.comparing.finding` both times: two ratios to RPB from
    two evaluations do not tell which rule is better. Rules that were judged by different metrics do not compete, and
    no count of work, such as nodes, makes a champion.

    Examples
    --------
    >>> evidence = Evidence(sha="a", benchmark="toys", size="test", ratio=0.8, ci_low=0.7, ci_high=1.1, p_value=0.2,
    ...     confidence=0.95, baseline="relpscost", instances=20, seeds=1, solves=20, proofs=20, baseline_proofs=20,
    ...     evaluation_run="", test_digest="")
    >>> gate(evidence, None).reason
    "It is not known to be faster than RPB: 0.800 of RPB's CPU time, interval 0.700 to 1.100, p = 0.2."
    """
    against = _against(challenger)
    if against is not None:
        return GateDecision(promote=False, reason=against)
    words = METRICS[challenger.metric].words
    better = f"It takes {challenger.ratio:.3f} of RPB's {words}"
    if champion is None:
        return GateDecision(promote=True, reason=f"{better}; there is no champion yet.")
    if champion_metric != challenger.metric:
        other = METRICS[champion_metric].words
        apart = (
            f"{better}, but the champion was judged by {other}, and only rules judged by the same metric compete; "
            f"evaluate it by {other} too (evaluation.metric={champion_metric})."
        )
        return GateDecision(promote=False, reason=apart)
    if champion == challenger.sha:
        return GateDecision(promote=True, reason=f"{better}; the champion is the same rule.")
    ratio, p_value = challenger.champion_ratio, challenger.champion_p_value
    if challenger.champion_sha != champion or ratio is None or p_value is None:
        unknown = "It was not measured side by side with the present champion; evaluate it once more."
        return GateDecision(promote=False, reason=unknown)
    low, high = challenger.champion_ci_low, challenger.champion_ci_high
    known = f"{ratio:.3f} of the champion's ({interval_text(low, high)}, {p_text(p_value)})"
    if challenger.champion_obstacle:
        return GateDecision(
            promote=False, reason=f"{better}, but beside the champion {challenger.champion_obstacle}."
        )
    if finding(low, high, p_value, challenger.confidence) != "better":
        worse = f"it may be {_comparatives(challenger.metric)[1]} than the champion"
        return GateDecision(promote=False, reason=f"{better}, but {known}: {worse}.")
    return GateDecision(promote=True, reason=f"{better} and {known}.")


def _comparatives(metric: Cost) -> tuple[str, str]:
    return ("faster", "slower") if metric == "time" else ("better", "worse")


def _against(challenger: Evidence) -> str | None:
    """Return why a rule is not known to beat RPB, or None."""
    words, better = METRICS[challenger.metric].words, _comparatives(challenger.metric)[0]
    if judged_by(challenger.metric) != challenger.metric:
        return f"It was judged by {words}, and fewer {words} make no champion."
    if challenger.baseline != RPB:
        return f"It was compared with {challenger.baseline}, not with {RPB} (RPB)."
    if challenger.mismatches:
        return "Its solves and RPB's prove different optima, which is a defect."
    hindered = obstacle(challenger.missing, challenger.proofs, challenger.baseline_proofs, challenger.solves)
    if hindered:
        return f"It cannot count as {better} than RPB: {hindered}."
    fewest = fewest_instances(challenger.confidence)
    if challenger.instances < fewest:
        looks = f" at look {challenger.look} at the same test set" if challenger.look > 1 else ""
        return f"{challenger.instances} held-out instances are too few, {fewest} are needed{looks}."
    low, high, p_value = challenger.ci_low, challenger.ci_high, challenger.p_value
    if finding(low, high, p_value, challenger.confidence) != "better":
        known = f"{challenger.ratio:.3f} of RPB's {words}, {interval_text(low, high)}, {p_text(p_value)}"
        return f"It is not known to be {better} than RPB: {known}."
    return None


Word = Literal["rejected", "rolled_back"]

APPROVED: Final = "approved"
_WORDS: Final[tuple[Word, ...]] = ("rejected", "rolled_back")
_VERBS: Final[Mapping[Word, str]] = {"rejected": "refused it", "rolled_back": "took it out of use"}


class Refusal(Value):
    """Who decided against a rule, when (ISO 8601, UTC), why, and on which test instances it had been measured."""

    word: Word
    by: str
    reason: str
    at: str
    test_digest: str

    @property
    def sentence(self) -> str:
        """What happened, for a reader who has the rule before them.

        Examples
        --------
        >>> Refusal(word="rejected", by="Ada", reason="too slow", at="2026-05-01T12:00:00+00:00",
        ...     test_digest="").sentence
        'Ada refused it on 2026-05-01 (too slow)'
        """
        return f"{self.by} {_VERBS[self.word]} on {self.at[:10]} ({self.reason})"

    @property
    def tags(self) -> dict[str, str]:
        """The tags of a version that say so."""
        known = self.model_dump(exclude={"word"})
        return {f"{self.word}_{name}": value for name, value in known.items()}


def refusal(versions: Iterable[Mapping[str, str]], test_digest: str | None = None) -> Refusal | None:
    """Return the last word against a rule, or None where there is none or it was taken back.

    Parameters
    ----------
    versions : iterable of mapping
        Tags of all versions that hold the rule.
    test_digest : str, optional
        Only what was said of the rule as measured on these instances; by default whatever was said.
    """
    approved = ""
    said: list[Refusal] = []
    for tags in versions:
        approved = max(approved, tags.get(f"{APPROVED}_at", ""))
        said += [_read(tags, word) for word in _WORDS if f"{word}_at" in tags]
    # All times are written by one clock in one format, so that they sort as text. A champion of this very second
    # was approved before it was rolled back.
    standing = [
        one for one in said if one.at >= approved and (test_digest is None or one.test_digest == test_digest)
    ]
    return max(standing, key=lambda one: one.at, default=None)


def _read(tags: Mapping[str, str], word: Word) -> Refusal:
    return Refusal(
        word=word,
        by=tags.get(f"{word}_by", ""),
        reason=tags.get(f"{word}_reason", ""),
        at=tags[f"{word}_at"],
        test_digest=tags.get(f"{word}_test_digest", tags.get("test_digest", "")),
    )
