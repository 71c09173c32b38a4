"""The decoder tuned as a language model to write texts of the pool: targets, aspects, wished polarities, then the text.

A card, `# DOMAIN # KIND`, is given; what follows is the model's: `@ TARGET; TARGET`, a line `= TARGET | ASPECT |
POLARITY` for each wish, and the text. Where the judge agrees with most of the wishes, or is sure, a text goes into the
pool (`run.py`).
"""

import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from judge.decoder import Decoder, rotate
from judge.questions import LABELS, Item, Trees, batches

_MOST_WISHES = 6
_TOP = 200  # likeliest tokens that one is drawn from
_LONGEST = 1400  # characters of a text


def card(domain: str, kind: str) -> str:
    """Write what is given of a text."""
    return f"# {domain} # {kind}\n"


def written(row: dict[str, Any], rng: random.Random) -> str:
    """Write what is learnt of a row of `everyday` after its card: opinions first, then some that are silent."""
    listed = list(zip(row["questions"], row["labels"], strict=True))
    rng.shuffle(listed)
    wishes = sorted(listed, key=lambda one: one[1] == 0)[: rng.randint(3, _MOST_WISHES)]
    rng.shuffle(wishes)
    targets = "; ".join(dict.fromkeys(target or "it" for (target, _), _ in listed))
    lines = [f"= {target or 'it'} | {aspect} | {LABELS[label]}" for (target, aspect), label in wishes]
    return "\n".join([f"@ {targets}", *lines, row["text"]])


def parsed(text: str, domain: str) -> dict[str, Any] | None:
    """Read what was written: a row of the pool with its wishes; None where it is none."""
    first, *rest = text.split("\n")
    wishes = []
    while rest and rest[0].startswith("= "):
        parts = [part.strip() for part in rest.pop(0)[2:].split("|")]
        if len(parts) != 3 or parts[2] not in LABELS or not 2 < len(parts[1]) < 60:
            return None
        wishes.append((None if parts[0] == "it" else parts[0], parts[1], LABELS.index(parts[2])))
    content = "\n".join(rest).strip()
    targets = {target for target, _, _ in wishes}
    named = all(re.search(rf"\b{re.escape(target)}\b", content, re.I) for target in targets if target)
    if not (first.startswith("@ ") and wishes and named and 20 <= len(content) <= _LONGEST and len(targets) <= 4):
        return None
    questions = [[target, aspect] for target, aspect, _ in wishes]
    return {
        "text": content,
        "source": "written",
        "domain": domain,
        "questions": questions,
        "wishes": [w for *_, w in wishes],
    }


def tune(
    decoder: Decoder, output: Tensor, sequences: Sequence[tuple[NDArray[np.int32], int]], *, epochs: int, tokens: int,
    rate: float, seed: int, on_epoch: Callable[[int, float], None],
) -> None:  # fmt: skip
    """Learn sequences of tokens, each from a place on."""
    device = output.device
    shuffle = random.Random(seed)
    optimiser = torch.optim.AdamW(
        decoder.parameters(), rate, betas=(0.9, 0.98), weight_decay=0.01, fused=device.type == "cuda"
    )
    none = np.zeros((0, len(LABELS)), np.float32)
    trees = Trees([Item(sequence, (), none) for sequence, _ in sequences])
    starts = np.array([start for _, start in sequences])
    orders = [list(batches(trees.lengths, tokens, shuffle)) for _ in range(epochs)]
    total, update = sum(map(len, orders)), 0
    for epoch, order in enumerate(orders, 1):
        losses = []
        for places in order:
            optimiser.param_groups[0]["lr"] = rate * min(1.0, (update + 1) / 30) * max(0.02, 1 - update / total)
            update += 1
            batch = trees.batch(places, device)
            place = torch.arange(batch.tokens.shape[1] - 1, device=device)
            from_, to = (torch.from_numpy(array[places]).to(device)[:, None] for array in (starts, trees.lengths))
            learnt = (place + 1 >= from_) & (place + 1 < to)
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                states = decoder(batch.tokens, batch.positions, batch.mask)[:, :-1][learnt]
                logits = states @ output.T
            loss = functional.cross_entropy(logits.float(), batch.tokens[:, 1:][learnt])
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(decoder.parameters(), 1.0)
            optimiser.step()
            losses.append(loss.detach())
        on_epoch(epoch, float(torch.stack(losses).mean()))


@torch.no_grad()
def generate(
    decoder: Decoder, output: Tensor, prompts: Sequence[NDArray[np.int32]], end: int, *, longest: int,
    temperature: float, top_p: float, generator: torch.Generator | None = None,
) -> list[list[int]]:  # fmt: skip
    """Continue all prompts side by side with cached keys and values: nucleus sampling (Holtzman et al., 2020)."""
    config, device, dtype = decoder.config, output.device, output.dtype
    count, width, kv = len(prompts), config.size // config.heads, config.kv_heads
    cache = torch.zeros(2, config.layers, count, kv, longest, width, dtype=dtype, device=device)
    given = torch.full((count, longest), -1, device=device)
    for row, prompt in zip(given, prompts, strict=True):
        row[: len(prompt)] = torch.from_numpy(prompt.astype(np.int64)).to(device)
    rates = config.rope_base ** (-torch.arange(0, width, 2, device=device).float() / width)
    current, done = given[:, 0], torch.zeros(count, dtype=torch.bool, device=device)
    found = [current]
    for step in range(longest - 1):
        angle = (step * rates).repeat(2)
        cosine, sine = angle.cos().to(dtype), angle.sin().to(dtype)
        x = decoder.embedding(current).to(dtype)
        for number, block in enumerate(decoder.blocks):
            normed = block.attention_norm(x)
            query = rotate(block.query(normed).view(count, config.heads, width), cosine, sine)
            cache[0, number, :, :, step] = rotate(block.key(normed).view(count, kv, width), cosine, sine)
            cache[1, number, :, :, step] = block.value(normed).view(count, kv, width)
            keys, values = cache[:, number, :, :, : step + 1]
            mixed = functional.scaled_dot_product_attention(query.view(count, kv, -1, width), keys, values)
            x = x + block.output(mixed.reshape(count, -1))
            normed = block.feed_norm(x)
            x = x + block.down(functional.silu(block.gate(normed)) * block.up(normed))
        logits = (decoder.norm(x) @ output.T).float() / temperature
        values, places = logits.topk(min(_TOP, logits.shape[1]), -1)
        shares = values.softmax(-1)
        shares = shares.masked_fill(shares.cumsum(-1) - shares > top_p, 0)
        drawn = places.gather(1, torch.multinomial(shares, 1, generator=generator))[:, 0]
        forced = given[:, step + 1]
        current = torch.where(forced >= 0, forced, torch.where(done, end, drawn))
        done |= (current == end) & (forced < 0)
        found.append(current)
        if step % 32 == 31 and bool(done.all()):
            break
    rows = torch.stack(found, 1).tolist()
    return [row[: row.index(end)] if end in row else row for row in rows]
