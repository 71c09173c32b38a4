"""How many readings of a text its evidence costs: one answer's words, phrases and sentences against one prediction.

    python benchmarks/evidence.py

Texts of 8 to 600 words that are made of sentences of Sentihood (or `places`), one target, one aspect, one thread, by
turns in one run, by the time of the processor. What is promised is ten at most.
"""

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from machine import machine

import tabsa
from scoring import sentences
from tabsa.inference.predictor import Predictor
from tabsa.inference.results import Prediction

RESULTS = Path(__file__).parent / "results" / "evidence.json"
LENGTHS = (8, 16, 32, 64, 128, 300, 600)
TURNS = 9


def made_texts() -> dict[int, str]:
    """A text for each length, which names its target in the beginning."""
    words = " ".join(example.text for example in sentences(400).examples).split()
    return {length: "Camden is cheap. " + " ".join(words[: length - 3]) for length in LENGTHS}


def seconds(task: Callable[[], object]) -> float:
    """The processor's time for one go."""
    started = time.process_time()
    task()
    return time.process_time() - started


def ratios(predictor: Predictor, texts: dict[int, str]) -> dict[int, dict[str, float]]:
    """Milliseconds of a reading and of the evidence, and the ratio, for each length."""
    found = {}
    for length, text in texts.items():
        prediction = predictor.predict(text, ["Camden"], ["price"])

        def read(text: str = text) -> object:
            return list(predictor.predict_many([text], ["Camden"], ["price"]))

        def explain(prediction: Prediction = prediction) -> object:
            return prediction.evidence("Camden", "price")

        read(), explain()
        times = [(seconds(read), seconds(explain)) for _ in range(TURNS)]
        reading, evidence = (statistics.median(column) for column in zip(*times, strict=True))
        found[length] = {"reading_ms": 1e3 * reading, "evidence_ms": 1e3 * evidence, "ratio": evidence / reading}
    return found


def main() -> None:
    """Both models in the box."""
    texts = made_texts()
    models = {name: ratios(tabsa.load(name, threads=1), texts) for name in ("reader", "places")}
    for name, rows in models.items():
        for length, row in rows.items():
            took = f"reading {row['reading_ms']:7.1f} ms  evidence {row['evidence_ms']:7.1f} ms"
            print(f"{name:8} {length:4} words  {took}  {row['ratio']:4.1f} readings")
    result = {**machine(), "models": models}
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
