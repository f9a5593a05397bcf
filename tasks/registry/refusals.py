"""A person's word against a registered rule, and how long it holds.

A rule that was rejected, or from which the alias ``champion`` was taken, stays out for as long as nothing new is known
of it: the same source, found again, measured on the same instances, is no news. On other instances it is, and the rule
is a challenger again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from bife_core.values import Value

Word = Literal["rejected", "rolled_back"]

APPROVED: Final = "approved"
_WORDS: Final[tuple[Word, ...]] = ("rejected", "rolled_back")
_VERBS: Final[Mapping[Word, str]] = {"rejected": "refused it", "rolled_back": "took it out of use"}


class Refusal(Value):
    """Who decided against a rule, when (ISO 8601, UTC), why, and on which test instances it had been measured."""

    word: Word
    by: str
    reason: str
    at: str
    test_digest: str

    @property
    def sentence(self) -> str:
        """What happened, for a reader who has the rule before them.

        Examples
        --------
        >>> Refusal(word="rejected", by="Ada", reason="too slow", at="2026-05-01T12:00:00+00:00",
        ...     test_digest="").sentence
        'Ada refused it on 2026-05-01 (too slow)'
        """
        return f"{self.by} {_VERBS[self.word]} on {self.at[:10]} ({self.reason})"

    @property
    def tags(self) -> dict[str, str]:
        """The tags of a version that say so."""
        known = self.model_dump(exclude={"word"})
        return {f"{self.word}_{name}": value for name, value in known.items()}


def refusal(versions: Iterable[Mapping[str, str]], test_digest: str | None = None) -> Refusal | None:
    """Return the last word against a rule, or None where there is none or it was taken back.

    Parameters
    ----------
    versions : iterable of mapping
        Tags of all versions that hold the rule.
    test_digest : str, optional
        Only what was said of the rule as measured on these instances; by default whatever was said.
    """
    approved = ""
    said: list[Refusal] = []
    for tags in versions:
        approved = max(approved, tags.get(f"{APPROVED}_at", ""))
        said += [_read(tags, word) for word in _WORDS if f"{word}_at" in tags]
    # All times are written by one clock in one format, so that they sort as text. A champion of this very second
    # was approved before it was rolled back.
    standing = [
        one for one in said if one.at >= approved and (test_digest is None or one.test_digest == test_digest)
    ]
    return max(standing, key=lambda one: one.at, default=None)


def _read(tags: Mapping[str, str], word: Word) -> Refusal:
    return Refusal(
        word=word,
        by=tags.get(f"{word}_by", ""),
        reason=tags.get(f"{word}_reason", ""),
        at=tags[f"{word}_at"],
        test_digest=tags.get(f"{word}_test_digest", tags.get("test_digest", "")),
    )
