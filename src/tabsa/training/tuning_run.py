"""The whole of a fine-tuning, from labels to a model folder with its card and report; `fit` calls it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tabsa.checkpoint.hub import hub_name, is_hub_name, pinned_name
from tabsa.config import read_toml
from tabsa.datasets.loading import load
from tabsa.datasets.selection import ALL
from tabsa.errors import DataError
from tabsa.schema import Dataset
from tabsa.training.callbacks import Callback
from tabsa.training.config import RunConfig, run_config
from tabsa.training.fine_tuning import begin, labelled_texts, tuned
from tabsa.training.run_folder import RunFolder
from tabsa.training.runs import Fitted, train_to_the_end
from tabsa.training.tuned import finish
from tabsa.training.whole_tuning import begin_whole, tuned_whole

_STATES: Final = "states.tmp"  # what was read, where it is too much for memory


def tune(
    config: RunConfig,
    out: Path,
    callbacks: Sequence[Callback],
    *,
    resume: bool,
    device: str,
    data: Dataset | None = None,
    data_dir: Path | None = None,
) -> Fitted:
    """Fine-tune a reader on what a configuration names, or on `data`."""
    dev = None
    if data is None:
        data, dev = own_data(config, data_dir)
    run = RunFolder(out / "run")
    config = _resumed(config, run) if resume else config
    config = _with_base(config, pinned_name(config.fine_tuning.base or ""))

    def on_step(name: str, share: float) -> None:
        for callback in callbacks:
            callback.on_step(name, share)

    texts = labelled_texts(data, dev, config)
    if config.fine_tuning.encoder == "trained":
        whole = begin_whole(config, texts, device)
        first = whole.trainer.progress.best_figures[0]
        train_to_the_end(whole.trainer, "model", run, callbacks, resume=resume)
        return finish(tuned_whole(whole, first), out, run)
    try:
        tuning = begin(config, texts, spill=run.path / _STATES, device=device, on_step=on_step)
        for callback in callbacks:
            callback.on_steps_end()
        first = tuning.trainer.progress.best_figures[0]
        train_to_the_end(tuning.trainer, "model", run, callbacks, resume=resume)
        return finish(tuned(tuning, first), out, run)
    finally:
        (run.path / _STATES).unlink(missing_ok=True)


def own_data(config: RunConfig, data_dir: Path | None) -> tuple[Dataset, Dataset | None]:
    """What a configuration names: a file of one's own whole, anything else by its splits."""
    named = config.data
    options: dict[str, Any] = {"data_dir": data_dir, "aspects": named.aspects or None, "columns": named.own_columns}
    path = Path(named.name).expanduser()
    if path.is_file():
        whole = load(path, ALL, **options)
        return joined([whole, _more(Path(named.more), options)]) if named.more else whole, None
    if path.is_dir() and not any(path.glob(f"{named.dev}.*")):
        return load(path, named.train, **options), None
    return load(named.name, named.train, **options), load(named.name, named.dev, **options)


def _more(path: Path, options: dict[str, Any]) -> Dataset:
    """A second table; its columns may be called as the first one's, or as corrections' are."""
    try:
        return load(path, ALL, **options)
    except DataError:
        if options["columns"] is None:
            raise
        return load(path, ALL, **options | {"columns": None})


def joined(parts: Sequence[Dataset]) -> Dataset:
    """Several tables of labels as one; a later label of the same text does not replace an earlier one."""
    if len(parts) == 1:
        return parts[0]
    aspects = dict.fromkeys(aspect for part in parts for aspect in part.aspects)
    labels = dict.fromkeys(label for part in parts for label in part.labels)
    asked = [
        replace(example, aspects=part.aspects) if example.aspects is None else example
        for part in parts
        for example in part.examples
    ]
    return replace(parts[0], aspects=tuple(aspects), labels=tuple(labels), examples=tuple(asked))


def _resumed(config: RunConfig, run: RunFolder) -> RunConfig:
    """With the epochs that a run was given before: the time that it may take is that of the whole."""
    if not run.config.exists():
        return config
    values = read_toml(run.config)
    values.pop("seeds", None)
    before = run_config(values)
    config = _with_base(config, _same_base(config.fine_tuning.base, before.fine_tuning.base))
    return replace(config, training=before.training, fine_tuning=replace(config.fine_tuning, minutes=0.0))


def _same_base(asked: str, before: str) -> str:
    """The base that a run began with, where one of the hub is asked for and no other commit of it."""
    if not (is_hub_name(asked) and is_hub_name(before)) or hub_name(asked).revision:
        return asked
    return before if replace(hub_name(before), revision=None) == hub_name(asked) else asked


def _with_base(config: RunConfig, base: str | None) -> RunConfig:
    return replace(config, fine_tuning=replace(config.fine_tuning, base=base or ""))
