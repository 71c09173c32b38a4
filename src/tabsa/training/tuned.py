"""What fine-tuning comes to: a model folder, its card, and a report on texts that it did not learn from."""

import dataclasses
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tabsa.checkpoint.model_config import ModelConfig
from tabsa.checkpoint.model_folder import ModelFolder
from tabsa.datasets.checking import any_named, mostly_implied
from tabsa.embeddings.packing import WeightStorage
from tabsa.encoding.answers import restrict_labels
from tabsa.evaluation.report import Report
from tabsa.evaluation.report import evaluate as score
from tabsa.models.export import export
from tabsa.models.reader.reader_storage import TOKENIZER, WORDS, write_reader_folder
from tabsa.pages.evaluation_page import write_evaluation
from tabsa.schema import Dataset
from tabsa.training.config import RunConfig
from tabsa.training.run_folder import RunFolder
from tabsa.training.runs import Fitted, FittedRow
from tabsa.training.validation import Figures, plain_number

_MOST_ASPECTS: Final = 64  # that a model asks unless told


@dataclass(frozen=True)
class LabelledTexts:
    """A person's labels: all texts as one dataset, and the fold that holds each; -1 for those that none does."""

    data: Dataset
    folds: tuple[int, ...]  # of each example
    crossed: bool  # whether every text is learnt from, and held once

    @property
    def held(self) -> Dataset:
        """The texts that are judged."""
        kept = [one for one, fold in zip(self.data.examples, self.folds, strict=True) if fold >= 0]
        return replace(self.data, split="held out", examples=tuple(kept))


@dataclass(frozen=True)
class Tuned:
    """A reader that was fine-tuned, and how it answered the texts that were held out."""

    config: RunConfig
    base: ModelFolder
    texts: LabelledTexts
    labels: tuple[str, ...]
    model: Mapping[str, Any]  # its options
    weights: Mapping[str, NDArray[Any]]
    calibration: dict[str, float] | None
    epoch: int  # that it is of; 0 where it is the base as it was
    answers: NDArray[np.float64]  # to the questions of `texts.held`, (questions, labels)
    start: Figures  # of the base
    stopped: bool  # early


def finish(tuned: Tuned, out: Path, run: RunFolder) -> Fitted:
    """Write the model folder, with a report on the texts that were held out."""
    history = _history(tuned, run)
    held = tuned.texts.held
    answers = restrict_labels(tuned.answers, tuned.labels, held.labels)
    report = replace(score(held, answers), history=history, model=out.name)
    folder = write_tuned(out, tuned, _metrics(tuned, report, history), _card(tuned, report))
    write_evaluation(report, out / "report.html")
    notes = list(report.notes)
    if not tuned.epoch:
        notes.append("training was not surely better than not training, so the base is kept as it was")
    else:
        notes += _loss_note(tuned, history)
    if tuned.epoch and tuned.epoch == history[-1]["epoch"] and not tuned.stopped:
        notes.append("still improving at the last epoch: more epochs or minutes may help")
    about = f"{'cross-validation over' if tuned.texts.crossed else 'held out:'} {len(held.examples):,} texts"
    rows = [FittedRow("base", 0, tuned.start)] if tuned.epoch else []
    best = FittedRow("tuned" if tuned.epoch else "base", tuned.epoch, {"questions": report.questions})
    return Fitted(folder, (*rows, best), about, tuple(notes), report)


def _loss_note(tuned: Tuned, history: list[dict[str, Any]]) -> list[str]:
    """By what the epoch was chosen, where that is the loss."""
    losses = {entry["epoch"]: entry["dev_loss"] for entry in history}
    before, after = losses[0], losses.get(tuned.epoch)
    if before is None or after is None:
        return []
    return [f"the epoch was chosen by the loss on held-out answers: {before:.3f} before, {after:.3f} after"]


