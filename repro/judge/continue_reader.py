"""The reader in the package taught on, on a CPU: its upper layers and the way of its questions.

    python -m judge.continue_reader encode DATA READER CACHE [--pool WORK OUT]   # pieces, states of the frozen layers
    python -m judge.continue_reader train CACHE READER WEIGHTS --seconds 4800

READER is a model folder; with `--pool`, it learns the judge's answers to a pool too (WORK and OUT are the folders of
`judge.run`). The embedding and the first `FROZEN` layers stay as they are, so their states are computed once; an
aspect's vector is computed anew every now and then, and no gradient goes through it. Weights are used as int8 stores
them (quantisation-aware training).
"""

import argparse
import json
import random
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from judge.questions import LABELS, batches
from judge.run import DEV, STUDENTS_TOO, pool_rows, rows_of
from judge.run import LEARNT as LEARNT_BY_ALL
from judge.student import Ragged, padded, ragged
from tabsa.checkpoint.model_folder import ModelFolder, read_folder
from tabsa.encoding.pieces import NO_SLOT, PieceReader, wording
from tabsa.evaluation.metrics import question_metrics
from tabsa.schema import Span, Target

FROZEN = 4
LONGEST = 256  # pieces of a text
JOINED, JOINS = "joined", 2000  # texts about several things, one after another
LEARNT = {  # how often each is read in an epoch
    "everyday train": 1, JOINED: 0.5, "real train": 2, "sentihood train": 0.4, "semeval2014 train": 0.3,
    "open mams-categories-train": 0.4, "places train": 2, "repro/box/written.jsonl all": 0.2,
}  # fmt: skip
_HEADS, _EPSILON, _STEPS = 12, 1e-12, 63


class Network:
    """A reader's weights by name, as tensors; those that are learnt are float32 leaves."""

    def __init__(self, folder: ModelFolder, weights: dict[str, NDArray[Any]] | None = None) -> None:
        found = weights or folder.weights
        self.all = {name: torch.from_numpy(np.array(array, np.float32)) for name, array in found.items()}
        shape = folder.config.model["shape"]
        self.layers, self.late = shape["layers"], folder.config.model["late_interaction"]
        self.learnt = {
            name: tensor.requires_grad_()
            for name, tensor in self.all.items()
            if not name.startswith("encoder.") or (name.startswith("encoder.layers.") and self.level(name) >= FROZEN)
        }
        self.used: dict[str, Tensor] = {}

    def level(self, name: str) -> int:
        """The number of a weight's layer; behind the last for what is not the encoder's."""
        return int(name.split(".")[2]) if name.startswith("encoder.layers.") else self.layers

    def round(self) -> None:
        """Take the weights as int8 stores them; gradients go straight through."""
        self.used = {}
        for name, weight in self.all.items():
            if weight.dim() == 2 and min(weight.shape) >= 16 and name in self.learnt:
                step = weight.detach().abs().amax(0, keepdim=True).clamp(min=1e-6) / _STEPS
                self.used[name] = weight + ((weight.detach() / step).round() * step - weight.detach())
            else:
                self.used[name] = weight

    def linear(self, x: Tensor, name: str, part: slice = slice(None)) -> Tensor:
        """Multiply by a matrix, or by some of its columns, and add the bias."""
        return x @ self.used[name][:, part] + self.used[f"{name}_bias"][part]

    def norm(self, x: Tensor, name: str) -> Tensor:
        """Layer normalisation."""
        return functional.layer_norm(x, x.shape[-1:], self.used[name], self.used[f"{name}_bias"], _EPSILON)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, live: Tensor) -> Tensor:
        """Attention of (B, Q, d) over (B, T, d), where `live` (B, T)."""
        split = [x.view(*x.shape[:2], _HEADS, -1).transpose(1, 2) for x in (query, key, value)]
        mask = torch.zeros(live.shape).masked_fill(~live, -1e4)[:, None, None]
        mixed = functional.scaled_dot_product_attention(*split, attn_mask=mask.expand(-1, 1, query.shape[1], -1))
        return mixed.transpose(1, 2).reshape(query.shape)

    def rest(self, x: Tensor, mixed: Tensor, layer: str, rate: float) -> Tensor:
        """What of a layer comes behind its attention."""
        x = self.norm(x + functional.dropout(self.linear(mixed, f"{layer}.out"), rate, rate > 0), f"{layer}.norm")
        inner = self.linear(functional.gelu(self.linear(x, f"{layer}.inner")), f"{layer}.outer")
        return self.norm(x + functional.dropout(inner, rate, rate > 0), f"{layer}.last_norm")

    def read(self, x: Tensor, live: Tensor, layers: Sequence[int], rate: float = 0.0) -> Tensor:
        """Read texts alone through some layers."""
        for number in layers:
            name = f"encoder.layers.{number}"
            query, key, value = self.linear(x, f"{name}.qkv").split(x.shape[-1], -1)
            x = self.rest(x, self.attend(query, key, value, live), name, rate)
        return x

    def embed(self, pieces: Tensor) -> Tensor:
        """Word pieces in their places."""
        states = self.all["encoder.words"][pieces] + self.all["encoder.places"][: pieces.shape[1]]
        return self.norm(states, "encoder.norm")

    def answer(self, x: Tensor, live: Tensor, mentions: Tensor, aspects: Tensor, rate: float = 0.0) -> Tensor:
        """Answer questions from the frozen layers' states (B, T, d): logits (B, M, labels).

        `mentions` (B, M, T) has the share of each piece in a question's target, `aspects` (B, M, d) the vectors.
        """
        first, d = self.layers - self.late, x.shape[-1]
        x = self.read(x, live, range(FROZEN, first), rate)
        target = mentions @ x
        question = self.linear(torch.cat([target, aspects, target * aspects], -1), "question")
        for number in range(first, self.layers):
            name = f"encoder.layers.{number}"
            query, key, value = self.linear(x, f"{name}.qkv").split(d, -1)
            asking = self.linear(question, f"{name}.qkv", slice(0, d))
            question = self.rest(question, self.attend(asking, key, value, live), name, rate)
            if number < self.layers - 1:
                x = self.rest(x, self.attend(query, key, value, live), name, rate)
        hidden = functional.dropout(torch.tanh(self.linear(question, "hidden")), rate, rate > 0)
        return self.linear(hidden, "output")


