"""Fine-tuning: from a reader and a person's own labels to a model folder of theirs.

The encoder stays frozen (`cached_features`), or, in a full fine-tuning, is trained too: slower, and for much data.
Where there are too few labels to hold some out, all are used twice: a cross-validation says when to stop, and what the
model is worth, and a run on everything beside it is what is saved. Where training is not surely better than not
training, the base stays as it was.
"""

import itertools
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from tabsa.checkpoint.hub import pinned_name
from tabsa.checkpoint.model_folder import ModelFolder, open_folder
from tabsa.checkpoint.weight_storage import WeightStorage
from tabsa.config import read_toml
from tabsa.datasets.checking import any_named, mostly_implied
from tabsa.datasets.loading import load
from tabsa.datasets.selection import ALL, stratified_parts
from tabsa.encoding.answers import PresenceCalibration, among_labels, restrict_labels
from tabsa.encoding.pieces import PieceReader
from tabsa.encoding.questions import answers_of
from tabsa.errors import ConfigError, DataError
from tabsa.evaluation.calibration import fit_presence_calibration
from tabsa.evaluation.metrics import question_metrics
from tabsa.evaluation.report import Report
from tabsa.evaluation.report import evaluate as score
from tabsa.models.export import export
from tabsa.models.reader.reader_config import EncoderShape, ReaderConfig
from tabsa.models.reader.reader_engine import ReaderEngine
from tabsa.models.reader.reader_network import Reader, load_weights, untied_weights
from tabsa.models.reader.reader_storage import TOKENIZER, write_reader_folder
from tabsa.models.registry import system_of
from tabsa.pages.evaluation_page import write_evaluation
from tabsa.schema import MIXED, NONE, Dataset
from tabsa.training.cached_features import FrozenEncoderReader, FrozenEncoderTrainer, cache_features, folds_of
from tabsa.training.loop import Figures, Loop, opinion_f1, plain
from tabsa.training.model_card import model_card
from tabsa.training.question_data import prepare_datasets
from tabsa.training.question_training import ReaderTrainer, probabilities_of
from tabsa.training.run_config import RunConfig, run_config
from tabsa.training.run_folder import Fitted, FittedRow, Run, RunFolder

_HELD, _MOST_HELD = 0.15, 500  # share of the texts, and the most, that are held out where there is no dev split
_FOLDS: Final = 4  # of the cross-validation where that share has fewer opinions than
_FEW: Final = 100
_LEAST_UPDATES, _LEAST_EPOCHS = 96, 12
_LARGE: Final = 1000  # texts from which batches are larger, and fewer layers learn
_MOST_ASPECTS: Final = 64  # of a model where nobody names any
_SAME: Final = {"conflict": MIXED, MIXED: "conflict"}  # two names of one polarity
_UNSAVED: Final = Run()


@dataclass(frozen=True)
class LabelledTexts:
    """A person's labels."""

    data: Dataset
    folds: tuple[int, ...]  # the fold that holds each example, -1 where none does
    crossed: bool  # every text is learnt from, and held once

    def part(self, *, held: bool) -> Dataset:
        """The texts that are judged, or those that none holds."""
        chosen = [one for one, fold in zip(self.data.examples, self.folds, strict=True) if (fold >= 0) == held]
        return replace(self.data, split="held out" if held else "learnt", examples=tuple(chosen))


@dataclass(frozen=True)
class FineTuning:
    """A fine-tuning in the making."""

    base: ModelFolder
    texts: LabelledTexts
    labels: tuple[str, ...]
    trainer: FrozenEncoderTrainer | ReaderTrainer
    start: Figures  # of the base


@dataclass(frozen=True)
class Tuned:
    """The weights that came of it, and their answers to the texts that were held out."""

    options: Mapping[str, Any]
    weights: Mapping[str, NDArray[Any]]
    calibration: dict[str, float] | None
    epoch: int  # that they are of; 0 where it is the base as it was
    answers: NDArray[np.float64]  # (questions, labels)


