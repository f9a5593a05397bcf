"""Populations that evolve side by side, and the archive of the best programs of all of them."""

from __future__ import annotations

import math

import numpy as np

from bife_core.config import Llm4BranchConfig
from bife_core.search.population import by_high_fidelity
from bife_core.search.types import Candidate


class Islands:
    """Programs with an F_HF, each on the island it was made for; migrants live on several.

    Parameters
    ----------
    config : Llm4BranchConfig
        Sizes, shares and chances.
    rng : np.random.Generator
        Draws parents; shared with the search.
    """

    def __init__(self, config: Llm4BranchConfig, rng: np.random.Generator) -> None:
        self._config = config
        self._rng = rng
        self._members: list[list[Candidate]] = [[] for _ in range(config.islands)]

    @property
    def programs(self) -> tuple[Candidate, ...]:
        """All programs, each once, highest F_HF first."""
        return by_high_fidelity({rule.id: rule for island in self._members for rule in island}.values())

    @property
    def archive(self) -> tuple[Candidate, ...]:
        """The best programs of all islands."""
        return self.programs[: self._config.archive]

    def settle(self, program: Candidate) -> None:
        """Put a program on every island: the start of all."""
        for island in self._members:
            island.append(program)

    def add(self, island: int, program: Candidate) -> None:
        """Put a program on one island; beyond the limit on all, the worst program is dropped."""
        self._members[island].append(program)
        kept = {rule.id for rule in self.programs[: self._config.programs]}
        self._members = [[rule for rule in members if rule.id in kept] for members in self._members]

    def draw(self, island: int) -> tuple[Candidate, ...]:
        """Return a parent and its inspirations; nothing while there is no program.

        The parent is of the archive with the chance of `exploitation`, preferably one that lives on the island; any
        program of the island with that of `exploration`; else any at all. Inspirations are the best of the island's
        elite but the parent.
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
        others = [rule for rule in elite if rule.id != parent.id]
        return (parent, *others[: self._config.inspirations])

    def migrate(self) -> None:
        """Copy the best of each island to the next one in the ring."""
        if len(self._members) < 2:
            return
        leaving = [
            by_high_fidelity(members)[: math.ceil(self._config.migration_rate * len(members))]
            for members in self._members
        ]
        for island, migrants in enumerate(leaving):
            target = self._members[(island + 1) % len(self._members)]
            known = {rule.id for rule in target}
            target.extend(rule for rule in migrants if rule.id not in known)
