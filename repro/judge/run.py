"""The judge's steps, one command each.

Where data and file are:

    python -m judge.run sets DATA WORK                             # rows of all labelled sets; enough for students
    python -m judge.run encode DATA qwen.gguf pool.jsonl WORK      # those of the pool too, tokenizer, packed weights

Where a GPU of 80 GB is; each step leaves out what lies in WORK already:

    python -m judge.run train WORK --seed 1 [--set epochs=2]       # weights, and figures on dev
    python -m judge.run write WORK --texts 30000                   # texts of the decoder itself, tuned to write
    python -m judge.run answer WORK OUT --seeds 1,2                # all held-out sets, then the pool

And where the data is again: `python -m judge.collect OUT DATA`, which makes the table and repro/results/judge.json.
"""

import argparse
import copy
import json
import lzma
import random
import re
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from judge.model import Judge, Training, answers, fit_temperature, train
from judge.questions import ANSWERS, LABELS, Item, Trees, encode, renumbered
from judge.weights import pack, sizes_of, tokenizer_of, unpack
from judge.writer import card, generate, parsed, tune, written
from tabsa.evaluation.metrics import question_metrics

# What the judge learns from; public sets have conventions of their own, so their name stands before a text.
LEARNT = (
    ("everyday", "train", None), ("everyday", "silver", None), ("real", "train", None), ("real", "silver", None),
    ("sentihood", "train", "all"), ("semeval2014", "train", None), ("open", "mams-categories-train", None),
    ("places", "train", None),
)  # fmt: skip
STUDENTS_TOO = (("repro/box/written.jsonl", "all", None),)  # of patterns: for students alone
DEV = (
    ("everyday", "dev-seen", None), ("everyday", "dev-unseen", None), ("everyday", "dev-hard", None),
    ("everyday", "dev-new", None), ("real", "dev", None), ("sentihood", "dev", "all"), ("semeval2014", "dev", None),
    ("open", "mams-categories-dev", None),
)  # fmt: skip
TEST = (
    ("everyday", "test-seen", None), ("everyday", "test-unseen", None), ("everyday", "test-hard", None),
    ("everyday", "test-new", None), ("real", "test", None), ("sentihood", "test", "all"), ("semeval2014", "test", None),
    ("places", "test", None), ("repro/box/held-out.jsonl", "all", None),
)  # fmt: skip
STYLES = {"sentihood": "About London", "semeval2014": "Restaurant review", "open": "Diner", "places": "About London",
          "repro/box/written.jsonl": "About London", "repro/box/held-out.jsonl": "About London"}  # fmt: skip
END = 151645  # <|im_end|>
POOL_PART = 10_000  # texts of the pool that are answered, and stored, together
LEAST = 3  # times that a token must occur in the pool, not to be taken for another
PACKED, TOKENS, TOKENIZER = "packed", "tokens.npy", "tokenizer.json"


def rows_of(name: str, split: str, aspects: str | None, data: Path) -> list[dict[str, Any]]:
    """Every text of a dataset with all its questions and their labels."""
    from tabsa.training.question_data import named_dataset

    dataset = named_dataset(name, split, aspects, data)
    rows: dict[str, dict[str, Any]] = {}
    for example, target, aspect, polarity in dataset.questions():
        mentions = {one.name: [[span.start, span.end] for span in one.mentions] for one in example.targets}
        facts = {"set": f"{name} {split}", "id": example.id, "text": example.text, "mentions": mentions}
        row = rows.setdefault(example.id, {**facts, "questions": [], "labels": [], **dict(example.tags)})
        row["questions"].append([target.name or None, aspect])
        row["labels"].append(LABELS.index(polarity))
        if name in STYLES:
            row["style"] = STYLES[name]
    return list(rows.values())


