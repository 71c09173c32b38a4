"""What can be fetched: where each file is published, and the bytes it must hold.

Paths are below a data folder (see `tabsa.datasets.locate`), the same wherever the data came from.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tabsa.errors import FetchError

DATASET: Final = "dataset"
VECTORS: Final = "word vectors"
RESOURCE: Final = "resource"


@dataclass(frozen=True, slots=True)
class File:
    """One file of a data folder, and what is known of its published form."""

    path: str
    """Where it lies below a data folder, with forward slashes."""
    size: int | None = None
    """Bytes of the published file."""
    sha256: str | None = None
    """Of the published file; None where no reference is at hand."""
    url: str | None = None
    """Its public home; None where it comes out of an archive, or cannot be downloaded at all."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What one `tabsa data fetch NAME` brings."""

    name: str
    kind: str
    """DATASET, VECTORS or RESOURCE."""
    description: str
    licence: str
    citation: str
    files: tuple[File, ...]
    """What lies in the data folder afterwards."""
    archive: File | None = None
    """The zip that `files` come out of; their paths in it start at its own folder."""
    datasets: tuple[str, ...] = ()
    """The names that `tabsa.datasets.load` reads these files under."""

    @property
    def fetchable(self) -> bool:
        """Whether it has a public home that may be downloaded from."""
        return self.archive is not None or all(file.url is not None for file in self.files)


def entry(name: str, catalogue: Mapping[str, Entry] | None = None) -> Entry:
    """The entry called `name`, or that the dataset `name` is read from; or one clear line with the names there are."""
    entries = CATALOGUE if catalogue is None else catalogue
    for one in entries.values():
        if name == one.name or name in one.datasets:
            return one
    names = ", ".join(one.name for one in entries.values() if one.fetchable)
    raise FetchError(f"there is nothing called {name!r} to fetch; choose one of {names}")


_SENTIHOOD: Final = (
    "Saeidi, Bouchard, Liakata and Riedel (2016), SentiHood: Targeted Aspect Based Sentiment Analysis Dataset "
    "for Urban Neighbourhoods, COLING"
)
_GLOVE: Final = "Pennington, Socher and Manning (2014), GloVe: Global Vectors for Word Representation, EMNLP"
_BERT_PAIR: Final = "https://raw.githubusercontent.com/HSLCY/ABSA-BERT-pair/master/data"
# Published as uclmr/jack; the organisation has since taken the name uclnlp.
_JACK: Final = "https://raw.githubusercontent.com/uclnlp/jack/master/data"
_TAGGER: Final = "nltk_data/taggers/averaged_perceptron_tagger_eng"

