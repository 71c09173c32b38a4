"""The run folder: what a run has done, so that a kill at any moment loses at most the work since a validation.

config.toml            the run, every option written out
metrics.jsonl          one line a validation
last.safetensors       everything needed to go on: weights, optimiser, generators, progress
previous.safetensors   the one before, should the last be damaged
best.safetensors       the best weights of each seed so far
events.out.tfevents.*  the same figures for TensorBoard, where it is installed
"""

import json
import tomllib
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from tabsa.config import read_toml, to_toml
from tabsa.errors import ModelError, OutputError
from tabsa.files import read_text, reason, replacing
from tabsa.training import optimisers
from tabsa.training.config import RunConfig, run_config
from tabsa.training.loop import Loop, TrainingProgress, Validation

_FORMAT = "tabsa run 1"


class RunFolder:
    """A run's files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config, self.metrics = path / "config.toml", path / "metrics.jsonl"
        self.last, self.previous = path / "last.safetensors", path / "previous.safetensors"
        self.best = path / "best.safetensors"

    def must_be_new(self) -> None:
        """Refuse a folder that holds a run."""
        if self.config.exists():
            raise OutputError(f"{self.path} already holds a run", code="run_exists")

    def start(self, config: RunConfig, seeds: tuple[int, ...]) -> None:
        """Begin a new run; refuses a folder that holds one."""
        self.must_be_new()
        with replacing(self.config) as stream:
            stream.write(_described(config, seeds))

    def resume(self, config: RunConfig, seeds: tuple[int, ...], trainer: Loop[Any]) -> None:
        """Put a trainer where the run stopped; a folder with no run, or none saved yet, starts it."""
        for leftover in self.path.glob(".*.tmp"):  # of writes that a kill cut short
            leftover.unlink(missing_ok=True)
        if not self.config.exists():
            return self.start(config, seeds)
        unlike = difference(_plain(read_toml(self.config)), _plain(tomllib.loads(_described(config, seeds))))
        if unlike:
            raise OutputError(f"{self.path} holds another run ({unlike})", code="another_run")
        self._restore(trainer)
        self._keep_metrics(trainer.progress.epoch)
        return None

    def save(self, trainer: Loop[Any], validation: Validation) -> None:
        """Record a validation; the last state is written last, so that a kill in between repeats the epoch."""
        line = json.dumps(validation.to_dict(), allow_nan=False)
        try:
            with self.metrics.open("a", encoding="utf-8") as stream:
                stream.write(line + "\n")
            if any(validation.improved):
                _write(self.best, trainer.best, {"progress": json.dumps(asdict(trainer.progress))})
            if self.last.exists():
                self.last.replace(self.previous)
        except OSError as e:
            raise OutputError(f"cannot write in {self.path}: {reason(e)}") from e
        _write(self.last, *_snapshot(trainer))

    def _restore(self, trainer: Loop[Any]) -> None:
        """Load the newest state that can be used; where none was written yet, leave the trainer as it is."""
        unusable: list[str] = []
        for path in (self.last, self.previous):
            if not path.exists():
                continue
            try:
                _restore(trainer, path)
            except ModelError as e:
                unusable.append(str(e))
                continue
            if unusable:
                warnings.warn(f"{unusable[0]}; going on from {path.name}", stacklevel=3)
                path.replace(self.last)  # or the next save would keep the unusable one as the previous
            return
        if unusable:
            raise ModelError(f"{'; '.join(unusable)}; nothing to go on from", code="no_resume")

    def _keep_metrics(self, epoch: int) -> None:
        """Drop the lines of epochs that will be trained again, and a line cut short."""
        if not self.metrics.exists():
            return
        kept = [line for line in _lines(self.metrics) if line["epoch"] <= epoch]
        with replacing(self.metrics) as stream:
            stream.writelines(json.dumps(line) + "\n" for line in kept)


def _described(config: RunConfig, seeds: tuple[int, ...]) -> str:
    return f"seeds = {list(seeds)}\n{to_toml(config)}"


def _plain(described: dict[str, Any]) -> dict[str, Any]:
    """What `_described` wrote, now or under an older version's names."""
    seeds = described.pop("seeds", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {"seeds": seeds, **asdict(run_config(described))}


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """The first option that two runs do not share, in words; empty where there is none."""
    olds, news = _flat(old), _flat(new)
    for name in [*news, *olds]:
        if name not in olds or name not in news or olds[name] != news[name]:
            return f"its {name} is {olds.get(name, 'not there')!r}, not {news.get(name, 'not there')!r}"
    return ""


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= {f"{key}.{k}": v for k, v in _flat(value).items()} if isinstance(value, Mapping) else {key: value}
    return flat


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
            raise ModelError(f"{path} is the state of another model than this run's")
    with torch.no_grad():
        for name, parameter in trainer.model.named_parameters():
            parameter.copy_(tensors[f"model.{name}"])
    trainer.best, trainer.ema = part("best."), part("ema.") or part("average.")
    optimisers.unpack(trainer.optimiser, part("optimiser."))
    for n, generator in enumerate(trainer.draws):
        generator.set_state(tensors[f"draws.{n}"].cpu())
    trainer.progress = TrainingProgress(**json.loads(facts["progress"]))
    for order, state in zip(trainer.orders, json.loads(facts["orders"]), strict=True):
        bit_generator: np.random.BitGenerator = order.bit_generator
        bit_generator.state = state


def _write(path: Path, tensors: dict[str, Tensor], facts: dict[str, str]) -> None:
    content = save({name: tensor.contiguous().cpu() for name, tensor in tensors.items()}, {"format": _FORMAT, **facts})
    with replacing(path, "wb") as stream:
        stream.write(content)


def _read(path: Path, device: torch.device) -> tuple[dict[str, Tensor], dict[str, str]]:
    try:
        with safe_open(path, "pt", device=str(device)) as stream:
            facts = stream.metadata() or {}
            if facts.get("format") != _FORMAT:
                raise ModelError(f"{path} is not a state of a tabsa run")
            return {name: stream.get_tensor(name) for name in stream.keys()}, facts  # noqa: SIM118
    except OSError as e:
        raise ModelError(f"cannot read {path}: {reason(e)}") from e
    except SafetensorError as e:
        raise ModelError(f"{path} is damaged ({e})") from e
