"""A reader's update captured as one CUDA graph: even a large encoder's time is mostly the launching of its kernels.

A graph is of one shape. Batches are padded: texts to a multiple of a few pieces, and questions, aspects and their
pieces to the most that batches of such texts have had so far. One that has more is learnt from without a graph, and a
graph with more room takes the place of the old one.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from tabsa.encoding.arrays import UNLABELLED
from tabsa.encoding.pieces import NO_SLOT
from tabsa.errors import first_line
from tabsa.models.reader.reader_network import QuestionBatch

_PIECES = 16  # texts' lengths are rounded up to a multiple of this, long ones to a multiple of four times as many
_SHORT = 160
Learn = Callable[[QuestionBatch], Tensor]
Draws = Sequence[torch.Generator]


class Room(NamedTuple):
    """The shape that a graph has room for."""

    pieces: int  # T
    questions: int  # M
    aspects: int  # U
    words: int  # L

    def fits(self, other: "Room") -> bool:
        """True where a batch of that shape can be padded to it."""
        return all(own >= needed for own, needed in zip(self, other, strict=True))


def room_of(batch: QuestionBatch) -> Room:
    """The shape of a batch, its texts' length rounded up."""
    length = batch.pieces.shape[2]
    step = _PIECES if length <= _SHORT else 4 * _PIECES
    length = -(-length // step) * step
    return Room(length, batch.targets.shape[2], batch.aspects.shape[1], batch.aspects.shape[2])


def more_room(needed: Room, before: Room | None) -> Room:
    """For batches like this one, which vary, and for those before."""
    spread = Room(
        needed.pieces, -(-needed.questions // 8) * 8, -(-needed.aspects // 64) * 64 + 64, -(-needed.words // 4) * 4
    )
    return spread if before is None else Room(*(max(pair) for pair in zip(spread, before, strict=True)))


def padded(batch: QuestionBatch, room: Room) -> QuestionBatch:
    """The same texts and questions in arrays of a given shape."""
    longer = room.pieces - batch.pieces.shape[2]
    more = room.questions - batch.targets.shape[2]
    others = room.aspects - batch.aspects.shape[1]
    wider = room.words - batch.aspects.shape[2]
    soft = batch.soft_labels
    return replace(
        batch,
        pieces=pad(batch.pieces, (0, longer)),
        slots=pad(batch.slots, (0, longer), value=NO_SLOT),
        aspects=pad(batch.aspects, (0, wider, 0, others)),
        aspect_lengths=pad(batch.aspect_lengths, (0, others), value=1),
        targets=pad(batch.targets, (0, more), value=NO_SLOT),
        aspect_rows=pad(batch.aspect_rows, (0, more)),
        labels=pad(batch.labels, (0, more), value=UNLABELLED),
        soft_labels=None if soft is None else pad(soft, (0, 0, 0, more)),
        owners=None if batch.owners is None else pad(batch.owners, (0, longer)),
        places=None if batch.places is None else pad(batch.places, (0, longer)),
    )


class _QuestionGraph:
    """One captured update, the batch it reads and the losses it leaves."""

    def __init__(self, learn: Learn, batch: QuestionBatch, room: Room, draws: Draws, pool: Any) -> None:
        self.room = room
        self.batch = batch.cloned()
        self.graph = torch.cuda.CUDAGraph()
        for generator in draws:
            self.graph.register_generator_state(generator)
        with torch.cuda.graph(self.graph, pool=pool):
            self.losses = learn(self.batch)

    def replay(self, batch: QuestionBatch) -> Tensor:
        for field in fields(QuestionBatch):
            own, new = getattr(self.batch, field.name), getattr(batch, field.name)
            if own is not None:
                own.copy_(new)
        self.graph.replay()
        return self.losses.clone()


class QuestionGraphs:
    """Learns from batches, by graph where there is one that fits.

    Args:
        learn: one update; it must not wait for the GPU.
        draws: the generators it draws from.
    """

    def __init__(self, learn: Learn, draws: Draws) -> None:
        self.plainly, self.draws = learn, draws
        self.graphs: dict[tuple[int, int], _QuestionGraph] = {}
        self.pool: Any = None  # one for all: they run one after the other
        self.refused = False  # whether a capture failed, after which nothing more is captured

    def learn(self, batch: QuestionBatch) -> Tensor:
        """One update; returns the losses (S,)."""
        if self.refused:
            return self.plainly(batch)
        needed = room_of(batch)
        key = batch.pieces.shape[1], needed.pieces
        graph = self.graphs.get(key)
        if graph is not None and graph.room.fits(needed):
            return graph.replay(padded(batch, graph.room))
        room = more_room(needed, None if graph is None else graph.room)
        batch = padded(batch, room)
        # Learning plainly first makes the optimiser's state, which a capture must find there.
        losses = self.plainly(batch)
        try:
            self.pool = self.pool or torch.cuda.graph_pool_handle()
            self.graphs[key] = _QuestionGraph(self.plainly, batch, room, self.draws, self.pool)
        except RuntimeError as e:  # an operator that this version of PyTorch does not capture: slower, and as right
            warnings.warn(f"updates are not captured as CUDA graphs here ({first_line(e)})", stacklevel=2)
            self.refused = True
        return losses
