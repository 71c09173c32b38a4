"""Students of the judge, where the GPU is: arrays, training, answers to held-out sets.

    python -m judge.students prepare WORK ENCODER              # the pool and all sets as word pieces; needs no GPU
    python -m judge.students start READER WORK NAME            # a reader's folder as weights to begin with
    python -m judge.students train WORK OUT ENCODER NAME --set shape.form=rows --set schedule.seconds=300 [--test]

WORK is the folder of `judge.run`, OUT has the answers of `judge.run answer` to the pool. A run writes its weights
to WORK, and its record and answers to OUT; `--start NAME` begins with the weights of another, `--learn` names the sets
and how often each is read (`"pool 1, everyday train 2"`).
"""

import argparse
import json
import random
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from judge.questions import LABELS
from judge.run import DEV, POOL_PART, TEST, file_of, pool_rows, read_rows
from judge.student import Schedule, Shape, Student, Texts, encoded, freeze, learn, predict, student_weights, with_states
from tabsa.checkpoint.model_folder import read_folder
from tabsa.encoding.pieces import PieceReader
from tabsa.evaluation.metrics import question_metrics

JOINED, JOINS = "joined", 2000  # texts about several things, one after another
MIX = (
    "pool 1, everyday train 3, real train 3, real silver 2, sentihood train 2, semeval2014 train 1, "
    "open mams-categories-train 1, "
    "places train 3, repro/box/written.jsonl all 1"
)
_AGREED, _SURE = 0.5, 0.85  # share of wishes that the judge must agree with, or how sure it must be of its answers


def start(reader: Path, path: Path) -> None:
    """Write a reader's weights under a student's names; what its questions need beside them begins as nothing."""
    from safetensors.torch import save_file

    save_file(student_weights(read_folder(reader).weights), path)


