"""A reader's run from a configuration to a model folder; `fit` calls it."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from tabsa.checkpoint.model_config import ModelConfig
from tabsa.checkpoint.model_folder import ModelFolder
from tabsa.encoding.pieces import PieceReader
from tabsa.encoding.questions import answers_of
from tabsa.errors import ConfigError, ModelError
from tabsa.evaluation.calibration import calibration_error, fit_presence_calibration
from tabsa.files import reason
from tabsa.models.export import export
from tabsa.models.reader.encoder import read_encoder
from tabsa.models.reader.reader_config import EncoderShape, reader_options
from tabsa.models.reader.reader_network import Reader
from tabsa.models.reader.reader_storage import write_reader_folder
from tabsa.text.aspects import EVERYDAY
from tabsa.training.loop import plain
from tabsa.training.model_card import flattering_card, implied_line, percent
from tabsa.training.question_data import PreparedQuestions, encoder_folder, prepare_questions
from tabsa.training.question_training import ReaderTrainer, held_figures, probabilities_of
from tabsa.training.run_config import RunConfig

_ANY_NUMBER: Final = 64  # of targets: a reader knows as many as a text names
_PIECES: Final = 512  # that a reader takes in at once in use


@dataclass(frozen=True)
class ReaderRun:
    """The data, the encoder, and a network to train."""

    config: RunConfig
    prepared: PreparedQuestions
    shape: EncoderShape
    model: Reader
    tokenizer: bytes


def start(config: RunConfig, seeds: Sequence[int], data_dir: Path | None) -> ReaderRun:
    """Read the encoder and the data that a configuration names."""
    if config.model.cross_encode:
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
    model: Reader = config.system.network_class()(config.model, shape, weights, len(prepared.labels), seeds)
    return ReaderRun(config, prepared, model.encoder.shape, model, tokenizer)


def write_reader(path: Path, run: ReaderRun, trainer: ReaderTrainer) -> ModelFolder:
    """Write the model of the seed that is best on dev, calibrated there."""
    config, prepared, progress = run.config, run.prepared, trainer.progress
    best = progress.best_seed()
    trainer.put(trainer.best)
    held = prepared.held[0]
    own = probabilities_of(trainer.model, prepared, held.data)[best]
    answers = answers_of(held.data, len(held.gold), own)
    labelled = held.gold >= 0
    calibration = fit_presence_calibration(held.gold[labelled], answers[labelled])
    after = calibration.apply(answers)
    metrics: dict[str, Any] = {
        "data": config.data.name,
        "split": config.data.dev,
        "seed": trainer.seeds[best],
        "epoch": progress.best_epoch[best],
        "dev": plain(held_figures(held, prepared.labels, np.asarray(calibration.apply(own), np.float64))),
        "calibration": {
            **dataclasses.asdict(calibration),
            "error_before": calibration_error(held.gold[labelled], answers[labelled]),
            "error_after": calibration_error(held.gold[labelled], after[labelled]),
        },
        "seeds": {str(seed): plain(progress.best_figures[n]) for n, seed in enumerate(trainer.seeds)},
    }
    few = len(prepared.aspects) <= 2 * len(EVERYDAY)
    model_config = ModelConfig(
        kind=config.kind,
        model=reader_options(config.model, run.shape),
        aspects=prepared.aspects if few else EVERYDAY,  # where nobody names any
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


def _card(run: ReaderRun, metrics: dict[str, Any]) -> str:
    """A model card of what is known at the end of a run."""
    config, dev = run.config, metrics["dev"]
    facts = [
        f"encoder: {Path(config.model.encoder).name}",
        f"learnt from: {', '.join([config.data.name, *config.questions.sets])}",
        *implied_line(run.prepared.implied),
        f"selected by: {config.training.select} on {config.data.dev}, epoch {metrics['epoch']}, seed {metrics['seed']}",
    ]
    table = [[f"{config.data.name} {config.data.dev}", "", "%"]]
    table += [[family, name.replace("_", " "), percent(value)] for family in dev for name, value in dev[family].items()]
    return flattering_card(config, run.prepared.labels, facts, table)
