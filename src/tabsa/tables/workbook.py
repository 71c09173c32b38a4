"""The rows of an Excel workbook's first sheet, read as they come: parts of a zip archive, in XML.

Nothing of it is trusted: its parts are refused where they would unpack to too much, and so is XML with definitions of
its own. Only the texts that cells share are in memory at once.
"""

import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import IO, Any, Final, NamedTuple
from xml.etree import ElementTree as ET

from tabsa.errors import DataError
from tabsa.files import reason

LARGEST: Final = 2 << 30  # bytes, unpacked
_SHARED_LARGEST: Final = 512 << 20  # of the texts that cells share
_PIECE: Final = 1 << 16
_REFERENCE: Final = re.compile(r"([A-Z]{1,3})\d+")
_ESCAPED: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")
_DAY: Final = 86_400
_RELATION: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
# Formats that every workbook knows without defining them, of days or times.
_DATES: Final = frozenset((*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)))


class Sheet(NamedTuple):
    """The sheet that is read, and how many could be."""

    name: str
    part: str
    others: int
    from_1904: bool  # days are counted from then


class Cells(NamedTuple):
    """One row: its number in the sheet, and what it holds, by column, from 0."""

    number: int
    values: dict[int, object]


class Workbook:
    """A workbook that is open: its first sheet that is not hidden.

    Raises:
        DataError: it is no such file, or would unpack to more than `LARGEST` bytes.
    """

    def __init__(self, file: IO[bytes] | Path, path: Path, *, largest: int = LARGEST) -> None:
        self._path = path
        with self._trouble():
            self._archive = zipfile.ZipFile(file)
            size = sum(part.file_size for part in self._archive.infolist())
            if size > largest:
                raise DataError(f"{path} would unpack to more than {largest:,} bytes; save it as CSV UTF-8")
            self.sheet = self._first_sheet()

    def close(self) -> None:
        """Let go of the file."""
        self._archive.close()

    @property
    def note(self) -> str:
        """What was chosen for the reader, if anything was."""
        if not self.sheet.others:
            return ""
        return f"read its first sheet, '{self.sheet.name}'; it has {self.sheet.others + 1}"

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        try:
            yield
        except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError, RuntimeError) as e:
            what = "is not a whole Excel workbook; save it again as .xlsx, or as CSV UTF-8"
            raise DataError(f"{self._path} {what}") from e
        except (ET.ParseError, ValueError, LookupError, OverflowError) as e:
            raise DataError(f"{self._path} is a damaged Excel workbook ({e}); save it as CSV UTF-8") from e
        except OSError as e:
            raise DataError(f"cannot read {self._path}: {reason(e)}") from e

    def _first_sheet(self) -> Sheet:
        root = self._tree("xl/workbook.xml")
        links = {link.get("Id"): link.get("Target", "") for link in self._tree("xl/_rels/workbook.xml.rels")}
        sheets = [sheet for sheet in root.iter() if _tag(sheet) == "sheet" and sheet.get("state") in (None, "visible")]
        found = [
            (sheet.get("name", ""), links.get(sheet.get(_RELATION), ""))
            for sheet in sheets
            if "worksheets/" in links.get(sheet.get(_RELATION), "")
        ]
        if not found:
            raise DataError(f"{self._path} has no sheet with rows")
        name, target = found[0]
        settings = next((one for one in root.iter() if _tag(one) == "workbookPr"), None)
        from_1904 = settings is not None and settings.get("date1904") in ("1", "true")
        part = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
        return Sheet(name, part, len(found) - 1, from_1904)

    def rows(self) -> Iterator[Cells]:
        """The rows that hold anything, in order."""
        with self._trouble():
            value_of = _values(self._shared(), self._dates(), from_1904=self.sheet.from_1904)
            number = 0
            for row in self._elements(self.sheet.part, "row"):
                number = int(row.get("r") or number + 1)
                values = dict(_cells(row, value_of))
                if values:
                    yield Cells(number, values)

    def _shared(self) -> list[str]:
        part = "xl/sharedStrings.xml"
        if part not in self._archive.namelist():
            return []
        if self._archive.getinfo(part).file_size > _SHARED_LARGEST:
            raise DataError(f"{self._path} has more text than a workbook can be read with; save it as CSV UTF-8")
        return [_text(item) for item in self._elements(part, "si")]

    def _dates(self) -> list[bool]:
        """For each style of cells, whether its numbers are days."""
        if "xl/styles.xml" not in self._archive.namelist():
            return []
        root = self._tree("xl/styles.xml")
        own = {
            int(one.get("numFmtId", "0")): _is_date(one.get("formatCode", ""))
            for one in root.iter()
            if _tag(one) == "numFmt"
        }
        styles = next((one for one in root if _tag(one) == "cellXfs"), ())
        numbers = [int(style.get("numFmtId", "0")) for style in styles]
        return [own.get(number, number in _DATES) for number in numbers]

    def _tree(self, part: str) -> ET.Element:
        (root,) = self._elements(part, None)
        return root

    def _elements(self, part: str, tag: str | None) -> Iterator[ET.Element]:
        """Each element of this name, which is forgotten afterwards; without a name, the whole part."""
        parser: Any = ET.XMLPullParser(("start", "end"))
        stack: list[ET.Element] = []
        with self._archive.open(part) as stream:
            begun, before = False, b""
            while piece := stream.read(_PIECE):
                # Definitions stand before the first element, maybe behind comments of any length.
                if not begun and re.search(rb"<!(DOCTYPE|ENTITY)", before + piece):
                    raise ValueError("it defines words of its own")
                before = piece[-16:]
                parser.feed(piece)
                for event, element in parser.read_events():
                    begun = True
                    if event == "start":
                        stack.append(element)
                        continue
                    stack.pop()
                    if _tag(element) == tag or (tag is None and not stack):
                        yield element
                    if tag is not None and stack and _tag(element) in (tag, "row", "si"):
                        stack[-1].clear()
        parser.close()


