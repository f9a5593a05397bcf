"""From a rule's text to a scalar program, which LLVM and C compilers take; all else is rejected.

A scalar program is Python text of functions of 64-bit floats, which assign to names, branch and return. The last one
takes the features that the rule reads, one argument each, and returns the score.

This is the first wall around a rule: `_Function` is an allow-list, and rejects all else with its line. Names are made
here, so equal rules give equal programs. Loops are unrolled, so indices are constants and no rule runs for long. No
operation raises or has a side effect, so it may be computed early. A name that may be read before it is assigned is
rejected, as compiled code would read an arbitrary value.
"""

from __future__ import annotations

import ast
from typing import Final

from bife_core.language.rules.language import (
    ARGUMENTS,
    FUNCTIONS,
    MAX_POWER,
    MAX_WRITTEN_OUT,
    POWERS,
    RENAMED,
    TESTS,
)
from bife_core.language.rules.module import COMPARISONS, OPERATORS, Module, check_name, literal, parameters
from bife_core.language.rules.types import Program, forbidden, no_number, unknown
from bife_core.language.syntax import assigned

_FEATURES: Final = "the features"
"""The value of a name that stands for all features; of another name it is its constant integer, or None."""

_Value = int | str | None
_SPECIAL_FLOATS: Final = frozenset({"inf", "+inf", "-inf", "infinity", "+infinity", "-infinity", "nan"})


def lower(module: Module) -> Program:
    """Return a rule as a scalar program; raise `RejectionError` at the first thing outside the rule language."""
    rule = _Rule(module)
    main = module.component.function
    rule.add(main, module.functions[main])
    program = Program("".join(rule.texts), frozenset(rule.features), module.component)
    for name, function in module.functions.items():  # what is never called is checked and left out
        rule.add(name, function)
    return program


