"""The run folder: what a run has done, so that a kill at any moment loses at most the work since a validation.

config.toml            the run, every option written out
metrics.jsonl          one line a validation
last.safetensors       everything needed to go on: weights, optimiser, generators, progress
best.safetensors       the best weights of each seed so far
events.out.tfevents.*  the same figures for TensorBoard, where it is installed
"""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from tabsa.checkpoint.model_folder import ModelFolder
from tabsa.config import read_toml, to_toml
from tabsa.errors import ModelError, OutputError
from tabsa.evaluation.report import Report
from tabsa.files import read_text, reason, replacing
from tabsa.training import optimisers
from tabsa.training.callbacks import Callback
from tabsa.training.loop import Figures, Loop, TrainingProgress, Validation
from tabsa.training.run_config import RunConfig

_FORMAT = "tabsa run 1"


@dataclass(frozen=True)
class FittedRow:
    """Dev figures of one seed, or of one decision of a system without seeds; none where it diverged."""

    name: str
    epoch: int | None
    dev: Figures


@dataclass(frozen=True)
class Fitted:
    """A finished run: its model folder, and what is known of all its seeds."""

    folder: ModelFolder
    rows: tuple[FittedRow, ...]
    about: str  # in a few words
    notes: tuple[str, ...] = ()  # what to bear in mind
    report: Report | None = None  # of fine-tuning, on the texts that were held out


