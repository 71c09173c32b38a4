"""The data of every part as one file, so that a machine with a GPU needs neither texts nor word vectors."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from tabsa.errors import DataNotFoundError
from tabsa.training.run_config import RunConfig
from tabsa.training.word_data import Prepared, prepare

TEST = "test"  # the split that is looked at once


def prepared_file(config: RunConfig) -> str:
    """The name of the file with a run's data: the same for runs that read the same."""
    read = {"data": asdict(config.data), "vectors": asdict(config.vectors)}
    if config.system.concepts:
        read["concepts"] = {"file": config.model.concepts}
    if config.augmentation.composed:
        read["composed"] = {"share": config.augmentation.composed, "seed": config.training.seed}
    digest = hashlib.sha256(json.dumps(read, sort_keys=True).encode()).hexdigest()
    return f"{Path(config.data.name).stem}-{digest[:12]}.safetensors"


def write_prepared(folder: Path, configs: Iterable[RunConfig], data_dir: Path | None) -> list[Path]:
    """Prepare what neural systems read, each distinct kind of it once; `lr` reads texts and is left out."""
    distinct = {prepared_file(config): config for config in configs if config.system.neural}
    for name, config in distinct.items():
        prepare(config, data_dir, test=TEST)[0].save(folder / name)
    return [folder / name for name in distinct]


def load_prepared(config: RunConfig, folder: Path | None, data_dir: Path | None) -> Prepared:
    """A run's data, from a folder that `write_prepared` filled or, where there is none, from where data lies."""
    if folder is None:
        return prepare(config, data_dir, test=TEST)[0]
    path = folder / prepared_file(config)
    if not path.is_file():
        raise DataNotFoundError(
            f"{folder} has no {path.name}, the prepared data of this {config.kind}; "
            f"write it with --prepare {folder} and the same other options, where the data is"
        )
    return Prepared.read(path)
