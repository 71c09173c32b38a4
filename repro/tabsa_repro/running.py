"""Runs an experiment part by part, saving each as soon as it is finished."""

import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabsa.errors import ConfigError
from tabsa.training.callbacks import Callback
from tabsa.training.loop import plain
from tabsa.training.run_config import RunConfig
from tabsa_repro.experiments import Variant, chosen
from tabsa_repro.gates import measure, published
from tabsa_repro.paper import FIGURE2_WORDS, FIGURE3, SENTENCE
from tabsa_repro.records import Record, ResultStore, commit, make_record, named, write_json
from tabsa_repro.seed_runs import device_name, fit_linear, load_prepared, train

SEEDS = 5
FIGURE2 = "figure2"


@dataclass(frozen=True)
class ReproduceRequest:
    """An experiment to run, and where its results go."""

    experiment: str
    out: Path
    only: tuple[str, ...] = ()
    seeds: int = SEEDS
    quick: bool = False
    device: str = "cpu"
    settings: tuple[str, ...] = ()
    again: bool = False
    data_dir: Path | None = None
    prepared: Path | None = None

    @property
    def configs(self) -> dict[Variant, RunConfig]:
        """The parts to run."""
        return chosen(self.experiment, self.only, self.settings, quick=self.quick)

    def command(self, part: Variant) -> str:
        """The words to type to run a part again; where files lie is left out."""
        words = ["tabsa", "reproduce"]
        words += [part.name] if self.experiment == "table1" else [self.experiment, "--only", part.name]
        words += ["--seeds", str(self.seeds)] if self.seeds != SEEDS else []
        words += ["--quick"] if self.quick else []
        return shlex.join(words + [word for setting in self.settings for word in ("--set", setting)])


def run(
    request: ReproduceRequest, callbacks: Sequence[Callback] = (), say: Callable[[str], None] = lambda _: None
) -> dict[str, Record]:
    """Run what is not there yet; returns all the experiment's records by name, those of earlier runs among them."""
    store = ResultStore(request.out)
    configs = request.configs
    if request.prepared and request.only and not any(config.system.neural for config in configs.values()):
        raise ConfigError(
            "lr reads texts, which prepared data has none of; run it without --prepared, where the data is"
        )
    for part, config in configs.items():
        seeds = range(config.training.seed, config.training.seed + request.seeds)
        if not request.again and store.finished(request.experiment, part, config, seeds):
            say(f"{part.name}: already there")
        elif not request.again and request.experiment != FIGURE2 and (twin := store.twin(config, seeds)):
            experiment, name = twin
            say(f"{part.name}: the same run as {experiment}'s {name}, which is there")
            copied = named(part, store.records(experiment)[name]) | {"command": request.command(part)}
            store.save(request.experiment, part, copied, {})
        elif request.prepared and not config.system.neural:
            say(f"{part.name}: left out, because it reads texts; run it without --prepared, where the data is")
        else:
            _run_part(request, store, part, config, seeds, callbacks, say)
        combine(store, request.experiment)
    return store.records(request.experiment)


def combine(store: ResultStore, experiment: str) -> None:
    """Write the one file of all parts that are there, with what the paper's figure shows beside them."""
    records = list(store.records(experiment).values())
    content: object = records
    if records and experiment == FIGURE2:
        words = (FIGURE2_WORDS[0], *SENTENCE[1:])[: len(records[0]["gates"]["sentence"]["mean"])]
        content = {"words": words, "published": published(), "systems": records}
    if experiment == "figure3":
        content = [record | _published(record["config"]["model"]["chains"]) for record in records]
    if records:
        write_json(store.combined(experiment), content)


def _published(chains: int) -> dict[str, Any]:
    mean, deviation = FIGURE3[chains]
    return {"chains": chains, "published": {"macro_f1": mean, "sd": deviation}}


def _run_part(
    request: ReproduceRequest,
    store: ResultStore,
    part: Variant,
    config: RunConfig,
    seeds: Sequence[int],
    callbacks: Sequence[Callback],
    say: Callable[[str], None],
) -> None:
    """Train a part, or for Figure 2 take the weights of the same run in another result, and save it."""
    started = time.perf_counter()
    prepared = None if not config.system.neural else load_prepared(config, request.prepared, request.data_dir)
    twin = None if request.again or request.experiment != FIGURE2 else store.twin(config, seeds)
    weights = store.weights(*twin) if twin else None
    if twin and weights:
        say(f"{part.name}: with the weights of {twin[0]}'s {twin[1]}")
        record = named(part, store.records(twin[0])[twin[1]])
    else:
        several = f"{len(seeds)} seed{'' if len(seeds) == 1 else 's'}"
        say(f"{part.name}: training {'once' if prepared is None else f'with {several} on {request.device}'}")
        if prepared is None:
            outcome = fit_linear(config, request.data_dir)
        else:
            outcome = train(config, prepared, seeds, request.device, callbacks)
        weights = outcome.weights
        facts: dict[str, Any] = {
            "command": request.command(part),
            "commit": commit(),
            "vectors": None if prepared is None else prepared.vectors,
            "device": device_name("cpu" if prepared is None else request.device),
            "seconds": round(time.perf_counter() - started, 1),
        }
        if outcome.together:
            facts["ensemble"] = {split: plain(figures) for split, figures in outcome.together.items()}
        record = make_record(part, config, outcome.runs, facts)
    if request.experiment == FIGURE2 and prepared is not None:
        record["gates"] = measure(config, prepared, seeds, weights, request.device)
    saved = config.system.gates and request.experiment in ("table1", FIGURE2)
    store.save(request.experiment, part, record, weights if saved else {})