class Cache:
    """Texts and questions as pieces, and the frozen layers' states of the texts and of the aspects."""

    def __init__(self, folder: Path) -> None:
        with np.load(folder / "arrays.npz") as stored:
            arrays = {name: stored[name] for name in stored.files}
        self.texts = Ragged(*(arrays[f"texts.{part}"] for part in Ragged._fields))
        self.aspects = Ragged(*(arrays[f"aspects.{part}"] for part in Ragged._fields))
        self.mentions = Ragged(*(arrays[f"mentions.{part}"] for part in Ragged._fields))
        self.counts, self.aspect_of, self.shares = (arrays[name] for name in ("counts", "aspect_of", "shares"))
        self.first = np.cumsum(self.counts) - self.counts
        self.sets, self.names = arrays["sets"], json.loads((folder / "sets.json").read_text("utf-8"))
        self.states = np.load(folder / "texts.npy", mmap_mode="r")
        self.aspect_states = np.load(folder / "aspects.npy", mmap_mode="r")

    def of(self, name: str) -> NDArray[np.int64]:
        """The numbers of a set's texts."""
        return np.flatnonzero(self.sets == (self.names.index(name) if name in self.names else -1))


def encode(data: Path, model: Path, folder: Path, pool: tuple[Path, Path] | None) -> None:
    """Encode all sets, and a pool that the judge has answered, and read them through the frozen layers."""
    rows, soft = [], np.zeros((0, len(LABELS)), np.float32)
    if pool:
        rows = [{**row, "set": "pool"} for row in pool_rows(pool[0])]
        with np.load(pool[1] / "pool.npz") as stored:
            soft = stored["shares"].astype(np.float32)
        soft /= soft.sum(1, keepdims=True)
    sets = [one for one in (*LEARNT_BY_ALL, *STUDENTS_TOO, *DEV) if one in DEV or f"{one[0]} {one[1]}" in LEARNT]
    others = [row for one in sets for row in rows_of(*one, data)]
    others += joined([row for row in others if row["set"] == "everyday train"], random.Random(1))
    hard = np.eye(len(LABELS), dtype=np.float32)[[label for row in others for label in row["labels"]]]
    write_cache([*rows, *others], np.concatenate([soft, hard]), read_folder(model), folder)


