"""The paper's own network taught by readers: a row of Table 1, and the weights of `places`.

python repro/reader/paper_network.py prepare READY --encoder FOLDER --data-dir DIR
python repro/reader/paper_network.py train READY STORE          # after `run.py soften` of paper and places
python repro/reader/paper_network.py folder RESULTS OUT --data-dir DIR      # of `places`, for repro/box/ship.py
"""

import argparse
import json
import os
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from safetensors.torch import load_file as load_tensors
from safetensors.torch import save_file as save_tensors

from tabsa.encoding.arrays import Encoded
from tabsa.encoding.pieces import NO_SLOT, PieceReader
from tabsa.encoding.questions import AspectTable, Questions
from tabsa.training.fit import versions
from tabsa.training.loop import TrainingProgress, plain
from tabsa.training.question_data import PreparedQuestions
from tabsa.training.run_config import DistillationConfig, RunConfig, read_config
from tabsa.training.word_data import Prepared
from tabsa.training.word_data import prepare as prepare_words
from tabsa.training.word_training import write_result
from tabsa_repro.experiments import TAUGHT, Variant, config_of
from tabsa_repro.prepared_file import read_prepared, write_prepared
from tabsa_repro.seed_runs import prepare_with_test
from tabsa_repro.seed_runs import train as train_seeds

ROOT = Path(__file__).parents[2]


def configs() -> dict[str, RunConfig]:
    """The row of Table 1 and the model in the package, without teachers of their own."""
    both = {"paper": config_of(Variant(TAUGHT, base=TAUGHT)), "places": read_config(ROOT / "repro/box/places.toml")}
    return {name: replace(config, distillation=DistillationConfig()) for name, config in both.items()}


def prepare(ready: Path, encoder: Path, data_dir: Path) -> None:
    """Every version of the training sentences, as words and as questions."""
    reader = PieceReader.read(encoder / "tokenizer.json")
    known = read_prepared(ready / "sentihood-large.safetensors", PreparedQuestions).aspects
    for name, config in configs().items():
        prepared = prepare_with_test(config, data_dir)
        train = versions(config, prepared)
        table = AspectTable(reader, known)
        asked = as_questions(prepared, train, reader, table)
        if tuple(table.rows) != known:
            raise SystemExit(f"{name} has aspects that the readers' data has not")
        save_file(asked.arrays(), ready / f"{name}.safetensors")
        write_prepared(ready / f"{name}-words.safetensors", replace(prepared, train=train))
        print(name, len(train), "sentences", len(asked.targets), "questions")


def as_questions(prepared: Prepared, data: Encoded, reader: PieceReader, table: AspectTable) -> Questions:
    """Readings of word vectors as texts for a reader, so that it can teach: each target and aspect is a question.

    Questions are in the order of (reading, target, aspect), those of readings' absent targets left out.
    """
    pieces: list[int] = []
    slots: list[int] = []
    starts, first = [0], [0]
    questions: list[tuple[int, int, int, int]] = []
    rows = [table.row(aspect) for aspect in prepared.aspects]
    slot_of = {row: slot for slot, row in enumerate(prepared.targets)}
    for n, length in enumerate(data.lengths.tolist()):
        numbers: dict[int, int] = {}  # slots anew, by first mention, as a reader has them
        for word in data.tokens[n, :length].tolist():
            if word in slot_of:
                slot = numbers.setdefault(slot_of[word], len(numbers))
                pieces += reader.placeholder(slot)
                slots += [slot] * len(reader.placeholder(slot))
            else:
                found = reader.words(prepared.words[word])
                pieces += found
                slots += [NO_SLOT] * len(found)
        starts.append(len(pieces))
        for target in np.flatnonzero(data.groups[n] >= 0).tolist():
            for place, row in enumerate(rows):
                number = (n * data.labels.shape[1] + target) * len(rows) + place
                questions.append((numbers.get(target, NO_SLOT), row, int(data.labels[n, target, place]), number))
        first.append(len(questions))
    columns = np.array(questions, np.int64).reshape(-1, 4).T
    return Questions(
        np.array(pieces, np.int32),
        np.array(slots, np.int16),
        np.array(starts, np.int64),
        np.array(first, np.int64),
        columns[0].astype(np.int16),
        columns[1].astype(np.int32),
        columns[2].astype(np.int8),
        columns[3].astype(np.int32),
        np.zeros(len(data), np.int16),
    )


