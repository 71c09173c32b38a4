"""How the model in the box does on sentences written for the purpose, with real names.

    python repro/box/ask.py [FOLDER]

`sentences.jsonl` was looked at while the model was being made, `held-out.jsonl` was not. Writes
repro/results/box-sentences.json: for each kind of sentence, how many are answered without any mistake, how many of the
opinions are found with the right polarity, and how many opinions are said that are not there.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import tabsa
from tabsa.datasets.loading import load
from tabsa.inference.predictor import Predictor
from tabsa.schema import NONE

HERE = Path(__file__).parent


def ask(model: Predictor, file: Path) -> dict[str, Any]:
    """What it says of each sentence, and how often that is right."""
    kinds: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    answers = []
    for example in load(str(file), "all").examples:
        kind = example.id.partition(" ")[2]
        result = model.predict(example.text, [target.name for target in example.targets])
        gold = {(o.target, o.aspect): o.polarity for o in example.opinions}
        predicted = {(o.target, o.aspect): o.polarity for o in result.opinions if o.polarity != NONE}
        counts = kinds[kind]
        counts["sentences"] += 1
        counts["without mistake"] += predicted == gold
        counts["opinions"] += len(gold)
        counts["right"] += sum(predicted.get(pair) == polarity for pair, polarity in gold.items())
        counts["not there"] += sum(pair not in gold for pair in predicted)
        answers.append({"text": example.text, "predicted": [[*pair, polarity] for pair, polarity in predicted.items()]})
        print("ok " if predicted == gold else "   ", example.text)
        for pair in gold.keys() | predicted.keys():
            if gold.get(pair) != predicted.get(pair):
                print("      ", *pair, "gold:", gold.get(pair, NONE), "predicted:", predicted.get(pair, NONE))
    total = {key: sum(counts[key] for counts in kinds.values()) for key in next(iter(kinds.values()))}
    for kind, counts in [*kinds.items(), ("all", total)]:
        print(f"{kind:<12}", ", ".join(f"{key} {value}" for key, value in counts.items()))
    return {"kinds": {kind: dict(counts) for kind, counts in kinds.items()}, "all": total, "answers": answers}


def main() -> None:
    """Ask, print, write."""
    model = tabsa.load(sys.argv[1] if len(sys.argv) > 1 else None)
    content = {name: ask(model, HERE / f"{name}.jsonl") for name in ("sentences", "held-out")}
    path = HERE.parent / "results" / "box-sentences.json"
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
