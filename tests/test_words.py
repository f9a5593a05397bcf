"""The check of names against the glossary, on a module that breaks it."""

from tests import words

PAGE = """
| word | what it is | not |
|---|---|---|
| search | what decides | `evolution` |

## Names that say nothing

Never `found`.
"""


def test_a_name_with_another_word_or_that_says_nothing_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(words, "ROOT", tmp_path)
    path = tmp_path / "evolution_key.py"
    path.write_text(
        "found = 1\nnot_found = 2\nclass EvolutionResult:\n    def go(self, search): self.found = search\n"
    )
    told = [complaint.partition(": ")[2] for complaint in words.complaints(path, words.avoided(PAGE))]
    assert sorted(told) == [
        "the name 'EvolutionResult' has the word 'evolution'; write 'search'.",
        "the name 'evolution_key' has the word 'evolution'; write 'search'.",
        "the name 'found' has the word 'found'; write what it is.",
        "the name 'found' has the word 'found'; write what it is.",
    ]
