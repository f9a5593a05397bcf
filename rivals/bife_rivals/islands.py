"""Populations that search side by side, each with a grid of unlike programs, and the archive of the best of all."""

from __future__ import annotations

import math

import numpy as np
from pydantic import Field, model_validator

from bife_core.extend import Cost, Sample, Value, by_high_fidelity
from bife_rivals.grid import Cell, cell_of, features_of


class Llm4BranchOptions(Value):
    """LLM4Branch's own settings; the defaults are the paper's for auctions."""

    training_instances: int = Field(4, ge=1, description="Instances for screening and tuning.")
    screening_limit_s: float = Field(60.0, gt=0, description="CPU seconds a screening solve may take.")
    screening_cost: Cost | None = Field("time", description="What screening compares; null is F_HF's.")
    screening_speedup: float = Field(0.5, ge=0, description="Speed-up over RPB needed on every instance.")
    tuning_calls: int = Field(100, ge=0, description="Parameter settings tried for each program.")
    tuning_initial: int = Field(10, ge=1, description="Of these, settings that no model proposes.")
    tuning_instances: int = Field(2, ge=1, description="Training instances solved for each setting.")
    tuning_limit_s: float = Field(10.0, gt=0, description="CPU seconds a tuning solve may take.")
    islands: int = Field(8, ge=1, description="Populations that search side by side.")
    programs: int = Field(120, ge=1, description="Programs kept over all islands.")
    archive: int = Field(20, ge=1, description="Best programs of all islands, which parents are taken from.")
    bins: int = Field(10, ge=1, description="Cells of an island's grid, along each of its two axes.")
    elite_ratio: float = Field(0.2, ge=0, le=1, description="Share of an island that may inspire.")
    exploitation: float = Field(0.7, ge=0, le=1, description="Chance that a parent is of the archive.")
    exploration: float = Field(0.2, ge=0, le=1, description="Chance that a parent is any of its island.")
    inspirations: int = Field(3, ge=0, description="Programs shown beside the parent.")
    migration_interval: int = Field(50, ge=1, description="Generations between two migrations.")
    migration_rate: float = Field(0.1, ge=0, le=1, description="Share of an island that migrates.")

    @model_validator(mode="after")
    def _shares_and_instances_fit(self) -> Llm4BranchOptions:
        if self.exploitation + self.exploration > 1:
            raise ValueError("exploitation and exploration cannot exceed 1 together")
        tuning, training = self.tuning_instances, self.training_instances
        if tuning > training:
            raise ValueError(f"tuning_instances ({tuning}) cannot exceed training_instances ({training})")
        return self


class Islands:
    """Programs with an F_HF, each on the island it was made for; migrants live on several.

    Each cell of an island's grid is held by the best program like it. A better one drives the holder from the island;
    one that is no better lives there without a cell.

    Parameters
    ----------
    config : Llm4BranchOptions
        Sizes, shares and chances.
    start : str
        The program the search begins with; diversity is measured from it.
    rng : np.random.Generator
        Draws parents; shared with the search.
    """

    def __init__(self, config: Llm4BranchOptions, start: str, rng: np.random.Generator) -> None:
        self._config = config
        self._reference = features_of(start)
        self._rng = rng
        self._members: list[list[Sample]] = [[] for _ in range(config.islands)]
        self.grids: list[dict[Cell, Sample]] = [{} for _ in range(config.islands)]

    @property
    def programs(self) -> tuple[Sample, ...]:
        """All programs, each once, highest F_HF first."""
        return by_high_fidelity({rule.id: rule for island in self._members for rule in island}.values())

    @property
    def archive(self) -> tuple[Sample, ...]:
        """The best programs of all islands."""
        return self.programs[: self._config.archive]

    def settle(self, program: Sample) -> None:
        """Put a program on every island: the start of all."""
        for island in range(len(self._members)):
            self._place(island, program)

    def add(self, island: int, program: Sample) -> None:
        """Put a program on one island; beyond the limit on all, the worst program is dropped."""
        self._place(island, program)
        kept = {rule.id for rule in self.programs[: self._config.programs]}
        self._members = [[rule for rule in members if rule.id in kept] for members in self._members]
        self.grids = [{cell: rule for cell, rule in grid.items() if rule.id in kept} for grid in self.grids]

    def _cell(self, program: Sample) -> Cell:
        return cell_of(program.source or "", self._reference, self._config.bins)

    def _place(self, island: int, program: Sample) -> None:
        members, grid, cell = self._members[island], self.grids[island], self._cell(program)
        holder = grid.get(cell)
        if holder is None or by_high_fidelity((holder, program))[0] is program:
            grid[cell] = program
            members[:] = [rule for rule in members if holder is None or rule.id != holder.id]
        members.append(program)

    def draw(self, island: int) -> tuple[Sample, ...]:
        """Return a parent and its inspirations; nothing while there is no program.

        The parent is of the archive with the chance of `exploitation`, preferably one that lives on the island; any
        program of the island with that of `exploration`; else any at all. Inspirations are the island's elite, then the
        holders of the cells nearest to the parent's, the best first among those as near.
        """
        programs = self.programs
        if not programs:
            return ()
        home = by_high_fidelity(self._members[island]) or programs
        here = {rule.id for rule in home}
        chance = self._rng.random()
        if chance < self._config.exploitation:
            pool = tuple(rule for rule in self.archive if rule.id in here) or self.archive
        elif chance < self._config.exploitation + self._config.exploration:
            pool = home
        else:
            pool = programs
        parent = pool[int(self._rng.random() * len(pool))]
        elite = home[: math.ceil(self._config.elite_ratio * len(home))]
        here_is = self._cell(parent)
        ranked = by_high_fidelity(self.grids[island].values())
        nearest = sorted(ranked, key=lambda rule: here_is.distance(self._cell(rule)))
        others = {rule.id: rule for rule in (*elite, *nearest) if rule.id != parent.id}
        return (parent, *tuple(others.values())[: self._config.inspirations])

    def migrate(self) -> None:
        """Copy the best of each island to the next one in the ring."""
        leaving = [
            by_high_fidelity(members)[: math.ceil(self._config.migration_rate * len(members))]
            for members in self._members
        ]
        for island, migrants in enumerate(leaving):
            target = (island + 1) % len(self._members)
            residents = {rule.id for rule in self._members[target]}
            for migrant in migrants:
                if migrant.id not in residents:
                    self._place(target, migrant)
