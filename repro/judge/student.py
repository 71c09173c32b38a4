"""Readers that learn from the judge, in plain PyTorch: what is tried before it is built into the package.

A text is read alone by the lower layers of an encoder. Where a question meets it, in the last `meet` layers, it
attends to the text and to itself, and the text to itself alone. What a question is there is its `form`:

    rows    a state for its target, the mean of its mentions in the text, and one for each piece of its aspect, which
            the lower layers have read without the text
    words   all pieces of its aspect and its target's name, read so
    vector  one state, W [t; a; t * a] of the target's and the mean of the aspect's

With `meet` as many as the encoder has, nothing is read alone. Shapes at line ends use B texts of T pieces, Q questions
of m states, U aspects, trees of N states, d dimensions.
"""

import json
import math
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from judge.questions import LABELS, batches
from tabsa.encoding.pieces import NO_SLOT, PieceReader, wording
from tabsa.schema import Span, Target
from tabsa.text.targets import TargetFinder

LONGEST = 320  # pieces of a text
_FARTHEST = 512  # distance of two pieces that MPNet's buckets are made for
_WORKERS = 2  # that put batches together beside a GPU


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What is trained."""

    depth: int = 12  # layers of the encoder that are used, from the first
    meet: int = 6
    form: str = "rows"
    rounded: int = 0  # 1: quantisation-aware, matrices in int8 and word pieces in four bits, as a folder stores them


class Ragged(NamedTuple):
    """Rows of pieces of different lengths, behind each other."""

    pieces: NDArray[np.int32]
    sizes: NDArray[np.int64]
    starts: NDArray[np.int64]

    def chosen(self, rows: NDArray[np.int64]) -> "Ragged":
        """Some of the rows; the pieces of the others stay where they are."""
        return self._replace(sizes=self.sizes[rows], starts=self.starts[rows])


def ragged(rows: Sequence[Sequence[int]]) -> Ragged:
    """Put rows behind each other."""
    sizes = np.array([len(row) for row in rows], np.int64)
    return Ragged(np.array([n for row in rows for n in row], np.int32), sizes, np.cumsum(sizes) - sizes)


class FrozenStates(NamedTuple):
    """The states of all pieces behind layers that do not learn, computed once."""

    texts: NDArray[np.float16]
    aspects: NDArray[np.float16]


@dataclass(frozen=True)
class Texts:
    """Texts with questions, mentions of their targets and soft labels, as word pieces."""

    texts: Ragged
    counts: NDArray[np.int64]  # questions of each text
    first: NDArray[np.int64]  # the number of its first
    aspects: Ragged
    aspect_of: NDArray[np.int64]  # each question's row
    pairs: Ragged  # aspects with names, for `words`
    pair_of: NDArray[np.int64]
    mentions: Ragged  # the places of each question's target in its text
    shares: NDArray[np.float32]
    states: "FrozenStates | None" = None

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def cost(self) -> NDArray[np.int64]:
        """About the pieces that a text and its questions are worth."""
        return self.texts.sizes + 3 * self.counts

    def chosen(self, places: NDArray[np.int64]) -> "Texts":
        """Some of the texts, with their questions."""
        questions = np.concatenate([np.arange(self.first[n], self.first[n] + self.counts[n]) for n in places])
        counts = self.counts[places]
        return replace(
            self, texts=self.texts.chosen(places), counts=counts, first=np.cumsum(counts) - counts,
            aspect_of=self.aspect_of[questions], pair_of=self.pair_of[questions],
            mentions=self.mentions.chosen(questions), shares=self.shares[questions],
        )  # fmt: skip

    def save(self, path: Path) -> None:
        """Write it as arrays."""
        arrays = {}
        for name, value in vars(self).items():
            if name == "states":
                continue
            parts = value._asdict() if isinstance(value, Ragged) else {"": value}
            arrays |= {f"{name}.{part}": array for part, array in parts.items()}
        np.savez(path, **arrays)

    @classmethod
    def load(cls, path: Path) -> "Texts":
        """Read what `save` wrote."""
        with np.load(path) as stored:
            fields: dict[str, dict[str, Any]] = {}
            for key in stored.files:
                name, _, part = key.partition(".")
                fields.setdefault(name, {})[part] = stored[key]
        return cls(**{name: own[""] if "" in own else Ragged(**own) for name, own in fields.items()})


def encoded(reader: PieceReader, rows: Sequence[dict[str, Any]], shares: NDArray[np.floating]) -> Texts:
    """Encode rows of `text` and `questions`, [target or null, aspect] each; `shares` are of all questions."""
    texts, mentions, aspect_of, pair_of = [], [], [], []
    aspects: dict[str, int] = {}
    pairs: dict[str, int] = {}
    for row in rows:
        pieces, places = _read_row(reader, row)
        texts.append(pieces)
        for target, aspect in row["questions"]:
            mentions.append(places.get(target, [0]))
            aspect_of.append(aspects.setdefault(wording(aspect).lower(), len(aspects)))
            pair_of.append(pairs.setdefault(f"{aspect} : {target or 'it'}".lower(), len(pairs)))
    counts = np.array([len(row["questions"]) for row in rows], np.int64)

    def table(words: dict[str, int]) -> Ragged:
        return ragged([[reader.first, *reader.words(one), reader.last] for one in words])

    return Texts(
        ragged(texts), counts, np.cumsum(counts) - counts, table(aspects), np.array(aspect_of), table(pairs),
        np.array(pair_of), ragged(mentions), shares.astype(np.float32),
    )  # fmt: skip


def _read_row(reader: PieceReader, row: dict[str, Any]) -> tuple[list[int], dict[str | None, list[int]]]:
    """A row's pieces with the two around them, targets as placeholders, and where each of its targets stands."""
    known, text = row.get("mentions", {}), row["text"]
    named = [name for name in dict.fromkeys(target for target, _ in row["questions"]) if name]
    spans = {
        name: known.get(name) or [span for one in TargetFinder([name]).find(text) for span in one.mentions]
        for name in named
    }
    ordered = sorted((name for name in named if spans[name]), key=lambda name: min(start for start, _ in spans[name]))
    targets = [Target(name, tuple(Span(start, end) for start, end in sorted(spans[name]))) for name in ordered]
    pieces = reader.pieces(text, targets, {n: n for n in range(len(targets))})[: LONGEST - 2]
    where: dict[str | None, list[int]] = {}
    for place, piece in enumerate(pieces, 1):
        if piece.slot != NO_SLOT:
            where.setdefault(ordered[piece.slot], []).append(place)
    return [reader.first, *(piece.id for piece in pieces), reader.last], where