def fine_tune(config: RunConfig, out: Path, run: Run, data: Dataset | None = None) -> Fitted:
    """Fine-tune a reader on what a configuration names, or on `data`."""
    dev, folder = None, RunFolder(out / "run")
    if data is None:
        data, dev = own_data(config, run.data_dir)
    options = config.fine_tuning
    if run.resume and folder.config.exists():  # with the epochs that the run was given before
        before = run_config({key: value for key, value in read_toml(folder.config).items() if key != "seeds"})
        if before.fine_tuning.base.startswith(f"{options.base}#"):  # one of the hub, pinned by its SHA-256
            options = replace(options, base=before.fine_tuning.base)
        config, options = replace(config, training=before.training), replace(options, minutes=0.0)
    config = replace(config, fine_tuning=replace(options, base=pinned_name(options.base)))
    tuning = begin(config, labelled_texts(data, dev, config), run)
    run.call("on_steps_end")
    run.train(tuning.trainer)
    return _finish(tuning, finished(tuning), out, folder)


def own_data(config: RunConfig, data_dir: Path | None) -> tuple[Dataset, Dataset | None]:
    """The data that a configuration names: a file of one's own whole, anything else by its splits."""
    named = config.data
    options: dict[str, Any] = {"data_dir": data_dir, "aspects": named.aspects or None, "columns": named.own_columns}
    path = Path(named.name).expanduser()
    if not path.is_file():
        if path.is_dir() and not any(path.glob(f"{named.dev}.*")):
            return load(path, named.train, **options), None
        return load(named.name, named.train, **options), load(named.name, named.dev, **options)
    whole = load(path, ALL, **options)
    if not named.more:
        return whole, None
    try:  # whose columns may be called as the first table's, or as corrections' are
        more = load(Path(named.more), ALL, **options)
    except DataError:
        if options["columns"] is None:
            raise
        more = load(Path(named.more), ALL, **options | {"columns": None})
    examples = [
        replace(one, aspects=part.aspects) if one.aspects is None else one
        for part in (whole, more)
        for one in part.examples
    ]
    aspects, labels = (tuple(dict.fromkeys((*getattr(whole, n), *getattr(more, n)))) for n in ("aspects", "labels"))
    return replace(whole, aspects=aspects, labels=labels, examples=tuple(examples)), None


def labelled_texts(data: Dataset, dev: Dataset | None, config: RunConfig) -> LabelledTexts:
    """Hold texts out of training: those of `dev`, or a stratified part, or in a cross-validation all in turns."""
    if dev is not None:
        both = replace(data, examples=(*data.examples, *dev.examples))
        return LabelledTexts(both, (*[-1] * len(data.examples), *[0] * len(dev.examples)), crossed=False)
    texts = len({example.text for example in data.examples})
    opinions = sum(len(example.opinions) for example in data.examples)
    if texts < 2:
        raise DataError(f"{data.name} has one text; fine-tuning needs at least two, and more is better")
    if _HELD * opinions < _FEW and config.fine_tuning.encoder == "frozen":
        return LabelledTexts(data, tuple(stratified_parts(data, [1.0] * min(_FOLDS, texts))), crossed=True)
    held = min(_HELD, _MOST_HELD / texts)
    parts = stratified_parts(data, [1 - held, held])
    return LabelledTexts(data, tuple(part - 1 for part in parts), crossed=False)


def base_folder(name: str) -> ModelFolder:
    """The reader to start from."""
    folder = open_folder(name)
    if not system_of(folder).open_aspects:
        raise ConfigError(f"the base '{name}' is a {folder.config.kind}; fine-tuning starts from a reader")
    return folder


def begin(config: RunConfig, texts: LabelledTexts, run: Run = _UNSAVED) -> FineTuning:
    """Read the texts, and make the trainer ready; training has to be better than what it starts from."""
    started = time.monotonic()
    base = base_folder(config.fine_tuning.base)
    labels = labels_for(base.config.labels, texts.data.labels)
    trainer: FrozenEncoderTrainer | ReaderTrainer
    calibration = PresenceCalibration(**(base.config.calibration or {}))
    if config.fine_tuning.encoder == "trained":
        trainer = _full_trainer(config, base, texts, labels, run.device)
        # Its own figures are not calibrated, as the base's answers are.
        start = _figures(trainer, np.asarray(calibration.apply(_held_answers(trainer)), np.float64))
    else:
        engine = ReaderEngine(base, config.training.threads, base.precision())
        on_read = partial(run.call, "on_step", "reading the texts")
        features = cache_features(engine, texts.data, labels, folder=run.path, on_read=on_read)
        folds = folds_of(features, texts.folds, crossed=texts.crossed)
        most, seed = max(len(fold.learnt) for fold in folds), config.training.seed
        config, seeds = _sized(config, most), range(seed, seed + len(folds))
        model = frozen_model(base, labels, seeds, config.model.dropout, upper=most >= _LARGE)
        gold, present = _gold(texts, labels), texts.data.labels
        trainer = FrozenEncoderTrainer(
            config, features, gold, model, folds, calibration, run.device, labels=labels, present=present
        )
        start = trainer.progress.best_figures[0]
    if minutes := config.fine_tuning.minutes:
        _fit_into(trainer, 60 * minutes - (time.monotonic() - started))
    return FineTuning(base, texts, labels, trainer, start)


