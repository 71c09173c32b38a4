"""Fine-tuning: from a reader and a person's own labels to a model folder of theirs.

The encoder is kept: texts are read once (`kept_texts`), and the question path is trained on what was read. Where there
are too few labels to hold some out, all are used twice: a cross-validation says when to stop, and what the model is
worth, and a run on everything beside it is kept. Where training is not surely better than not training, the base is
kept as it was.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from tabsa.checkpoint.model_folder import ModelFolder, open_folder
from tabsa.datasets.selection import stratified_parts
from tabsa.encoding.answers import PresenceCalibration
from tabsa.errors import ConfigError, DataError
from tabsa.models.reader.reader_config import EncoderShape, ReaderConfig
from tabsa.models.reader.reader_engine import ReaderEngine
from tabsa.models.reader.reader_network import load_weights, untied_weights
from tabsa.models.registry import system_of
from tabsa.schema import MIXED, NONE, Dataset
from tabsa.training.config import RunConfig
from tabsa.training.kept_reader import Fold, KeptReader, KeptTrainer
from tabsa.training.kept_texts import KeptTexts, keep_texts
from tabsa.training.tuned import LabelledTexts, Tuned
from tabsa.training.validation import Figures

FEW: Final = 100  # opinions that a dev split needs; with fewer, all texts are used in a cross-validation
_SAME: Final = {"conflict": MIXED, MIXED: "conflict"}  # two names of one polarity
_LEAST_UPDATES, _LEAST_EPOCHS = 96, 12
_LARGE: Final = 1000  # texts from which batches are larger


def labelled_texts(data: Dataset, dev: Dataset | None, config: RunConfig) -> LabelledTexts:
    """Hold texts out of training: those of `dev`, or a stratified part, or in a cross-validation all in turns."""
    if dev is not None:
        both = replace(data, examples=(*data.examples, *dev.examples))
        return LabelledTexts(both, (*[-1] * len(data.examples), *[0] * len(dev.examples)), crossed=False)
    share, folds = config.fine_tuning.held, config.fine_tuning.folds
    texts = len({example.text for example in data.examples})
    opinions = sum(len(example.opinions) for example in data.examples)
    if texts < 2:
        raise DataError(f"{data.name} has one text; fine-tuning needs at least two, and more is better")
    if share * opinions < FEW and config.fine_tuning.encoder == "kept":
        folds = min(folds, texts)
        return LabelledTexts(data, tuple(stratified_parts(data, [1.0] * folds)), crossed=True)
    parts = stratified_parts(data, [1 - share, share])
    return LabelledTexts(data, tuple(part - 1 for part in parts), crossed=False)


@dataclass(frozen=True)
class FineTuning:
    """A fine-tuning in the making: the base, the labels, and what was read of the texts."""

    config: RunConfig
    base: ModelFolder
    texts: LabelledTexts
    labels: tuple[str, ...]
    trainer: KeptTrainer


def base_folder(name: str) -> ModelFolder:
    """The reader to start from."""
    folder = open_folder(name)
    if not system_of(folder).open_aspects:
        raise ConfigError(f"the base '{name}' is a {folder.config.kind}; fine-tuning starts from a reader")
    return folder


def begin(
    config: RunConfig,
    texts: LabelledTexts,
    *,
    spill: Path | None = None,
    device: str = "cpu",
    on_step: Callable[[str, float], None] = lambda _name, _share: None,
) -> FineTuning:
    """Read the texts, and make what is trained ready."""
    started = time.monotonic()
    base = base_folder(config.fine_tuning.base)
    labels = labels_for(base.config.labels, texts.data.labels)
    engine = ReaderEngine(base, config.training.threads, base.precision())
    kept = keep_texts(
        engine, texts.data, labels, spill=spill, on_read=lambda done, of: on_step("reading the texts", done / of)
    )
    folds = _folds(kept, texts)
    config = _sized(config, max(len(fold.learnt) for fold in folds))
    model = _model(config, base, labels, len(folds))
    calibration = PresenceCalibration(**(base.config.calibration or {}))
    trainer = KeptTrainer(config, kept, _gold(texts, labels), model, folds, calibration, device)
    tuning = FineTuning(config, base, texts, labels, trainer)
    if minutes := config.fine_tuning.minutes:
        _fit_into(trainer, 60 * minutes - (time.monotonic() - started))
    return tuning


def labels_for(base: Sequence[str], data: Sequence[str]) -> tuple[str, ...]:
    """The base's labels where the data has no others, in the data's words; otherwise the data's own."""
    renamed = [_SAME[label] if label not in data and _SAME.get(label, label) in data else label for label in base]
    return tuple(renamed) if set(data) <= set(renamed) else (NONE, *(label for label in data if label != NONE))


