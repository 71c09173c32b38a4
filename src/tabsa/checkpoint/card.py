"""The metadata of a model card: what stands in YAML before a README.md, by which the hub lists and filters models.

Fields are those of the hub's specification of model cards. Only what the folder knows is written; whoever publishes a
model says its license, its datasets on the hub, and whatever else.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tabsa.checkpoint.model_folder import ModelFolder, shipped_models
from tabsa.errors import ModelError

_TASK: Final = "text-classification"
_TAGS: Final = ("tabsa", "sentiment-analysis", "aspect-based-sentiment-analysis", "onnx")
_ENGLISH: Final = ("sentihood", "semeval2014", "places", "everyday", "open")  # data that is known to be in English
# What the hub calls the figures of a report, and which of these are shown; the definitions are in docs/evaluation.md.
_FIGURES: Final = {
    "strict_accuracy": ("accuracy", "strict accuracy"),
    "macro_f1": ("f1", "macro-F1 of aspects"),
    "aspect_auc": ("roc_auc", "AUC of aspects"),
    "sentiment_accuracy": ("accuracy", "accuracy of sentiment"),
    "sentiment_auc": ("roc_auc", "AUC of sentiment"),
    "opinion_f1": ("f1", "F1 of opinions"),
    "presence_f1": ("f1", "F1 of presence"),
    "polarity_accuracy": ("accuracy", "accuracy of polarity"),
}
_SHOWN: Final = ("questions", "sun")  # the family of figures that is taken, the first that is there
_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9 ()/_.+-]*[A-Za-z0-9)]|[A-Za-z]", re.ASCII)
_OTHER_THAN_TEXT: Final = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "inf", "nan"}
_FIELD: Final = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)


def with_metadata(card: str, folder: ModelFolder, given: Mapping[str, Any] | None = None) -> str:
    """A model card with its metadata; what the card has already stays, and what is `given` goes before both."""
    given = dict(given or {})
    if wrong := [name for name in given if not _FIELD.fullmatch(name)]:
        raise ModelError(f"{wrong[0]!r} is no field of a model card; expected names such as license or language")
    before, text = _split(card.replace("\r\n", "\n"))
    fields = {name: yaml_lines({name: value}) for name, value in _known(folder).items()} | before
    for name, value in given.items():
        fields[name] = [] if value is None else yaml_lines({name: value})
    lines = [line for block in fields.values() for line in block]
    return "\n".join(["---", *lines, "---", "", text.lstrip("\n")])


def yaml_lines(value: Any, indent: str = "") -> list[str]:
    """Mappings, lists, texts, numbers and None as lines of YAML, blocks of two spaces."""
    if isinstance(value, Mapping) and value:
        lines = []
        for name, inner in value.items():
            if isinstance(inner, Mapping | list | tuple) and inner:
                lines += [f"{indent}{_scalar(str(name))}:", *yaml_lines(inner, indent + "  ")]
            else:
                lines.append(f"{indent}{_scalar(str(name))}: {_scalar(inner)}")
        return lines
    if isinstance(value, list | tuple) and value:
        lines = []
        for item in value:
            first, *rest = yaml_lines(item, indent + "  ")
            lines += [f"{indent}- {first.lstrip()}", *rest]
        return lines
    return [indent + _scalar(value)]


def _scalar(value: Any) -> str:
    """One value; a text is quoted, as JSON quotes it, wherever YAML might take it for something else."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _OTHER_THAN_TEXT:
        return value
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as e:
        raise ModelError(f"a model card holds texts, numbers, lists and mappings, not {type(value).__name__}") from e


def _split(card: str) -> tuple[dict[str, list[str]], str]:
    """The lines of each field of a card's metadata, and the card without them."""
    if not card.startswith("---\n"):
        return {}, card
    head, end, text = card.removeprefix("---\n").partition("\n---\n")
    if not end:
        return {}, card
    fields: dict[str, list[str]] = {}
    name = ""
    for line in head.split("\n"):
        if line and not line.startswith((" ", "-", "#", "\t")):
            name = line.partition(":")[0].strip("'\" ")
        fields.setdefault(name, []).append(line)
    return fields, text


def _known(folder: ModelFolder) -> dict[str, Any]:
    """The metadata that follows from what is in the folder."""
    shipped = folder.path.resolve() in [path.resolve() for path in shipped_models().values()]
    metrics = folder.metrics if (folder.path / "metrics.json").is_file() else {}
    fields: dict[str, Any] = {}
    if shipped or str(metrics.get("base") or metrics.get("data")) in (*_ENGLISH, *shipped_models()):
        fields["language"] = "en"
    if shipped:
        fields["license"] = "mit"
    fields |= {"library_name": "tabsa", "pipeline_tag": _TASK, "tags": [*_TAGS, folder.config.kind]}
    encoder = folder.config.model.get("encoder")
    if isinstance(encoder, str) and re.fullmatch(r"[\w-][\w.-]*/[\w.-]+", encoder):
        fields["base_model"] = encoder
    if results := list(_results(metrics)):
        fields["metrics"] = sorted({figure["type"] for result in results for figure in result["metrics"]})
        fields["model-index"] = [{"name": folder.path.resolve().name, "results": results}]
    return fields


def _results(metrics: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """Figures as the hub lists them, one entry a dataset and split."""
    for data, split, families in _measured(metrics):
        family: Mapping[str, Any] = next(
            (families[name] for name in _SHOWN if isinstance(families.get(name), Mapping)), {}
        )
        figures = [
            {"type": kind, "value": round(float(family[name]), 4), "name": words}
            for name, (kind, words) in _FIGURES.items()
            if type(family.get(name)) in (int, float)
        ]
        if figures:
            name = Path(data).stem or "data"
            yield {
                "task": {"type": _TASK, "name": "targeted aspect-based sentiment analysis"},
                "dataset": {"type": name, "name": name, "split": split},
                "metrics": figures,
            }


def _measured(metrics: Mapping[str, Any]) -> Sequence[tuple[str, str, Mapping[str, Any]]]:
    """Data, split and families of figures, in both forms that `metrics.json` has."""
    if isinstance(dev := metrics.get("dev"), Mapping):
        return [(str(metrics.get("data", "data")), str(metrics.get("split", "dev")), dev)]
    by_set: Mapping[str, Any] = next(
        (metrics[name] for name in ("int8", "float32") if isinstance(metrics.get(name), Mapping)), {}
    )
    named = ((*name.rpartition(" ")[::2], families) for name, families in by_set.items() if " " in name)
    return [(data, split, families) for data, split, families in named if isinstance(families, Mapping)]
