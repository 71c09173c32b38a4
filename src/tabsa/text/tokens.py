"""Text to tokens: the Penn Treebank conventions of NLTK's word tokeniser, in one pass with offsets; words of evidence.

Liu et al. (2018) tokenise with NLTK and fold case. `import nltk` takes over a second, as long as `import torch`, so
this is a scanner of our own that gives the same spans. It differs in what follows, nearly always because NLTK's spans
hide a word from its vector:

- `’` between two letters is an apostrophe: `don’t` is `do` `n’t`, as `don't` is `do` `n't` (NLTK: `don` `’` `t`);
- `…`, `¿`, `¡`, currency signs, emoji, and the commas and full stops of other scripts are tokens, as `...` and `$` are
  (NLTK leaves them on their word);
- each Han or kana character, and each East Asian punctuation mark, is a token (NLTK: one token a clause);
- each comma or colon that no digit follows is a token (NLTK leaves the second of two on the next word);
- a clitic is split off before a closing quote wherever that stands: `'it's'` (NLTK: not at the end of a text);
- a full stop is final although a line break or a spaced quote mark follows it (NLTK: `end. "` keeps `end.`);
- `cannot'tis` is `can` `not` `'tis` (NLTK splits `'tis` here, and nowhere else).

Like NLTK, `'tis` is `'` `tis`, `1-2` and `x/y` stay whole, and only one clitic of `I'd've` is split off.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, TypeVar

from tabsa.errors import DataError
from tabsa.schema import Span, Target
from tabsa.text.sentences import is_abbreviation, split_sentences

_Result = TypeVar("_Result")
# Character classes, written to stand inside [...].
# Accents, vowel signs and variation selectors, which belong to the character before them but are not in `\w`; with the
# letters of their script where the two are mixed and it puts spaces between words.
MARKS: Final = (
    r"\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    r"\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0711-\u07f5\u07fd\u0816-\u082d\u0859-\u085b\u0898-\u0963\u0966-\u0df3"
    r"\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f18-\u0f39\u0f3e-\u0f84\u0f86-\u0fbc\u0fc6"
    r"\u102b-\u103e\u1056-\u1059\u105e-\u109d\u135d-\u135f\u1712-\u1734\u1752-\u1773\u17b4-\u17d3\u17dd\u180b-\u180f"
    r"\u1885-\u18a9\u1920-\u193b\u1a17-\u1a1b\u1a55-\u1a7f\u1ab0-\u1b44\u1b6b-\u1b73\u1b80-\u1bf3\u1c24-\u1c37"
    r"\u1cd0-\u1cff\u1dc0-\u1dff\u20d0-\u20ff\u2cef-\u2cf1\u2d7f\u2de0-\u2dff\u302a-\u302f\u3099\u309a\ua66f-\ua6f1"
    r"\ua802-\uaaf6\uabe3-\uabed\ufb1e\ufe00-\ufe0f\ufe20-\ufe2f\U00011000-\U00011fff\U0001e8d0-\U0001e94a"
)
# Characters of Chinese and Japanese, which put no space between words.
UNSPACED: Final = r"\u3005-\u3007\u3040-\u3098\u309d-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_ASIAN_MARKS: Final = r"\u3001-\u3004\u3008-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
_SYMBOLS: Final = r"\u2190-\u2bff\U0001f000-\U0001faff"
_EMOJI_TAIL: Final = r"\U0001f3fb-\U0001f3ff\u20e3\ufe0e\ufe0f\U000e0020-\U000e007f"
_ALONE: Final = (  # characters that are never part of a longer word
    r"«“‘„»”\"`;@#$%&?!*\[\](){}<>\u2012-\u2015…¿¡،؛؟۔।॥•£¢¤¥\u20a0-\u20cf" + _ASIAN_MARKS + UNSPACED + _SYMBOLS
)

_EMOJI: Final = rf"[{_SYMBOLS}][{_EMOJI_TAIL}]*+"
_OPENING: Final = r"(?<!\w)'(?=\w)(?!(?i:re|ve|ll|m|t|s|d|n)\b)"  # the quote of 'this way', not of 've
_FINAL_STOP: Final = r"\.(?=[\s\])}>\"'»”’]*+\Z)"
_SCAN: Final = re.compile(
    rf"""
    (?P<word> (?: [^\s.,:'’\-{_ALONE}]++
                | (?!{_FINAL_STOP})\.(?!\.) | [,:](?=\d) | -(?!-)
                | (?P<apostrophe> (?!{_OPENING})'(?!') | (?<=[\w{MARKS}])’(?=\w) ) )++ )
    | \.\.++ | …++ | -- | `` | ''
    | [\U0001f1e6-\U0001f1ff]{{2}} | {_EMOJI}(?:\u200d{_EMOJI})*+
    | [{UNSPACED}][{MARKS}]*+
    | \S
    """,
    re.VERBOSE,
)
# The end of a word: at most one clitic of each kind, in this order; the long ones all in lower or all in upper case.
_CLITICS: Final = re.compile(r"(?<=[^'’])(?!\Z)(n['’]t|N['’]T|['’](?:ll|LL|re|RE|ve|VE))?(['’][sSmMdD])?(')?\Z")
# The group is where the word is cut in two; `wanna` only where nothing is attached to it.
_CONTRACTIONS: Final = re.compile(
    r"(?i)\b(?:(can)not|(d)['’]ye|(gim)me|(gon)na|(got)ta|(lem)me|(more)['’]n|(wan)na\Z)\b"
)
_CONTRACTED: Final = ("cannot", "gimme", "gonna", "gotta", "lemme", "wanna")  # those that no apostrophe gives away
_JOINERS: Final = "-/.,:+=~|\\_'’…·^"
# A word as a reader counts it: a sign of a script without spaces; else letters and digits with what joins them
# (`don't`, `over-priced`, `7.5/10`); else any other sign, such as an emoji with what modifies it.
_WORD: Final = re.compile(
    r"""
      [\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]
    | (?: (?![\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]) \w )+
      (?: ['’\-&/] (?: \w )+ | (?<=\d) [.,] (?=\d) \d+ )*
    | [^\w\s] [\ufe0e\ufe0f\u200d\U0001f3fb-\U0001f3ff]* (?: (?<=\u200d) [^\w\s] [\ufe0f\u200d]* )*
    """,
    re.VERBOSE,
)
_PUNCTUATION: Final = re.compile(r"[!-#%-/:-@\[-`{-~¡§«¶·»¿‐-‧‰-⁞。、，！？；：「」『』（）【】《》…]+")
_POSSESSIVE: Final = re.compile(r"['’]s\b")  # of a mention: `Camden's`


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a text, `text[start:end]`; `target` is the index of the target that it mentions, if it does."""

    text: str
    start: int
    end: int
    target: int | None = None

    @property
    def word(self) -> str:
        """The form to look up: lower case, with `’` as a plain apostrophe."""
        return self.text.lower().replace("’", "'")


def tokenise(text: str) -> list[Token]:
    """Return the tokens of a text, sentence by sentence, with offsets; white space is all that they leave out."""
    return [Token(text[start:end], start, end) for start, end in _spans(text)]


def tokenise_marked(text: str, targets: Sequence[Target]) -> list[Token]:
    """Return the tokens of a text in which every mention of a target is one token with its `target` index.

    What a mention is glued to is split from it (`LOCATION1/LOCATION2`, `LOCATION2e`, `Camden-based`). The rest is
    tokenised as if a plain word stood in its place: full stops, quotes and spaces inside a name do not count.
    """
    mentions = ordered_mentions(text, targets)
    if not mentions:
        return tokenise(text)
    tokens: list[Token] = []
    reached = 0  # mentions[:reached] are tokens
    for start, end in _spans(_masked(text, mentions)):
        first = reached
        while reached < len(mentions) and mentions[reached][0].start < end:
            reached += 1
        if first == reached:
            tokens.append(Token(text[start:end], start, end))
        else:
            tokens.extend(_cut(text, start, end, mentions[first:reached]))
    return tokens


def ordered_mentions(text: str, targets: Sequence[Target]) -> list[tuple[Span, int]]:
    """Return every mention with the index of its target, in text order; they must be in the text and not overlap."""
    mentions = sorted((Span(*span), index) for index, target in enumerate(targets) for span in target.mentions)
    previous = 0
    for span, index in mentions:
        if not previous <= span.start < span.end <= len(text):
            where = f"mention {span.start}-{span.end} of {targets[index].name!r}"
            if 0 <= span.start < min(previous, span.end):
                raise DataError(f"{where} overlaps another mention: keep one of the two")
            raise DataError(f"{where} is not in the text: expected 0 <= start < end <= {len(text)}, its length")
        previous = span.end
    return mentions


def _spans(text: str) -> list[tuple[int, int]]:
    lowered = text.lower()
    contracted = any(word in lowered for word in _CONTRACTED)  # one look at the text saves one at each word
    apostrophe = "'" in text or "’" in text
    spans: list[tuple[int, int]] = []
    for sentence in split_sentences(text):
        for match in _SCAN.finditer(text, *sentence):
            if (apostrophe and match["apostrophe"]) or (contracted and match["word"]):
                spans += _split_word(match.group(), match.start())
            else:
                spans.append(match.span())
    return spans


def _split_word(word: str, start: int) -> Iterator[tuple[int, int]]:
    """Split clitics off the end of a word, and contractions in two."""
    clitics = _CLITICS.search(word)
    stem = word[: clitics.start()] if clitics else word
    cuts = {0, len(stem), len(word)}
    for match in _CONTRACTIONS.finditer(stem):
        cuts |= {match.start(), match.end(match.lastindex or 0), match.end()}
    if clitics:
        cuts |= {clitics.end(group) for group in (1, 2, 3) if clitics[group]}
    return ((start + a, start + b) for a, b in pairwise(sorted(cuts)))


def _masked(text: str, mentions: Sequence[tuple[Span, int]]) -> str:
    """Put a plain word of the same length, and the same first case, in the place of each mention."""
    pieces, end = [], 0
    for span, _ in mentions:
        first = "x" if text[span.start].islower() else "X"
        pieces += [text[end : span.start], first, "x" * (span.end - span.start - 1)]
        end = span.end
    return "".join(pieces) + text[end:]


def _cut(text: str, start: int, end: int, mentions: Sequence[tuple[Span, int]]) -> Iterator[Token]:
    """Cut a token at the mentions in it, and what joins them to a word from that word."""
    at = start
    for span, target in mentions:
        yield from _unglued(text, at, span.start, after=at > start, before=True)
        yield Token(text[span.start : span.end], span.start, span.end, target)
        at = span.end
    yield from _unglued(text, at, end, after=True, before=False)


def _unglued(text: str, start: int, end: int, *, after: bool, before: bool) -> Iterator[Token]:
    """Cut what stands right after a mention, right before one, or both: joiners are split from words."""
    piece = text[start:end]
    head = len(piece) - len(piece.lstrip(_JOINERS)) if after else 0
    tail = max(head, len(piece.rstrip(_JOINERS))) if before else len(piece)
    if piece[tail:] == "." and is_abbreviation(piece[head:tail]):  # "St.LOCATION1"
        tail = len(piece)
    for a, b in pairwise((0, head, tail, len(piece))):
        if a < b:
            yield Token(piece[a:b], start + a, start + b)


def word_spans(text: str, mentions: Iterable[Span] = ()) -> list[Span]:
    """Return the words that may carry an opinion, in order: not those of mentions, and no punctuation marks."""
    read = text
    if not text.isascii():  # a letter for each mark that goes with one, as vowels do in Hindi; patterns do not count it
        combines = (unicodedata.category(mark)[0] == "M" and mark not in "\ufe0e\ufe0f" for mark in text)
        read = "".join("a" if combined else mark for mark, combined in zip(text, combines, strict=True))
    spans: list[Span] = []
    reached = 0
    for start, end in [*sorted(mentions), (len(text), len(text))]:
        if reached < start:
            found = (match for match in _WORD.finditer(read, reached, start) if not _PUNCTUATION.fullmatch(match[0]))
            spans += [Span(*match.span()) for match in found]
        reached = max(reached, end)
        if left := _POSSESSIVE.match(text, reached):
            reached = left.end()
    return spans


def cache_short(entries: int, longest: int) -> Callable[[Callable[[str], _Result]], Callable[[str], _Result]]:
    """Cache a function of one word, for the last `entries` words of at most `longest` characters: bounded in bytes."""

    def decorate(function: Callable[[str], _Result]) -> Callable[[str], _Result]:
        cached = lru_cache(maxsize=entries)(function)
        return lambda word: cached(word) if len(word) <= longest else function(word)

    return decorate
