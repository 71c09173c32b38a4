"""Fine-tuning with the encoder trained too: slower, and for much data."""

import dataclasses
import time
from dataclasses import dataclass, replace

import numpy as np

from tabsa.checkpoint.model_folder import ModelFolder
from tabsa.encoding.answers import PresenceCalibration
from tabsa.encoding.pieces import PieceReader
from tabsa.encoding.questions import answers_of
from tabsa.errors import DataError
from tabsa.evaluation.calibration import fit_presence_calibration
from tabsa.models.reader.reader_config import EncoderShape, ReaderConfig
from tabsa.models.reader.reader_network import Reader, load_weights
from tabsa.models.reader.reader_storage import TOKENIZER
from tabsa.schema import Dataset
from tabsa.training.config import RunConfig
from tabsa.training.fine_tuning import FEW, base_folder, labels_for, start_weights
from tabsa.training.questions import PreparedQuestions, prepare_datasets
from tabsa.training.reader import ReaderTrainer, probabilities_of
from tabsa.training.tuned import LabelledTexts, Tuned
from tabsa.training.validation import Figures


@dataclass(frozen=True)
class WholeTuning:
    """The same in the making, with everything trained."""

    config: RunConfig
    base: ModelFolder
    texts: LabelledTexts
    labels: tuple[str, ...]
    prepared: PreparedQuestions
    trainer: ReaderTrainer


def begin_whole(config: RunConfig, texts: LabelledTexts, device: str) -> WholeTuning:
    """Make what is trained ready."""
    started = time.monotonic()
    base = base_folder(config.fine_tuning.base)
    labels = labels_for(base.config.labels, texts.data.labels)
    config = replace(config, data=replace(config.data, max_length=base.config.max_length))
    learnt = [one for one, fold in zip(texts.data.examples, texts.folds, strict=True) if fold < 0]
    if not learnt:
        raise DataError(f"{texts.data.name}: no text is left to learn from")
    train: Dataset = replace(texts.data, split="learnt", examples=tuple(learnt))
    reader = PieceReader.read(base.files.checked(TOKENIZER))
    prepared = prepare_datasets(config, reader, [(train, 1)], (texts.held,), labels)
    options = dict(base.config.model)
    shape = EncoderShape(**options.pop("shape"))
    own = ReaderConfig(**options | {"dropout": config.model.dropout})
    weights = start_weights(base, labels)
    encoder = {name.removeprefix("encoder."): array for name, array in weights.items() if name.startswith("encoder.")}
    model = Reader(own, shape, encoder, len(labels), (config.training.seed,))
    load_weights(model, weights)
    trainer = ReaderTrainer(config, prepared, model, device)
    (first,) = trainer.score()  # training has to be better than what it starts from
    trainer.progress.best[0], trainer.progress.best_figures[0] = first.score, first.figures
    if config.fine_tuning.minutes:
        _fit_into(trainer, 60 * config.fine_tuning.minutes - (time.monotonic() - started))
    return WholeTuning(config, base, texts, labels, prepared, trainer)


def _fit_into(trainer: ReaderTrainer, seconds: float) -> None:
    """As many updates as there is time for, by how long the first validation and one more take; at least one."""
    started = time.monotonic()
    trainer.score()
    reading = (time.monotonic() - started) / max(1, len(trainer.prepared.held[0].data))  # of a text
    update = 3 * reading * trainer.config.training.batch_size  # forth, and back at twice the cost
    trainer.limit = max(1, int((seconds - (time.monotonic() - started)) / update))


def tuned_whole(tuning: WholeTuning, start: Figures) -> Tuned:
    """What came of it, calibrated on the texts that were held out where these have enough opinions."""
    trainer, held, base = tuning.trainer, tuning.prepared.held[0], tuning.base
    trainer.put(trainer.best)
    said = answers_of(held.data, len(held.gold), probabilities_of(trainer.model, tuning.prepared, held.data)[0])
    epoch = trainer.progress.best_epoch[0]
    asked = held.gold >= 0
    calibration = PresenceCalibration(**(base.config.calibration or {}))
    if epoch and int((held.gold > 0).sum()) >= FEW:
        calibration = fit_presence_calibration(held.gold[asked], said[asked])
    weights = {name: tensor.detach()[0].cpu().numpy() for name, tensor in trainer.best.items()}
    return Tuned(
        config=tuning.config,
        base=base,
        texts=tuning.texts,
        labels=tuning.labels,
        model=base.config.model,
        weights=weights,
        calibration=dataclasses.asdict(calibration),
        epoch=epoch,
        answers=np.asarray(calibration.apply(said), np.float64),
        start=start,
        stopped=any(trainer.progress.stopped),
    )
