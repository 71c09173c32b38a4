"""The words of a text as a reader counts them: what may carry an opinion by itself, and where it stands."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

from tabsa.schema import Span

# A sign of a script without spaces; else letters and digits with what joins them (`don't`, `over-priced`, `7.5/10`);
# else any other sign, such as an emoji with what modifies it.
_WORD: Final = re.compile(
    r"""
      [\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]
    | (?: (?![\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]) \w )+
      (?: ['’\-&/] (?: \w )+ | (?<=\d) [.,] (?=\d) \d+ )*
    | [^\w\s] [\ufe0e\ufe0f\u200d\U0001f3fb-\U0001f3ff]* (?: (?<=\u200d) [^\w\s] [\ufe0f\u200d]* )*
    """,
    re.VERBOSE,
)
_MARKS: Final = re.compile(r"[!-#%-/:-@\[-`{-~¡§«¶·»¿‐-‧‰-⁞。、，！？；：「」『』（）【】《》…]+")
_LEFT_OVER: Final = re.compile(r"['’]s\b")  # of a mention: `Camden's`


def word_spans(text: str, mentions: Iterable[Span] = ()) -> list[Span]:
    """The words that are not part of a mention, in order; punctuation marks are none."""
    read = text if text.isascii() else "".join(_letter(character) for character in text)
    return [span for start, end in _between(text, mentions) for span in _words(read, start, end)]


def _letter(character: str) -> str:
    """The character, or a letter for a mark that goes with one, as vowels do in Hindi; patterns do not count it."""
    combines = unicodedata.category(character)[0] == "M" and character not in "\ufe0e\ufe0f"
    return "a" if combines else character


def _between(text: str, mentions: Iterable[Span]) -> Iterator[tuple[int, int]]:
    reached = 0
    for start, end in sorted(mentions):
        if reached < start:
            yield reached, start
        reached = max(reached, end)
        if left := _LEFT_OVER.match(text, reached):
            reached = left.end()
    yield reached, len(text)


def _words(text: str, start: int, end: int) -> Iterator[Span]:
    for match in _WORD.finditer(text, start, end):
        if not _MARKS.fullmatch(match[0]):
            yield Span(*match.span())
