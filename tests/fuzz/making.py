"""Texts, values and bytes, by chance."""

import json
import random
from collections.abc import Sequence
from typing import Any, TypeAlias

Pieces: TypeAlias = list[list[Any]]  # [what, how often]: long things are kept short
Edits: TypeAlias = list[list[Any]]  # what is done to bytes, one after another

NAMES = ("Camden", "Brixton", "Hull", "Zürich", "St. John's", "R&D", "O2", "北京", "서울", "กรุงเทพ", "C++", "Ömer", "a")
WORDS = (
    *NAMES, "is", "not", "but", "and", "the", "dear", "cheap", "safe", "lovely", "awful", "price", "good", "bad",
    "etc.",
    "<target1>", "entity1", "[SEP]", "[MASK]", "##s", "LOCATION1", "don't", "cannot", "gonna", "1,000.50", "e.g.",
    "U.S.",
)  # fmt: skip
ALPHABETS = {
    "letters": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ",
    "accents": "éüñøłçßİıŉǆſﬁﬃ",
    "marks": "a\u0301\u0308\u0327\u0338\u20dd\u0e31\u0e47\u064b\u05b0",
    "cjk": "北京上海很贵但是漂亮我不喜欢。，！？",
    "kana": "ひらがなカタカナー・「」ﾊﾝｶｸ",
    "hangul": "서울은비싸지만\u1100\u1161\u11a8",
    "thai": "กรุงเทพแพงมาก\u0e33\u0e38",
    "bidi": "שלום مرحبا\u202e\u202d\u2066\u2069\u200f",
    "emoji": "😀👍🏽👩\u200d👩\u200d👧🇬🇧❤️\U000e0067",
    "control": "\x00\x01\x07\x08\x0b\x0c\x1b\x1f\x7f\x85\x9f",
    "invisible": "\u00ad\u200b\u200c\u200d\u2060\ufeff\u180e\ufffc",
    "broken": "\ud800\udbff\udc00\udfff\ufffe\uffff\U0010ffff",
    "punctuation": ".!?…,;:-–—'\"“”‘’()[]{}<>/\\|&*_~`^$%#@=+",
    "spaces": " \t\n\r\u2028\u2029\u00a0\u3000\u2003",
    "digits": "0123456789٣५²½Ⅷ①",
    "wide": "𝔸𝒷𝟘ＡＢ＆⁽",
}
ODD_NUMBERS = (
    0, -1, 1, 2, 1.5, -0.0, 1e308, 1e-320, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 10**9, 10**30, float("nan"),
    float("inf"), float("-inf"),
)  # fmt: skip
ODD_BYTES = ("\x00", "\xff\xfe", "\xef\xbb\xbf", '"', "\r", "\n", ",", "\t", ";", "'", "{", "]", "\xed\xa0\x80", "\\")


def spelled(pieces: Pieces) -> str:
    """The text of pieces."""
    return "".join(what * times for what, times in pieces)


def some_text(chance: random.Random, most: int = 0) -> Pieces:
    """A text: words, runs and strange characters; most are short, a few long."""
    most = most or chance.choices((300, 2_000, 12_000), (85, 13, 2))[0]
    pieces: Pieces = []
    left = chance.randint(0, most)
    while left > 0 and len(pieces) < 40:
        piece = _piece(chance, left)
        left -= max(1, len(piece[0]) * piece[1])
        pieces.append(piece)
        if chance.random() < 0.7:
            pieces.append([chance.choice((" ", ". ", ", ", "\n")), 1])
    return pieces


