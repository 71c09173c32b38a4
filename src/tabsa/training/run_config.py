"""A training run as one TOML file, typed and checked; or as a table of labels with a few options."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, Literal

from tabsa.checkpoint.model_folder import DEFAULT
from tabsa.config import build, option, override, read_toml
from tabsa.datasets.loading import named_columns
from tabsa.datasets.own import frame_dataset
from tabsa.datasets.records import Columns
from tabsa.embeddings.packing import Storage
from tabsa.errors import ConfigError, DataNotFoundError, nearest
from tabsa.models.registry import SYSTEMS, System
from tabsa.schema import Dataset

Optimiser = Literal["ftrl", "ftrl-tf", "adam", "adamw"]
Clip = Literal["variable", "global"]
Balance = Literal["mixed", "turns", "sentence"]
Selection = Literal["mean", "opinion_f1", "last"]


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """The data that is read."""

    name: str = option("places", "a dataset's name (see `tabsa data`), or a file or folder of your own")
    train: str = option("train", "the split to learn from")
    dev: str = option("dev", "the split that selects")
    aspects: tuple[str, ...] = option((), "the aspects; none named: the dataset's own choice; all: every one")
    targets: int = option(2, "targets a model knows at a time", low=1)
    more: str = option("", "a file of your own whose texts are learnt from besides `train`")
    max_length: int = option(50, "words after which a text is cut into passages; 0: never", low=0)
    columns: Columns = option(Columns(), "what the columns of your own files are called")

    @property
    def own_columns(self) -> Columns | None:
        """The columns, where any is called otherwise: named datasets have columns of their own."""
        return None if self.columns == Columns() else self.columns


@dataclass(frozen=True, kw_only=True)
class VectorsConfig:
    """The word vectors, which are not trained."""

    file: str = option("", "GloVe, below a data folder or anywhere; box: those of `places`; empty: random")
    size: int = option(100, "of a random vector where there is no file", low=1)
    target_scale: float = option(1.0, "size of a target token's random vector, as a share of the others'", low=0)
    storage: Storage = option("float16", "how the model folder keeps them: float16, or int8 with weights in float16")
    first: int = option(50_000, "words of the file taken along for texts to come, besides the data's own", low=0)
    aligned: str = option("", "GloVe with more words, of any size: those that `file` lacks, aligned by a linear map")
    aligned_first: int = option(0, "words of `aligned` taken along for texts to come, besides the data's own", low=0)


@dataclass(frozen=True, kw_only=True)
class AugmentationConfig:
    """Training sentences made of others."""

    composed: float = option(0.0, "two-target sentences made of one-target ones, for each sentence there is", low=0)
    copies: int = option(8, "versions of the training sentences that teachers answer, the first as it stands", low=1)
    replaced: float = option(0.15, "share of the words of those versions that give way to near ones", low=0, high=0.9)


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """The training of a model: batches, optimiser, validation."""

    epochs: int = option(100, "passes; see `balance` for what a pass is; 0, in fine-tuning: by the data", low=0)
    batch_size: int = option(128, "pairs, or sentences, in a batch; 0, in fine-tuning: by the data", low=0)
    balance: Balance = option("mixed", "mixed: all classes in a batch; turns: one; sentence: whole sentences")
    class_power: float = option(0.5, "with `sentence`, a class weighs 1 / frequency ** this in the loss", low=0, high=1)
    shuffle_targets: bool = option(False, "give a sentence's targets other slots each time it is read")
    optimiser: Optimiser = option("ftrl", "ftrl, ftrl-tf (TensorFlow's start at zero), adam or adamw")
    rate: float = option(0.05, "learning rate", low=1e-12)
    schedule: Literal["constant", "linear"] = option("constant", "how the rate falls to 0, or not")
    warmup: int = option(0, "updates over which the rate rises from 0", low=0)
    weight_decay: float = option(0.0, "AdamW's", low=0)
    beta2: float = option(0.999, "Adam's and AdamW's second decay", low=0, high=0.99999)
    layer_decay: float = option(1.0, "layer-wise rates: what an encoder's rate falls by, layer by layer", low=0, high=1)
    head_rate: float = option(1.0, "what the rate is multiplied by for what is not the encoder's", low=0)
    ema: float = option(
        0.0, "decay of the exponential moving average of the weights, which is used; 0: none", low=0, high=0.9999
    )
    clip: Clip = option("variable", "whose gradient norm is limited: each variable's, or all together")
    clip_norm: float = option(5.0, "that limit", low=0)
    validate_every: int = option(1, "epochs between validations on dev, each of which saves", low=1)
    select: Selection = option(
        "mean", "the best state on dev: by the mean of all metrics, readers also by opinion_f1; last: none"
    )
    calibrate: Literal["temperature", "classes"] = option(
        "temperature", "fitted on dev: one temperature, or also a bias for each class, which changes decisions"
    )
    bias_share: float = option(1.0, "with `classes`, what is left of the biases; less: more is found", low=0, high=1)
    patience: int = option(0, "early stopping: validations without a better one; 0: never", low=0)
    precision: Literal["float32", "tf32", "bf16"] = option(
        "float32", "of a GPU's products, sums are float32; bf16 is for readers, and tf32 elsewhere"
    )
    seed: int = option(1, "the first seed; several take the numbers after it", low=0, high=2**31)
    threads: int = option(0, "CPU threads; 0: as many as there are cores", low=0, high=1024)


@dataclass(frozen=True, kw_only=True)
class DistillationConfig:
    """Soft labels of others of its kind, trained first, that a model learns instead of the labels."""

    teachers: int = option(0, "seeds trained first, whose mean answers are learnt; 0: none", low=0)
    settings: tuple[str, ...] = option((), "what is different in their configuration, each as SECTION.KEY=VALUE")
    weight: float = option(1.0, "of the soft labels in the loss; the rest is the labels'", low=0, high=1)


@dataclass(frozen=True, kw_only=True)
class QuestionsConfig:
    """Questions that a model with open aspects is trained on, drawn anew in every epoch."""

    sets: tuple[str, ...] = option((), "further datasets, each NAME, NAME:SPLIT or a file, and * N to read it N times")
    dev_aspects: tuple[str, ...] = option((), "the aspects that dev is judged by; none named: those of training")
    none: int = option(4, "aspects without an opinion, for each target of a text with an inventory", low=0)
    named: float = option(0.0, "share of the texts about an unnamed thing that give it a name", low=0, high=1)
    ask_all: int = option(16, "an inventory of at most this many aspects is asked whole", low=0)


@dataclass(frozen=True, kw_only=True)
class FineTuningConfig:
    """A reader that is trained further on labels of your own."""

    base: str = option("", "the reader to start from, by name or folder; empty: train what `kind` says from its start")
    encoder: Literal["frozen", "trained"] = option("frozen", "frozen: texts are read once, and what answers learns")
    minutes: float = option(0.0, "how long it may take; 0: as long as it takes", low=0)


@dataclass(frozen=True)
class RunConfig:
    """A whole run; `model` is the configuration class of the system called `kind`."""

    kind: str
    model: Any
    data: DataConfig = DataConfig()
    vectors: VectorsConfig = VectorsConfig()
    augmentation: AugmentationConfig = AugmentationConfig()
    training: TrainingConfig = TrainingConfig()
    distillation: DistillationConfig = DistillationConfig()
    questions: QuestionsConfig = QuestionsConfig()
    fine_tuning: FineTuningConfig = FineTuningConfig()

    @property
    def system(self) -> System:
        """The system that is trained."""
        return SYSTEMS[self.kind]


_SECTIONS: Final[dict[str, type[Any]]] = {field.name: type(field.default) for field in fields(RunConfig)[2:]}
# Options of fine-tuning that a configuration leaves open, by what happens to the encoder.
_TUNED: Final[dict[str, dict[str, dict[str, Any]]]] = {
    "frozen": {
        "model": {"dropout": 0.3},
        "training": {
            "optimiser": "adamw", "rate": 3e-5, "epochs": 0, "batch_size": 0, "schedule": "linear", "warmup": 5,
            "weight_decay": 0.01, "beta2": 0.99, "clip": "global", "clip_norm": 1.0, "patience": 3,
        },
    },
    "trained": {
        "model": {"dropout": 0.1},
        "training": {
            "optimiser": "adamw", "rate": 3e-5, "epochs": 4, "batch_size": 16, "schedule": "linear", "warmup": 20,
            "weight_decay": 0.01, "beta2": 0.99, "clip": "global", "clip_norm": 1.0, "layer_decay": 0.9,
            "select": "opinion_f1", "class_power": 0.0,
        },
    },
}  # fmt: skip


def read_config(path: Path, settings: tuple[str, ...] = ()) -> RunConfig:
    """The run that a TOML file describes, with `section.key=value` settings over it."""
    return run_config(override(read_toml(path), settings))


def run_config(values: dict[str, Any]) -> RunConfig:
    """The run that plain data describes."""
    for key in values:
        if key not in ("kind", "model", *_SECTIONS):
            raise ConfigError(f"unknown key '{key}'{nearest(key, ('kind', 'model', *_SECTIONS))}")
        if key != "kind" and not isinstance(values[key], dict):
            raise ConfigError(f"'{key}' is a section: expected [{key}], got {values[key]!r}")
    values = _with_base(values)
    kind = values["kind"]
    if not isinstance(kind, str) or kind not in SYSTEMS:
        raise ConfigError(f"'kind' is {kind!r}{nearest(str(kind), SYSTEMS)}")
    config = RunConfig(
        kind,
        build(SYSTEMS[kind].config_class, values.get("model", {}), "model."),
        **{name: build(cls, values.get(name, {}), f"{name}.") for name, cls in _SECTIONS.items()},
    )
    for name in ("epochs", "batch_size"):
        if not getattr(config.training, name) and not config.fine_tuning.base:
            raise ConfigError(f"'training.{name}' is 0, which is for fine-tuning; expected at least 1")
    if config.training.select == "opinion_f1" and not config.system.open_aspects:
        raise ConfigError(f"'training.select' is 'opinion_f1', which is for readers, and 'kind' is '{kind}'")
    if config.augmentation.composed and (config.data.targets < 2 or config.system.concepts):
        raise ConfigError("'augmentation.composed' is for models of two targets or more, and not for concepts")
    if config.distillation.teachers:
        if not config.system.neural or config.system.concepts or config.system.open_aspects:
            raise ConfigError(f"'distillation.teachers' is for models that read words alone, and 'kind' is '{kind}'")
        teachers_config(config)  # which may be wrong, and is better said now
    return config


def _with_base(values: dict[str, Any]) -> dict[str, Any]:
    """Fill in the options of fine-tuning that are not given; a run without a `kind` fine-tunes the model in the box."""
    tuning = values.get("fine_tuning", {})
    if "kind" not in values:
        values, tuning = {"kind": "reader", **values}, {"base": DEFAULT, **tuning}
    if not tuning.get("base"):
        return values
    if (system := SYSTEMS.get(str(values["kind"]))) is not None and not system.open_aspects:
        raise ConfigError(f"'fine_tuning.base' is for readers, and 'kind' is '{values['kind']}'; leave one of them out")
    defaults = _TUNED.get(str(tuning.get("encoder", "frozen")), {})
    filled = {section: own | values.get(section, {}) for section, own in defaults.items()}
    return {**values, **filled, "fine_tuning": tuning}


def teachers_config(config: RunConfig) -> RunConfig:
    """The configuration of a run's teachers."""
    values = asdict(replace(config, distillation=DistillationConfig()))
    try:
        return run_config(override(values, config.distillation.settings))
    except ConfigError as e:
        raise ConfigError(f"'distillation.settings': {e}") from e