def padded(
    rows: Ragged, chosen: NDArray[np.integer], *, places_of: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return some rows side by side, or the places of their pieces, padded with 0, and which are theirs."""
    sizes = rows.sizes[chosen]
    inside = np.arange(max(1, int(sizes.max(initial=1)))) < sizes[:, None]
    found = np.where(inside, rows.starts[chosen][:, None] + np.arange(inside.shape[1]), 0)
    return found if places_of else np.where(inside, rows.pieces[found], 0), inside


class Batch(NamedTuple):
    """Texts and their questions on a device; of texts and aspects their pieces, or the states of these (..., d)."""

    pieces: Tensor  # (B, T)
    live: Tensor  # (B, T)
    words: Tensor  # of aspects, or of whole questions: (U, L)
    words_live: Tensor
    word_rows: Tensor  # the row of each question's, (Q,)
    text_rows: Tensor  # (Q,)
    mentions: Tensor  # pieces of each question's target in its text, (Q, m)
    mentions_live: Tensor
    layout: Tensor  # of the trees, in texts' states and behind them the questions': (B, N)
    branches: Tensor  # 0: the text, n: its question n, -1: padding, (B, N)
    answered: Tensor  # which of the trees' states answers each question, (Q,)
    shares: Tensor  # (Q, labels)


def batch_of(texts: Texts, places: NDArray[np.int64], shape: Shape) -> Batch:
    """Put some texts and their questions side by side."""
    pieces, live = padded(texts.texts, places)
    sizes_of, counts = texts.texts.sizes[places], texts.counts[places]
    rows = np.repeat(np.arange(len(places)), counts)
    chosen = np.repeat(texts.first[places] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    table, of = (texts.pairs, texts.pair_of) if shape.form == "words" else (texts.aspects, texts.aspect_of)
    used, word_rows = np.unique(of[chosen], return_inverse=True)
    words, words_live = padded(table, used)
    mentions, mentions_live = padded(texts.mentions, chosen)
    width = {"words": words.shape[1], "rows": words.shape[1], "vector": 1}[shape.form]
    # Of an aspect read alone, `rows` leaves out the two pieces around it, and has its target's state before it.
    sizes = np.ones(len(rows), np.int64) if width == 1 else table.sizes[used][word_rows] - (shape.form == "rows")
    own = np.bincount(rows, sizes, len(places)).astype(np.int64)  # states of each text's questions
    length = pieces.shape[1]
    total = -(-int((sizes_of + own).max()) // 8) * 8
    layout = np.zeros((len(places), total), np.int64)
    branches = np.full(layout.shape, -1)
    b, t = np.nonzero(live)
    layout[b, t], branches[b, t] = b * length + t, 0
    question = np.repeat(np.arange(len(rows)), sizes)
    number = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    before = np.cumsum(sizes) - sizes
    before -= before[np.cumsum(counts) - counts][rows]  # of its text's questions before it
    column = sizes_of[rows[question]] + before[question] + number
    layout[rows[question], column] = len(places) * length + question * width + number
    branches[rows[question], column] = (chosen - texts.first[places][rows] + 1)[question]
    answered = rows * total + sizes_of[rows] + before
    if texts.states is not None:
        pieces = texts.states.texts[padded(texts.texts, places, places_of=True)[0]].astype(np.float32)
        words = texts.states.aspects[padded(table, used, places_of=True)[0]].astype(np.float32)
    arrays = (
        pieces, live, words, words_live, word_rows.reshape(-1), rows, mentions, mentions_live, layout, branches,
        answered, texts.shares[chosen],
    )  # fmt: skip
    return Batch(*(torch.from_numpy(one.astype(np.int64) if one.dtype.kind == "i" else one) for one in arrays))


class Drawn(Dataset[Batch]):
    """Batches of texts in an order, for a DataLoader whose workers put them together beside a GPU."""

    def __init__(self, order: Sequence[tuple[Texts, NDArray[np.int64]]], shape: Shape) -> None:
        self.order, self.shape = order, shape

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, number: int) -> Batch:
        return batch_of(*self.order[number], self.shape)


def loaded(order: Sequence[tuple[Texts, NDArray[np.int64]]], shape: Shape, device: torch.device) -> Iterator[Batch]:
    """Yield batches on a device."""
    cuda = device.type == "cuda"
    options: dict[str, Any] = {"num_workers": _WORKERS, "pin_memory": True} if cuda else {}
    for batch in DataLoader(Drawn(order, shape), batch_size=None, **options):
        yield Batch(*(tensor.to(device, non_blocking=True) for tensor in batch))


class Layer(nn.Module):
    """A layer of BERT or MPNet: x = LN(x + attention(x)); LN(x + W2 gelu(W1 x))."""

    def __init__(self, size: int, inner: int, heads: int, epsilon: float) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.inner, self.outer = nn.Linear(size, inner), nn.Linear(inner, size)
        self.norm, self.last_norm = nn.LayerNorm(size, epsilon), nn.LayerNorm(size, epsilon)
        self.rounded, self.rate = False, 0.1

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """Read states (B, N, d) with `bias` added to scores, (B or 1, 1 or heads, N, N)."""
        batch, length, size = x.shape
        parts = self.linear(x, self.qkv).view(batch, length, 3, self.heads, size // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias.to(query.dtype))
        mixed = self.linear(mixed.transpose(1, 2).reshape(batch, length, size), self.out)
        x = self.norm(x + functional.dropout(mixed, self.rate, self.training))
        inner = self.linear(functional.gelu(self.linear(x, self.inner)), self.outer)
        return self.last_norm(x + functional.dropout(inner, self.rate, self.training))

    def linear(self, x: Tensor, layer: nn.Linear) -> Tensor:
        """Multiply by a matrix, as it is stored."""
        return functional.linear(x, in_steps(layer.weight) if self.rounded else layer.weight, layer.bias)


def in_bits(weight: Tensor, bits: int = 4, block: int = 32) -> Tensor:
    """A table as blocks of `bits` store it, the number furthest from zero the lowest step; gradients go through."""
    blocks = weight.detach().reshape(-1, block)
    furthest = blocks.gather(1, blocks.abs().argmax(1, keepdim=True))
    low = -(2 ** (bits - 1))
    step = torch.where(furthest == 0, torch.ones_like(furthest), furthest / low)
    rounded = ((blocks / step).round().clamp(low, -low - 1) * step).view_as(weight)
    return weight + (rounded - weight).detach()


def in_steps(weight: Tensor) -> Tensor:
    """A matrix as it is multiplied: each column of the package's, a row here, in 63 steps on each side of zero."""
    step = weight.detach().abs().amax(1, keepdim=True).clamp(min=1e-6) / 63
    return weight + ((weight.detach() / step).round() * step - weight.detach())


class Student(nn.Module):
    """An encoder and the way of questions through it: logits (Q, labels)."""

    def __init__(self, folder: Path, shape: Shape) -> None:
        super().__init__()
        from safetensors.torch import load_file

        config = json.loads((folder / "config.json").read_text("utf-8"))
        self.shape, self.mpnet, size = shape, config["model_type"] == "mpnet", config["hidden_size"]
        self.frozen = 0  # layers that do not learn, nor does what is before them
        self.rate = 0.1
        epsilon = config["layer_norm_eps"]
        weights = {
            name.removeprefix("mpnet.").removeprefix("bert."): tensor.float()
            for name, tensor in load_file(folder / "model.safetensors").items()
        }
        get = {
            name: weights[f"embeddings.{name}.weight"]
            for name in ("word_embeddings", "position_embeddings", "LayerNorm")
        }
        self.words = nn.Embedding.from_pretrained(get["word_embeddings"], freeze=False)
        places = get["position_embeddings"][2 if self.mpnet else 0 :].clone()
        self.types = None
        if not self.mpnet:
            types = weights["embeddings.token_type_embeddings.weight"]
            places += types[0]
            if shape.form == "words":
                self.types = nn.Parameter(types[1] - types[0])  # of a question's pieces, beside the text's
        self.places = nn.Parameter(places)
        self.norm = nn.LayerNorm(size, epsilon)
        self.norm.load_state_dict({"weight": get["LayerNorm"], "bias": weights["embeddings.LayerNorm.bias"]})
        self.layers = nn.ModuleList(
            Layer(size, config["intermediate_size"], config["num_attention_heads"], epsilon) for _ in range(shape.depth)
        )
        for number, layer in enumerate(self.layers):
            layer.load_state_dict(_layer_weights(weights, f"encoder.layer.{number}.", mpnet=self.mpnet))
            layer.rounded = bool(shape.rounded)
        if self.mpnet:
            self.register_buffer("distances", weights["encoder.relative_attention_bias.weight"])  # slow to learn
            self.register_buffer("buckets", _buckets(_FARTHEST, len(self.distances)), persistent=False)
        if shape.form == "vector":
            self.question = nn.Linear(3 * size, size)
            with torch.no_grad():
                self.question.weight.normal_(0, 0.02)
                for first in (0, size):
                    self.question.weight[:, first : first + size] += 0.6 * torch.eye(size)
                self.question.bias.zero_()
        if shape.form == "rows":
            self.kinds = nn.Parameter(torch.zeros(2, size))  # added to a target's state, and to an aspect's
        self.hidden, self.output = nn.Linear(size, size), nn.Linear(size, len(LABELS))
        nn.init.normal_(self.output.weight, std=0.02)
        nn.init.zeros_(self.output.bias)

    def forward(self, batch: Batch) -> Tensor:
        """Answer a batch's questions."""
        lower = self.shape.depth - self.shape.meet
        text, words, first = batch.pieces, batch.words, self.frozen
        if not text.is_floating_point():
            types = self.types if self.shape.form == "words" else None
            text, words, first = self.embedded(text), self.embedded(words, types), 0
        text = self.read(text, batch.live, range(first, lower))
        words = self.read(words, batch.words_live, range(first, lower))
        asked = self.asked(text, words, batch)  # (Q, m, d)
        size = text.shape[-1]
        states = torch.cat([text.reshape(-1, size), asked.reshape(-1, size)])
        states = states.index_select(0, batch.layout.flatten()).view(*batch.layout.shape, size)  # (B, N, d)
        branch = batch.branches
        visible = ((branch[:, None] == 0) | (branch[:, None] == branch[:, :, None])) & (branch >= 0)[:, None]
        bias = torch.zeros(visible.shape, device=visible.device).masked_fill(~visible, -1e4)[:, None]
        if self.mpnet:  # distances are of the text's pieces alone
            place, both = torch.arange(branch.shape[1], device=branch.device), branch == 0
            both = (both[:, None] & both[:, :, None])[:, None]
            bias = bias + torch.where(both, self.distance_bias((place[None] - place[:, None])[None]), 0.0)
        bias = bias.to(torch.bfloat16) if torch.is_autocast_enabled("cuda") else bias
        for layer in self.layers[lower:]:
            states = layer(states, bias)
        answered = states.reshape(-1, size).index_select(0, batch.answered).float()
        with torch.autocast(answered.device.type, enabled=False):
            matrix = in_steps(self.hidden.weight) if self.layers[0].rounded else self.hidden.weight
            hidden = functional.dropout(answered, self.rate, self.training)
            hidden = torch.tanh(functional.linear(hidden, matrix, self.hidden.bias))
            logits: Tensor = self.output(functional.dropout(hidden, self.rate, self.training))
        return logits

    def asked(self, text: Tensor, words: Tensor, batch: Batch) -> Tensor:
        """Return what questions are where they meet the text, (Q, m, d)."""
        if self.shape.form == "words":
            return words.index_select(0, batch.word_rows)
        place = batch.text_rows[:, None] * text.shape[1] + batch.mentions
        mentioned = text.flatten(0, 1).index_select(0, place.flatten()).view(*place.shape, -1)  # (Q, m, d)
        target = _mean(mentioned, batch.mentions_live)
        if self.shape.form == "rows":
            aspects = (words[:, 1:] + self.kinds[1]).index_select(0, batch.word_rows)
            return torch.cat([(target + self.kinds[0])[:, None], aspects], 1)
        aspect = _mean(words, batch.words_live).index_select(0, batch.word_rows)  # (Q, d)
        return self.question(torch.cat([target, aspect, target * aspect], -1))[:, None]

    def embedded(self, pieces: Tensor, types: Tensor | None = None) -> Tensor:
        """Word pieces in their places, (rows, T, d)."""
        table = self.words.weight
        table = in_bits(table) if self.layers[0].rounded and table.requires_grad else table
        states = functional.embedding(pieces, table) + self.places[: pieces.shape[1]]
        states = states if types is None else states + types
        return functional.dropout(self.norm(states), self.rate, self.training)

    def read(self, states: Tensor, live: Tensor, layers: range) -> Tensor:
        """Read texts alone."""
        if not len(layers):
            return states
        bias = torch.zeros(live.shape, device=live.device).masked_fill(~live, -1e4)[:, None, None]
        if self.mpnet:
            place = torch.arange(states.shape[1], device=live.device)
            bias = bias + self.distance_bias((place[None] - place[:, None])[None])
        bias = bias.expand(-1, -1, states.shape[1], -1)
        bias = bias.to(torch.bfloat16) if torch.is_autocast_enabled("cuda") else bias
        for number in layers:
            states = self.layers[number](states, bias)
        return states

    def distance_bias(self, apart: Tensor) -> Tensor:
        """MPNet's term of each distance of a key behind its query, (rows, N, N) to (rows, heads, N, N)."""
        apart = apart.clamp(-_FARTHEST, _FARTHEST) + _FARTHEST  # a tree may be longer than a text
        return functional.embedding(self.buckets[apart], self.distances).permute(0, 3, 1, 2)


def package_weights(state: Mapping[str, Tensor]) -> dict[str, NDArray[np.float32]]:
    """Return the weights of a student whose form is `rows` under the names of the package's reader."""
    found: dict[str, NDArray[np.float32]] = {}
    for name, tensor in state.items():
        array, (*path, last) = tensor.float().numpy(), name.split(".")
        if path == ["words"]:
            found["encoder.words"] = array
        elif not path and last in ("places", "distances"):
            found[f"encoder.{last}"] = array
        elif not path:
            found[last] = array
        else:
            own = ".".join(path) if path[0] in ("hidden", "output") else ".".join(["encoder", *path])
            found[own if last == "weight" else f"{own}_bias"] = np.ascontiguousarray(array.T)
    return found


def student_weights(weights: Mapping[str, NDArray[Any]]) -> dict[str, Tensor]:
    """Return a package's reader's weights under a student's names; those of a question's one vector go."""
    found: dict[str, Tensor] = {}
    for name, array in weights.items():
        own, learnt = name.removeprefix("encoder."), np.asarray(array, np.float32)
        if own == "words":
            found["words.weight"] = torch.from_numpy(learnt)
        elif own in ("places", "distances", "kinds"):
            found[own] = torch.from_numpy(learnt)
        elif not own.startswith("question"):
            bias = own.endswith("_bias")
            found[f"{own.removesuffix('_bias')}.{'bias' if bias else 'weight'}"] = torch.from_numpy(
                np.ascontiguousarray(learnt.T)
            )
    return found


def _mean(states: Tensor, live: Tensor) -> Tensor:
    weights = live.to(states.dtype)[..., None]
    return (states * weights).sum(1) / weights.sum(1)


def _layer_weights(weights: dict[str, Tensor], prefix: str, *, mpnet: bool) -> dict[str, Tensor]:
    names = dict(
        zip("qkv", ("attn.q", "attn.k", "attn.v") if mpnet else ("self.query", "self.key", "self.value"), strict=True)
    )
    found = {}
    for kind in ("weight", "bias"):
        found[f"qkv.{kind}"] = torch.cat([weights[f"{prefix}attention.{names[one]}.{kind}"] for one in "qkv"])
        found[f"out.{kind}"] = weights[f"{prefix}attention.{'attn.o' if mpnet else 'output.dense'}.{kind}"]
        found[f"norm.{kind}"] = weights[f"{prefix}attention.{'' if mpnet else 'output.'}LayerNorm.{kind}"]
        found[f"inner.{kind}"] = weights[f"{prefix}intermediate.dense.{kind}"]
        found[f"outer.{kind}"] = weights[f"{prefix}output.dense.{kind}"]
        found[f"last_norm.{kind}"] = weights[f"{prefix}output.LayerNorm.{kind}"]
    return found


def _buckets(longest: int, count: int) -> Tensor:
    """MPNet's bucket of each distance from -longest on (Raffel et al., 2020)."""
    apart, half, exact = torch.arange(-longest, longest + 1), count // 2, count // 4
    distance = apart.abs()
    large = exact + (torch.log(distance.clamp(min=1).float() / exact) / math.log(128 / exact) * (half - exact)).long()
    return torch.where(distance < exact, distance, large.clamp(max=half - 1)) + half * (apart > 0)


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How a student learns."""

    seconds: float = 60.0  # the rates fall to nothing by then
    updates: int = 10**9  # at most
    tokens: int = 24_000  # of an update: pieces, and three for each question
    rate: float = 1e-4
    head_rate: float = 5.0
    layer_decay: float = 0.95
    frozen: int = 0  # layers that stay as they are, with the embedding before them
    warm_up: int = 200
    last_rate: float = 0.005  # share of the rates that is left at the end; more, where another run goes on
    weight_decay: float = 0.01
    dropout: float = 0.1  # nothing, where each text is read about once
    ema: float = 0.998
    rounded_from: float = 0.7  # share of the time from which matrices are rounded
    seed: int = 1


def learn(student: Student, parts: Sequence[tuple[Texts, float]], schedule: Schedule) -> Iterator[str]:
    """Train on several sets of texts, each read so many times an epoch; ends with the moving average of the weights."""
    device = next(student.parameters()).device
    torch.manual_seed(schedule.seed)
    rng = random.Random(schedule.seed)
    depth = len(student.layers)
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    learnt = {name: parameter for name, parameter in student.named_parameters() if parameter.requires_grad}
    for name, parameter in learnt.items():
        head = name.startswith(("hidden", "output", "question", "kinds"))
        level = int(name.split(".")[1]) + 1 if name.startswith("layers.") else 0
        factor = schedule.head_rate if head else schedule.layer_decay ** (depth - level)
        decay = schedule.weight_decay if parameter.dim() > 1 else 0.0
        groups.setdefault((schedule.rate * factor, decay), []).append(parameter)
    optimiser = torch.optim.AdamW(
        [{"params": own, "base": rate, "weight_decay": decay} for (rate, decay), own in groups.items()],
        lr=schedule.rate, betas=(0.9, 0.98), fused=True,
    )  # fmt: skip
    parameters = list(learnt.values())
    average = [parameter.detach().clone() for parameter in parameters]
    for layer in student.layers:
        layer.rounded, layer.rate = False, schedule.dropout
    student.rate = schedule.dropout
    started, update, losses = time.monotonic(), 0, []
    student.train()
    over = False
    while not over:
        epoch = []
        for texts, times in parts:
            for share in [1.0] * int(times) + [times - int(times)]:
                own = [(texts, places) for places in batches(texts.cost, schedule.tokens, rng)]
                epoch += rng.sample(own, round(share * len(own)))
        rng.shuffle(epoch)
        for batch in loaded(epoch, student.shape, device):
            done = max((time.monotonic() - started) / schedule.seconds, update / schedule.updates)
            if over := done >= 1:
                break
            if student.shape.rounded and done >= schedule.rounded_from:
                for layer in student.layers:
                    layer.rounded = True
            factor = min(1.0, (update + 1) / schedule.warm_up) * max(schedule.last_rate, 1 - done)
            for group in optimiser.param_groups:
                group["lr"] = group["base"] * factor
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                logits = student(batch)
            loss = -(batch.shares * logits.log_softmax(-1)).sum(-1).mean()
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimiser.step()
            update += 1
            with torch.no_grad():
                share = 1 - min(schedule.ema, update / (update + 10))
                torch._foreach_lerp_(average, parameters, share)
            losses.append(loss.detach())
            if update % 100 == 0:
                mean = torch.stack(losses[-100:]).mean().item()
                yield f"{time.monotonic() - started:.0f} s, update {update}: loss {mean:.4f}"
    with torch.no_grad():
        for parameter, mean in zip(parameters, average, strict=True):
            parameter.copy_(mean)
    for layer in student.layers:
        layer.rounded = bool(student.shape.rounded)
    yield f"{time.monotonic() - started:.0f} s, {update} updates"


def freeze(student: Student, layers: int) -> None:
    """Leave the first layers, and the embedding before them, as they are, or rounded as a folder stores them."""
    student.frozen = layers
    if student.shape.rounded:
        with torch.no_grad():
            student.words.weight.copy_(in_bits(student.words.weight))
            for layer in student.layers[:layers]:
                for linear in (layer.qkv, layer.out, layer.inner, layer.outer):
                    linear.weight.copy_(in_steps(linear.weight))
    still = [student.words, student.norm, *student.layers[:layers]]
    for parameter in [student.places, *(parameter for module in still for parameter in module.parameters())]:
        parameter.requires_grad_(False)


@torch.no_grad()
def with_states(student: Student, texts: Texts, tokens: int = 16_000) -> Texts:
    """Read texts and aspects through a student's frozen layers, once for all epochs."""
    student.eval()
    found = []
    for rows in (texts.texts, texts.aspects):
        states = np.zeros((len(rows.pieces), student.places.shape[1]), np.float16)
        for chosen in batches(rows.sizes, tokens):
            pieces, live = padded(rows, chosen)
            inside = torch.from_numpy(live)
            own = student.read(
                student.embedded(torch.from_numpy(pieces.astype(np.int64))), inside, range(student.frozen)
            )
            states[padded(rows, chosen, places_of=True)[0][live]] = own[inside].numpy()
        found.append(states)
    return replace(texts, states=FrozenStates(*found))


@torch.no_grad()
def predict(student: Student, texts: Texts, tokens: int = 40_000) -> NDArray[np.float32]:
    """Return the probabilities of all questions, (questions, labels)."""
    device = next(student.parameters()).device
    student.eval()
    found = np.zeros((len(texts.shares), len(LABELS)), np.float32)
    order = list(batches(texts.cost, tokens))
    for places, batch in zip(order, loaded([(texts, places) for places in order], student.shape, device), strict=True):
        counts = texts.counts[places]
        chosen = np.repeat(texts.first[places] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            found[chosen] = student(batch).softmax(-1).float().cpu().numpy()
    return found