def file_of(name: str) -> str:
    """Return the file of a set's answers."""
    return re.sub(r"[^\w.-]+", "-", name) + ".npz"


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows as packed JSON Lines."""
    with lzma.open(path, "wt", encoding="utf-8", preset=2) as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read what `write_rows` wrote."""
    with lzma.open(path, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def gather_sets(data: Path, work: Path) -> list[dict[str, Any]]:
    """Write rows of all sets."""
    work.mkdir(parents=True, exist_ok=True)
    sets = [row for one in (*LEARNT, *STUDENTS_TOO, *DEV, *TEST) for row in rows_of(*one, data)]
    write_rows(work / "sets.jsonl.xz", sets)
    return sets


def encode_data(data: Path, file: Path, pool: Path, work: Path) -> None:
    """Gather rows of all sets and of the pool, find the tokens that occur, and pack the decoder for them."""
    sets = gather_sets(data, work)
    tokenizer = tokenizer_of(file)
    tokenizer.save(str(work / TOKENIZER), pretty=False)
    texts = [json.loads(line) for line in pool.read_text("utf-8").splitlines()]
    random.Random(1).shuffle(texts)  # so that any first part of it is like the whole
    write_rows(work / "pool.jsonl.xz", texts)
    prompts = [card(row["domain"], row["kind"]) + written(row, random.Random(0)) for row in sets if "kind" in row]
    own = [ids for item in encode(tokenizer, sets) for ids in (item.text, *item.questions)]
    own += [
        one.ids for one in tokenizer.encode_batch([*ANSWERS, *prompts, *written_domains()], add_special_tokens=False)
    ]
    counts = np.bincount(
        np.concatenate([ids for item in encode(tokenizer, texts) for ids in (item.text, *item.questions)])
    )
    tokens = np.unique(np.concatenate([*own, [END], np.flatnonzero(counts >= LEAST)]))
    np.save(work / TOKENS, tokens)
    pack(file, tokens, work / PACKED)
    print(len(sets), "rows of sets,", len(texts), "of the pool,", len(tokens), "tokens occur")


def written_domains() -> list[str]:
    """Cards of domains that the writer is asked for beside those of `everyday`: one a line of domains.txt."""
    lines = Path(__file__).with_name("domains.txt").read_text("utf-8").splitlines()
    return [card(line, "plain") for line in lines if line]


def loaded(work: Path) -> tuple[Any, NDArray[np.int64]]:
    """Return the tokenizer and the tokens that were packed."""
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(work / TOKENIZER)), np.load(work / TOKENS)


def items_of(work: Path, rows: Sequence[dict[str, Any]]) -> list[Item]:
    """Encode rows for the packed decoder."""
    tokenizer, tokens = loaded(work)
    return renumbered(encode(tokenizer, rows), tokens)


def base(work: Path) -> tuple[Any, dict[str, NDArray[np.float16]], list[int]]:
    """Return the packed decoder: its sizes, its tensors, and the places of the answers' tokens."""
    tokenizer, tokens = loaded(work)
    answered = [tokenizer.encode(word, add_special_tokens=False).ids for word in ANSWERS]
    if any(len(ids) != 1 for ids in answered):
        raise SystemExit(f"an answer of {ANSWERS} is more than one token: {answered}")
    return *unpack(work / PACKED), np.searchsorted(tokens, [ids[0] for ids in answered]).tolist()


def train_seed(work: Path, config: Training) -> None:
    """Train one seed, save its weights, and measure it on dev."""
    from safetensors.torch import save_file

    started = time.monotonic()
    rows = read_rows(work / "sets.jsonl.xz")
    learnt = {f"{name} {split}" for name, split, _ in LEARNT}
    judge = Judge.of(*base(work), _device())
    items = items_of(work, [row for row in rows if row["set"] in learnt])
    _say(started, f"{len(items)} texts, {sum(item.length for item in items)} tokens")
    train(judge, items, config, lambda epoch, loss: _say(started, f"epoch {epoch}: loss {loss:.4f}"))
    judge.decoder.to(_half())
    save_file(judge.state_dict(), work / f"judge-{config.seed}.safetensors")
    seconds = time.monotonic() - started
    figures, gold, shares = {}, [], []
    for name, split, _ in DEV:
        chosen = [row for row in rows if row["set"] == f"{name} {split}"]
        trees = Trees(items_of(work, chosen))
        found, right = answers(judge, trees), trees.labels.argmax(1)
        figures[f"{name} {split}"] = question_metrics(right, found)
        _say(started, f"{name} {split}: " + " / ".join(f"{100 * v:.1f}" for v in figures[f"{name} {split}"].values()))
        if name in ("everyday", "real"):
            gold.append(right)
            shares.append(found)
    record = {"seed": config.seed, "config": asdict(config), "seconds": round(seconds, 1), "dev": figures,
              "temperature": fit_temperature(np.concatenate(shares), np.concatenate(gold))}  # fmt: skip
    (work / f"judge-{config.seed}.json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")


def trained(work: Path, seed: int) -> tuple[Judge, float]:
    """Return a trained seed in bf16, and its temperature."""
    from safetensors.torch import load_file

    with _device():
        judge = Judge(sizes_of(work / PACKED))
    judge.decoder.to(_half())
    judge.load_state_dict(load_file(work / f"judge-{seed}.safetensors", device=str(_device())))
    return judge, json.loads((work / f"judge-{seed}.json").read_text("utf-8"))["temperature"]


