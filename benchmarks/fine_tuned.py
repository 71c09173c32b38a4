"""Sentences a second of a fine-tuned reader against the reader in the box, by turns in one run.

    python benchmarks/fine_tuned.py

A fine-tuned reader keeps the path of its questions in float16 and multiplies it in float32, so it is slower. Speed does
not depend on the weights: the folder is the box's with copies of the layers that questions go along. Sentihood's test
split where it is found, else `places`; all targets, twelve aspects.
"""

import json
import tempfile
from functools import partial
from pathlib import Path

from machine import machine

from scoring import rates, sentences
from tabsa.checkpoint.model_folder import open_folder
from tabsa.datasets.sentihood import ALL_ASPECTS
from tabsa.inference.predictor import Predictor
from tabsa.models.export import export
from tabsa.models.reader.reader_storage import TOKENIZER, write_reader_folder
from tabsa.training.fine_tuning import start_weights

RESULTS = Path(__file__).parent / "results" / "fine_tuned.json"
SENTENCES = 600


def main() -> None:
    """Both by turns, on one thread, by the time of the processor."""
    data = sentences(SENTENCES)
    texts, targets = [e.text for e in data.examples], [e.targets for e in data.examples]
    base = open_folder("reader")
    with tempfile.TemporaryDirectory() as place:
        config = base.config.__class__(**vars(base.config) | {"model": base.config.model | {"untied": True}})
        tokenizer = (base.path / TOKENIZER).read_bytes()
        weights = start_weights(base, base.config.labels)
        folder = write_reader_folder(Path(place), config, weights, tokenizer, {}, "copies", storage="int8")
        export(folder)
        export(folder, "int8")

        def run(model: Predictor) -> None:
            for _ in model.predict_many(texts, aspects=ALL_ASPECTS, targets_of_each=targets):
                pass

        models = {"reader": Predictor(base, threads=1), "fine-tuned": Predictor(folder, threads=1)}
        found = rates({name: (SENTENCES, partial(run, model)) for name, model in models.items()}, 5, 1)
        size = sum(path.stat().st_size for path in folder.path.iterdir())
    content = {
        **machine(),
        "data": data.name,
        "sentences_a_second_a_core": found,
        "ratio": found["fine-tuned"] / found["reader"],
        "megabytes": round(size / 1e6, 1),
    }
    RESULTS.write_text(json.dumps(content, indent=1) + "\n")
    print(json.dumps(content, indent=1))


if __name__ == "__main__":
    main()