def with_answers(prepared: Prepared, train: Encoded, questions: Questions, soft: NDArray[np.floating]) -> Prepared:
    """A run's data with a reader's answers to `as_questions` of `train`, (Q, labels), in the data's own labels."""
    shape = (*train.labels.shape, len(prepared.labels))
    soft_labels = np.zeros(shape, np.float32)
    soft_labels.reshape(-1, shape[-1])[questions.numbers] = soft
    return replace(prepared, train=train, soft_labels=soft_labels)


def train(ready: Path, store: Path, names: list[str]) -> None:
    """Five seeds of each, from the readers' answers."""
    out = Path(os.environ.get("RESULTS", store))
    for name, config in ((name, configs()[name]) for name in names):
        started = time.perf_counter()
        prepared = read_prepared(ready / f"{name}-words.safetensors", Prepared)
        asked = Questions(**load_file(store / f"{name}.safetensors"))
        if asked.soft_labels is None:
            raise SystemExit(f"{store / name} has no answers")
        taught = with_answers(prepared, prepared.train, asked, asked.soft_labels.astype(np.float32))
        done = train_seeds(config, taught, range(1, 6), "cuda")
        record = {
            "system": name,
            "seeds": [1, 2, 3, 4, 5],
            "runs": [run.to_dict() for run in done.runs],
            "together": {split: plain(figures) for split, figures in done.together.items()},
            "config": json.loads(json.dumps(asdict(config))),
            "seconds": round(time.perf_counter() - started, 1),
        }
        (out / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")
        scores = [np.mean([*run.dev["sun"].values()]) for run in done.runs]
        best = {key: tensor[int(np.argmax(scores))].contiguous() for key, tensor in done.weights.items()}
        save_tensors(best, out / f"{name}.weights.safetensors")
        mean = {m: np.mean([run.test["sun"][m] for run in done.runs]) for m in done.runs[0].test["sun"]}
        print(name, {key: round(100 * float(value), 1) for key, value in mean.items()}, record["seconds"], flush=True)


def folder(results: Path, out: Path, data_dir: Path) -> None:
    """The best seed of `places` as a model folder."""
    config = configs()["places"]
    prepared, kept = prepare_words(config, data_dir)
    record = json.loads((results / "places.json").read_text("utf-8"))
    weights = {name: tensor[None] for name, tensor in load_tensors(results / "places.weights.safetensors").items()}
    runs = record["runs"]
    scores = [float(np.mean([*run["dev"]["sun"].values()])) for run in runs]
    best = int(np.argmax(scores))
    figures, epochs = [run["dev"] for run in runs], [run["epoch"] for run in runs]
    progress = TrainingProgress(best=scores, best_epoch=epochs, best_figures=figures)
    every = {name: tensor.expand(len(runs), *tensor.shape[1:]) for name, tensor in weights.items()}
    written = write_result(out, config, prepared, kept, record["seeds"], progress, every)
    print(written.path, "seed", record["seeds"][best])


def main() -> None:
    """One of the three steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("prepare", "train", "folder"))
    parser.add_argument("ready", type=Path)
    parser.add_argument("store", type=Path, nargs="?", default=Path("runs"))
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--only", choices=("paper", "places"), action="append", default=[])
    args = parser.parse_args()
    if args.step == "prepare":
        prepare(args.ready, args.encoder, args.data_dir)
    elif args.step == "folder":
        folder(args.ready, args.store, args.data_dir)
    else:
        train(args.ready, args.store, args.only or ["paper", "places"])


if __name__ == "__main__":
    main()