def answer_all(work: Path, out: Path, seeds: Sequence[int], tokens: int, seconds: float = 1e9) -> None:
    """Answer held-out sets by every seed, and the pool by the mean of their weights (Wortsman et al., 2022).

    What of the pool is not answered after so many seconds has no shares at all.
    """
    out.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    judges = [trained(work, seed) for seed in seeds]
    with ThreadPoolExecutor(1) as thread:  # encodes the pool while held-out sets are answered
        coming = thread.submit(_pool_items, work)
        rows = read_rows(work / "sets.jsonl.xz")
        for seed in seeds:
            (out / f"judge-{seed}.json").write_text((work / f"judge-{seed}.json").read_text("utf-8"), "utf-8")
        soup, temperature = mean_of(judges)
        for name, split, *_ in (*DEV, *TEST):
            trees = Trees(items_of(work, [row for row in rows if row["set"] == f"{name} {split}"]))
            every = [answers(judge, trees, temperature=own) for judge, own in [*judges, (soup, temperature)]]
            arrays = {"shares": np.array(every[:-1], np.float16), "soup": every[-1].astype(np.float16)}
            np.savez_compressed(out / file_of(f"{name} {split}"), **arrays)
            if (name, split) in {one[:2] for one in DEV}:
                both = (np.mean(every[:-1], 0), every[-1])
                figures = [question_metrics(trees.labels.argmax(1), one)["opinion_f1"] for one in both]
                _say(started, f"{name} {split}: F1 of mean answers {figures[0]:.3f}, of mean weights {figures[1]:.3f}")
        items = coming.result()
    _say(started, f"the pool: {len(items)} texts, {sum(item.length for item in items)} tokens")
    del judges
    parts, begun = list[NDArray[np.uint8]](), time.monotonic()
    for start in range(0, len(items), POOL_PART):
        trees = Trees(items[start : start + POOL_PART])
        over = time.monotonic() - begun > seconds
        shares = np.zeros(trees.labels.shape) if over else answers(soup, trees, tokens, temperature)
        parts.append(np.rint(255 * shares).astype(np.uint8))
        if not over:
            _say(started, f"{start + len(trees)} texts of the pool")
    np.savez_compressed(out / "pool.npz", shares=np.concatenate(parts))
    every = np.concatenate([part for part in parts if part.any()]).mean(0) / 255
    _say(started, "answered: " + ", ".join(f"{label} {share:.3f}" for label, share in zip(LABELS, every, strict=True)))


def mean_of(judges: Sequence[tuple[Judge, float]]) -> tuple[Judge, float]:
    """A judge with the mean of several judges' weights, and their mean temperature."""
    mean = copy.deepcopy(judges[0][0])
    with torch.no_grad():
        for name, parameter in mean.named_parameters():
            own = torch.stack([dict(judge.named_parameters())[name].float() for judge, _ in judges])
            parameter.copy_(own.mean(0))
    return mean, sum(temperature for _, temperature in judges) / len(judges)


def _pool_items(work: Path) -> list[Item]:
    return items_of(work, pool_rows(work))


def pool_rows(work: Path) -> list[dict[str, Any]]:
    """Return what was written, and behind it the pool."""
    files = [work / "written.jsonl.xz", work / "pool.jsonl.xz"]
    return [row for file in files if file.exists() for row in read_rows(file)]


