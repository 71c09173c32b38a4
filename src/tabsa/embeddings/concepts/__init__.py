"""Concepts: words and phrases of which something is known, such as how pleasant they are, as a vector each.

    table = load_concepts("senticnet/senticnet4.tsv")      # or load_concepts(): the lexicon in the package
    rows = table.match(["a", "lot", "of", "fun"])          # the row of each word's concept, 0 where it has none
    table.matrix[rows]

A source of concepts is a table of tab-separated columns, named in its first line: `concept` (words joined with _) and
numbers, which make the vector. SenticNet has this form. Its moods, polarity label and related concepts are no numbers
and not part of the vector.

`lexicon.tsv` is the package's own: some 900 words and phrases that people judge places, food and service by, grouped
by sense, each with SenticNet's four affective dimensions and a polarity as its writer felt them. Nothing in it was
copied or measured. It lets everything run without other data; it is no substitute for a real resource.
"""

from pathlib import Path

from tabsa.datasets.locate import find
from tabsa.embeddings.concepts.reading import read_concepts
from tabsa.embeddings.concepts.table import ConceptTable

LEXICON = Path(__file__).parent / "lexicon.tsv"

__all__ = ["LEXICON", "ConceptTable", "load_concepts", "read_concepts"]


def load_concepts(file: str = "", data_dir: Path | None = None) -> ConceptTable:
    """The table in `file`, a path of its own or below a data folder; empty: the package's lexicon."""
    if not file:
        return read_concepts(LEXICON)
    path = Path(file)
    return read_concepts(path if path.is_file() else find(file, data_dir))
