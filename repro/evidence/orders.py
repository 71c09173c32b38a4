"""Orders of a text's words, from the one that is said to carry an answer most: ours, and what it is compared with.

Every function gives a weight for each word of one passage; words are those of `Prediction.evidence`.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from tabsa.encoding.arrays import UNLABELLED
from tabsa.encoding.passages import Passage
from tabsa.encoding.pieces import PiecePassage
from tabsa.encoding.questions import AspectTable
from tabsa.encoding.target_words import passage_words, target_word
from tabsa.inference.predictor import Predictor
from tabsa.models.folder_network import load_model
from tabsa.models.reader.reader_config import EncoderShape
from tabsa.models.reader.reader_network import QuestionBatch, Reader, load_weights
from tabsa.models.registry import system_of
from tabsa.nn.context import EVALUATION
from tabsa.schema import Span

Weights = NDArray[np.float64]


def over(words: list[Span], spans: list[tuple[int, int]], values: Weights) -> Weights:
    """The sum of the values of what stands in each word."""
    return np.array(
        [
            sum(
                value
                for (start, end), value in zip(spans, values, strict=True)
                if start < word.end and word.start < end
            )
            for word in words
        ]
    )


def reader_attention(predictor: Predictor, passage: PiecePassage, slot: int, aspect: str, words: list[Span]) -> Weights:
    """The share of each word for the target's row in the last layer, the mean over its heads."""
    engine = predictor.engine
    opened = engine.opened(passage)
    inputs = {
        **opened.inputs,
        "targets": opened.targets[slot : slot + 1],
        **engine.aspect_inputs(engine.aspect_states([aspect])),
    }
    (shares,) = engine.sessions[1].run(["attention"], inputs)
    return over(words, [(p.start, p.end) for p in passage.pieces], shares[0, 0, 1:-1].astype(np.float64))


def reader_gradient(predictor: Predictor) -> Callable[[PiecePassage, int, str, int, list[Span]], Weights]:
    """Gradient of the answer's log-probability by each word's vector, times the vector; in float32, by PyTorch."""
    folder = predictor.folder
    shape = EncoderShape(**folder.config.model["shape"])
    options = replace(system_of(folder).read_options(folder), rounded=False)
    weights = folder.weights
    encoder = {name.removeprefix("encoder."): array for name, array in weights.items() if name.startswith("encoder.")}
    model = Reader(options, shape, encoder, len(folder.config.labels), (0,))
    load_weights(model, weights)
    model.requires_grad_(False)
    kept: list[torch.Tensor] = []
    plain = model.encoder.embedded

    def embedded(*args: torch.Tensor) -> torch.Tensor:
        states = plain(*args)
        if not kept:  # the text is read first, the aspect after it
            kept.append(states.detach().requires_grad_())
            return kept[0]
        return states

    model.encoder.embedded = embedded  # type: ignore[method-assign]
    pieces = predictor.engine.pieces

    def gradient(passage: PiecePassage, slot: int, aspect: str, label: int, words: list[Span]) -> Weights:
        kept.clear()
        ids = [pieces.first, *(piece.id for piece in passage.pieces), pieces.last]
        slots = [-1, *(piece.slot for piece in passage.pieces), -1]
        table = AspectTable(pieces, [aspect]).pieces()
        target = slot if slot in slots else -1
        arrays = (
            [[ids]], [[len(ids)]], [[slots]], [np.maximum(table, 0)], [(table >= 0).sum(1)], [[[target]]], [[[0]]],
            [[[UNLABELLED]]],
        )  # fmt: skip
        batch = QuestionBatch(*(torch.from_numpy(np.array(array, np.int64)) for array in arrays))
        logits = model(batch, context=EVALUATION).logits[0, 0, 0]
        torch.log_softmax(logits, -1)[label].backward()
        values = (kept[0].grad * kept[0]).sum(-1).flatten().detach().double().numpy()[1:-1]
        return over(words, [(p.start, p.end) for p in passage.pieces], values)

    return gradient


def gates(passage: Passage, attention: NDArray[np.float32], slot: int, column: int, words: list[Span]) -> Weights:
    """How far the memory was rewritten at each word, the chains weighed as the answer weighs them."""
    found = passage.gates  # (directions, tokens, chains)
    assert found is not None
    values = found.mean(0) @ attention[slot, column]
    return over(words, [(token.start, token.end) for token in passage.tokens], values.astype(np.float64))


def entnet_gradient(
    predictor: Predictor, passage: Passage, slot: int, column: int, label: int, words: list[Span]
) -> Weights:
    """The same gradient of an entity network: every word of the passage has a row of its own."""
    folder = predictor.folder
    count = folder.config.targets
    vectors = predictor.engine.word_vectors([[target_word(n) for n in range(count)], passage_words(passage)])
    rows = np.concatenate([vectors[0][:count], vectors[1][: len(passage.tokens)]])
    for place, token in enumerate(passage.tokens):  # a mention's row is its target's
        if token.target is not None:
            rows[token.target] = rows[count + place]
    model = load_model(folder, rows, tuple(range(count)))
    tokens = [token.target if token.target is not None else count + n for n, token in enumerate(passage.tokens)]
    model.words = model.words.detach().clone().requires_grad_()
    answer = model(torch.tensor([[tokens]]), torch.tensor([[len(tokens)]]), context=EVALUATION)
    torch.log_softmax(answer.logits[0, 0, slot, column], -1)[label].backward()
    values = (model.words.grad * model.words).sum(-1).detach().double().numpy()
    return over(words, [(token.start, token.end) for token in passage.tokens], values[tokens])
