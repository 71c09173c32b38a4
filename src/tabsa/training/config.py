"""What a training run is: one TOML file, typed and checked."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from tabsa.config import build, nearest, option, override, read_toml
from tabsa.errors import ConfigError
from tabsa.linear import KIND as LR
from tabsa.linear import LRConfig
from tabsa.models import MODELS
from tabsa.samplers import Balance
from tabsa.training.optimisers import Clip, Name
from tabsa.vectors.storage import Storage

CONFIGS: dict[str, type[Any]] = {LR: LRConfig} | {name: model.config_class for name, model in MODELS.items()}
"""The configuration class of each system."""

Selection = Literal[
    "mean",
    "sun.strict_accuracy",
    "sun.macro_f1",
    "ma.strict_accuracy",
    "ma.macro_f1",
    "aspect_auc",
    "sentiment_accuracy",
    "sentiment_auc",
]


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """What is read."""

    name: str = option("places", "a dataset's name (see `tabsa data`), or a file or folder of your own")
    train: str = option("train", "the split to learn from")
    dev: str = option("dev", "the split that selects")
    aspects: tuple[str, ...] = option((), "the aspects; none named: the dataset's own choice; all: every one")
    targets: int = option(2, "targets a model knows at a time", low=1)
    more: str = option("", "a file of your own whose texts are learnt from besides `train`")
    composed: float = option(0.0, "two-target sentences made of one-target ones, for each sentence there is", low=0)
    max_length: int = option(50, "words after which a text is cut; 0: never", low=0)


@dataclass(frozen=True, kw_only=True)
class VectorsConfig:
    """The word vectors, which are not trained."""

    file: str = option("", "GloVe, below a data folder or anywhere; box: the model in the box's; empty: random")
    size: int = option(100, "of a random vector where there is no file", low=1)
    target_scale: float = option(1.0, "size of a target token's random vector, as a share of the others'", low=0)
    storage: Storage = option("float16", "how the model folder keeps them: float16, or int8 with weights in float16")
    first: int = option(50_000, "words of the file kept for texts to come, besides the data's own", low=0)
    more: str = option("", "GloVe with more words, of any size: those that `file` lacks are placed by a linear map")
    more_first: int = option(0, "words of `more` kept for texts to come, besides the data's own", low=0)


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How a model is trained."""

    epochs: int = option(100, "passes; see `balance` for what a pass is", low=1)
    batch_size: int = option(128, "pairs, or sentences, in a batch", low=1)
    balance: Balance = option("mixed", "mixed: all classes in a batch; turns: one; sentence: whole sentences")
    class_power: float = option(0.5, "with `sentence`, a class weighs 1 / frequency ** this in the loss", low=0, high=1)
    shuffle_targets: bool = option(False, "give a sentence's targets other slots each time it is read")
    optimiser: Name = option("ftrl", "ftrl, ftrl-tf (TensorFlow's start at zero), adagrad, adam or adamw")
    rate: float = option(0.05, "learning rate", low=1e-12)
    schedule: Literal["constant", "linear", "cosine"] = option("constant", "how the rate falls to 0, or not")
    warmup: int = option(0, "updates over which the rate rises from 0", low=0)
    weight_decay: float = option(0.0, "AdamW's", low=0)
    average: float = option(
        0.0, "evaluate and keep a running mean of the weights with this memory; 0: none", low=0, high=0.9999
    )
    clip: Clip = option("variable", "whose gradient norm is limited: each variable's, all together, or none")
    clip_norm: float = option(5.0, "that limit", low=0)
    evaluate_every: int = option(1, "epochs between evaluations on dev, each of which saves", low=1)
    select: Selection = option("mean", "the dev metric that chooses the best state; mean: of all")
    calibrate: Literal["temperature", "classes"] = option(
        "temperature", "fitted on dev: one temperature, or also a bias for each class, which changes decisions"
    )
    bias_share: float = option(1.0, "with `classes`, what is kept of the biases; less: more is found", low=0, high=1)
    patience: int = option(0, "evaluations without a better one after which a seed stops; 0: never", low=0)
    precision: Literal["float32", "tf32", "bf16"] = option("float32", "of the matrix products; sums are float32")
    seed: int = option(1, "the first seed; several take the numbers after it", low=0, high=2**31)
    threads: int = option(0, "CPU threads; 0: as many as there are cores", low=0, high=1024)


@dataclass(frozen=True, kw_only=True)
class TeachingConfig:
    """Whether a model learns from others of its kind, trained first, instead of from the labels."""

    teachers: int = option(0, "seeds trained first, whose mean answers are learnt; 0: none", low=0)
    settings: tuple[str, ...] = option((), "what is different in their configuration, each as SECTION.KEY=VALUE")
    copies: int = option(8, "versions of the training sentences that they answer, the first as it stands", low=1)
    replaced: float = option(0.15, "share of the words of the others that give way to near ones", low=0, high=0.9)
    rounds: int = option(1, "2: the teachers have been taught themselves, and so on", low=1)


@dataclass(frozen=True)
class RunConfig:
    """A whole run; `model` is the configuration class of the system called `kind`."""

    kind: str
    model: Any
    data: DataConfig = DataConfig()
    vectors: VectorsConfig = VectorsConfig()
    training: TrainingConfig = TrainingConfig()
    teaching: TeachingConfig = TeachingConfig()


def read_config(path: Path, settings: tuple[str, ...] = ()) -> RunConfig:
    """The run that a TOML file describes, with `section.key=value` settings over it."""
    return run_config(override(read_toml(path), settings))


def run_config(values: dict[str, Any]) -> RunConfig:
    """The run that plain data describes."""
    sections = {
        "data": DataConfig,
        "vectors": VectorsConfig,
        "training": TrainingConfig,
        "teaching": TeachingConfig,
    }
    for key in values:
        if key not in ("kind", "model", *sections):
            raise ConfigError(f"unknown key '{key}'{nearest(key, ('kind', 'model', *sections))}")
    kind = values.get("kind", "delayed-entnet")
    if not isinstance(kind, str) or kind not in CONFIGS:
        raise ConfigError(f"'kind' is {kind!r}{nearest(str(kind), CONFIGS)}")
    for name in ("model", *sections):
        if not isinstance(values.get(name, {}), dict):
            raise ConfigError(f"'{name}' is a section: expected [{name}], got {values[name]!r}")
    config = RunConfig(
        kind,
        build(CONFIGS[kind], values.get("model", {}), "model."),
        **{name: build(cls, values.get(name, {}), f"{name}.") for name, cls in sections.items()},
    )
    if config.data.composed and (config.data.targets < 2 or kind == "sentic-lstm"):
        raise ConfigError("'data.composed' is for models of two targets or more, and not for concepts")
    if config.teaching.teachers:
        if kind in (LR, "sentic-lstm"):
            raise ConfigError(f"'teaching.teachers' is for models that read words alone, and 'kind' is '{kind}'")
        teachers_config(config)  # which may be wrong, and is better said now
    return config


def teachers_config(config: RunConfig) -> RunConfig:
    """The configuration of a run's teachers."""
    teaching = config.teaching
    if teaching.rounds > 1:
        return replace(config, teaching=replace(teaching, rounds=teaching.rounds - 1))
    values = asdict(replace(config, teaching=TeachingConfig()))
    try:
        return run_config(override(values, teaching.settings))
    except ConfigError as e:
        raise ConfigError(f"'teaching.settings': {e}") from e
