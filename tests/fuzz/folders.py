"""Model folders that were damaged, or written by somebody who means harm: loaded, and asked once."""

import contextlib
import json
import random
import shutil
from pathlib import Path
from typing import Any

from fuzz.cases import ANSWERED, Broken, Case
from fuzz.graphs import added, some_addition
from fuzz.making import ODD_NUMBERS, changed_json, edited, some_edits, some_value
from fuzz.models import BOX, SMALL
from fuzz.texts import check_prediction
from tabsa.checkpoint.model_folder import shipped_models
from tabsa.inference.predictor import Predictor, load

_ENTNET = ("config.json", "weights.safetensors", "vectors.safetensors", "model.onnx", "metrics.json", "checksums.json")
_READER = (
    *(
        "config.json",
        "weights.safetensors",
        "tokenizer.json",
        "read.onnx",
        "ask.onnx",
        "metrics.json",
        "checksums.json",
    ),
    *("read.int8.onnx", "ask.int8.onnx"),
)
_FILES = {"tiny": _ENTNET, "tiny-reader": _READER, "places": (*_ENTNET, "model.int8.onnx"), "reader": _READER}
_JSON = ("config.json", "config.json", "config.json", "tokenizer.json", "checksums.json", "metrics.json")
# What a configuration has, to be replaced one at a time by anything at all.
_FIELDS = (
    "kind", "model", "aspects", "labels", "targets", "max_length", "temperature", "bias", "tokeniser", "calibration",
    "implied", "named", "windows", "format",
)  # fmt: skip
_TEXT = "Camden is not cheap but lovely. Hull is dear; I like the price in Hull."
_NEAR = 1e-5


def make(chance: random.Random) -> Case:
    """A folder, and what happened to it: `damage` to one file, or a `forged` folder whose checksums fit."""
    base = chance.choices((*SMALL, *BOX), (52, 42, 3, 3))[0]
    case: Case = {"base": base, "precision": chance.choice(("auto", "float32", "int8"))}
    way = chance.random()
    if way < 0.45:
        case["damage"] = [chance.choice(_FILES[base]), some_edits(chance, 3)]
    elif way < 0.5:
        case["gone"] = chance.choice(_FILES[base])
    elif way < 0.6:
        case["forged"] = [[chance.choice(_FILES[base]), {"from": chance.choice(_FILES[base])}]]
    elif way < 0.68:
        graphs = [name for name in _FILES[base] if name.endswith(".onnx")]
        case["forged"] = [[chance.choice(graphs), {"graph": some_addition(chance)}]]
    elif way < 0.78:
        case["forged"] = [[chance.choice(_FILES[base]), {"edits": some_edits(chance)}]]
    elif way < 0.9:
        field = chance.choice(_FIELDS)
        case["forged"] = [["config.json", {"field": [field, _field(chance, field)]}]]
    else:
        name = chance.choice(_JSON)
        name = name if name in _FILES[base] else "config.json"
        case["forged"] = [[name, {"json": [chance.randrange(10**6), chance.randint(1, 3)]}]]
    return case


def _field(chance: random.Random, field: str) -> Any:
    if chance.random() < 0.4:
        return some_value(chance)
    return {
        "aspects": ["price"] * chance.choice((1, 2, 5000)),
        "labels": chance.choice(
            (["none"], ["none", "none"], ["positive", "none"], ["a"] * 9, ["", "none", "positive"])
        ),
        "kind": chance.choice(("entnet", "lstm-final", "lr", "reader", "delayed-entnet", "sentic-lstm", "../x", "")),
        "bias": [chance.choice(ODD_NUMBERS) for _ in range(chance.randint(0, 4))],
        "windows": [chance.choice((0, 1, 3, 100, 10**9)) for _ in range(2)],
        "model": {},
    }.get(field, chance.choice(ODD_NUMBERS))


class Folders:
    """Runs folders: one copy of each base, mended after each case."""

    def __init__(self, models: Path, scratch: Path) -> None:
        self._models, self._scratch = models, scratch / "folders"
        self._right: dict[tuple[str, str], Any] = {}

    def run(self, case: Case) -> str:
        """Damage, load, ask, mend."""
        folder = self._base(case["base"])
        right = self._answers(case, folder)
        changes = self._changes(case, folder)
        before = {
            name: (folder / name).read_bytes() for name in (*changes, "checksums.json") if (folder / name).exists()
        }
        try:
            for name, content in changes.items():
                (folder / name).unlink(missing_ok=True)
                if content is not None:
                    (folder / name).write_bytes(content)
            if "forged" in case:
                _seal(folder, changes)
            found = _ask(load(folder, threads=1, precision=case["precision"]))
        finally:
            for name in changes:
                (folder / name).unlink(missing_ok=True)
            for name, content in before.items():
                (folder / name).write_bytes(content)
        if "damage" in case and found != right and not _near(found, right):
            raise Broken(f"damage to {case['damage'][0]} changes an answer in silence")
        return ANSWERED

    def _base(self, name: str) -> Path:
        copy = self._scratch / name
        if not copy.exists():
            shutil.copytree(self._models / name if name in SMALL else shipped_models()[name], copy)
        return copy

    def _answers(self, case: Case, folder: Path) -> Any:
        """What the folder says as it is; None where it has no graph of this precision."""
        key = (case["base"], case["precision"])
        if key not in self._right:
            try:
                self._right[key] = _ask(load(folder, threads=1, precision=case["precision"]))
            except Exception:  # such as an int8 graph that nobody exported
                self._right[key] = None
        return self._right[key]

    def _changes(self, case: Case, folder: Path) -> dict[str, bytes | None]:
        def content(name: str) -> bytes:
            return (folder / name).read_bytes() if (folder / name).exists() else b"{}"

        if "gone" in case:
            return {case["gone"]: None}
        if "damage" in case:
            name, edits = case["damage"]
            return {name: edited(content(name), edits)}
        made: dict[str, bytes | None] = {}
        for name, change in case["forged"]:
            if "from" in change:
                made[name] = content(change["from"])
            elif "edits" in change:
                made[name] = edited(content(name), change["edits"])
            elif "graph" in change:
                made[name] = added(content(name), change["graph"])
            elif "text" in change:
                made[name] = "".join(what * times for what, times in change["text"]).encode()
            elif "field" in change:
                made[name] = json.dumps(json.loads(content(name)) | dict([change["field"]])).encode()
            else:
                seed, times = change["json"]
                made[name] = changed_json(random.Random(seed), json.loads(content(name)), times).encode()
        return made


def _seal(folder: Path, changes: dict[str, bytes | None]) -> None:
    """Make the checksums fit, as somebody who means harm would."""
    path = folder / "checksums.json"
    if "checksums.json" in changes or not path.exists():
        return
    import hashlib

    with contextlib.suppress(KeyError):
        kept = json.loads(path.read_text())
        for name, content in changes.items():
            if name in kept["sha256"] and content is not None:
                kept["sha256"][name] = hashlib.sha256(content).hexdigest()
        path.write_text(json.dumps(kept))


def _ask(model: Predictor) -> list[dict[str, float]]:
    found = model.predict(_TEXT, ["Camden", "Hull"], ["price"] if model.open_aspects else None)
    check_prediction(found, _TEXT)
    return [opinion.probabilities for opinion in found.opinions]


def _near(found: list[dict[str, float]], right: list[dict[str, float]] | None) -> bool:
    if right is None or len(found) != len(right):
        return False
    pairs = zip(found, right, strict=True)
    return all(one.keys() == two.keys() and all(abs(one[k] - two[k]) < _NEAR for k in one) for one, two in pairs)
