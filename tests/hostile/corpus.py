"""The corpus: rules in files, with their expected outcomes in headers (tests/hostile/README.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

RULES = Path(__file__).with_name("rules")

_DIRECTIVE = re.compile(rb"#\s*(expect|solve|about|repeat|pad)\s*:\s*(.*?)\s*")
_CASE = re.compile(rb"^# case: (.+?) \| (.+) \| .*\n", re.MULTILINE)
_HEAD = b"def candidate_variable_score(variable_features):\n"
_NUMBER = re.compile(r"\{(.*?)\}")
_KINDS = frozenset({"no_code", "syntax", "signature", "forbidden", "type"})


@dataclass(frozen=True)
class Case:
    """One rule of a corpus, without its header, and the outcomes of scoring and solving that are right; empty: any."""

    name: str
    source: bytes
    expect: tuple[str, ...]
    solve: tuple[str, ...]

    @property
    def text(self):
        """The rule as scoring gets it."""
        return self.source.decode("utf-8", "surrogateescape")

    def accepts(self, outcome):
        """Whether an outcome of scoring is an expected one."""
        return not self.expect or outcome in self.expect or outcome.partition("/")[0] in self.expect


def read_cases(path):
    """Read a file of several rules, or of one; one without header is expected to be contained, whatever it takes."""
    _, *parts = _CASE.split(path.read_bytes())
    return [
        _case(name.decode(), text, {"expect": expect.decode()})
        for name, expect, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    ] or [_case(path.stem, path.read_bytes(), {})]


def _case(name, text, directives):
    lines = text.split(b"\n")
    while lines and (match := _DIRECTIVE.fullmatch(lines[0].removesuffix(b"\r"))):
        directives[match[1].decode()] = match[2].decode()
        lines.pop(0)
    source = b"\n".join(lines)
    if "repeat" in directives:
        source = _repeated(source.decode(), int(directives["repeat"])).encode()
    if "pad" in directives:
        source += b"#" * (int(directives["pad"]) - len(source))
    if source.startswith(b" "):
        source = _HEAD + source
    return Case(name, source, _words(directives.get("expect", "")), _words(directives.get("solve", "")))


def read_corpus(directory):
    """Read all files of a directory and its sub-directories, in the order of their names."""
    files = [path for path in sorted(directory.rglob("*")) if path.suffix in (".py", ".txt")]
    return [case for path in files for case in read_cases(path)]


def outcome_of(kind):
    """Return the outcome a kind of rejection belongs to."""
    if kind is None:
        return "scored"
    return f"rejected/{kind}" if kind in _KINDS else kind


def _repeated(source, times):
    """Return a source whose lines with braces, or else the last one, stand there so many times, numbered."""
    lines = source.splitlines(keepends=True)
    numbered = [line for line in lines if _NUMBER.search(line)] or lines[-1:]
    first, block = lines.index(numbered[0]), "".join(numbered)

    def copy(i):
        return _NUMBER.sub(lambda match: str(eval(match[1], {"i": i})), block)

    return "".join([*lines[:first], *map(copy, range(times)), *lines[first + len(numbered) :]])


def _words(text):
    return tuple(word.strip() for word in text.split("|") if word.strip())
