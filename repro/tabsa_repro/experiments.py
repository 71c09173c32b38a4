"""The experiments: each is a list of parts, and a part is one configuration trained with several seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tabsa.config import override, read_toml
from tabsa.errors import ConfigError, nearest
from tabsa.models.registry import SYSTEMS
from tabsa.training.run_config import RunConfig, run_config

_CONFIGS: Final = Path(__file__).parent / "configs" / "table1"
BASE: Final = "delayed-entnet"  # what the ablations and Figure 3 change
PAPER: Final = "delayed-entnet-paper"  # the same network by the paper's own recipe
TAUGHT: Final = "delayed-entnet-taught"  # and with teachers
CHAINS: Final = range(2, 11)


@dataclass(frozen=True)
class Variant:
    """One row of a result: a configuration of Table 1 and what is changed in it."""

    name: str
    settings: tuple[str, ...] = ()
    change: str = ""  # the same in words
    base: str = BASE


_PAIRS: Final = ("training.batch_size=128", "training.epochs=110", "training.validate_every=4")
_FTRL: Final = ("training.rate=0.05", "training.ema=0", "training.epochs=60")
_BOX: Final = (
    "model.attention=target",
    "model.attention_scale=0.3",
    "model.mention_term=true",
    "training.shuffle_targets=true",
    "vectors.target_scale=0.3",
    "augmentation.composed=0.5",
)

# The paper's model without each of its ideas, then the points on which the paper and its authors' code differ.
_ABLATIONS: Final = (
    Variant(BASE, change="nothing"),
    Variant("no-delay", ("kind=entnet",), "no delay: the gate of EntNet"),
    Variant("forward", ("model.directions=forward",), "one direction, forward"),
    Variant("target-attention", ("model.attention=target",), "attention from the target alone"),
    Variant("tied-keys", ("model.keys=tied", "model.chains=2"), "tied keys only, a chain a target"),
    Variant("free-keys", ("model.keys=free",), "free keys only"),
    Variant("no-normalisation", ("model.normalise=false",), "memories keep their norm"),
    Variant("mixed", ("training.balance=mixed", *_PAIRS), "batches with equal shares of the classes (paper)"),
    Variant("turns", ("training.balance=turns", *_PAIRS), "batches of one class, in turn (authors' code)"),
    Variant("ftrl", ("training.optimiser=ftrl", *_FTRL), "FTRL at 0.05 that keeps the initial weights"),
    Variant("ftrl-tf", ("training.optimiser=ftrl-tf", *_FTRL), "FTRL at 0.05 as TensorFlow's (authors' code)"),
    Variant("slope-one", ("model.prelu=1.0",), "PReLU slopes start at 1 (authors' code)"),
    Variant("large-targets", ("vectors.target_scale=1.0",), "target vectors as large as those of words"),
    Variant(
        "bias-and-shared-slope",
        ("model.candidate_bias=true", "model.share_prelu=true"),
        "a bias in the candidate, one PReLU slope for all (authors' code)",
    ),
    Variant("l2-norm", ("model.l2_form=norm",), "penalty on ||R|| (paper)"),
    Variant("no-composed", ("augmentation.composed=0",), "no composed sentences"),
    Variant("no-more-words", ("vectors.aligned=",), "words missing from the vectors are random"),
    Variant("tabsa", _BOX, "as the model in the box: a mention term in the gate, attention from the target alone"),
)

_SYSTEMS: Final = tuple(name for name, system in SYSTEMS.items() if not system.open_aspects)
EXPERIMENTS: Final[dict[str, tuple[Variant, ...]]] = {
    "table1": tuple(Variant(name, base=name) for name in (*_SYSTEMS, PAPER, TAUGHT)),
    "figure2": (Variant("entnet", base="entnet"), Variant(BASE)),
    "figure3": tuple(Variant(f"chains-{n}", (f"model.chains={n}",), f"{n} chains") for n in CHAINS),
    "ablations": _ABLATIONS,
}

# A schedule of minutes on a CPU, with nothing that only some have.
_QUICK_MEMORY: Final = ("vectors.aligned=", "training.ema=0.95", "distillation.teachers=0")
_QUICK: Final = ("training.epochs=4", "training.validate_every=1")
_QUICK_LR: Final = ("model.c=[10.0]",)


def experiment_of(name: str, only: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The experiment that a name means, and its parts: a row of Table 1 goes by its own name, too."""
    if name in EXPERIMENTS:
        return name, tuple(only)
    rows = [part.name for part in EXPERIMENTS["table1"]]
    if name not in rows:
        raise ConfigError(f"there is nothing called '{name}' to reproduce{nearest(name, [*EXPERIMENTS, *rows])}")
    if only:
        raise ConfigError(f"'{name}' is one system; {only[0]} is chosen of an experiment: {', '.join(EXPERIMENTS)}")
    return "table1", (name,)


def chosen(experiment: str, only: Sequence[str], settings: Sequence[str], *, quick: bool) -> dict[Variant, RunConfig]:
    """The parts named, or all, each with its configuration; a change that changes nothing is no part."""
    parts = EXPERIMENTS[experiment]
    names = [part.name for part in parts]
    for name in only:
        if name not in names:
            raise ConfigError(f"{experiment} has no part '{name}'{nearest(name, names)}")
    wanted = [part for part in parts if not only or part.name in only]
    configs = {part: config_of(part, settings, quick=quick) for part in wanted}
    if experiment != "ablations":
        return configs
    base = config_of(parts[0], settings, quick=quick)
    changed = {part: config for part, config in configs.items() if part is parts[0] or config != base}
    if not changed:
        raise ConfigError(f"{', '.join(only)} changes nothing here: {BASE} has it already")
    return changed


def config_of(part: Variant, settings: Sequence[str] = (), *, quick: bool = False) -> RunConfig:
    """A part's configuration: its file, its change, the quick schedule where wanted, then the user's settings."""
    values = override(read_toml(_CONFIGS / f"{part.base}.toml"), part.settings)
    if quick:
        system = SYSTEMS[values["kind"]]
        override(values, _QUICK + (_QUICK_MEMORY if system.gates else ()) if system.neural else _QUICK_LR)
    return run_config(override(values, settings))
