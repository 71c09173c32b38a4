"""A run on its way, and its folder, so that a kill at any moment loses at most the work since a validation.

config.toml       the run, every option written out
metrics.jsonl     one line a validation
last.safetensors  everything needed to go on: weights, the best ones so far, optimiser, generators, progress
"""

import json
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

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
    """Dev figures of one seed, or of a system without seeds; none where it diverged."""

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


@dataclass(frozen=True)
class Run:
    """The circumstances of a run: where it is saved, if it is, who is called, and where it runs."""

    path: Path | None = None
    callbacks: Sequence[Callback] = ()
    resume: bool = False
    device: str = "cpu"
    data_dir: Path | None = None

    def call(self, name: str, *arguments: Any) -> None:
        """Call a method of every callback."""
        for callback in self.callbacks:
            getattr(callback, name)(*arguments)

    def train(self, trainer: Loop[Any], role: str = "model") -> None:
        """Train to the end, calling the callbacks, and saving after every validation."""
        folder = None if self.path is None else RunFolder(self.path)
        if folder is not None and self.resume:
            folder.resume(trainer)
        elif folder is not None:
            folder.start(trainer.config, trainer.seeds)
        self.call("on_start", trainer, role, self.path)
        try:
            for validation in trainer.run(lambda update, losses: self.call("on_update", trainer, update, losses)):
                self.call("on_validation", trainer, validation)
                if folder is not None:
                    folder.save(trainer, validation)
        finally:
            self.call("on_end", trainer)


class RunFolder:
    """A run's files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config, self.metrics, self.last = path / "config.toml", path / "metrics.jsonl", path / "last.safetensors"

    def must_be_new(self) -> None:
        """Refuse a folder that holds a run."""
        if self.config.exists():
            raise OutputError(f"{self.path} already holds a run", code="run_exists")

    def start(self, config: RunConfig, seeds: Sequence[int]) -> None:
        """Begin a new run; refuses a folder that holds one."""
        self.must_be_new()
        with replacing(self.config) as stream:
            stream.write(_described(config, seeds))

    def resume(self, trainer: Loop[Any]) -> None:
        """Put a trainer where the run stopped; a folder with no run, or none saved yet, starts it."""
        for leftover in self.path.glob(".*.tmp"):  # of writes that a kill cut short
            leftover.unlink(missing_ok=True)
        if not self.config.exists():
            return self.start(trainer.config, trainer.seeds)
        unlike = difference(read_toml(self.config), tomllib.loads(_described(trainer.config, trainer.seeds)))
        if unlike:
            raise OutputError(f"{self.path} holds another run ({unlike})", code="another_run")
        return self._restore(trainer) if self.last.exists() else None

    def validations(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl."""
        return [json.loads(line) for line in read_text(self.metrics).splitlines()] if self.metrics.exists() else []

    def save(self, trainer: Loop[Any], validation: Validation) -> None:
        """Record a validation; the state is written last, so that a kill in between repeats the epoch."""
        trainer.progress.history.append(validation.to_dict())
        with replacing(self.metrics) as text:
            text.writelines(json.dumps(line, allow_nan=False) + "\n" for line in trainer.progress.history)
        parts: dict[str, Mapping[str, Tensor]] = {
            "model": dict(trainer.model.named_parameters()),
            "best": trainer.best,
            "ema": trainer.ema,
            "optimiser": optimisers.pack(trainer.optimiser),
            "draws": {str(n): generator.get_state() for n, generator in enumerate(trainer.draws)},
        }
        tensors = {
            f"{part}.{name}": tensor.detach().contiguous().cpu()
            for part, own in parts.items()
            for name, tensor in own.items()
        }
        orders = json.dumps([order.bit_generator.state for order in trainer.orders])
        facts = {"format": _FORMAT, "progress": json.dumps(asdict(trainer.progress)), "orders": orders}
        with replacing(self.last, "wb") as stream:
            stream.write(save(tensors, facts))

    def _restore(self, trainer: Loop[Any]) -> None:
        parts: defaultdict[str, dict[str, Tensor]] = defaultdict(dict)
        try:
            with safe_open(self.last, "pt", device=str(trainer.device)) as stream:
                facts = stream.metadata() or {}
                if facts.get("format") != _FORMAT:
                    raise ModelError(f"{self.last} is not a state of a tabsa run", code="no_resume")
                for key in stream.keys():  # noqa: SIM118
                    part, _, name = key.partition(".")
                    parts[part][name] = stream.get_tensor(key)
        except OSError as e:
            raise ModelError(f"cannot read {self.last}: {reason(e)}") from e
        except SafetensorError as e:
            raise ModelError(f"{self.last} is damaged ({e})", code="no_resume") from e
        trainer.put(parts["model"])
        trainer.best, trainer.ema = parts["best"], parts["ema"]
        optimisers.unpack(trainer.optimiser, parts["optimiser"])
        for n, generator in enumerate(trainer.draws):
            generator.set_state(parts["draws"][str(n)].cpu())
        trainer.progress = TrainingProgress(**json.loads(facts["progress"]))
        for order, state in zip(trainer.orders, json.loads(facts["orders"]), strict=True):
            order.bit_generator.state = state


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
