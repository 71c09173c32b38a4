"""Small readers: a tokeniser of a few words, encoders of a few dimensions with random weights, questions for them."""

import json
import math
from functools import cache
from pathlib import Path
from string import ascii_lowercase, digits

import numpy as np
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from tabsa.encoding.pieces import PieceReader
from tabsa.models.reader.reader_config import EncoderShape, ReaderConfig
from tabsa.models.reader.reader_network import QuestionBatch, Reader
from tabsa.text.wordpieces import WordPieces

WORDS = (
    "entity", "the", "this", "is", "not", "and", "but", "a", "dear", "cheap", "safe", "far", "nice", "hotel",
    "place", "phone", "price", "safety", "battery", "life", "service", "camden", "hull", "food", "screen", "room",
    "rooms", "staff", "good", "bad", "great", "awful",
)  # fmt: skip
LABELS = ("none", "positive", "negative", "neutral")


@cache
def tokeniser(special: tuple[str, str, str, str] = ("[PAD]", "[UNK]", "[CLS]", "[SEP]"), extra: tuple[str, ...] = ()):
    """A WordPiece tokeniser whose words are `WORDS`, and letters and digits for all others."""
    _, unknown, first, last = special
    letters = [*ascii_lowercase, *digits]
    pieces = [*special, *WORDS, *extra, *letters, *(f"##{letter}" for letter in letters), *".,:;!?'\"()-/&%é中文好"]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token=unknown, max_input_chars_per_word=100))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}", special_tokens=[(first, vocabulary[first]), (last, vocabulary[last])]
    )
    return made


def piece_reader(**options) -> PieceReader:
    return PieceReader(WordPieces.of(json.loads(tokeniser(**options).to_str())))


def write_tokeniser(path: Path, **options) -> Path:
    tokeniser(**options).save(str(path))
    return path


def shape(kind="bert", *, size=24, layers=2, heads=4, inner=40, vocabulary=60, longest=40) -> EncoderShape:
    positions = longest + (2 if kind == "mpnet" else 0)
    buckets = 8 if kind == "mpnet" else 0
    return EncoderShape(kind, size, layers, heads, inner, vocabulary, positions, 1e-6, buckets)


def random_weights(shape: EncoderShape, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Weights of an encoder that nothing was learnt by."""
    weights = {}
    for name, size in shape.weight_sizes().items():
        kind = name.rpartition(".")[2]
        if "norm" in kind:
            weights[name] = np.full(size, 0 if kind.endswith("_bias") else 1, np.float32)
        else:
            weights[name] = rng.normal(0, 1 / math.sqrt(shape.size), size).astype(np.float32)
    return weights


def moved(model, scale=0.2):
    """In float64 and in place, away from the constants that some parameters start at."""
    model = model.double()
    generator = torch.Generator().manual_seed(9)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += scale * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return model


def make_reader(
    kind="bert", *, network=Reader, config=ReaderConfig, seeds=(3, 4), labels=4, sizes=None, **options
) -> Reader:
    """A reader whose questions go through two layers; the encoder's weights are the same for every seed."""
    own = shape(kind, **(sizes or {}))
    weights = random_weights(own, np.random.default_rng(7))
    late = 2 if network is Reader else 0
    return network(config(**{"dropout": 0.3, "late_interaction": late} | options), own, weights, labels, seeds)


def question_batch(
    seeds=2, texts=4, longest=9, questions=5, aspects=3, vocabulary=60, slots=2, labels=4, seed=6
) -> QuestionBatch:
    """Random texts of different lengths with named and implied targets; each seed has its own."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(4, longest + 1, (seeds, texts))
    lengths[:, 0] = longest
    place = np.arange(longest)
    inside = place < lengths[..., None]
    pieces = np.where(inside, rng.integers(4, vocabulary, (seeds, texts, longest)), 0)
    named = inside & (place > 0) & (rng.random((seeds, texts, longest)) < 0.5)
    named[..., 1], named[..., 2] = True, True  # every slot is somewhere
    where = np.where(named, rng.integers(0, slots, (seeds, texts, longest)), -1)
    where[..., 1], where[..., 2] = 0, slots - 1
    widths = rng.integers(2, 6, (seeds, aspects))
    widths[:, 0] = 5
    asked_pieces = np.where(np.arange(5) < widths[..., None], rng.integers(4, vocabulary, (seeds, aspects, 5)), 0)
    targets = rng.integers(-1, slots, (seeds, texts, questions))
    targets = np.where((targets > 0) & (targets < slots - 1), 0, targets)  # a slot that is surely there
    arrays = (
        pieces, lengths, where, asked_pieces, widths, targets,
        rng.integers(0, aspects, (seeds, texts, questions)), rng.integers(-1, labels, (seeds, texts, questions)),
    )  # fmt: skip
    return QuestionBatch(*(torch.from_numpy(array.astype(np.int64)) for array in arrays))
