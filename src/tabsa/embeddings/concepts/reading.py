"""Tables of concepts as files: tab-separated, named columns, one concept a line."""

import re
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tabsa.embeddings.concepts.table import ConceptTable
from tabsa.embeddings.sources import VectorSource
from tabsa.errors import DataError
from tabsa.files import read_text, sha256

_NAME: Final = "concept"
_TEXT: Final = re.compile(r"mood\d*|polarity_label|semantics\d+")  # SenticNet's columns that are no numbers


def read_concepts(path: Path) -> ConceptTable:
    """The table in a file; a mistake in it is one line that names the row, the header being row 1."""
    text = read_text(path).replace("\r\n", "\n").rstrip("\n")
    header, *lines = (line.split("\t") for line in text.split("\n"))
    if header.count(_NAME) != 1:
        raise DataError(f"{path} has no column '{_NAME}'; expected tab-separated columns, named in the first line")
    name = header.index(_NAME)
    numbers = [n for n, column in enumerate(header) if n != name and not _TEXT.fullmatch(column)]
    if not numbers:
        raise DataError(f"{path} has no column of numbers beside '{_NAME}'; they make a concept's vector")
    names: dict[str, int] = {}
    for row, fields in enumerate(lines, start=2):
        if len(fields) != len(header):
            raise DataError(f"{path}, row {row}: {len(fields)} columns; expected {len(header)}, as in the first line")
        concept = normalised(fields[name])
        if not concept or concept in names:
            problem = f"'{concept}' is in row {names[concept]} already" if concept else "no concept"
            raise DataError(f"{path}, row {row}: {problem}; expected each concept once")
        names[concept] = row
    return ConceptTable(("", *names), _matrix(path, header, lines, numbers), VectorSource(path.name, sha256(path)))


def normalised(name: str) -> str:
    """A concept's name as tables are searched by: lower case, words joined with _."""
    return "_".join(name.lower().replace("_", " ").split())


def _matrix(path: Path, header: list[str], lines: list[list[str]], numbers: list[int]) -> NDArray[np.float32]:
    """The vectors, row 0 zero, rounded to what a model folder stores."""
    matrix = np.zeros((len(lines) + 1, len(numbers)), np.float16)
    for row, fields in enumerate(lines, start=1):
        for place, n in enumerate(numbers):
            try:
                matrix[row, place] = float(fields[n])
            except ValueError:
                problem = f"'{header[n]}' is {fields[n]!r}; expected a number"
                raise DataError(f"{path}, row {row + 1}: {problem}") from None
    if not np.isfinite(matrix).all():
        row, place = np.argwhere(~np.isfinite(matrix))[0]
        problem = f"'{header[numbers[place]]}' is {lines[row - 1][numbers[place]]}"
        raise DataError(f"{path}, row {row + 1}: {problem}; expected a number below 65,504")
    return matrix.astype(np.float32)
