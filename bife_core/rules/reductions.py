"""Functions of sequences, written out as arithmetic on the elements.

Sums and products go from the first element to the last, as numpy's do on short arrays and Python's always.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Final

from bife_core.rules.expressions import Expressions
from bife_core.rules.language import MAX_SEQUENCE, RESERVED_PREFIX
from bife_core.rules.nodes import as_float, binary, call, callee_name, literal
from bife_core.rules.parsing import count_nodes
from bife_core.rules.rejections import forbidden, no_number
from bife_core.rules.sequences import Features, Sequence, Value

Reduction = Callable[[Expressions, list[Value], ast.Call], Value]


def _one(arguments: list[Value], node: ast.Call) -> Value:
    if len(arguments) != 1:
        raise forbidden(f"{callee_name(node)} takes one sequence", node)
    return arguments[0]


def _terms(rule: Expressions, value: Value, neutral: float, where: ast.expr) -> list[ast.expr]:
    """Return the numbers of a sequence; where a filter leaves one out, `neutral` stands in its place."""
    if not isinstance(value, Sequence) or value.conditions is None:
        return rule.numbers(value, where)
    found: list[ast.expr] = []
    for condition, term in zip(value.conditions, rule.numbers(Sequence(value.items), where), strict=True):
        rule.tally.spend(count_nodes(condition), where)
        either = ast.IfExp(test=condition, body=term, orelse=literal(neutral, where))
        found.append(ast.copy_location(either, where))
    return found


def _folded(first: ast.expr, operator: ast.operator, terms: list[ast.expr], where: ast.expr) -> ast.expr:
    for term in terms:
        first = binary(first, operator, term, where)
    return first


def _sum(rule: Expressions, arguments: list[Value], node: ast.Call) -> Value:
    start = literal(0, node)
    if len(arguments) == 2 and callee_name(node) == "sum":
        start = rule.single(arguments.pop(), node)
    return _folded(start, ast.Add(), _terms(rule, _one(arguments, node), 0, node), node)


def _product(rule: Expressions, arguments: list[Value], node: ast.Call) -> Value:
    return _folded(literal(1, node), ast.Mult(), _terms(rule, _one(arguments, node), 1, node), node)


def _count(rule: Expressions, arguments: list[Value], node: ast.Call) -> ast.expr:
    value = _one(arguments, node)
    if not isinstance(value, Sequence) or value.conditions is None:
        return literal(rule.length(value, node), node)
    ones = Sequence(tuple(literal(1, node) for _ in value.items), value.conditions)
    return _folded(literal(0, node), ast.Add(), _terms(rule, ones, 0, node), node)


def _mean(rule: Expressions, arguments: list[Value], node: ast.Call) -> Value:
    total = _folded(literal(0, node), ast.Add(), _terms(rule, _one(arguments, node), 0, node), node)
    return binary(total, ast.Div(), _count(rule, arguments, node), node)


def _extreme(rule: Expressions, arguments: list[Value], node: ast.Call) -> Value:
    called = callee_name(node) or ""
    found = _some(rule, arguments, node)
    if not called.startswith("np."):
        return call(called, found, node) if len(found) > 1 else found[0]
    result, *rest = found
    for term in rest:
        result = call("np.maximum" if called == "np.max" else "np.minimum", [result, term], node)
    return result


def _truth(rule: Expressions, arguments: list[Value], node: ast.Call) -> Value:
    every = (callee_name(node) or "").endswith("all")
    terms = _terms(rule, _one(arguments, node), 1 if every else 0, node)
    tests: list[ast.expr] = [
        ast.copy_location(ast.Compare(left=term, ops=[ast.NotEq()], comparators=[literal(0, node)]), node)
        for term in terms
    ]
    if len(tests) < 2:
        return tests[0] if tests else literal(every, node)
    return ast.copy_location(ast.BoolOp(op=ast.And() if every else ast.Or(), values=tests), node)


def _some(rule: Expressions, arguments: list[Value], node: ast.Call) -> list[ast.expr]:
    found = rule.numbers(_one(arguments, node), node)
    if not found:
        raise no_number(f"{callee_name(node)} of nothing has no value", node)
    return found


def _primitive(primitive: str) -> Reduction:
    def reduction(rule: Expressions, arguments: list[Value], node: ast.Call) -> Value:
        return call(RESERVED_PREFIX + primitive, [_floats(_some(rule, arguments, node), node)], node)

    return reduction


def _deviation(rule: Expressions, arguments: list[Value], node: ast.Call) -> Value:
    variance = rule.single(_primitive("variance")(rule, arguments, node), node)
    return binary(variance, ast.Pow(), literal(0.5, node), node)


def _least_place(rule: Expressions, arguments: list[Value], node: ast.Call) -> Value:
    negated = [binary(literal(-1.0, node), ast.Mult(), x, node) for x in _some(rule, arguments, node)]
    return _primitive("argmax")(rule, [Sequence(tuple(negated))], node)


def _floats(found: list[ast.expr], where: ast.expr) -> ast.expr:
    together = ast.Tuple(elts=[as_float(term) for term in found], ctx=ast.Load())
    return ast.copy_location(together, where)


def _sorted(rule: Expressions, arguments: list[Value], node: ast.Call) -> Value:
    found = rule.numbers(_one(arguments, node), node)
    together, places = _floats(found, node), list(range(len(found)))
    for keyword in node.keywords:
        if not isinstance(keyword.value, ast.Constant):
            raise forbidden("the argument 'reverse' must be True or False", node)
        places = places[::-1] if keyword.value.value else places
    items: list[Value] = []
    for place in places:
        rule.tally.spend(count_nodes(together), node)
        items.append(call(RESERVED_PREFIX + "ranked", [together, literal(place, node)], node))
    return Sequence(tuple(items))


def _running_sum(rule: Expressions, arguments: list[Value], node: ast.Call) -> Value:
    total, items = literal(0, node), []
    for term in rule.numbers(_one(arguments, node), node):
        total = binary(total, ast.Add(), term, node)
        rule.tally.spend(count_nodes(total), node)
        items.append(total)
    return Sequence(tuple(items))


def _inner(rule: Expressions, arguments: list[Value], node: ast.Call) -> Value:
    if len(arguments) != 2 or rule.length(arguments[0], node) != rule.length(arguments[1], node):
        raise no_number("np.dot takes two sequences of the same length", node)
    pairs = zip(*(rule.numbers(argument, node) for argument in arguments), strict=True)
    products = [binary(one, ast.Mult(), other, node) for one, other in pairs]
    return _folded(literal(0.0, node), ast.Add(), products, node)


def _array(rule: Expressions, arguments: list[Value], node: ast.Call) -> Value:
    value = _one(arguments, node)
    rule.length(value, node)
    if isinstance(value, Features) or not node.keywords:
        return value
    return Sequence(tuple(as_float(term) for term in rule.numbers(value, node)))


def _range(rule: Expressions, arguments: list[Value], node: ast.Call) -> Value:
    ends = [rule.constant(rule.single(argument, node)) for argument in arguments]
    known = [end for end in ends if end is not None]
    if not 1 <= len(ends) <= 3 or len(known) < len(ends) or known[2:] == [0]:
        raise no_number("a range needs one to three constant ends here (the step not 0)", node)
    places = range(*known)
    if len(places) > MAX_SEQUENCE:
        raise forbidden(f"a sequence has more than {MAX_SEQUENCE} elements here", node)
    return Sequence(tuple(literal(place, node) for place in places))


def _enumerated(rule: Expressions, arguments: list[Value], node: ast.Call) -> Value:
    start = rule.constant(rule.single(arguments.pop(), node)) if len(arguments) == 2 else 0
    if start is None:
        raise no_number("enumerate must start at a constant", node)
    items = rule.items(_one(arguments, node), node)
    return Sequence(tuple(Sequence((literal(i, node), item)) for i, item in enumerate(items, start)))


def _zipped(rule: Expressions, arguments: list[Value], node: ast.Call) -> Value:
    rows = zip(*(rule.items(argument, node) for argument in arguments), strict=False)
    return Sequence(tuple(Sequence(row) for row in rows))


REDUCTIONS: Final[dict[str, Reduction]] = {
    "sum": _sum,
    "np.sum": _sum,
    "np.prod": _product,
    "np.mean": _mean,
    "len": _count,
    "min": _extreme,
    "max": _extreme,
    "np.min": _extreme,
    "np.max": _extreme,
    "any": _truth,
    "all": _truth,
    "np.any": _truth,
    "np.all": _truth,
    "np.median": _primitive("median"),
    "np.var": _primitive("variance"),
    "np.std": _deviation,
    "np.argmax": _primitive("argmax"),
    "np.argmin": _least_place,
    "np.dot": _inner,
    "sorted": _sorted,
    "np.sort": _sorted,
    "np.cumsum": _running_sum,
    "np.array": _array,
    "np.asarray": _array,
    "range": _range,
    "enumerate": _enumerated,
    "zip": _zipped,
}
"""Functions of sequences by canonical name."""