def _folds(kept: KeptTexts, texts: LabelledTexts) -> list[Fold]:
    part = np.array(texts.folds, np.int64)[kept.owners]
    every = np.arange(len(kept))
    folds = [Fold(every[part != number], every[part == number]) for number in range(max(texts.folds) + 1)]
    folds = [fold for fold in folds if len(fold.held) and len(fold.learnt)]
    if not folds:
        raise DataError(f"{texts.data.name}: no text is left to learn from, or none to judge by")
    return [*folds, Fold(every, np.array([], np.int64))] if texts.crossed else folds


def _gold(texts: LabelledTexts, labels: tuple[str, ...]) -> NDArray[np.int64]:
    """Of every question of the data, -1 where no fold holds its text."""
    place = {label: number for number, label in enumerate(labels)}
    fold = {id(example): number for example, number in zip(texts.data.examples, texts.folds, strict=True)}
    return np.array(
        [place[polarity] if fold[id(example)] >= 0 else -1 for example, *_, polarity in texts.data.questions()],
        np.int64,
    )


def _sized(config: RunConfig, texts: int) -> RunConfig:
    """With the batches and epochs that suit the size of the data, where the configuration leaves them open."""
    training, large = config.training, texts >= _LARGE
    size = training.batch_size or (32 if large else 8)
    rate = training.rate * (4 if large and not training.batch_size else 1)
    updates = -(-texts // size)
    epochs = training.epochs or max(4 if large else _LEAST_EPOCHS, -(-_LEAST_UPDATES // updates))
    every = max(training.validate_every, epochs // _LEAST_EPOCHS)
    return replace(config, training=replace(training, batch_size=size, epochs=epochs, rate=rate, validate_every=every))


def _model(config: RunConfig, base: ModelFolder, labels: tuple[str, ...], seeds: int) -> KeptReader:
    options = {name: value for name, value in base.config.model.items() if name != "shape"}
    own = ReaderConfig(**options | {"untied": True, "dropout": config.model.dropout})
    first = config.training.seed
    model = KeptReader(own, shape_of(base), len(labels), range(first, first + seeds))
    load_weights(model, start_weights(base, labels))
    return model


def shape_of(base: ModelFolder) -> EncoderShape:
    """The shape of a reader's encoder."""
    return EncoderShape(**base.config.model["shape"])


def start_weights(base: ModelFolder, labels: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """The base's weights, with copies of the layers that questions go through, and a column of the output a label.

    A label that the base does not know starts as likely as the others together are on average.
    """
    weights = dict(base.weights)
    options = base.config.model
    if options.get("late_interaction") and not options.get("untied"):
        weights |= untied_weights(weights, options["shape"]["layers"], options["late_interaction"])
    known = {label: number for number, label in enumerate(base.config.labels)}
    places = [known.get(label, known.get(_SAME.get(label, label))) for label in labels]
    matrix, bias = weights["output"], weights["output_bias"]
    weights["output"] = np.stack(
        [matrix[:, 1:].mean(1) if place is None else matrix[:, place] for place in places], axis=1
    )
    weights["output_bias"] = np.array([bias[1:].mean() if place is None else bias[place] for place in places])
    return weights


def _fit_into(trainer: KeptTrainer, seconds: float) -> None:
    """As many epochs as there is time for, by how long a few updates and a validation take; at least one update."""
    kept = trainer.weights(), trainer.optimiser.state_dict()
    batches = iter(trainer.batches())
    started = time.monotonic()
    for _ in range(3):
        trainer.learn(next(batches, [fold.learnt[:1] for fold in trainer.folds]))
    update = (time.monotonic() - started) / 3
    started = time.monotonic()
    trainer.score()
    validation = time.monotonic() - started
    trainer.put(kept[0])
    trainer.optimiser.load_state_dict(kept[1])
    trainer.reset()
    epoch = update * trainer.updates + validation
    planned = trainer.config.training.epochs
    epochs = min(planned, int(seconds / epoch)) if seconds > 0 else 0
    if epochs < 1:
        trainer.limit = max(1, int((seconds - validation) / update)) if seconds > validation else 1
    trainer.config = replace(trainer.config, training=replace(trainer.config.training, epochs=max(1, epochs)))


def tuned(tuning: FineTuning, start: Figures) -> Tuned:
    """What came of it; where the base is better, or nearly as good, it is kept as it was."""
    trainer, base = tuning.trainer, tuning.base
    weights = start_weights(base, tuning.labels)
    options = base.config.model | {"untied": True}
    epoch = trainer.progress.best_epoch[-1] if trainer.surely_better() else 0
    if epoch:
        with torch.no_grad():
            weights |= {name: tensor[-1].cpu().numpy() for name, tensor in trainer.best.items()}
    else:
        load_weights(trainer.model, weights)
        trainer.score()
        options = base.config.model
        weights = {name: weights[name] for name in base.weights}
    return Tuned(
        config=tuning.config,
        base=base,
        texts=tuning.texts,
        labels=tuning.labels,
        model=options,
        weights=weights,
        calibration=base.config.calibration,
        epoch=epoch,
        answers=trainer.answers[trainer.gold >= 0],
        start=start,
        stopped=any(trainer.progress.stopped),
    )