class RunFolder:
    """A run's files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config, self.metrics = path / "config.toml", path / "metrics.jsonl"
        self.last, self.best = path / "last.safetensors", path / "best.safetensors"

    def must_be_new(self) -> None:
        """Refuse a folder that holds a run."""
        if self.config.exists():
            raise OutputError(f"{self.path} already holds a run", code="run_exists")

    def start(self, config: RunConfig, seeds: Sequence[int]) -> None:
        """Begin a new run; refuses a folder that holds one."""
        self.must_be_new()
        with replacing(self.config) as stream:
            stream.write(_described(config, seeds))

    def resume(self, config: RunConfig, seeds: Sequence[int], trainer: Loop[Any]) -> None:
        """Put a trainer where the run stopped; a folder with no run, or none saved yet, starts it."""
        for leftover in self.path.glob(".*.tmp"):  # of writes that a kill cut short
            leftover.unlink(missing_ok=True)
        if not self.config.exists():
            return self.start(config, seeds)
        unlike = difference(read_toml(self.config), tomllib.loads(_described(config, seeds)))
        if unlike:
            raise OutputError(f"{self.path} holds another run ({unlike})", code="another_run")
        if self.last.exists():
            _restore(trainer, self.last)
        if self.metrics.exists():  # without the epochs that will be trained again, and a line that was cut short
            lines = [line for line in _lines(self.metrics) if line["epoch"] <= trainer.progress.epoch]
            with replacing(self.metrics) as stream:
                stream.writelines(json.dumps(line) + "\n" for line in lines)
        return None

    def save(self, trainer: Loop[Any], validation: Validation) -> None:
        """Record a validation; the last state is written last, so that a kill in between repeats the epoch."""
        line = json.dumps(validation.to_dict(), allow_nan=False)
        try:
            with self.metrics.open("a", encoding="utf-8") as stream:
                stream.write(line + "\n")
            if any(validation.improved):
                _write(self.best, trainer.best, {"progress": json.dumps(asdict(trainer.progress))})
        except OSError as e:
            raise OutputError(f"cannot write in {self.path}: {reason(e)}") from e
        _write(self.last, *_snapshot(trainer))


def train_to_the_end(
    trainer: Loop[Any], role: str, run: RunFolder | None, callbacks: Sequence[Callback], *, resume: bool
) -> None:
    """Train to the end, calling the callbacks, and saving after every validation."""
    if run is not None and resume:
        run.resume(trainer.config, trainer.seeds, trainer)
    elif run is not None:
        run.start(trainer.config, trainer.seeds)

    def on_update(update: int, losses: Tensor) -> None:
        for callback in callbacks:
            callback.on_update(trainer, update, losses)

    for callback in callbacks:
        callback.on_start(trainer, role, None if run is None else run.path)
    try:
        for validation in trainer.run(on_update):
            for callback in callbacks:
                callback.on_validation(trainer, validation)
            if run is not None:
                run.save(trainer, validation)
    finally:
        for callback in callbacks:
            callback.on_end(trainer)


def _described(config: RunConfig, seeds: Sequence[int]) -> str:
    return f"seeds = {list(seeds)}\n{to_toml(config)}"


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """The first option that two runs do not share, in words; empty where there is none."""
    olds, news = flat(old), flat(new)
    for name in [*news, *olds]:
        if name not in olds or name not in news or olds[name] != news[name]:
            return f"its {name} is {olds.get(name, 'not there')!r}, not {news.get(name, 'not there')!r}"
    return ""


def flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Nested sections as one, by `section.key`."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= {f"{key}.{k}": v for k, v in flat(value).items()} if isinstance(value, Mapping) else {key: value}
    return found


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in read_text(path, ModelError).splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            return


def _snapshot(trainer: Loop[Any]) -> tuple[dict[str, Tensor], dict[str, str]]:
    tensors = {f"model.{name}": tensor.detach() for name, tensor in trainer.model.named_parameters()}
    tensors |= {f"best.{name}": tensor for name, tensor in trainer.best.items()}
    tensors |= {f"ema.{name}": tensor for name, tensor in trainer.ema.items()}
    tensors |= {f"optimiser.{name}": tensor for name, tensor in optimisers.pack(trainer.optimiser).items()}
    tensors |= {f"draws.{n}": generator.get_state() for n, generator in enumerate(trainer.draws)}
    facts = {
        "progress": json.dumps(asdict(trainer.progress)),
        "orders": json.dumps([order.bit_generator.state for order in trainer.orders]),
    }
    return tensors, facts


def _restore(trainer: Loop[Any], path: Path) -> None:
    tensors, facts = _read(path, trainer.device)
    shapes = {name: tensor.shape for name, tensor in trainer.model.named_parameters()}

    def part(prefix: str) -> dict[str, Tensor]:
        return {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}

    for prefix in ("model.", "best."):
        if {name: tensor.shape for name, tensor in part(prefix).items()} != shapes:
            raise ModelError(f"{path} is the state of another model than this run's", code="no_resume")
    trainer.put(part("model."))
    trainer.best, trainer.ema = part("best."), part("ema.")
    optimisers.unpack(trainer.optimiser, part("optimiser."))
    for n, generator in enumerate(trainer.draws):
        generator.set_state(tensors[f"draws.{n}"].cpu())
    trainer.progress = TrainingProgress(**json.loads(facts["progress"]))
    for order, state in zip(trainer.orders, json.loads(facts["orders"]), strict=True):
        order.bit_generator.state = state


def _write(path: Path, tensors: dict[str, Tensor], facts: dict[str, str]) -> None:
    content = save({name: tensor.contiguous().cpu() for name, tensor in tensors.items()}, {"format": _FORMAT, **facts})
    with replacing(path, "wb") as stream:
        stream.write(content)


def _read(path: Path, device: torch.device) -> tuple[dict[str, Tensor], dict[str, str]]:
    try:
        with safe_open(path, "pt", device=str(device)) as stream:
            facts = stream.metadata() or {}
            if facts.get("format") != _FORMAT:
                raise ModelError(f"{path} is not a state of a tabsa run", code="no_resume")
            return {name: stream.get_tensor(name) for name in stream.keys()}, facts  # noqa: SIM118
    except OSError as e:
        raise ModelError(f"cannot read {path}: {reason(e)}") from e
    except SafetensorError as e:
        raise ModelError(f"{path} is damaged ({e})", code="no_resume") from e