def _piece(chance: random.Random, left: int) -> list[Any]:
    way = chance.random()
    if way < 0.5:
        return [" ".join(chance.choices(WORDS, k=chance.randint(1, 8))), 1]
    if way < 0.75:
        return [some_word(chance), 1]
    unit = chance.choice((some_word(chance, 3), chance.choice(WORDS), chance.choice(NAMES) + " ", " ", "\n", "."))
    return [unit, chance.randint(1, max(1, left // max(1, len(unit))))]


def some_word(chance: random.Random, most: int = 20) -> str:
    """Characters of one alphabet, or of two."""
    names = chance.choices(list(ALPHABETS), k=chance.choice((1, 1, 2)))
    return "".join(chance.choices("".join(ALPHABETS[name] for name in names), k=chance.randint(1, most)))


def some_names(chance: random.Random, text: str, most: int = 4) -> list[str]:
    """Targets: known names, cuttings of the text, anything."""
    names = []
    for _ in range(chance.randint(0, most)):
        way, start = chance.random(), chance.randrange(len(text) + 1)
        if way < 0.6:
            names.append(chance.choice(NAMES))
        elif way < 0.8:
            names.append(text[start : start + chance.randint(0, 12)])
        else:
            names.append(chance.choice(("", " ", "a" * 300, some_word(chance), some_word(chance, 2))))
    return names


def some_value(chance: random.Random, depth: int = 3) -> Any:
    """Anything that JSON has, and what it should not have."""
    way = chance.random()
    if depth and way < 0.15:
        return [some_value(chance, depth - 1) for _ in range(chance.randint(0, 4))]
    if depth and way < 0.3:
        return {some_word(chance, 6): some_value(chance, depth - 1) for _ in range(chance.randint(0, 4))}
    if way < 0.5:
        return chance.choice(ODD_NUMBERS)
    if way < 0.6:
        return chance.choice((None, True, False, "", [], {}))
    return spelled(some_text(chance, 60)) if way < 0.8 else chance.choice(WORDS)


def changed_json(chance: random.Random, value: Any, times: int = 1) -> str:
    """A value as JSON, some of its parts replaced, left out, repeated or nested without end."""
    value = json.loads(json.dumps(value))
    for _ in range(times):
        value = _changed(chance, value)
    text = json.dumps(value)
    way = chance.random()
    if way < 0.05 and text.startswith("{") and len(text) > 2:  # a key twice
        return "{" + text[1:-1] + ", " + text[1:]
    if way < 0.08:
        return text.replace(chance.choice(("1", "true", '"', ":")), chance.choice(("1" * 5000, "[" * 3000, "NaN")), 1)
    return text


def _changed(chance: random.Random, value: Any) -> Any:
    if isinstance(value, dict) and value and chance.random() < 0.85:
        key = chance.choice(list(value))
        way = chance.random()
        if way < 0.1:
            return {name: one for name, one in value.items() if name != key}
        if way < 0.15:
            return value | {some_word(chance, 8): some_value(chance)}
        return value | {key: _changed(chance, value[key])}
    if isinstance(value, list) and value and chance.random() < 0.7:
        place = chance.randrange(len(value))
        return [*value[:place], _changed(chance, value[place]), *value[place + 1 :]]
    return some_value(chance)


def some_edits(chance: random.Random, most: int = 4) -> Edits:
    """Damage to bytes; a place is a share of their length."""
    edits: Edits = []
    for _ in range(chance.randint(1, most)):
        place = round(chance.choice((chance.random(), chance.random() ** 4, 1 - chance.random() ** 4)), 6)
        way = chance.choice(("flip", "flip", "cut", "drop", "put", "put", "again"))
        if way == "flip":
            edits.append([way, place, 1 << chance.randrange(8)])
        elif way == "put":
            edits.append([way, place, chance.choice(ODD_BYTES) * chance.choice((1, 1, 2, 50))])
        else:
            edits.append([way, place, chance.randint(1, 64)])
    return edits


def edited(content: bytes, edits: Edits) -> bytes:
    """Bytes after damage."""
    for way, share, what in edits:
        place = min(int(share * len(content)), max(0, len(content) - 1))
        head, tail = content[:place], content[place:]
        if way == "flip" and tail:
            content = head + bytes([tail[0] ^ what]) + tail[1:]
        elif way == "cut":
            content = head
        elif way == "drop":
            content = head + tail[what:]
        elif way == "put":
            content = head + what.encode("latin-1") + tail
        elif way == "again":
            content = head + tail[:what] * 3 + tail
    return content


def some_of(chance: random.Random, values: Sequence[Any], most: int) -> list[Any]:
    """A few of them, repeated maybe."""
    return chance.choices(values, k=chance.randint(1, most))