def write_texts(
    work: Path, count: int, *, epochs: int, at_once: int, temperature: float, longest: int, seed: int
) -> None:
    """Tune the decoder to write, and have it write texts of `everyday`'s domains and of others."""
    from judge.decoder import OUTPUT

    started, rng = time.monotonic(), random.Random(seed)
    tokenizer, tokens = loaded(work)
    rows = [row for row in read_rows(work / "sets.jsonl.xz") if row["set"] == "everyday train"]
    end = int(np.searchsorted(tokens, END))

    def coded(text: str) -> NDArray[np.int32]:
        return np.searchsorted(tokens, tokenizer.encode(text, add_special_tokens=False).ids).astype(np.int32)

    sequences = []
    for row in rows:
        head = coded(card(row["domain"], row["kind"]))
        sequences.append((np.concatenate([head, coded(written(row, rng)), [end]]).astype(np.int32)[:400], len(head)))
    config, arrays, _ = base(work)
    output = torch.from_numpy(np.asarray(arrays.pop(OUTPUT), np.float32)).to(_device(), _half())
    decoder = Judge.of(config, {**arrays, OUTPUT: np.zeros((5, config.size))}, range(5), _device()).decoder
    tune(decoder, output, sequences, epochs=epochs, tokens=12_000, rate=1e-5, seed=seed,
         on_epoch=lambda epoch, loss: _say(started, f"writer, epoch {epoch}: loss {loss:.3f}"))  # fmt: skip
    decoder.to(_half())
    domains = [line[2:].split(" # ")[0] for line in written_domains()] + sorted({row["domain"] for row in rows})
    kinds = [row["kind"] for row in rows]
    generator = torch.Generator(_device()).manual_seed(seed)
    found: list[dict[str, Any]] = []
    texts, made = set[str](), 0
    while len(found) < count:
        cards = [(rng.choice(domains), rng.choice(kinds)) for _ in range(at_once)]
        drawn = generate(decoder, output, [coded(card(*one)) for one in cards], end, longest=longest,
                         temperature=temperature, top_p=0.95, generator=generator)  # fmt: skip
        made += at_once
        texts_of = tokenizer.decode_batch([tokens[row].tolist() for row in drawn])
        for (domain, kind), row in zip(cards, texts_of, strict=True):
            one = parsed(row[len(card(domain, kind)) :], domain)
            if one is not None and one["text"] not in texts:
                texts.add(one["text"])
                found.append(one)
        _say(started, f"{len(found)} of {made} texts are whole")
    ask_siblings(found, rng)
    write_rows(work / "written.jsonl.xz", found)
    for one in rng.sample(found, min(12, len(found))):
        print(json.dumps(one, ensure_ascii=False))


def ask_siblings(rows: list[dict[str, Any]], rng: random.Random, more: int = 4) -> None:
    """Ask of each written text what was wished of others of its domain, behind its own wishes."""
    wished: dict[str, list[str]] = {}
    for row in rows:
        wished.setdefault(row["domain"], []).extend(aspect for _, aspect in row["questions"])
    for row in rows:
        targets = list(dict.fromkeys(target for target, _ in row["questions"]))
        others = {(rng.choice(targets), rng.choice(wished[row["domain"]])) for _ in range(more)}
        row["questions"] += [list(pair) for pair in sorted(others, key=str) if list(pair) not in row["questions"]]


def _device() -> torch.device:
    torch.backends.cuda.enable_cudnn_sdp(False)  # with a boolean mask its gradients are NaN in torch 2.11
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _half() -> torch.dtype:
    return torch.bfloat16 if torch.cuda.is_available() else torch.float32  # some CPUs die of bf16 products


def _say(started: float, words: str) -> None:
    print(f"{time.monotonic() - started:.0f} s: {words}", flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    gathering, encoding = steps.add_parser("sets"), steps.add_parser("encode")
    gathering.add_argument("data", type=Path)
    gathering.add_argument("work", type=Path)
    for name in ("data", "file", "pool", "work"):
        encoding.add_argument(name, type=Path)
    training, writing, answering = (steps.add_parser(name) for name in ("train", "write", "answer"))
    for step in (training, writing, answering):
        step.add_argument("work", type=Path)
        step.add_argument("--seed", type=int, default=1)
    training.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of the training")
    writing.add_argument("--texts", type=int, default=30_000)
    writing.add_argument("--epochs", type=int, default=2)
    writing.add_argument("--at-once", type=int, default=4096)
    writing.add_argument("--temperature", type=float, default=0.9)
    writing.add_argument("--longest", type=int, default=230, help="tokens")
    answering.add_argument("out", type=Path)
    answering.add_argument("--seeds", type=lambda text: [int(seed) for seed in text.split(",")], default=[1])
    answering.add_argument("--tokens", type=int, default=100_000, help="of the pool at a time")
    answering.add_argument("--seconds", type=float, default=1e9, help="for the pool, after which it stops")
    given = parser.parse_args()
    if given.step == "sets":
        gather_sets(given.data, given.work)
    elif given.step == "encode":
        encode_data(given.data, given.file, given.pool, given.work)
    elif given.step == "train":
        changes = {key: json.loads(value) for key, _, value in (one.partition("=") for one in given.set)}
        train_seed(given.work, replace(Training(seed=given.seed), **changes))
    elif given.step == "write":
        write_texts(given.work, given.texts, epochs=given.epochs, at_once=given.at_once,
                    temperature=given.temperature, longest=given.longest, seed=given.seed)  # fmt: skip
    else:
        answer_all(given.work, given.out, given.seeds, given.tokens, given.seconds)


if __name__ == "__main__":
    main()