def frozen_model(
    base: ModelFolder, labels: tuple[str, ...], seeds: Sequence[int], dropout: float, *, upper: bool = False
) -> FrozenEncoderReader:
    """The question path of the base, once for each seed; of its layers all learn, or to save time the `upper` half."""
    own, shape = _options(base, untied=True, dropout=dropout)
    model = FrozenEncoderReader(own, shape, len(labels), seeds)
    load_weights(model, start_weights(base, labels))
    for lower in model.question_layers[: model.late // 2 * upper]:
        lower.requires_grad_(requires_grad=False)
    model.kinds.requires_grad = not upper
    return model


def _options(base: ModelFolder, **changed: Any) -> tuple[ReaderConfig, EncoderShape]:
    return replace(system_of(base).read_options(base), **changed), EncoderShape(**base.config.model["shape"])


def _full_trainer(
    config: RunConfig, base: ModelFolder, texts: LabelledTexts, labels: tuple[str, ...], device: str
) -> ReaderTrainer:
    train = texts.part(held=False)
    if not train.examples:
        raise DataError(f"{texts.data.name}: no text is left to learn from")
    reader = PieceReader.read(base.files.checked(TOKENIZER))
    config = replace(config, data=replace(config.data, max_length=base.config.max_length))
    prepared = prepare_datasets(config, reader, [(train, 1)], (texts.part(held=True),), labels)
    own, shape = _options(base, dropout=config.model.dropout)
    weights = start_weights(base, labels)
    encoder = {name.removeprefix("encoder."): array for name, array in weights.items() if name.startswith("encoder.")}
    model = Reader(own, shape, encoder, len(labels), (config.training.seed,))
    load_weights(model, weights)
    trainer = ReaderTrainer(config, prepared, model, device)
    trainer.must_improve()
    return trainer


def labels_for(base: Sequence[str], data: Sequence[str]) -> tuple[str, ...]:
    """The base's labels where the data has no others, in the data's words; otherwise the data's own."""
    renamed = [_SAME[label] if label not in data and _SAME.get(label, label) in data else label for label in base]
    return tuple(renamed) if set(data) <= set(renamed) else (NONE, *(label for label in data if label != NONE))


def start_weights(base: ModelFolder, labels: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """The base's weights, with copies of the layers that questions go through, and a column of the output a label.

    A label that the base does not know starts as likely as the others together are on average.
    """
    weights = dict(base.weights)
    options = base.config.model
    if not options.get("untied"):
        weights |= untied_weights(weights, options["shape"]["layers"], options["late_interaction"])
    known = {label: number for number, label in enumerate(base.config.labels)}
    places = [known.get(label, known.get(_SAME.get(label, label))) for label in labels]
    for name in ("output", "output_bias"):
        own = weights[name]  # (..., labels)
        columns = [own[..., 1:].mean(-1) if place is None else own[..., place] for place in places]
        weights[name] = np.stack(columns, axis=-1)
    return weights


def _gold(texts: LabelledTexts, labels: tuple[str, ...]) -> NDArray[np.int64]:
    """Of every question of the data, -1 where no fold holds its text."""
    fold = {id(example): number for example, number in zip(texts.data.examples, texts.folds, strict=True)}
    gold = (labels.index(label) if fold[id(one)] >= 0 else -1 for one, *_, label in texts.data.questions())
    return np.fromiter(gold, np.int64)


def _sized(config: RunConfig, texts: int) -> RunConfig:
    """With the batches and epochs that suit the size of the data, where the configuration leaves them open."""
    training, large = config.training, texts >= _LARGE
    size = training.batch_size or (32 if large else 8)
    rate = training.rate * (4 if large and not training.batch_size else 1)
    updates = -(-texts // size)
    epochs = training.epochs or max(4 if large else _LEAST_EPOCHS, -(-_LEAST_UPDATES // updates))
    every = max(training.validate_every, epochs // _LEAST_EPOCHS)
    return replace(config, training=replace(training, batch_size=size, epochs=epochs, rate=rate, validate_every=every))


def _fit_into(trainer: Loop[Any], seconds: float) -> None:
    """As many epochs as there is time for, by how long a few updates and a validation take; at least one update."""
    weights, state = trainer.weights(), trainer.optimiser.state_dict()
    started, batches = time.monotonic(), list(itertools.islice(trainer.batches(), 3))
    for batch in batches:
        trainer.learn(batch)
    update = (time.monotonic() - started) / len(batches)
    started = time.monotonic()
    trainer.score()
    validation = time.monotonic() - started
    trainer.put(weights)
    trainer.optimiser.load_state_dict(state)
    trainer.seed_generators()
    if isinstance(trainer, ReaderTrainer) and trainer.graphs is not None:
        trainer.graphs.graphs.clear()  # which read the optimiser's state that was thrown away
    epochs = min(trainer.config.training.epochs, int(max(0.0, seconds) / (update * trainer.updates + validation)))
    if epochs < 1:
        trainer.limit = max(1, int((seconds - validation) / update))
    training = replace(trainer.config.training, epochs=max(1, epochs))
    spent = replace(trainer.config.fine_tuning, minutes=0.0)  # what is saved has the epochs, and is resumed by them
    trainer.config = replace(trainer.config, training=training, fine_tuning=spent)


def finished(tuning: FineTuning) -> Tuned:
    """The result of a trainer that has come to its end; where the base is better, or nearly as good, that is it."""
    trainer, base, options = tuning.trainer, tuning.base, tuning.base.config.model
    if isinstance(trainer, ReaderTrainer):
        return _finished_full(tuning, trainer)
    weights = start_weights(base, tuning.labels)
    epoch = trainer.progress.best_epoch[-1] if trainer.surely_better() else 0
    if epoch:
        weights |= {name: tensor[-1].cpu().numpy() for name, tensor in trainer.best.items()}
        options = {**options, "untied": True}
    else:
        load_weights(trainer.model, weights)
        trainer.score()
        weights = {name: weights[name] for name in base.weights}
    return Tuned(options, weights, base.config.calibration, epoch, trainer.answers[trainer.gold >= 0])


def _finished_full(tuning: FineTuning, trainer: ReaderTrainer) -> Tuned:
    """The same, calibrated on the texts that were held out where these have enough opinions."""
    held, base = trainer.prepared.held[0], tuning.base
    trainer.put(trainer.best)
    answers = _held_answers(trainer)
    epoch, labelled = trainer.progress.best_epoch[0], held.gold >= 0
    calibration = before = PresenceCalibration(**(base.config.calibration or {}))
    if epoch and int((held.gold > 0).sum()) >= _FEW:
        calibration = fit_presence_calibration(held.gold[labelled], answers[labelled])
    after = np.asarray(calibration.apply(answers), np.float64)
    if epoch and opinion_f1(_figures(trainer, after)) < opinion_f1(tuning.start):
        load_weights(trainer.model, start_weights(base, tuning.labels))
        epoch, calibration, trainer.best = 0, before, trainer.weights()
        after = np.asarray(calibration.apply(_held_answers(trainer)), np.float64)
    weights = {name: tensor.detach()[0].cpu().numpy() for name, tensor in trainer.best.items()}
    return Tuned(base.config.model, weights, asdict(calibration), epoch, after)


def _held_answers(trainer: ReaderTrainer) -> NDArray[Any]:
    """The model's answers to the texts that were held out, not calibrated."""
    held = trainer.prepared.held[0]
    return answers_of(held.data, len(held.gold), probabilities_of(trainer.model, trainer.prepared, held.data)[0])


def _figures(trainer: ReaderTrainer, answers: NDArray[np.float64]) -> Figures:
    held, labels = trainer.prepared.held[0], trainer.prepared.labels
    return {"questions": question_metrics(held.gold, among_labels(answers, labels, held.labels))}


def _finish(tuning: FineTuning, tuned: Tuned, out: Path, run: RunFolder) -> Fitted:
    """Write the model folder, with a report on the texts that were held out."""
    history = []
    for line in [{"epoch": 0, "loss": [None], "dev": [plain(tuning.start)]}, *run.validations()]:
        own = dict(line["dev"][-1]["questions"])
        dev_loss = own.pop("log_loss", None)
        history.append({"epoch": line["epoch"], "loss": line["loss"][-1], "dev_loss": dev_loss, **own})
    held, epoch = tuning.texts.part(held=True), tuned.epoch
    answers = restrict_labels(tuned.answers, tuning.labels, held.labels)
    report = replace(score(held, answers), history=history, model=out.name)
    folder = _write(out, tuning, tuned, report)
    write_evaluation(report, out / "report.html")
    notes = list(report.notes)
    losses = {entry["epoch"]: entry["dev_loss"] for entry in history}
    if not epoch:
        notes.append("training was not surely better than not training, so the base is kept as it was")
    elif losses[0] is not None and losses.get(epoch) is not None:
        change = f"{losses[0]:.3f} before, {losses[epoch]:.3f} after"
        chosen = "the epoch was chosen by the loss on held-out answers, of those with no lower opinion F1 than the base"
        notes.append(f"{chosen}: {change}")
    if epoch and epoch == history[-1]["epoch"] and not any(tuning.trainer.progress.stopped):
        notes.append("still improving at the last epoch: more epochs or minutes may help")
    about = f"{'cross-validation over' if tuning.texts.crossed else 'held out:'} {len(held.examples):,} texts"
    rows = [FittedRow("base", 0, tuning.start)] if epoch else []
    best = FittedRow("tuned" if epoch else "base", epoch, {"questions": report.questions})
    return Fitted(folder, (*rows, best), about, tuple(notes), report)


def _write(path: Path, tuning: FineTuning, tuned: Tuned, report: Report) -> ModelFolder:
    """The model folder, in the base's precision."""
    base, data, trained = tuning.base, tuning.texts.data, tuning.trainer.config
    aspects, crossed, options = _default_aspects(data), tuning.texts.crossed, trained.fine_tuning
    config = replace(
        base.config,
        model=dict(tuned.options),
        aspects=aspects,
        labels=tuning.labels,
        calibration=tuned.calibration,
        implied=mostly_implied(data),
        named=any_named(data),
    )
    metrics = {
        "data": data.name,
        "split": "cross-validation" if crossed else "held out",
        "base": options.base,
        "encoder": options.encoder,
        "epoch": tuned.epoch,
        "texts": len(data.examples),
        "dev": plain({"questions": report.questions}),
        "history": report.history,
        "training": asdict(trained.training),
    }
    facts = [
        f"base: {options.base}, its encoder {options.encoder}",
        f"learnt from: {len(data.examples):,} texts of {Path(data.name).name}",
        f"aspects of that data: {', '.join(aspects)}",
        f"epoch {tuned.epoch}" if tuned.epoch else "not trained: no epoch was surely better than the base",
    ]
    held = "that were held out, and chose the epoch, so they flatter it a little"
    how = "in a cross-validation: each by a model that had not learnt from it" if crossed else held
    title = f"{Path(data.name).stem}, from {options.base}"
    judged_on = f"on {sum(fold >= 0 for fold in tuning.texts.folds):,} texts {how}"
    card = model_card(trained, tuning.labels, facts, {"%": report.questions}, title=title, judged_on=judged_on)
    (matrix,) = base.stored_weights("encoder.layers.0.qkv").values()
    storage = cast("WeightStorage", matrix.dtype.name)
    folder = write_reader_folder(
        path, config, tuned.weights, base.files.checked(TOKENIZER).read_bytes(), metrics, card, storage
    )
    export(folder)
    if tuned.options.get("rounded"):
        export(folder, "int8")
    return folder


def _default_aspects(data: Dataset) -> tuple[str, ...]:
    """The aspects of the data, or those it judges most where it has very many."""
    if len(data.aspects) <= _MOST_ASPECTS:
        return data.aspects
    counts = Counter(opinion.aspect for example in data.examples for opinion in example.opinions)
    common = {aspect for aspect, _ in counts.most_common(_MOST_ASPECTS)}
    return tuple(aspect for aspect in data.aspects if aspect in common)
