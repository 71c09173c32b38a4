"""How a file's bytes are text: UTF-8, UTF-16, or Windows-1252 as spreadsheets still write it."""

import codecs
import gzip
import io
import re
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from tabsa.errors import DataError

Binary: TypeAlias = io.BufferedReader | gzip.GzipFile

HEAD: Final = 1 << 16  # bytes that are looked at before anything else
_BLOCK: Final = 1 << 16
_SEARCHED: Final = 256 << 20  # bytes in which the first letter beyond ASCII is looked for
_MARK: Final = "tabsa.mark"  # an error handler, see `_mark`
_UNDECODED: Final = re.compile("[\udc80-\udcff]")  # what "surrogateescape" makes of bytes that are no text
_ENOUGH: Final = 20  # bytes that are no text, for a word on the whole file: fewer may be a few bad rows


class Encoding(NamedTuple):
    """How to read a file's bytes."""

    codec: str  # Python's name for it
    name: str  # for people

    @property
    def lenient(self) -> str:
        """The error handler that leaves a mark, see `undecoded`, where bytes are not text."""
        if not self.codec.startswith("utf-16"):
            return "surrogateescape"
        codecs.register_error(_MARK, _mark)
        return _MARK


UTF8: Final = Encoding("utf-8-sig", "UTF-8")
WINDOWS: Final = Encoding("cp1252", "Windows-1252")
_UTF16: Final = {codec: Encoding(codec, "UTF-16") for codec in ("utf-16", "utf-16-le", "utf-16-be")}


def undecoded(text: str) -> bool:
    """Whether some bytes of a text were none."""
    return not text.isascii() and _UNDECODED.search(text) is not None


def _mark(error: UnicodeError) -> tuple[str, int]:
    """Half a pair, or half of two bytes: UTF-16 knows no way to keep them."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "\udcff", error.end


def find_encoding(binary: Binary, head: bytes, path: Path, *, seekable: bool, legacy: bool) -> Encoding:
    """The encoding of a file that stands at its start, and is left there; `head` is its first `HEAD` bytes.

    A file whose bytes beyond ASCII are mostly not UTF-8 is Windows-1252, where that makes words; `legacy` says whether
    such files are to be expected, and `seekable` whether the file may be read ahead.

    Raises:
        DataError: the file is neither of these.
    """
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise DataError(f"{path} is UTF-32 text; save it as UTF-8")
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _UTF16["utf-16"]
    if b"\0" in head[:4096] and (found := _unmarked_utf16(head)):
        return found
    if b"\0" in head[:4]:
        raise DataError(f"{path} is not text (it holds zero bytes); save it as CSV UTF-8")
    if head.startswith(codecs.BOM_UTF8) or not legacy:
        return UTF8
    return _by_letters(_letters_of(binary, head, seekable=seekable), path)


def _unmarked_utf16(head: bytes) -> Encoding | None:
    """UTF-16 without its mark: every second byte of what is ASCII in it is zero, headers and separators at least."""
    first = [byte == 0 for byte in head[:4]]  # two characters of a header, or of a JSON object: ASCII
    if first not in ([False, True, False, True], [True, False, True, False]):
        return None
    codec = "utf-16-be" if first[0] else "utf-16-le"
    text = codecs.getincrementaldecoder(codec)("replace").decode(head)
    return _UTF16[codec] if re.search(r"[\r\n,;\t{]", text) and not re.search("[\0-\x08\x0e-\x1f]", text) else None


def _letters_of(binary: Binary, head: bytes, *, seekable: bool) -> bytes:
    """A piece of the file from its first byte beyond ASCII on; nothing where there is none."""
    if not seekable:
        return _from_first(head)
    start = binary.tell()
    try:
        for _ in range(0, _SEARCHED, _BLOCK):
            block = binary.read(_BLOCK)
            if not block or not block.isascii():
                return _from_first(block + (binary.read(_BLOCK) if block else b""))
        return b""
    except (OSError, EOFError, ValueError):  # a packed file that is broken further on: whoever reads it will tell
        return _from_first(head)
    finally:
        binary.seek(start)


def _from_first(block: bytes) -> bytes:
    first = re.search(rb"[\x80-\xff]", block)
    return block[first.start() : first.start() + _BLOCK] if first else b""


# What Windows-1252 does not know, or would give nonsense in words: other alphabets, and other old encodings.
_SYMBOLS: Final = rb"\x83\x84\x86-\x89\x8b\x98\x9b\xa1-\xa8\xaa-\xac\xaf\xb1-\xb6\xb8-\xbf\xd7\xf7"
_CAPITALS: Final = rb"\x8a\x8c\x8e\x9f\xc0-\xd6\xd8-\xde"
_NONSENSE: Final = re.compile(
    rb"[\x81\x8d\x8f\x90\x9d]"
    rb"|[\xc0-\xff]{3,}|[\x80-\xff]{4,}"
    rb"|(?<=[A-Za-z])[" + _SYMBOLS + rb"](?=[A-Za-z])"
    rb"|(?<=[a-z])[" + _CAPITALS + rb"]"
    rb"|(?<![A-Za-z])\xff"
)


def _by_letters(letters: bytes, path: Path) -> Encoding:
    """The encoding by a piece of the file that begins beyond ASCII."""
    text = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(letters)
    wrong = len(_UNDECODED.findall(text))
    right = sum(not character.isascii() for character in text) - wrong if wrong else 0
    if right >= wrong:  # UTF-8, perhaps with a few bad rows
        return UTF8
    beyond = len(re.findall(rb"[\x80-\xff]", letters))
    nonsense = sum(len(match) for match in _NONSENSE.findall(letters))
    if 10 * nonsense <= beyond:
        return WINDOWS
    if wrong < _ENOUGH:
        return UTF8
    raise DataError(f"{path} is neither UTF-8 nor Windows-1252 text; save it as UTF-8")