def write_cache(rows: Sequence[dict[str, Any]], shares: NDArray[np.float32], model: ModelFolder, folder: Path) -> None:
    """Write what `Cache` reads: rows as pieces, and their states behind the frozen layers."""
    folder.mkdir(parents=True, exist_ok=True)
    reader = PieceReader.read(model.files.checked("tokenizer.json"))
    names = list(dict.fromkeys(row["set"] for row in rows))
    texts, mentions, aspect_of, counts = [], [], [], []
    aspects: dict[str, int] = {}
    for row in rows:
        pieces, of_target = _read_row(reader, row)
        texts.append(pieces)
        counts.append(len(row["questions"]))
        for target, aspect in row["questions"]:
            mentions.append(of_target.get(target, [0]))
            aspect_of.append(aspects.setdefault(wording(aspect).lower(), len(aspects)))
    parts = {
        "texts": ragged(texts),
        "mentions": ragged(mentions),
        "aspects": ragged([[reader.first, *reader.words(one), reader.last] for one in aspects]),
    }
    arrays: dict[str, Any] = {
        f"{name}.{part}": array for name, own in parts.items() for part, array in own._asdict().items()
    }
    arrays |= {"counts": np.array(counts), "aspect_of": np.array(aspect_of), "shares": shares}
    arrays["sets"] = np.array([names.index(row["set"]) for row in rows])
    np.savez(folder / "arrays.npz", **arrays)
    (folder / "sets.json").write_text(json.dumps(names), "utf-8")
    network = Network(model)
    for name in ("texts", "aspects"):
        _read_lower(network, parts[name], folder / f"{name}.npy")


def joined(rows: Sequence[dict[str, Any]], rng: random.Random) -> list[dict[str, Any]]:
    """Put texts about named things behind each other; each thing is asked some of the other's aspects, and silent."""
    named = [row for row in rows if all(target for target, _ in row["questions"])]
    found: list[dict[str, Any]] = []
    while len(found) < JOINS:
        parts = rng.sample(named, rng.choice((2, 2, 3)))
        names = [name for part in parts for name in part["mentions"]]
        # A name that stands in another's text would be judged there too.
        clear = all(
            name.lower() not in other["text"].lower() for part in parts for name in part["mentions"]
            for other in parts if other is not part
        )  # fmt: skip
        if len({*names}) < len(names) or not clear or sum(len(part["text"]) for part in parts) > 1000:
            continue
        questions, labels, mentions, text = [], [], {}, ""
        for number, part in enumerate(parts):
            start = len(text) + (1 if text else 0)
            text = f"{text} {part['text']}" if text else part["text"]
            mentions |= {name: [[a + start, b + start] for a, b in own] for name, own in part["mentions"].items()}
            questions += part["questions"]
            labels += part["labels"]
            known = {aspect for _, aspect in part["questions"]}
            others = [aspect for _, aspect in parts[number - 1]["questions"] if aspect not in known]
            for aspect in rng.sample(others, min(3, len(others))):
                questions.append([rng.choice([*part["mentions"]]), aspect])
                labels.append(0)
        found.append({"set": JOINED, "text": text, "mentions": mentions, "questions": questions, "labels": labels})
    return found


def _read_row(reader: PieceReader, row: dict[str, Any]) -> tuple[list[int], dict[str | None, list[int]]]:
    """A row's pieces with the two around them, and where each of its targets stands."""
    known, text = row.get("mentions", {}), row["text"]
    named = [name for name in dict.fromkeys(target for target, _ in row["questions"]) if name]
    spans = {name: known.get(name) or _spans(text, name) for name in named}
    ordered = sorted((name for name in named if spans[name]), key=lambda name: min(start for start, _ in spans[name]))
    targets = [Target(name, tuple(Span(start, end) for start, end in sorted(spans[name]))) for name in ordered]
    pieces = reader.pieces(text, targets, {n: n for n in range(len(targets))})[: LONGEST - 2]
    where: dict[str | None, list[int]] = {}
    for place, piece in enumerate(pieces, 1):
        if piece.slot != NO_SLOT:
            where.setdefault(ordered[piece.slot], []).append(place)
    return [reader.first, *(piece.id for piece in pieces), reader.last], where


