"""A pair classifier, as BERT is mostly used for this: text and question read together, one pass a question.

    python benchmarks/alternatives/pair.py --encoder FOLDER --minutes 20 --model FOLDER

`--encoder` is the encoder that the reader in the box began with, bge-small-en-v1.5 (12 layers of 384), as a folder with
config.json, model.safetensors and tokenizer.json. It is trained on `everyday`'s train split for so many minutes of this
machine, with AdamW, and written to `--model`; a folder that is there already is measured and not trained again.
"""

import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import Probabilities, System, load, measure, parser, wording
from tokenizers import Tokenizer
from torch.nn.functional import cross_entropy
from transformers import AutoModelForSequenceClassification

from tabsa.encoding.answers import restrict_labels
from tabsa.schema import Dataset

Tokens = tuple[list[int], list[int]]  # and the types of them
LABELS = ("none", "positive", "negative", "neutral", "mixed")
RATE, BATCH, POOL = 1e-4, 32, 32  # batches are drawn from a pool of so many, by length


class Pairs:
    """The classifier and its tokens."""

    def __init__(self, folder: Path, encoder: Path) -> None:
        self.tokenizer = Tokenizer.from_file(str(encoder / "tokenizer.json"))
        self.tokenizer.no_padding()
        names = dict(enumerate(LABELS))
        self.model: Any = AutoModelForSequenceClassification.from_pretrained(
            folder, id2label=names, label2id={label: n for n, label in names.items()}, dtype=torch.float32
        )
        if self.model.config.num_labels != len(LABELS):
            raise ValueError(f"{folder} has {self.model.config.num_labels} labels; expected {', '.join(LABELS)}")

    def tokens(self, data: Dataset, longest: int) -> list[Tokens]:
        """Of each question."""
        self.tokenizer.enable_truncation(longest, strategy="only_first")
        asked = [(e.text, f"{wording(a)} of {t.name}" if t.name else wording(a)) for e, t, a, _ in data.questions()]
        parts = (asked[n : n + 1000] for n in range(0, len(asked), 1000))
        return [(one.ids, one.type_ids) for part in parts for one in self.tokenizer.encode_batch(part)]

    def logits(self, some: list[Tokens]) -> torch.Tensor:
        """(questions, labels)."""
        width = max(len(ids) for ids, _ in some)
        ids, types = (
            torch.tensor([row + [0] * (width - len(row)) for row in rows]) for rows in zip(*some, strict=True)
        )
        mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row, _ in some])
        return self.model(input_ids=ids, attention_mask=mask, token_type_ids=types).logits  # type: ignore[no-any-return]

    def train(self, data: Dataset, minutes: float) -> int:
        """Return the number of questions that were read."""
        tokens = self.tokens(data, 160)
        gold = [LABELS.index(polarity) for *_, polarity in data.questions()]
        optimiser = torch.optim.AdamW(self.model.parameters(), lr=RATE, weight_decay=0.01)
        draw, begun, read = random.Random(29), time.monotonic(), 0
        batches: list[list[int]] = []
        self.model.train()
        while (share := (time.monotonic() - begun) / (60 * minutes)) < 1:
            if not batches:
                pool = sorted(
                    draw.sample(range(len(gold)), min(len(gold), POOL * BATCH)), key=lambda n: len(tokens[n][0])
                )
                batches = [pool[n : n + BATCH] for n in range(0, len(pool), BATCH)]
                draw.shuffle(batches)
            chosen = batches.pop()
            for group in optimiser.param_groups:
                group["lr"] = RATE * min(1, share / 0.05) * (1 - share)
            loss = cross_entropy(self.logits([tokens[n] for n in chosen]), torch.tensor([gold[n] for n in chosen]))
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimiser.step()
            read += len(chosen)
            if read % (BATCH * 20) == 0:
                print(f"{share:.0%} of the time, {read} questions, loss {loss.item():.3f}", flush=True)
        return read

    def answer(self, data: Dataset) -> Probabilities:
        """Questions of like length together."""
        self.model.eval()
        tokens = self.tokens(data, 512)
        found = np.zeros((len(tokens), len(LABELS)))
        order = sorted(range(len(tokens)), key=lambda n: len(tokens[n][0]))
        with torch.inference_mode():
            for first in range(0, len(order), BATCH):
                some = order[first : first + BATCH]
                found[some] = self.logits([tokens[n] for n in some]).softmax(-1).numpy()
        if set(data.labels) < set(LABELS):
            return restrict_labels(found, LABELS, data.labels)
        return found[:, [LABELS.index(label) for label in data.labels]]


def main() -> None:
    """Train where there is no model, measure."""
    options = parser(__doc__)
    options.add_argument("--encoder", type=Path, required=True)
    options.add_argument("--model", type=Path, required=True, help="where the trained model is, or will be")
    options.add_argument("--minutes", type=float, default=20)
    args = options.parse_args()
    torch.set_num_threads(args.threads)
    if not (args.model / "config.json").exists():
        torch.manual_seed(29)
        fresh = Pairs(args.encoder, args.encoder)
        read = fresh.train(load("everyday", "train", args.data_dir), args.minutes)
        print(f"read {read} questions in {args.minutes} minutes")
        fresh.model.save_pretrained(args.model)
    pairs = Pairs(args.model, args.encoder)
    about = "bge-small with a head, a pass for each pair, trained on `everyday`"
    packages = ["torch", "transformers", "tokenizers"]
    files = [args.model, args.encoder / "tokenizer.json"]
    measure(System("pair", about, pairs.answer, packages, files), args, minutes=args.minutes)


if __name__ == "__main__":
    main()
