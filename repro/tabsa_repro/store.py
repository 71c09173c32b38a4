"""Where results lie: one file a part while an experiment runs, and all of them in one file.

OUT/parts/EXPERIMENT/PART.json          a finished part
OUT/parts/EXPERIMENT/PART.safetensors   the best weights of its seeds, of systems whose gates are looked at
OUT/EXPERIMENT.json                     the finished parts, in order
"""

from collections.abc import Sequence
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from tabsa.errors import OutputError
from tabsa.files import replacing
from tabsa.training.run_config import RunConfig, run_config
from tabsa.training.run_folder import difference, flat
from tabsa_repro.experiments import EXPERIMENTS, Variant
from tabsa_repro.records import Record, plain_config, read_json, write_json


class Store:
    """The results below one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, experiment: str, part: Variant) -> Path:
        """The file of one part."""
        return self.folder / "parts" / experiment / f"{part.name}.json"

    def combined(self, experiment: str) -> Path:
        """The file of all parts."""
        return self.folder / f"{experiment}.json"

    def records(self, experiment: str) -> dict[str, Record]:
        """What is there of an experiment, by name, in the experiment's order; a part's own file goes first."""
        rows = read_json(self.combined(experiment)) or []
        if isinstance(rows, dict):  # Figure 2's
            rows = rows["systems"]
        together = {row["system"]: row for row in rows}
        found = {}
        for part in EXPERIMENTS[experiment]:
            record = read_json(self.path(experiment, part)) or together.get(part.name)
            if record is not None:
                found[part.name] = record
        return found

    def finished(self, experiment: str, part: Variant, config: RunConfig, seeds: Sequence[int]) -> Record | None:
        """The part, where it is there; refuses one of another run."""
        record = self.records(experiment).get(part.name)
        if record is None:
            return None
        unlike = _unlike(record, config, seeds)
        if unlike:
            path = self.path(experiment, part)
            where = path if path.exists() else self.combined(experiment)
            raise OutputError(
                f"{where} holds another run of {part.name} ({unlike}); replace it with --again, or choose another --out"
            )
        return record

    def twin(self, config: RunConfig, seeds: Sequence[int]) -> tuple[str, str] | None:
        """The experiment and part, whichever they are, that are this very run."""
        for experiment in EXPERIMENTS:
            for name, record in self.records(experiment).items():
                if not _unlike(record, config, seeds):
                    return experiment, name
        return None

    def save(self, experiment: str, part: Variant, record: Record, weights: dict[str, Tensor]) -> None:
        """Keep a part, and put it among the others; without `weights` only its figures."""
        path = self.path(experiment, part)
        if weights:
            with replacing(path.with_suffix(".safetensors"), "wb") as stream:
                stream.write(save({name: tensor.contiguous() for name, tensor in weights.items()}))
        write_json(path, record)

    def weights(self, experiment: str, name: str) -> dict[str, Tensor] | None:
        """The best weights of a part, where they were kept."""
        path = self.folder / "parts" / experiment / f"{name}.safetensors"
        try:
            return load_file(path) if path.exists() else None
        except SafetensorError as e:
            raise OutputError(f"{path} is damaged ({e}); delete it and run again") from e


def _unlike(record: Record, config: RunConfig, seeds: Sequence[int]) -> str:
    """What a record does not share with a run, in words.

    Options that came later count as their defaults, and those that are gone had one value in every record.
    """
    if record["config"]["kind"] != config.kind:
        return f"its kind is {record['config']['kind']!r}, not {config.kind!r}"
    new = flat(plain_config(config))
    old = flat(plain_config(run_config({"kind": config.kind})))
    old |= {name: value for name, value in flat(record["config"]).items() if name in new}
    if record["seeds"]:
        old["seeds"], new["seeds"] = record["seeds"], list(seeds)
    return difference(old, new)
