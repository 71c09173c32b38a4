"""A graph's file looked through before onnxruntime opens it: which operators it has, and which other files it names.

A walk over protobuf's wire format with the few field numbers of onnx.proto that matter here, because use needs no
package onnx. A field that occurs where it should not, or oftener, is refused rather than interpreted.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tabsa.errors import ModelError
from tabsa.files import reason

OUTSIDE: Final = "weights.safetensors"  # the one file beside it that a graph may read
# Field numbers: messages inside each message, by what they are.
_INSIDE: Final[dict[str, dict[int, str]]] = {
    "model": {7: "graph"},
    "graph": {1: "node", 5: "tensor"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph"},
    "tensor": {13: "entry"},
}
# What our graphs never have: training information, functions, sparse numbers.
_REFUSED: Final[dict[str, tuple[int, ...]]] = {"model": (20, 25), "graph": (15,), "attribute": (22, 23)}
_OPERATOR, _DOMAIN, _KEY, _VALUE = 4, 7, 1, 2
_VARINT, _EIGHT_BYTES, _SIZED, _FOUR_BYTES = 0, 1, 2, 5


class OutsideData(NamedTuple):
    """Bytes of another file that a graph names."""

    file: str
    start: int
    size: int


class GraphContent(NamedTuple):
    """What was found in a graph's file."""

    operators: frozenset[str]  # "DOMAIN:NAME", or the name alone of ONNX's own
    outside: tuple[OutsideData, ...]


def check_graph(path: Path, operators: Collection[str], *, outside: bool) -> None:
    """Refuse a graph that none of our builders made, in one line.

    Args:
        path: the graph's file.
        operators: those that the model's family is built of. With them every run ends: of those that repeat, only Scan
            is among them, which takes one step a word.
        outside: whether its numbers may lie in `weights.safetensors` beside it, inside that file; in any other they
            may not.
    """
    try:
        data = path.read_bytes()
        end = (path.parent / OUTSIDE).stat().st_size if outside else 0
    except OSError as e:
        raise ModelError(f"cannot read {path}: {reason(e)}") from e
    try:
        found = graph_content(data)
    except ValueError as e:
        raise ModelError(f"{path} cannot be run ({e})") from e
    if strange := sorted(found.operators - frozenset(operators)):
        raise ModelError(f"{path} has the operator {strange[0][:60]!r}, which no graph of its kind has")
    for part in found.outside:
        if not outside or part.file != OUTSIDE:
            raise ModelError(f"{path} names the file {part.file[:60]!r}, which no graph of its kind reads")
        if part.start + part.size > end:
            raise ModelError(f"{path} names bytes behind the end of {part.file}")


def graph_content(data: bytes) -> GraphContent:
    """The operators of a graph and of the graphs inside it, and the data outside; a ValueError for what is none."""
    operators: set[str] = set()
    outside: list[OutsideData] = []

    def walk(kind: str, message: memoryview, depth: int) -> None:
        fields = list(_fields(message))
        if kind == "node":
            operators.add(_operator(fields))
        if kind == "tensor" and (part := _outside([value for number, value in fields if number == 13])):
            outside.append(part)
        for number, value in fields:
            if number in _REFUSED.get(kind, ()):
                raise ValueError(f"it has the field {number} of a {kind}")
            inner = _INSIDE.get(kind, {}).get(number)
            if inner is None or inner == "entry":
                continue
            if not isinstance(value, memoryview):
                raise ValueError(f"the field {number} of a {kind} is a number")
            below = depth + (kind == "attribute" and inner == "graph")
            if below > 1:
                raise ValueError("a graph inside a graph has another inside")
            walk(inner, value, below)

    walk("model", memoryview(data), 0)
    if not operators:
        raise ValueError("it has no operator")
    return GraphContent(frozenset(operators), tuple(outside))


def _operator(fields: list[tuple[int, "int | memoryview"]]) -> str:
    name, domain = (_text(fields, number) for number in (_OPERATOR, _DOMAIN))
    if not name:
        raise ValueError("a node has no operator")
    return f"{domain}:{name}" if domain else name


def _outside(entries: list["int | memoryview"]) -> OutsideData | None:
    """Where a tensor's numbers lie, of its entries: a file, a place and a size, each once."""
    if not entries:
        return None
    pairs = [list(_fields(entry)) for entry in entries if isinstance(entry, memoryview)]
    facts = {_text(pair, _KEY): _text(pair, _VALUE) for pair in pairs}
    numbers = [facts.get(name, "") for name in ("offset", "length")]
    if len(facts) != len(entries) or not facts.keys() <= {"location", "offset", "length"}:
        raise ValueError("data outside is described in another way than ours")
    if "location" not in facts or not all(n.isascii() and n.isdigit() and len(n) < 19 for n in numbers):
        raise ValueError("data outside has no place")
    return OutsideData(facts["location"], int(numbers[0]), int(numbers[1]))


def _text(fields: list[tuple[int, "int | memoryview"]], number: int) -> str:
    """A field's text, empty where there is none."""
    found = [value for other, value in fields if other == number]
    if len(found) > 1 or not all(isinstance(value, memoryview) for value in found):
        raise ValueError(f"the field {number} is there {len(found)} times, or is no text")
    return bytes(found[0]).decode("utf-8") if found else ""


def _fields(message: memoryview) -> Iterator[tuple[int, "int | memoryview"]]:
    """A message's fields in order, each with its number: a number, or the bytes of what has a size."""
    place, end = 0, len(message)
    while place < end:
        tag, place = _varint(message, place)
        number, kind = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise ValueError(f"there is no field {number}")
        if kind == _VARINT:
            value, place = _varint(message, place)
            yield number, value
            continue
        if kind == _SIZED:
            size, place = _varint(message, place)
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            size = 8 if kind == _EIGHT_BYTES else 4
        else:
            raise ValueError(f"there are no fields of the kind {kind}")
        if size > end - place:
            raise ValueError("it ends inside a field")
        yield number, message[place : place + size]
        place += size


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and where it ends."""
    value = shift = 0
    while place < len(message) and shift < 70:
        byte = message[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place
    raise ValueError("a number has no end")
