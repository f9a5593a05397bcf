"""What a person wants to know of a generation: the rows of the live table and the metrics of a run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from bife_core.search.population import by_high_fidelity, by_low_fidelity
from bife_core.search.types import Sample, Search
from bife_core.values import Value


class GenerationSummary(Value):
    """The state of a search after, or within, one generation.

    Attributes
    ----------
    generation : int
        0 for the initial population.
    samples, failures, solved : int
        Of this generation: rules sampled, those of them that are out, those of them with an F_HF.
    samples_total, failures_total : int
        The same over all generations so far.
    best_f_lf, best_f_hf : float or None
        Highest fidelity of any valid rule so far; None while there is none.
    mean_f_lf : float or None
        Mean F_LF over the rules alive; None while there is none.
    n_alive, n_elites : int
        Size of the population, and of the elite set within it.
    tau : float or None
        F_LF that the next samples must reach to earn solves; None without elites.
    """

    generation: int
    samples: int
    failures: int
    solved: int
    samples_total: int
    failures_total: int
    best_f_lf: float | None = None
    mean_f_lf: float | None = None
    best_f_hf: float | None = None
    n_alive: int = 0
    n_elites: int = 0
    tau: float | None = None


class ReportingSearch(Search, Protocol):
    """A search that flows can run and show: what `Search` asks for, what it needs, and its summaries."""

    @property
    def low_fidelity(self) -> bool:
        """Whether it asks for F_LF, so that decisions have to be recorded."""
        ...

    @property
    def training_instances(self) -> int:
        """Number of training instances that its trials speak of."""
        ...

    @property
    def summaries(self) -> tuple[GenerationSummary, ...]:
        """One summary per completed generation."""
        ...

    def generation_summary(self) -> GenerationSummary:
        """Return the summary of the generation under way, as far as it is known."""
        ...


def summarise(
    samples: Sequence[Sample],
    generation: int,
    *,
    alive: Collection[Sample] = (),
    n_elites: int = 0,
    tau: float | None = None,
) -> GenerationSummary:
    """Summarise generation `generation` of a search that has sampled `samples` so far."""
    own = [sample for sample in samples if sample.generation == generation]
    best_low = by_low_fidelity(samples)
    best_high = by_high_fidelity(samples)
    f_lf = [sample.f_lf for sample in alive if sample.f_lf is not None]
    return GenerationSummary(
        generation=generation,
        samples=len(own),
        failures=sum(sample.failure is not None for sample in own),
        solved=sum(sample.f_hf is not None for sample in own),
        samples_total=len(samples),
        failures_total=sum(sample.failure is not None for sample in samples),
        best_f_lf=best_low[0].f_lf if best_low else None,
        mean_f_lf=sum(f_lf) / len(f_lf) if f_lf else None,
        best_f_hf=best_high[0].f_hf if best_high else None,
        n_alive=len(alive),
        n_elites=n_elites,
        tau=tau,
    )
