"""The whole of a reader's run, from a configuration to a model folder; `fit` calls it."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from tabsa.checkpoint.model_config import ModelConfig
from tabsa.checkpoint.model_folder import ModelFolder
from tabsa.encoding.arrays import UNLABELLED
from tabsa.encoding.pieces import PieceReader
from tabsa.encoding.questions import Questions, answers_of
from tabsa.errors import ConfigError, ModelError
from tabsa.evaluation.calibration import calibration_error, fit_presence_calibration
from tabsa.files import reason
from tabsa.models.export import export
from tabsa.models.reader.encoder import read_encoder
from tabsa.models.reader.reader_config import EncoderShape, reader_options
from tabsa.models.reader.reader_network import Reader
from tabsa.models.reader.reader_storage import write_reader_folder
from tabsa.text.aspects import EVERYDAY
from tabsa.training.config import RunConfig
from tabsa.training.drawing import Drawer
from tabsa.training.questions import PreparedQuestions, encoder_folder, piece_rows, prepare_questions
from tabsa.training.reader import ReaderTrainer, held_figures, probabilities_of
from tabsa.training.result import implied_line
from tabsa.training.validation import plain

_ANY_NUMBER: Final = 64  # of targets: a reader knows as many as a text names
_PIECES: Final = 512  # that a reader takes in at once in use


@dataclass(frozen=True)
class ReaderRun:
    """What a reader's run needs: its data, its encoder, and a network to train."""

    config: RunConfig
    prepared: PreparedQuestions
    shape: EncoderShape
    model: Reader
    reader: PieceReader
    tokenizer: bytes


def start(config: RunConfig, seeds: Sequence[int], data_dir: Path | None, *, teachers: bool = False) -> ReaderRun:
    """Read the encoder and the data that a configuration names."""
    if config.model.cross_encode and not teachers:
        raise ConfigError(
            "a model with 'model.cross_encode' is a teacher, and has no model folder; see repro/reader/run.py"
        )
    folder = encoder_folder(config.model.encoder, data_dir)
    try:
        tokenizer = (folder / "tokenizer.json").read_bytes()
    except OSError as e:
        raise ModelError(f"cannot read {folder / 'tokenizer.json'}: {reason(e)}") from e
    reader = PieceReader.read(folder / "tokenizer.json")
    prepared = prepare_questions(config, reader, data_dir)
    shape, weights = read_encoder(folder)
    if config.data.max_length > shape.longest:
        raise ConfigError(f"'data.max_length' is {config.data.max_length}; the encoder reads {shape.longest} at once")
    network: Callable[..., Reader] = config.system.network_class()  # type: ignore[assignment]
    model = network(config.model, shape, weights, len(prepared.labels), seeds)
    return ReaderRun(config, prepared, model.encoder.shape, model, reader, tokenizer)


def teach(run: ReaderRun, teachers: ReaderRun, trained: ReaderTrainer) -> Questions:
    """A pool of texts with the mean of what teachers' seeds say to every question, labelled ones and more."""
    config = run.config
    if teachers.prepared.aspects != run.prepared.aspects or teachers.prepared.labels != run.prepared.labels:
        raise ConfigError("'distillation.settings' gives the teachers other data; expected the same aspects and labels")
    drawer = Drawer(config, run.prepared)
    pool = drawer.pool(config.augmentation.copies, extra=config.questions.extra, dropped=config.augmentation.replaced)
    rows = piece_rows(run.reader, teachers.reader)
    asked = replace(pool, pieces=rows[pool.pieces])
    trained.put(trained.best)
    said = probabilities_of(trained.model, teachers.prepared, asked, trained.products).mean(0)
    labels = np.where(pool.labels == UNLABELLED, said.argmax(-1), pool.labels).astype(np.int8)
    return replace(pool, labels=labels, soft_labels=said.astype(np.float16))


def write_reader(path: Path, run: ReaderRun, trainer: ReaderTrainer) -> ModelFolder:
    """Write the model of the seed that is best on dev, calibrated there."""
    config, prepared, progress = run.config, run.prepared, trainer.progress
    best = max(range(len(trainer.seeds)), key=lambda n: progress.best[n])
    if not progress.best_figures[best]:
        raise ConfigError("the weights grew beyond all bounds before the first evaluation; try a lower training.rate")
    trainer.put(trainer.best)
    held = prepared.held[0]
    own = probabilities_of(trainer.model, prepared, held.data)[best]
    said = answers_of(held.data, len(held.gold), own)
    asked = held.gold >= 0
    calibration = fit_presence_calibration(held.gold[asked], said[asked])
    after = calibration.apply(said)
    metrics: dict[str, Any] = {
        "data": config.data.name,
        "split": config.data.dev,
        "seed": trainer.seeds[best],
        "epoch": progress.best_epoch[best],
        "dev": plain(held_figures(held, prepared.labels, np.asarray(calibration.apply(own), np.float64))),
        "calibration": {
            **dataclasses.asdict(calibration),
            "error_before": calibration_error(held.gold[asked], said[asked]),
            "error_after": calibration_error(held.gold[asked], after[asked]),
        },
        "seeds": {str(seed): plain(progress.best_figures[n]) for n, seed in enumerate(trainer.seeds)},
    }
    model_config = ModelConfig(
        kind=config.kind,
        model=reader_options(config.model, run.shape),
        aspects=_default_aspects(prepared),
        labels=prepared.labels,
        targets=_ANY_NUMBER,
        max_length=min(_PIECES, run.shape.longest),
        tokeniser="word pieces",
        calibration=dataclasses.asdict(calibration),
        implied=prepared.implied,
    )
    weights = {name: tensor.detach()[best].cpu().numpy() for name, tensor in trainer.best.items()}
    folder = write_reader_folder(path, model_config, weights, run.tokenizer, metrics, _card(run, metrics))
    export(folder)
    return folder


def _default_aspects(prepared: PreparedQuestions) -> tuple[str, ...]:
    """What is asked where nobody says: the aspects of the data where these are few, or everyday ones."""
    return prepared.aspects if len(prepared.aspects) <= len(EVERYDAY) * 2 else EVERYDAY


def _card(run: ReaderRun, metrics: dict[str, Any]) -> str:
    """A model card of what is known at the end of a run."""
    config, dev = run.config, metrics["dev"]

    def percent(value: float | None) -> str:
        return "–" if value is None else f"{100 * value:.1f}"

    figures = [(family, name.replace("_", " "), value) for family in dev for name, value in dev[family].items()]
    rows = "\n".join(f"| {family} | {name} | {percent(value)} |" for family, name, value in figures)
    return f"""# {config.kind} trained on {config.data.name}

Says of each target and of any aspect in plain words whether a text is {", ".join(run.prepared.labels[1:])} about it, or
silent.

- encoder: {Path(config.model.encoder).name}
- learnt from: {", ".join([config.data.name, *config.questions.sets])}{implied_line(run.prepared.implied)}
- selected by: {config.training.select} on {config.data.dev}, epoch {metrics["epoch"]}, seed {metrics["seed"]}

| {config.data.name} {config.data.dev} | | % |
|---|---|---|
{rows}

These figures are of the split that selected the model, so they flatter it; `tabsa evaluate` on a test split does not.
"""


def trainer_of(run: ReaderRun, device: str, pool: Questions | None = None) -> ReaderTrainer:
    """The loop of a run; with a pool it learns from that."""
    return ReaderTrainer(run.config, run.prepared, run.model, device, pool)
