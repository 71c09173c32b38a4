"""Graphs that somebody added to: protobuf joins what is appended, so a few bytes are one more node or tensor."""

import random
from typing import Any

OPERATORS = (
    "Loop", "If", "Scan", "Expand", "Tile", "RandomNormal", "SequenceMap", "Identity", "ConstantOfShape", "Einsum", "",
    "Loop\0", "loop", "\ud800",
)  # fmt: skip
DOMAINS = ("", "", "com.microsoft", "ai.onnx.ml", "my.own", "ai.onnx")
FILES = ("/etc/passwd", "../../../../etc/passwd", "weights.safetensors", "./weights.safetensors", "config.json", "",
         "weights.safetensors\0", "nothing.bin")  # fmt: skip
NUMBERS = ("0", "8", "-1", "1e3", "18446744073709551616", "9" * 30, "", "0x10", "\u0663")


def some_addition(chance: random.Random) -> dict[str, Any]:
    """What is appended to a graph."""
    way = chance.choice(("node", "node", "loop", "outside", "deep", "bytes"))
    return {
        "way": way,
        "operator": chance.choice(OPERATORS),
        "domain": chance.choice(DOMAINS),
        "file": chance.choice(FILES),
        "numbers": [chance.choice(NUMBERS) for _ in range(2)],
        "field": chance.choice((7, 7, 7, 20, 25, 1, 8, 14)),
        "times": chance.choice((1, 1, 2, 100)),
    }


def added(graph: bytes, addition: dict[str, Any]) -> bytes:
    """The graph with that at its end."""
    way = addition["way"]
    if way == "node":
        inner = _sized(1, _node(addition["operator"], addition["domain"]))
    elif way == "loop":
        inner = _sized(1, _endless_loop())
    elif way == "outside":
        inner = _sized(5, _outside(addition["file"], addition["numbers"]))
    elif way == "deep":
        inner = b""
        for _ in range(addition["times"]):
            inner = _sized(1, _node("If", "") + _attribute("then_branch", inner))
    else:
        inner = bytes(range(256))
    return graph + _sized(addition["field"], inner) * addition["times"]


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _sized(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _text(field: int, text: str) -> bytes:
    return _sized(field, text.encode("utf-8", "surrogatepass"))


def _node(operator: str, domain: str, inputs: tuple[str, ...] = ("embedded",), output: str = "more") -> bytes:
    named = b"".join(_text(1, name) for name in inputs) + _text(2, output)
    return named + _text(4, operator) + (_text(7, domain) if domain else b"")


def _attribute(name: str, graph: bytes) -> bytes:
    return _sized(5, _text(1, name) + _sized(6, graph) + _varint(20 << 3) + _varint(5))


def _endless_loop() -> bytes:
    """No limit on its rounds, and a condition that stays as it is."""
    value = b"".join(_sized(11, _text(1, name)) for name in ("round", "on")) + _sized(12, _text(1, "still"))
    body = _sized(1, _node("Identity", "", ("on",), "still")) + _text(2, "body") + value
    return _node("Loop", "", ("", "embedded")) + _attribute("body", body)


def _outside(file: str, numbers: list[str]) -> bytes:
    facts = {"location": file, "offset": numbers[0], "length": numbers[1]}
    entries = b"".join(_sized(13, _text(1, name) + _text(2, value)) for name, value in facts.items())
    return (
        _varint(1 << 3)
        + _varint(4)
        + _varint(2 << 3)
        + _varint(1)
        + _text(8, "stolen")
        + entries
        + _varint(14 << 3)
        + b"\1"
    )
