"""The contract checks for families, generators and methods: BiFE's own pass, and broken ones are found."""

from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from bife_core.extend.testing import check_family, check_generator, check_method
from bife_core.instances.config import FAMILIES
from bife_core.language.rules import REFERENCE_RULES
from bife_core.search.generators import Draft
from bife_core.search.generators.offline import OfflineGenerator
from bife_core.solver.methods.base import METHODS, ScipMethod
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.scorer import RuleMethod
from tests.support.weighted import KIND, Weighted


class Restless(OfflineGenerator):
    """Gives another rule each time."""

    _asked = count()

    def generate(self, request, context):
        return super().generate(request.model_copy(update={"seed": next(self._asked)}), context)


class Mute(OfflineGenerator):
    """Says nothing, and not why."""

    def generate(self, request, context):
        return Draft(model="none")


class Unregistered(Weighted):
    """Comes back from JSON as the class that is registered for its kind."""


@pytest.mark.usefixtures("quick_auctions")
def test_what_keeps_to_the_contract_passes(monkeypatch):
    monkeypatch.setitem(METHODS, KIND, Weighted)
    check_family("set_covering")
    check_generator(OfflineGenerator())
    check_method(ScipMethod(name="pscost"))
    check_method(RuleMethod(name="product", source=REFERENCE_RULES["pseudocost_product"].source))
    check_method(Configuration(params={"branching/relpscost/maxreliable": 1.0}))
    check_method(Weighted(name="slack", weights={"slack": 1.0}))


def test_a_family_whose_instances_are_all_the_same_is_found(monkeypatch):
    family = FAMILIES["set_covering"]
    alike = replace(family, name="alike", source=lambda place: np.random.RandomState(0))
    monkeypatch.setitem(FAMILIES, "alike", alike)
    with pytest.raises(AssertionError, match="two instances are the same"):
        check_family("alike")


@pytest.mark.parametrize(
    ("generator", "why"), [(Restless(), "the same request, another rule"), (Mute(), "a source or a failure")]
)
def test_a_generator_that_breaks_the_contract_is_found(generator, why):
    with pytest.raises(AssertionError, match=why):
        check_generator(generator)


def test_a_method_that_breaks_the_contract_is_found(monkeypatch):
    monkeypatch.setitem(METHODS, KIND, Weighted)
    with pytest.raises(AssertionError, match="another kind of method"):
        check_method(Unregistered(name="slack", weights={}))