class _Rule:
    """The program of a rule, as far as it is written."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.texts: list[str] = []
        self.features: set[int] = set()
        self._added: dict[str, tuple[str, int] | None] = {}

    def add(self, name: str, where: ast.AST) -> tuple[str, int]:
        """Add a function unless it was added; return its name, and its size with all that it calls."""
        if name not in self._added:
            self._added[name] = None
            function = _Function(self, self.module.functions[name])
            self._added[name] = f"h{len(self.texts)}", function.size
            head = f"def h{len(self.texts)}({', '.join(function.arguments)}):"
            self.texts.append("\n".join((head, *function.lines, "")))
        if (added := self._added[name]) is None:
            raise forbidden("the function called in this line calls itself", where)
        return added


class _Function:
    """Writes one function out, statement by statement."""

    def __init__(self, rule: _Rule, source: ast.FunctionDef) -> None:
        self.size = 0
        self._rule = rule
        self._component = rule.module.component
        self._main = source.name == self._component.function
        arguments = parameters(source)
        names = [*arguments, *assigned(source)]
        for name in names:
            check_name(name, source)
        self._local = frozenset(names)
        self._spelled: dict[str, str] = {}
        self._values: dict[str, _Value] = dict.fromkeys(arguments, _FEATURES if self._main else None)
        self.lines: list[str] = []
        self._depth = 1
        self.arguments = [] if self._main else [self._spell(name) for name in arguments]
        if self._block(source.body):
            raise no_number(f"{source.name} can end without returning a number", source)
        if self._main:
            self.arguments = [f"f{index}" for index in sorted(rule.features)]

    def _spend(self, where: ast.AST, size: int = 1) -> None:
        self.size += size
        if self.size > MAX_WRITTEN_OUT:
            what = "with its helpers and loops written out, the rule"
            raise forbidden(f"{what} has more than {MAX_WRITTEN_OUT} operations", where)

    def _spell(self, name: str) -> str:
        return self._spelled.setdefault(name, f"v{len(self._spelled)}")

    def _emit(self, line: str) -> None:
        self.lines.append(" " * self._depth + line)

    def _block(self, statements: list[ast.stmt]) -> bool:
        """Write statements, and return whether control can run past them; unreachable ones are only checked."""
        for position, statement in enumerate(statements):
            if not self._statement(statement):
                kept, features = len(self.lines), set(self._rule.features)
                for dead in statements[position + 1 :]:
                    self._statement(dead)
                del self.lines[kept:]
                self._rule.features = features
                return False
        return True

    def _statement(self, node: ast.stmt) -> bool:
        self._spend(node)
        match node:
            case ast.Return(
                value=None | ast.Constant(value=None) | ast.Tuple() | ast.List() | ast.ListComp()
            ):
                raise no_number("a score must be one number, and this returns none or several", node)
            case ast.Return(value=ast.expr() as value):
                self._emit(f"return {self.number(value)}")
                return False
            case ast.If():
                return self._if(node)
            case ast.For(
                target=ast.Name(), iter=ast.Call(func=ast.Name(id="range"), args=ends, keywords=[]), orelse=[]
            ) if 1 <= len(ends) <= 3 and "range" not in self._local:
                for counter in self._range(ends, node):
                    self._assign(node.target, ast.Constant(value=counter), node)
                    if not self._block(node.body):
                        return False
            case ast.Assign(targets=[first, *others], value=value):
                self._assign(first, value, node)
                for target in others:
                    self._assign(target, first, node)
            case ast.AugAssign(target=ast.Name() as target, op=op, value=value):
                self._assign(target, ast.copy_location(ast.BinOp(target, op, value), node), node)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, value, node)
            case ast.Import() | ast.ImportFrom():
                self._rule.module.add_import(node)
            case ast.Pass() | ast.Expr(value=ast.Constant()) | ast.AnnAssign(target=ast.Name()):
                pass
            case _:
                raise unknown(node)
        return True

    def _assign(self, target: ast.expr, value: ast.expr, where: ast.AST) -> None:
        """Assign values to names, after all of them are computed."""
        match target, value:
            case ast.Name(), _:
                pairs = [(target.id, value)]
            case ast.Tuple(elts=names), ast.Tuple(elts=parts) if len(names) == len(parts) and all(
                isinstance(name, ast.Name) for name in names
            ):
                pairs = [(ast.unparse(name), part) for name, part in zip(names, parts, strict=True)]
            case _:
                raise forbidden("only names may be assigned, as in `a = 1.0` or `a, b = 1.0, 2.0`", where)
        values: dict[str, _Value] = {}
        computed: list[tuple[str, str]] = []
        for name, part in pairs:
            is_array = isinstance(part, ast.Name) and self._values.get(part.id) == _FEATURES
            values[name] = _FEATURES if is_array else self._integer(part)
            if values[name] != _FEATURES:
                number = self.number(part)
                computed.append((name, number if len(pairs) == 1 else self._kept(number)))
        for name, number in computed:
            self._emit(f"{self._spell(name)} = {number}")
        self._values |= values

    def _kept(self, number: str) -> str:
        """Compute a number now, and return its name."""
        text = self._spell(f"<{len(self._spelled)}>")
        self._emit(f"{text} = {number}")
        return text

    def _if(self, node: ast.If) -> bool:
        self._emit(f"if {self.truth(node.test)}:")
        before = dict(self._values)
        body_runs_on = self._indented(node.body)
        after_body, self._values = self._values, before
        orelse_runs_on = True
        if node.orelse:
            self._emit("else:")
            orelse_runs_on = self._indented(node.orelse)
        if body_runs_on:
            self._values = _met(after_body, self._values) if orelse_runs_on else after_body
        return body_runs_on or orelse_runs_on

    def _indented(self, statements: list[ast.stmt]) -> bool:
        self._depth += 1
        begin = len(self.lines)
        runs_on = self._block(statements)
        if len(self.lines) == begin:
            self._emit("pass")
        self._depth -= 1
        return runs_on

    def _range(self, ends: list[ast.expr], where: ast.AST) -> range:
        integers = [end for end in map(self._integer, ends) if end is not None]
        if len(integers) < len(ends) or integers[2:] == [0]:
            list(map(self.number, ends))
            raise no_number("the ends of a range must be constant integers, and its step not 0", where)
        return range(*integers)

    def _constant(self, node: ast.expr) -> int | float | None:
        return self._rule.module.number(node, self._local, self._values)

    def _integer(self, node: ast.expr) -> int | None:
        value = self._constant(node)
        return value if isinstance(value, int) else None

    def _feature(self, node: ast.Subscript) -> str:
        if not isinstance(node.value, ast.Name) or self._read(node.value) != _FEATURES:
            self.number(node.value)
            raise no_number(f"{ast.unparse(node.value)} is a number and has no elements", node)
        index = self._constant(node.slice)
        if index is None:
            self.number(node.slice)
            raise no_number("the index of a feature must be a constant integer", node)
        last = self._component.n_features - 1
        if not isinstance(index, int) or not 0 <= index <= last:
            raise forbidden(f"the feature index {index} is no integer from 0 to {last}", node)
        self._rule.features.add(index)
        return f"f{index}"

    def _read(self, node: ast.Name) -> _Value:
        if node.id not in self._local:
            raise forbidden(f"{node.id} is no number here", node)
        if node.id not in self._values:
            raise no_number(f"the name {node.id!r} may be read before it is assigned", node)
        return self._values[node.id]

    def _called(self, node: ast.Call) -> str:
        name = self._rule.module.meaning(node.func, self._local)
        if name not in self._rule.module.functions and (name not in FUNCTIONS or name == "range"):
            raise forbidden(f"{ast.unparse(node.func)} is not among the functions a rule may use", node)
        return name

    def number(self, node: ast.expr) -> str:
        """Return the text of an expression as a number."""
        self._spend(node)
        match node:
            case ast.Constant(value=bool() as truth):
                return literal(truth)
            case ast.Name(id=name) if name in self._local:
                if self._read(node) == _FEATURES:
                    raise no_number(f"one number is needed here, such as {self._component.argument}[0]", node)
                return self._spell(name)
            case ast.Constant(value=int() | float()) | ast.Name() | ast.Attribute():
                if (value := self._constant(node)) is None:
                    raise forbidden(f"{ast.unparse(node)} is no number here", node)
                return literal(value)
            case ast.Subscript():
                return self._feature(node)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.number(operand)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"(-{self.number(operand)})"
            case ast.BinOp(left=left, op=op, right=right):
                return self._operation(left, op, right, node)
            case ast.BoolOp(op=op, values=values) if not all(map(self._is_truth, values)):
                # Python's `or` and `and` return one of their operands.
                *first, result = [self._kept(self.number(part)) for part in values]
                for term in reversed(first):
                    yes, no = (result, term) if isinstance(op, ast.And) else (term, result)
                    result = self._kept(f"({yes} if {term} != 0.0 else {no})")
                return result
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._choice(test, body, orelse)
            case ast.Call() if not self._is_truth(node):
                return self._call(node)
        if not self._is_truth(node):
            raise unknown(node)
        return f"(1.0 if {self.truth(node)} else 0.0)"

    def truth(self, node: ast.expr) -> str:
        """Return the text of an expression as a truth value."""
        self._spend(node)
        match node:
            case ast.Constant(value=bool(value)):
                return str(value)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"(not {self.truth(operand)})"
            case ast.BoolOp(op=op, values=values):
                return f"({(' and ' if isinstance(op, ast.And) else ' or ').join(map(self.truth, values))})"
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                parts = [self.number(left)]
                for sign, part in zip(ops, comparators, strict=True):
                    if type(sign) not in COMPARISONS:
                        raise unknown(sign, node)
                    parts += [COMPARISONS[type(sign)], self.number(part)]
                return f"({' '.join(parts)})"
            case ast.Call() if self._is_truth(node):
                name = self._called(node)
                arguments = self._arguments(node, name)
                if name == "bool":
                    return self.truth(arguments[0])
                return f"{name.replace('np.', 'math.')}({self.number(arguments[0])})"
        return f"({self.number(node)} != 0.0)"

    def _is_truth(self, node: ast.expr) -> bool:
        """Return whether an expression is a truth value by its form."""
        match node:
            case ast.Compare() | ast.Constant(value=bool()) | ast.UnaryOp(op=ast.Not()):
                return True
            case ast.BoolOp(values=values):
                return all(map(self._is_truth, values))
            case ast.Call():
                return self._called(node) in ("bool", *TESTS)
        return False

    def _operation(self, left: ast.expr, op: ast.operator, right: ast.expr, where: ast.expr) -> str:
        if type(op) not in OPERATORS:
            raise unknown(op, where)
        base = self.number(left)
        exponent = self._constant(right) if isinstance(op, ast.Pow) else None
        if exponent is None:
            operand = self.number(right)
        elif isinstance(exponent, int) and 0 <= exponent <= MAX_POWER:
            operand = str(exponent)  # repeated multiplication
        else:
            operand = literal(exponent)
        return f"({base} {OPERATORS[type(op)][0]} {operand})"

    def _choice(self, test: ast.expr, yes: ast.expr, no: ast.expr) -> str:
        return f"({self.number(yes)} if {self.truth(test)} else {self.number(no)})"

    def _arguments(self, node: ast.Call, name: str) -> list[ast.expr]:
        """Return the arguments of a call of a function of the language, after checking their number."""
        expected, count = ARGUMENTS.get(name, 1), len(node.args)
        several = name in ("min", "max") and count >= 2
        if node.keywords or not (count == expected or several or (name == "math.log" and count == 2)):
            raise forbidden(f"{name} is called with arguments it does not take here", node)
        if name in ("min", "max") and not several:
            raise forbidden(f"{name} takes two numbers or more, and no sequence", node)
        return node.args

    def _call(self, node: ast.Call) -> str:
        name = self._called(node)
        if name in self._rule.module.functions:
            return self._helper(node, name)
        match node:
            case ast.Call(args=[ast.Constant(value=str(text))], keywords=[]) if name == "float":
                # The only calls that may hold a string.
                if (special := text.strip().lower()) in _SPECIAL_FLOATS:
                    return literal(float(special))
        arguments = self._arguments(node, name)
        if name in POWERS:
            return self._operation(arguments[0], ast.Pow(), arguments[1], node)
        if name == "np.square":
            return f"({self.number(arguments[0])} ** 2)"
        if name == "np.where":
            return self._choice(*arguments)
        numbers = list(map(self.number, arguments))
        if name == "math.log" and len(numbers) == 2:
            return f"(math.log({numbers[0]}) / math.log({numbers[1]}))"
        if name == "np.clip":
            return f"np.minimum(np.maximum({numbers[0]}, {numbers[1]}), {numbers[2]})"
        if name in ("float", "np.float64"):
            return numbers[0]
        return f"{RENAMED.get(name, name)}({', '.join(numbers)})"

    def _helper(self, node: ast.Call, name: str) -> str:
        helper = self._rule.module.functions[name]
        expected = parameters(helper)
        defaults = dict(zip(expected[::-1], helper.args.defaults[::-1], strict=False))
        passed = dict(zip(expected, node.args, strict=False))
        passed |= {keyword.arg or "": keyword.value for keyword in node.keywords}
        doubled = len(passed) < len(node.args) + len(node.keywords)
        if doubled or not set(expected) - set(defaults) <= set(passed) <= set(expected):
            raise forbidden(f"{name} is called with arguments it does not take here", node)
        numbers = []
        for argument in expected:
            if argument in passed:
                numbers.append(self.number(passed[argument]))
            elif (default := self._rule.module.number(defaults[argument])) is not None:
                numbers.append(literal(default))
            else:
                raise forbidden("the default of a helper's argument must be a number", defaults[argument])
        spelled, size = self._rule.add(name, node)
        self._spend(node, size)
        return f"{spelled}({', '.join(numbers)})"


def _met(left: dict[str, _Value], right: dict[str, _Value]) -> dict[str, _Value]:
    """Return the values of names where two paths meet."""
    pairs = {name: (left[name], right[name]) for name in left.keys() & right.keys()}
    same = {name: a for name, (a, b) in pairs.items() if a == b}
    return {name: None for name, both in pairs.items() if _FEATURES not in both} | same