def _spans(text: str, target: str) -> list[tuple[int, int]]:
    whole = [match.span() for match in re.finditer(rf"(?<!\w){re.escape(target)}(?!\w)", text, re.I)]
    return whole or [match.span() for match in re.finditer(re.escape(target), text, re.I)]


@torch.no_grad()
def _read_lower(network: Network, rows: Ragged, path: Path) -> None:
    """Write the frozen layers' states of some rows, behind each other."""
    size = network.all["encoder.places"].shape[1]
    found = np.lib.format.open_memmap(path, "w+", np.float16, (len(rows.pieces), size))
    network.round()
    started = time.monotonic()
    order = list(batches(rows.sizes, 8192))
    for number, places in enumerate(order):
        pieces, live = padded(rows, places)
        states = network.read(
            network.embed(torch.from_numpy(pieces.astype(np.int64))), torch.from_numpy(live), range(FROZEN)
        )
        for row, own in zip(places, states.numpy(), strict=True):
            found[rows.starts[row] : rows.starts[row] + rows.sizes[row]] = own[: rows.sizes[row]]
        if number % 200 == 0:
            print(f"{path.name}: {number} of {len(order)} batches, {time.monotonic() - started:.0f} s", flush=True)
    found.flush()


@torch.no_grad()
def aspect_vectors(network: Network, cache: Cache, used: NDArray[np.int64]) -> Tensor:
    """The vectors of all aspects; of those that are not used, nothing."""
    found = torch.zeros(len(cache.aspects.sizes), cache.states.shape[1])
    network.round()
    for places in batches(cache.aspects.sizes[used], 8192):
        rows = used[places]
        states, live = _gathered(cache.aspect_states, cache.aspects, rows)
        states = network.read(states, live, range(FROZEN, network.layers - 1))
        found[rows] = (states * live[..., None]).sum(1) / live.sum(1, keepdim=True)
    return found


