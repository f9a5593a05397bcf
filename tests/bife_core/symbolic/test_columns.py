"""Formulas evaluated on columns are the rules they are written as."""

from __future__ import annotations

import numpy as np
import pytest

from bife_core.generators.offline.expression import Leaf, Operation, product
from bife_core.generators.offline.priors import sample_rule
from bife_core.generators.offline.writer import write
from bife_core.rules import CompiledRule, compile_rule
from bife_core.symbolic.columns import Columns
from tests.support.planted import planted

DECISIONS = planted(5, product((Leaf(18), 1.0)))


@pytest.mark.parametrize("seed", range(25))
def test_a_formula_has_the_values_of_the_rule_it_is_written_as(seed: int) -> None:
    root = sample_rule(np.random.default_rng(seed))
    rule = compile_rule(write(root))
    assert isinstance(rule, CompiledRule)
    found = Columns(DECISIONS).value(root)
    np.testing.assert_allclose(found, rule.score(DECISIONS.matrix), rtol=1e-9)


def test_values_are_kept_and_not_mixed_up() -> None:
    columns = Columns(DECISIONS)
    many = [Operation("bonus", (Leaf(24),), (1.0 + i / 1000,)) for i in range(600)]
    first = columns.value(many[0]).copy()
    for node in many:
        columns.value(node)
    np.testing.assert_array_equal(columns.value(many[0]), first)


def test_what_is_summed_over_decisions_comes_back_to_their_candidates() -> None:
    columns = Columns(DECISIONS)
    np.testing.assert_array_equal(
        columns.over_decisions(np.arange(len(DECISIONS), dtype=float)),
        np.repeat(np.arange(len(DECISIONS)), np.diff(DECISIONS.offsets)),
    )
