"""Threads may parse at the same time."""

import ast
import sys
from concurrent.futures import ThreadPoolExecutor

from bife_core.language.syntax import syntax_tree


class Noisy:
    """Garbage whose collection runs Python, and so lets other threads run in the middle of the parser."""

    def __init__(self):
        self.me = self

    def __del__(self):
        ast.dump(ast.Constant(1))


def source(number):
    return "x = " + " + ".join(f"f(a[{i}], {{'k': ({number}, {i})}})" for i in range(60))


def test_many_threads_get_the_tree_of_their_own_text():
    wanted = [ast.dump(ast.parse(source(number))) for number in range(8)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def parse(number):
        garbage = [Noisy() for _ in range(50)]
        del garbage
        return ast.dump(syntax_tree(source(number)))

    try:
        with ThreadPoolExecutor(16) as threads:
            got = list(threads.map(parse, [number % 8 for number in range(240)]))
    finally:
        sys.setswitchinterval(before)
    assert got == [wanted[number % 8] for number in range(240)]