def _gathered(states: NDArray[np.float16], rows: Ragged, chosen: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
    sizes = rows.sizes[chosen]
    live = np.arange(sizes.max()) < sizes[:, None]
    found = np.zeros((*live.shape, states.shape[1]), np.float32)
    for own, row, size in zip(found, chosen, sizes, strict=True):
        own[:size] = states[rows.starts[row] : rows.starts[row] + size]
    return torch.from_numpy(found), torch.from_numpy(live)


def batch_of(cache: Cache, places: NDArray[np.int64], vectors: Tensor) -> tuple[tuple[Tensor, ...], Tensor, Tensor]:
    """What `Network.answer` takes of some texts; the places of their questions among its answers, and the shares."""
    x, live = _gathered(cache.states, cache.texts, places)
    counts = cache.counts[places]
    questions = np.repeat(cache.first[places] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    rows = np.repeat(np.arange(len(places)), counts)
    columns = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    mentions = torch.zeros(len(places), int(counts.max()), x.shape[1])
    where, there = padded(cache.mentions, questions)
    q, m = np.nonzero(there)
    mentions[rows[q], columns[q], where[q, m]] = torch.from_numpy(1 / cache.mentions.sizes[questions][q]).float()
    aspects = torch.zeros(len(places), mentions.shape[1], x.shape[2])
    aspects[rows, columns] = vectors[cache.aspect_of[questions]]
    at = torch.from_numpy(rows * mentions.shape[1] + columns)
    return (x, live, mentions, aspects), at, torch.from_numpy(cache.shares[questions])


def drawn(cache: Cache, rng: random.Random) -> NDArray[np.int64]:
    """Draw the texts of an epoch."""
    parts = [cache.of("pool")]
    for name, times in LEARNT.items():
        own = cache.of(name)
        parts += [own] * int(times)
        parts.append(own[rng.sample(range(len(own)), int((times - int(times)) * len(own)))])
    found = np.concatenate(parts)
    return found[rng.sample(range(len(found)), len(found))]


@torch.no_grad()
def answers(network: Network, cache: Cache, texts: NDArray[np.int64], vectors: Tensor) -> NDArray[np.float32]:
    """Probabilities of all questions about some texts, in their order."""
    network.round()
    found: dict[int, NDArray[np.float32]] = {}
    for places in batches(cache.texts.sizes[texts], 4096):
        inputs, at, _ = batch_of(cache, texts[places], vectors)
        shares = network.answer(*inputs).flatten(0, 1)[at].softmax(-1).numpy()
        found.update(zip(places.tolist(), np.split(shares, np.cumsum(cache.counts[texts[places]])[:-1]), strict=True))
    return np.concatenate([found[place] for place in range(len(texts))])


def train(cache: Cache, folder: ModelFolder, path: Path, seconds: float, rate: float, refresh: float) -> None:
    """Learn for so many seconds; the moving average of the weights is saved, and measured on dev."""
    from safetensors.numpy import load_file, save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    network = Network(folder, load_file(path) if path.exists() else None)
    groups: dict[float, list[Tensor]] = {}
    for name, tensor in network.learnt.items():
        level = network.level(name)
        groups.setdefault(4.0 if level == network.layers else 0.95 ** (network.layers - 1 - level), []).append(tensor)
    optimiser = torch.optim.AdamW(
        [{"params": own, "factor": factor} for factor, own in groups.items()],
        rate,
        betas=(0.9, 0.98),
        weight_decay=0.01,
    )
    average = {name: tensor.detach().clone() for name, tensor in network.learnt.items()}
    rng = random.Random(1)
    torch.manual_seed(1)
    used = np.unique(cache.aspect_of)
    started, update, losses, vectors, fresh, saved = time.monotonic(), 0, [], torch.zeros(0), -1e9, 0.0

    def save(figures: bool) -> None:
        own = {name: tensor.detach().clone() for name, tensor in network.learnt.items()}
        with torch.no_grad():
            for name, tensor in network.learnt.items():
                tensor.copy_(average[name])
        save_file({name: tensor.detach().numpy() for name, tensor in network.all.items()}, path)
        if figures:
            now = aspect_vectors(network, cache, used)
            for name, split, _ in DEV:
                texts = cache.of(f"{name} {split}")
                gold = np.concatenate([cache.shares[cache.first[n] : cache.first[n] + cache.counts[n]] for n in texts])
                found = question_metrics(gold.argmax(1), answers(network, cache, texts, now))
                print(f"{name} {split}: " + " / ".join(f"{100 * value:.1f}" for value in found.values()), flush=True)
        with torch.no_grad():
            for name, tensor in network.learnt.items():
                tensor.copy_(own[name])

    save(figures=True)
    while time.monotonic() - started < seconds:
        epoch = drawn(cache, rng)
        for places in batches(cache.texts.sizes[epoch], 2560, rng):
            done = (time.monotonic() - started) / seconds
            if done >= 1:
                break
            if time.monotonic() - fresh > refresh:
                vectors, fresh = aspect_vectors(network, cache, used), time.monotonic()
            factor = min(1.0, (update + 1) / 100) * max(0.01, 1 - done)
            for group in optimiser.param_groups:
                group["lr"] = rate * factor * group["factor"]
            network.round()
            inputs, at, shares = batch_of(cache, epoch[places], vectors)
            logits = network.answer(*inputs, rate=0.1).flatten(0, 1)[at]
            loss = -(shares * logits.log_softmax(-1)).sum(-1).mean()
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(list(network.learnt.values()), 1.0)
            optimiser.step()
            update += 1
            with torch.no_grad():
                share = 1 - min(0.998, update / (update + 10))
                torch._foreach_lerp_(list(average.values()), list(network.learnt.values()), share)
            losses.append(loss.item())
            if update % 100 == 0:
                passed = time.monotonic() - started
                print(f"{passed:.0f} s, update {update}: loss {np.mean(losses[-100:]):.4f}", flush=True)
                if passed - saved > 1500:
                    saved = passed
                    save(figures=True)
    save(figures=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    encoding, training = steps.add_parser("encode"), steps.add_parser("train")
    for name in ("data", "model", "cache"):
        encoding.add_argument(name, type=Path)
    encoding.add_argument("--pool", type=Path, nargs=2, metavar=("WORK", "OUT"))
    for name in ("cache", "model", "weights"):
        training.add_argument(name, type=Path)
    training.add_argument("--seconds", type=float, default=4800)
    training.add_argument("--rate", type=float, default=5e-5)
    training.add_argument("--refresh", type=float, default=900, help="seconds after which aspects are read again")
    given = parser.parse_args()
    if given.step == "encode":
        encode(given.data, given.model, given.cache, given.pool)
    else:
        train(Cache(given.cache), read_folder(given.model), given.weights, given.seconds, given.rate, given.refresh)


if __name__ == "__main__":
    main()