def _cells(row: ET.Element, value_of: Callable[[ET.Element], object]) -> Iterator[tuple[int, object]]:
    place = -1
    for cell in row:
        if _tag(cell) != "c":
            continue
        reference = _REFERENCE.fullmatch(cell.get("r") or "")
        place = _column(reference[1]) if reference else place + 1
        value = value_of(cell)
        if value is not None and value != "":
            yield place, value


def _values(shared: list[str], dates: list[bool], *, from_1904: bool) -> Callable[[ET.Element], object]:
    """What a cell holds, as a function: text, a number, true or false, a day as text; None where it is empty."""
    start = datetime(1904, 1, 1) if from_1904 else datetime(1899, 12, 30)

    def value_of(cell: ET.Element) -> object:
        kind = cell.get("t", "n")
        if kind == "inlineStr":
            return "".join(_text(part) for part in cell if _tag(part) == "is")
        held = next((part.text for part in cell if _tag(part) == "v"), None)
        if held is None:
            return None
        if kind == "s":
            return shared[int(held)]
        if kind == "b":
            return held.strip() == "1"
        if kind != "n":  # the text of a formula, an error, a day as text
            return _plain(held)
        number = float(held)
        style = int(cell.get("s", "0"))
        if style < len(dates) and dates[style]:
            return _day(start, number)
        return int(number) if number.is_integer() and abs(number) < 2**53 else number

    return value_of


def _day(start: datetime, number: float) -> str:
    moment = start + timedelta(seconds=round(number * _DAY))
    if 0 <= number < 1:
        return moment.time().isoformat()
    return moment.isoformat(" ") if moment.time() != time.min else moment.date().isoformat()


def _is_date(code: str) -> bool:
    """Whether a format of numbers shows days or times: letters for them, outside quotes and brackets."""
    return bool(re.search(r"[dmyhs]", re.sub(r'"[^"]*"|\[[^\]]*\]|\\.|General', "", code), re.IGNORECASE))


def _text(item: ET.Element) -> str:
    """The text of an item, plain or in pieces of several looks; how it is pronounced is left out."""
    pieces = []
    for part in item:
        if _tag(part) == "t":
            pieces.append(part.text or "")
        elif _tag(part) == "r":
            pieces += [inner.text or "" for inner in part if _tag(inner) == "t"]
    return _plain("".join(pieces))


def _plain(text: str) -> str:
    """The text, with characters that XML cannot hold in their places, and line ends as one character."""
    if "_x" in text:
        text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\r\n", "\n")


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1


def column_name(place: int) -> str:
    """The letters of a column, from 0: A, B, ..., Z, AA."""
    letters, place = "", place + 1
    while place:
        place, rest = divmod(place - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def workbook_header(cells: Mapping[int, object]) -> list[str]:
    """The names of columns, by the first row: one without a name has its letters."""
    return [str(cells.get(place, "")).strip() or f"column {column_name(place)}" for place in range(max(cells) + 1)]


def _tag(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]