def prepare(work: Path, encoder: Path, most: int, processes: int) -> None:
    """Encode the pool in parts, and all labelled sets; the judge's answers join later."""
    folder = work / encoder.name
    folder.mkdir(exist_ok=True)
    rows = pool_rows(work)[:most]
    sets: dict[str, list[dict[str, Any]]] = {}
    for row in read_rows(work / "sets.jsonl.xz"):
        sets.setdefault(row["set"], []).append(row)
    parts = [(f"pool-{n:03}.npz", rows[n * POOL_PART : (n + 1) * POOL_PART]) for n in range(-(-len(rows) // POOL_PART))]
    parts += [(file_of(name), own) for name, own in sets.items()]
    parts.append((file_of(JOINED), joined(sets["everyday train"], random.Random(1))))
    with ProcessPoolExecutor(processes) as pool:
        done = list(pool.map(partial(_encode, folder, encoder), parts))
    print(f"{encoder.name}: {sum(done)} texts")


def _encode(folder: Path, encoder: Path, part: tuple[str, list[dict[str, Any]]]) -> int:
    name, rows = part
    labels = [label for row in rows for label in row.get("labels", [0] * len(row["questions"]))]
    wishes = [[*row.get("wishes", []), *[-1] * len(row["questions"])][: len(row["questions"])] for row in rows]
    texts = encoded(PieceReader.read(encoder / "tokenizer.json"), rows, np.eye(len(LABELS))[labels])
    texts.save(folder / name)
    np.save(folder / name.replace(".npz", ".wishes.npy"), np.array([wish for own in wishes for wish in own], np.int8))
    return len(texts)


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


def pool_of(work: Path, out: Path, encoder: Path) -> list[Texts]:
    """The pool with the judge's answers; of what the decoder wrote, the texts that say what was wished."""
    with np.load(out / "pool.npz") as stored:
        shares = stored["shares"].astype(np.float32)
    shares /= np.maximum(1, shares.sum(1, keepdims=True))
    found, start, left = [], 0, 0
    for path in sorted((work / encoder.name).glob("pool-*.npz")):
        texts = Texts.load(path)
        own = shares[start : start + len(texts.shares)]
        start += len(own)
        if not own.any():
            break  # the judge's time was over before
        texts = replace(texts, shares=own)
        wishes = np.load(path.with_name(path.name.replace(".npz", ".wishes.npy")))
        if (wishes >= 0).any():
            row = np.repeat(np.arange(len(texts)), texts.counts)
            wished = np.bincount(row, wishes >= 0, len(texts))
            agreed = np.bincount(row, own.argmax(1) == wishes, len(texts)) / np.maximum(wished, 1)
            sure = np.bincount(row, own.max(1), len(texts)) / texts.counts
            good = (wished == 0) | (agreed >= _AGREED) | (sure >= _SURE)
            left += int((~good).sum())
            texts = texts.chosen(np.flatnonzero(good))
        found.append(texts)
    print(f"pool: {sum(map(len, found))} texts, {sum(len(one.shares) for one in found)} questions; {left} left out")
    return found


def drawn(parts: Sequence[tuple[Texts, float]], seed: int) -> list[tuple[Texts, float]]:
    """Of sets that are read less than once, as many texts, once: the states of the others are not needed."""
    rng = np.random.default_rng(seed)
    return [
        (texts.chosen(rng.permutation(len(texts))[: round(times * len(texts))]), 1.0) if times < 1 else (texts, times)
        for texts, times in parts
    ]


def train(work: Path, out: Path, encoder: Path, name: str, shape: Shape, schedule: Schedule, args: Any) -> None:
    """Train one, save it, and answer what is held out."""
    from safetensors.torch import load_file, save_file

    parts: list[tuple[Texts, float]] = []
    for one in args.learn.split(", "):
        data, _, times = one.rpartition(" ")
        texts = pool_of(work, out, encoder) if data == "pool" else [Texts.load(work / encoder.name / file_of(data))]
        parts += [(text, float(times)) for text in texts]
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.enable_cudnn_sdp(False)
    student = Student(encoder, shape).to(device)
    if args.start:
        began = {k: v.float() for k, v in load_file(work / f"{args.start}.safetensors").items()}
        missing, unexpected = student.load_state_dict(began, strict=False)
        if unexpected or {*missing} - {"kinds"}:  # which a reader that asks with one vector does not have
            raise SystemExit(f"{args.start} is not of this shape: {[*missing, *unexpected][0]}")
    if schedule.frozen:
        freeze(student, schedule.frozen)
        parts = [(with_states(student, texts), times) for texts, times in drawn(parts, schedule.seed)]
    started = time.monotonic()
    for line in learn(student, parts, schedule):  # what there is by then is saved, too
        print(name, line, flush=True)
        weights = {key: tensor.half().contiguous() for key, tensor in student.state_dict().items()}
        save_file(weights, work / f"{name}.safetensors")
    seconds = round(time.monotonic() - started, 1)
    record = {"name": name, "encoder": encoder.name, "shape": asdict(shape), "schedule": asdict(schedule),
              "learn": args.learn, "start": args.start, "seconds": seconds, "dev": {}}  # fmt: skip
    answers = {}
    for data, split, _ in (*DEV, *(TEST if args.test else ())):
        key = f"{data} {split}"
        if args.only and data not in args.only.split(","):
            continue
        texts = Texts.load(work / encoder.name / file_of(key))
        answers[key] = predict(student, texts)
        if (data, split) in {one[:2] for one in DEV}:
            record["dev"][key] = found = question_metrics(texts.shares.argmax(1), answers[key])
            print(name, key, " / ".join(f"{100 * value:.1f}" for value in found.values()), flush=True)
    (out / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    np.savez_compressed(out / f"{name}-answers.npz", **{key: one.astype(np.float16) for key, one in answers.items()})


def changed(config: Any, prefix: str, settings: list[str]) -> Any:
    """Set fields by `PREFIX.KEY=VALUE`."""
    kinds = {field.name: type(getattr(config, field.name)) for field in fields(config)}
    pairs = [one.removeprefix(f"{prefix}.").split("=") for one in settings if one.startswith(f"{prefix}.")]
    return replace(config, **{key: kinds[key](value) for key, value in pairs})


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    starting, preparing, training = (steps.add_parser(step) for step in ("start", "prepare", "train"))
    starting.add_argument("reader", type=Path)
    starting.add_argument("work", type=Path)
    starting.add_argument("name")
    preparing.add_argument("work", type=Path)
    preparing.add_argument("encoder", type=Path)
    preparing.add_argument("--texts", type=int, default=10**9)
    preparing.add_argument("--processes", type=int, default=12)
    for name in ("work", "out", "encoder"):
        training.add_argument(name, type=Path)
    training.add_argument("name")
    training.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    training.add_argument("--learn", default=MIX)
    training.add_argument("--start", default="")
    training.add_argument("--only", default="", help="datasets to answer, by name")
    training.add_argument("--test", action="store_true", help="answer the test splits too")
    given = parser.parse_args()
    if given.step == "start":
        start(given.reader, given.work / f"{given.name}.safetensors")
        return
    if given.step == "prepare":
        prepare(given.work, given.encoder, given.texts, given.processes)
        return
    shape, schedule = changed(Shape(), "shape", given.set), changed(Schedule(), "schedule", given.set)
    train(given.work, given.out, given.encoder, given.name, shape, schedule, given)


if __name__ == "__main__":
    main()
