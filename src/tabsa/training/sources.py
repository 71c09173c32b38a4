"""What a person asks to be trained: a table of labels with a few options, or a whole configuration."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tabsa.config import override, read_toml
from tabsa.datasets.loading import named_columns
from tabsa.datasets.own import frame_dataset
from tabsa.datasets.records import Columns
from tabsa.errors import ConfigError, DataNotFoundError
from tabsa.schema import Dataset
from tabsa.training.config import RunConfig, renamed, run_config


def asked_training(
    data: Any,
    *,
    columns: Columns | Mapping[str, str] | None = None,
    **options: Any,
) -> tuple[RunConfig, Dataset | None]:
    """The run that Python asks for, and its dataset where that is in memory; `options` as for `asked_run`."""
    named = None if columns is None else named_columns(columns)
    if isinstance(data, RunConfig):
        _refuse(named, options)
        return data, None
    if isinstance(data, Mapping):
        _refuse(named, options)
        return run_config(dict(data)), None
    if isinstance(data, str | Path):
        return asked_run(Path(data).expanduser(), columns=named, **options), None
    dataset = frame_dataset(data, named or Columns())
    return _with_options({"data": {"name": dataset.name}}, **options), dataset


def _refuse(columns: Columns | None, options: Mapping[str, Any]) -> None:
    """A whole configuration says all of that itself."""
    given = [name for name, value in {"columns": columns, **options}.items() if value]
    if given:
        raise ConfigError(f"{given[0]!r} is given beside a whole configuration; say it there")


def asked_run(
    source: Path,
    *,
    base: str | None = None,
    kind: str | None = None,
    full: bool = False,
    minutes: float | None = None,
    epochs: int | None = None,
    columns: Columns | None = None,
    more: Path | None = None,
    settings: tuple[str, ...] = (),
) -> RunConfig:
    """The run that a table or a TOML file, and what was said besides, describe."""
    if base and kind:
        raise ConfigError("a base is what fine-tuning starts from, a kind what is trained from nothing; give one")
    if source.name.lower().endswith(".toml"):
        values = renamed(read_toml(source))
        values = _beside(values, source.parent)
    else:
        if not source.exists():
            raise DataNotFoundError(f"no file or folder {source}; expected your labels, or a configuration (.toml)")
        values = {"data": {"name": str(source)}}
    if more is not None:
        if not more.is_file():
            raise DataNotFoundError(f"no file {more}; expected further labels")
        _put(values, "data", {"more": str(more)})
    if columns is not None:
        plain = Columns()
        named = {name: value for name, value in dataclasses.asdict(columns).items() if value != getattr(plain, name)}
        _put(values, "data", {"columns": named})
    return _with_options(values, base=base, kind=kind, full=full, minutes=minutes, epochs=epochs, settings=settings)


def _with_options(
    values: dict[str, Any],
    *,
    base: str | None = None,
    kind: str | None = None,
    full: bool = False,
    minutes: float | None = None,
    epochs: int | None = None,
    settings: tuple[str, ...] = (),
) -> RunConfig:
    tuning: dict[str, Any] = {"base": base, "encoder": "trained" if full else None, "minutes": minutes}
    if kind:
        values["kind"] = kind
    _put(values, "fine_tuning", {name: value for name, value in tuning.items() if value is not None})
    _put(values, "training", {} if epochs is None else {"epochs": epochs})
    run = run_config(override(values, settings))
    if not run.fine_tuning.base and (full or minutes is not None):
        raise ConfigError(f"a '{run.kind}' is trained from nothing; 'full' and 'minutes' are for fine-tuning")
    return run


def _beside(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A file that a configuration names is looked for beside it too."""
    data = values.get("data")
    if isinstance(data, dict) and isinstance(name := data.get("name"), str):
        path = folder / name
        if not Path(name).exists() and path.exists() and name not in (".", ""):
            return {**values, "data": {**data, "name": str(path)}}
    return values


def _put(values: dict[str, Any], section: str, more: dict[str, Any]) -> None:
    if more and isinstance(values.get(section, {}), dict):
        values[section] = {**values.get(section, {}), **more}
