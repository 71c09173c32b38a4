"""What a reading shows: rows of shades beneath its words, the same for a page and for a picture."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len

from tabsa.encoding.passages import Passage
from tabsa.inference.results import Evidence, Prediction
from tabsa.text import Token

Kind: TypeAlias = Literal["evidence", "mean", "opinion", "forward", "backward", "only"]


@dataclass(frozen=True, slots=True)
class Band:
    """One value a word, from 0 to 1.

    `evidence` is how much each word carries an answer. The others are gates: `mean` is over all chains and directions,
    as in the paper's Figure 2, `opinion` weighs the chains as the answer to that question does, and the rest are one
    chain each, of a forward or backward reading (`only`: the single one).
    """

    kind: Kind
    label: str
    values: NDArray[np.float32]  # (tokens,)


def carried(prediction: Prediction) -> tuple[Evidence, ...]:
    """What carries each opinion found; nothing of a prediction that does not know its model."""
    if prediction.explain is None:
        return ()
    return tuple(prediction.evidence(opinion.target, opinion.aspect) for opinion in prediction.found())


def evidence_bands(evidence: Iterable[Evidence], passage: Passage) -> list[Band]:
    """A band for each answer about the passage's targets that words of it carry."""
    found = []
    for one in evidence:
        inside = [(span, weight) for span, weight in one.words if passage.start <= span.start < passage.end]
        if one.target in passage.targets and inside:
            weights = (
                max((weight for span, weight in inside if token.start < span.end and span.start < token.end), default=0)
                for token in passage.tokens
            )
            values = np.clip(np.array([*weights], np.float32), 0, 1)
            found.append(Band("evidence", f"{one.aspect}: {one.target}", values))
    return found


def without_gates(predictions: Iterable[Prediction]) -> bool:
    """Whether something was read, and by a model that has no gates."""
    read = [passage for prediction in predictions for passage in prediction.passages]
    return bool(read) and all(passage.gates is None or not passage.gates.size for passage in read)


def bands(prediction: Prediction, passage: Passage) -> list[Band]:
    """The gates of one passage, their mean first; none where the model has no gates."""
    gates = passage.gates  # (directions, tokens, chains)
    if gates is None or not gates.size:
        return []
    found = [Band("mean", "mean", gates.mean((0, 2)))]
    found += [Band("opinion", label, gates.mean(0) @ shares) for label, shares in _questions(prediction, passage)]
    kinds: Sequence[Kind] = ("forward", "backward") if len(gates) > 1 else ("only",)
    for kind, direction in zip(kinds, gates, strict=True):
        for chain, values in enumerate(direction.T):
            found.append(Band(kind, _chain(chain, prediction.tied, passage.targets), values))
    return found


def _questions(prediction: Prediction, passage: Passage) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Each opinion found about the passage's targets, with the share of each chain; alike questions go together."""
    if prediction.attention is None:
        return
    aspects: dict[tuple[str, bytes], list[str]] = {}
    shares: dict[tuple[str, bytes], NDArray[np.float32]] = {}
    for opinion in prediction.found():
        if opinion.target in passage.targets:
            slot, column = passage.targets.index(opinion.target), prediction.aspects.index(opinion.aspect)
            share = prediction.attention[slot, column]
            key = (opinion.target, share.tobytes())
            aspects.setdefault(key, []).append(opinion.aspect)
            shares[key] = share
    for (target, number), names in aspects.items():
        yield f"{', '.join(names)}: {target}", shares[target, number]


def _chain(chain: int, tied: int, targets: Sequence[str]) -> str:
    """What a chain follows: a target, or whatever training made of it."""
    if chain < len(targets) and chain < tied:
        return targets[chain]
    if chain < tied:
        return f"target {chain + 1}, unused"
    return f"free {chain - tied + 1}" if tied else f"chain {chain + 1}"


def lines(tokens: Sequence[Token], width: int) -> list[slice]:
    """The tokens in lines of at most `width` characters, as few as it takes and about equally long."""
    sizes = [max(4, cell_len(token.text) + 2) for token in tokens]
    fewest = _broken(sizes, width)
    even = sum(sizes) // max(1, len(fewest))
    narrower = (_broken(sizes, limit) for limit in range(even, width))
    return next((found for found in narrower if len(found) == len(fewest)), fewest)


def _broken(sizes: Sequence[int], width: int) -> list[slice]:
    """Lines that are filled one after the other."""
    starts, used = [0], 0
    for number, size in enumerate(sizes):
        if number > starts[-1] and used + size > width:
            starts.append(number)
            used = 0
        used += size
    return [slice(*ends) for ends in pairwise([*starts, len(sizes)])] if sizes else []