def requested_run(
    data: Any,
    *,
    columns: Columns | Mapping[str, str] | None = None,
    more: Path | None = None,
    base: str | None = None,
    kind: str | None = None,
    full: bool = False,
    minutes: float | None = None,
    epochs: int | None = None,
    settings: tuple[str, ...] = (),
) -> tuple[RunConfig, Dataset | None]:
    """The run that a person describes, and its dataset where that is in memory.

    `data` is a table of labels, by its path or in memory, a TOML file, or a whole configuration; the rest goes over it.
    """
    if isinstance(data, RunConfig | Mapping):
        if any((columns, more, base, kind, full, minutes, epochs, settings)):
            raise ConfigError("options are given beside a whole configuration; say them there")
        return data if isinstance(data, RunConfig) else run_config(dict(data)), None
    if base and kind:
        raise ConfigError("a base is what fine-tuning starts from, a kind what is trained from nothing; give one")
    dataset, values = None, {"kind": kind} if kind else {}
    named = None if columns is None else named_columns(columns)
    if isinstance(data, str | Path):
        values = _file_values(Path(data).expanduser()) | values
        if named is not None:
            _put(values, "data", columns=asdict(named))
    else:
        dataset = frame_dataset(data, named or Columns())
        _put(values, "data", name=dataset.name)
    if more is not None:
        if not more.is_file():
            raise DataNotFoundError(f"no file {more}; expected further labels")
        _put(values, "data", more=str(more))
    _put(values, "fine_tuning", base=base, encoder="trained" if full else None, minutes=minutes)
    _put(values, "training", epochs=epochs)
    run = run_config(override(values, settings))
    if not run.fine_tuning.base and (full or minutes is not None):
        raise ConfigError(f"a '{run.kind}' is trained from nothing; 'full' and 'minutes' are for fine-tuning")
    return run, dataset


def _file_values(source: Path) -> dict[str, Any]:
    """The configuration that a TOML file holds, or the one that names a table; data may lie beside a TOML file."""
    if not source.name.lower().endswith(".toml"):
        if not source.exists():
            raise DataNotFoundError(f"no file or folder {source}; expected your labels, or a configuration (.toml)")
        return {"data": {"name": str(source)}}
    values = read_toml(source)
    name = values["data"].get("name") if isinstance(values.get("data"), dict) else None
    if isinstance(name, str) and name.strip(".") and not Path(name).exists() and (source.parent / name).exists():
        _put(values, "data", name=str(source.parent / name))
    return values


def _put(values: dict[str, Any], section: str, **more: Any) -> None:
    """Set what is given in a section, unless that is no section, which is said elsewhere."""
    given = {name: value for name, value in more.items() if value is not None}
    if given and isinstance(values.get(section, {}), dict):
        values[section] = {**values.get(section, {}), **given}
