"""Orders of branching: what comes first has the highest priority, and continuous variables have none."""

import pyscipopt

from bench.orders import orders_of


def test_orders_give_integer_variables_priorities_by_class():
    model = pyscipopt.Model()
    model.hideOutput()
    for number in range(8):
        model.addVar(f"open_{number}", "B", obj=10.0 * number)
        model.addVar(f"ship_{number}", "C", obj=1.0)
    model.addVar("trucks", "I", obj=35.0)
    orders = orders_of(model)
    cheap, costly = orders["low cost first"], orders["high cost first"]
    assert cheap["open_0"] > cheap["open_7"]
    assert costly["open_0"] < costly["open_7"]
    assert orders["trucks first"]["trucks"] > orders["trucks first"]["open_3"]
    assert orders["trucks last"]["trucks"] < orders["trucks last"]["open_3"]
    assert all("ship_1" not in order for order in orders.values())