_ENTRIES: Final = (
    Entry(
        name="sentihood",
        kind=DATASET,
        description="Sentihood, repeated opinions removed: the copy that BERT-pair and later work use",
        licence="none stated; published for research",
        citation=_SENTIHOOD,
        datasets=("sentihood",),
        files=(
            File(
                "sentihood/sentihood-train.json",
                1013925,
                "46bb48d007dc35e07e93bd44e007579396336a17ba7d5d2cf1343e4d6a27d376",
                f"{_BERT_PAIR}/sentihood/sentihood-train.json",
            ),
            File(
                "sentihood/sentihood-dev.json",
                252786,
                "f0262cbe2ef6db66b0573945c3b9d68c17103331a64e9809604c0dabf2495c97",
                f"{_BERT_PAIR}/sentihood/sentihood-dev.json",
            ),
            File(
                "sentihood/sentihood-test.json",
                504388,
                "61cc5188e6ab0147214af68554877622f15b6e459f5e187bc6607108674d5cc8",
                f"{_BERT_PAIR}/sentihood/sentihood-test.json",
            ),
        ),
    ),
    Entry(
        name="sentihood-original",
        kind=DATASET,
        description="Sentihood as first published, with its repeated and conflicting opinions",
        licence="none stated; published for research",
        citation=_SENTIHOOD,
        datasets=("sentihood-original",),
        files=(
            File(
                "sentihood-original/sentihood-train.json",
                1014712,
                "7067022c589efb72f03acb73f6da6720e4297a174bf4fd1401a57698421b7461",
                f"{_JACK}/sentihood/sentihood-train.json",
            ),
            File(
                "sentihood-original/sentihood-dev.json",
                253089,
                "2f11740fd921d7738295cd2459f7917fc8e10bf1437485bc424484bb503c6b29",
                f"{_JACK}/sentihood/sentihood-dev.json",
            ),
            File(
                "sentihood-original/sentihood-test.json",
                504692,
                "d3a297b550bc8bf4f2bb13e23766082bfd4c2deaf36d4faaa9677a948a1478f1",
                f"{_JACK}/sentihood/sentihood-test.json",
            ),
        ),
    ),
    Entry(
        name="semeval2014",
        kind=DATASET,
        description="SemEval-2014 task 4, restaurants: aspect terms and aspect categories",
        licence="for research; the task's terms apply",
        citation="Pontiki et al. (2014), SemEval-2014 Task 4: Aspect Based Sentiment Analysis, SemEval",
        datasets=("semeval2014", "semeval2014-3way"),
        files=(
            File(
                "semeval2014/Restaurants_Train.xml",
                1236939,
                "5195b73af689345b47dee950bada32f5c5268ba8a61b96e1ab2301040b4207e2",
                f"{_BERT_PAIR}/semeval2014/Restaurants_Train.xml",
            ),
            File(
                "semeval2014/Restaurants_Test_Gold.xml",
                359021,
                "f21509cfa37e16534cd5b2da043be487355b64ef48fe8d6aaacaeca6b49cc0fb",
                f"{_BERT_PAIR}/semeval2014/Restaurants_Test_Gold.xml",
            ),
        ),
    ),
    # The three sha256s are the ones that pytorch/text (torchtext/experimental/checksums_glove.json) and
    # JuliaText/Embeddings.jl (src/glove.jl) pin.
    Entry(
        name="glove-840b",
        kind=VECTORS,
        description="GloVe, Common Crawl, 840 billion tokens: 2.2 million words, cased, 300 dimensions",
        licence="PDDL 1.0",
        citation=_GLOVE,
        files=(
            File(
                "glove/glove.840B.300d.zip",
                2176768927,
                "c06db255e65095393609f19a4cfca20bf3a71e20cc53e892aafa490347e3849f",
                "https://nlp.stanford.edu/data/glove.840B.300d.zip",
            ),
        ),
    ),
    Entry(
        name="glove-42b",
        kind=VECTORS,
        description="GloVe, Common Crawl, 42 billion tokens: 1.9 million words, lower case, 300 dimensions",
        licence="PDDL 1.0",
        citation=_GLOVE,
        files=(
            File(
                "glove/glove.42B.300d.zip",
                1877800501,
                "03d5d7fa28e58762ace4b85fb71fe86a345ef0b5ff39f5390c14869da0fc1970",
                "https://nlp.stanford.edu/data/glove.42B.300d.zip",
            ),
        ),
    ),
    Entry(
        name="glove-6b",
        kind=VECTORS,
        description="GloVe, Wikipedia and newswire, 6 billion tokens: 400,000 words, lower case, 50 to 300 dimensions",
        licence="PDDL 1.0",
        citation=_GLOVE,
        files=(
            File(
                "glove/glove.6B.zip",
                862182613,
                "617afb2fe6cbd085c235baf7a465b96f4112bd7f7ccb2b2cbd649fed9cbcf2fb",
                "https://nlp.stanford.edu/data/glove.6B.zip",
            ),
        ),
    ),
    Entry(
        name="senticnet4",
        kind=RESOURCE,
        description="SenticNet 4: affective dimensions of 50,000 concepts",
        licence="unclear",
        citation="Cambria, Poria, Bajpai and Schuller (2016), SenticNet 4, COLING",
        files=(File("senticnet/senticnet4.tsv"),),
    ),
    Entry(
        name="nltk-tagger",
        kind=RESOURCE,
        description="NLTK's averaged-perceptron part-of-speech tagger, English, as JSON",
        licence="MIT",
        citation="Honnibal (2013), A good part-of-speech tagger in about 200 lines of Python; NLTK port by Duong",
        files=(
            File(
                f"{_TAGGER}/averaged_perceptron_tagger_eng.weights.json",
                5677744,
                "789e8e35f6fac656d9b7eccea29ba4e8a137cbb5b525dd31f39e4291a9e80832",
            ),
            File(
                f"{_TAGGER}/averaged_perceptron_tagger_eng.tagdict.json",
                25788,
                "4c713731cb06727736962bc8cd94ad919217a040e76691059af99bc0c2c9c246",
            ),
            # No sha256: it holds a set, whose order differs from copy to copy; the archive's covers it.
            File(f"{_TAGGER}/averaged_perceptron_tagger_eng.classes.json", 285),
        ),
        archive=File(
            f"{_TAGGER}.zip",
            1539115,
            # sha256_checksum of the package in nltk_data's index.xml.
            "6025f530624335c67d6547d44757b357b4e79bae030a0383e9887a92c1718f0b",
            "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/taggers/averaged_perceptron_tagger_eng.zip",
        ),
    ),
)

CATALOGUE: Final[dict[str, Entry]] = {one.name: one for one in _ENTRIES}