def _history(tuned: Tuned, run: RunFolder) -> list[dict[str, Any]]:
    """The base's figures, and what the run wrote down after each epoch."""
    found = [_entry(0, None, tuned.start)]
    if run.metrics.exists():
        lines = map(json.loads, run.metrics.read_text(encoding="utf-8").splitlines())
        found += [_entry(line["epoch"], line["loss"][-1], line["dev"][-1]) for line in lines]
    return found


def _entry(epoch: int, loss: float | None, figures: Mapping[str, Mapping[str, float | None]]) -> dict[str, Any]:
    own = {name: None if value is None else plain_number(value) for name, value in figures["questions"].items()}
    return {"epoch": epoch, "loss": loss, "dev_loss": own.pop("log_loss", None), **own}


def write_tuned(path: Path, tuned: Tuned, metrics: dict[str, Any], card: str) -> ModelFolder:
    """The model folder, in the base's precision."""
    base, data = tuned.base, tuned.texts.data
    config = ModelConfig(
        kind=base.config.kind,
        model=dict(tuned.model),
        aspects=_default_aspects(data),
        labels=tuned.labels,
        targets=base.config.targets,
        max_length=base.config.max_length,
        tokeniser=base.config.tokeniser,
        calibration=tuned.calibration,
        implied=mostly_implied(data),
        named=any_named(data),
        windows=base.config.windows,
    )
    tokenizer = base.files.checked(TOKENIZER).read_bytes()
    folder = write_reader_folder(path, config, tuned.weights, tokenizer, metrics, card, _storage(base))
    export(folder)
    if tuned.model.get("rounded"):
        export(folder, "int8")
    return folder


def _storage(base: ModelFolder) -> WeightStorage:
    kinds = {array.dtype for array in base.stored_weights(WORDS, "question").values()}
    if np.dtype(np.uint8) in kinds or np.dtype(np.int8) in kinds:
        return "int8"
    return "float16" if np.dtype(np.float16) in kinds else "float32"


def _default_aspects(data: Dataset) -> tuple[str, ...]:
    """What is asked where nobody says: the aspects of the data, or those it judges most where it has very many."""
    if len(data.aspects) <= _MOST_ASPECTS:
        return data.aspects
    counts = Counter(opinion.aspect for example in data.examples for opinion in example.opinions)
    common = {aspect for aspect, _ in counts.most_common(_MOST_ASPECTS)}
    return tuple(aspect for aspect in data.aspects if aspect in common)


def _metrics(tuned: Tuned, report: Report, history: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "data": tuned.texts.data.name,
        "split": "cross-validation" if tuned.texts.crossed else "held out",
        "base": tuned.config.fine_tuning.base,
        "encoder": tuned.config.fine_tuning.encoder,
        "epoch": tuned.epoch,
        "texts": len(tuned.texts.data.examples),
        "dev": {"questions": {name: plain_number(value) for name, value in report.questions.items()}},
        "history": history,
        "training": dataclasses.asdict(tuned.config.training),
    }


def _card(tuned: Tuned, report: Report) -> str:
    """A model card of what is known at the end."""
    data, held = tuned.texts.data, tuned.texts.held
    rows = "\n".join(
        f"| {name.replace('_', ' ')} | {'–' if not np.isfinite(value) else f'{100 * value:.1f}'} |"
        for name, value in report.questions.items()
    )
    judged = (
        f"{len(held.examples):,} texts in a cross-validation: each by a model that had not learnt from it"
        if tuned.texts.crossed
        else f"{len(held.examples):,} texts that were held out, and chose the epoch, so they flatter it a little"
    )
    trained = f"epoch {tuned.epoch}" if tuned.epoch else "not trained: no epoch was surely better than the base"
    return f"""# {Path(data.name).stem}, from {tuned.config.fine_tuning.base}

Says of each target and of any aspect in plain words whether a text is {", ".join(tuned.labels[1:])} about it, or
silent.

- base: {tuned.config.fine_tuning.base}, its encoder {tuned.config.fine_tuning.encoder}
- learnt from: {len(data.examples):,} texts of {Path(data.name).name}
- aspects of that data: {", ".join(_default_aspects(data))}
- {trained}

| on {judged} | % |
|---|---|
{rows}
"""
