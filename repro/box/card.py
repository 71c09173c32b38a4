"""Write the model card of the model in the box from the files that measured it.

    python repro/box/card.py

Reads the model folder's config.json and metrics.json, repro/results/box-test.json and repro/results/box-sentences.json.
"""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "src" / "tabsa" / "pretrained" / "places"
RESULTS = ROOT / "repro" / "results"
NAMES = {
    "strict_accuracy": "strict accuracy",
    "macro_f1": "aspect macro-F1",
    "aspect_auc": "aspect AUC",
    "sentiment_accuracy": "sentiment accuracy",
    "sentiment_auc": "sentiment AUC",
}


def _kinds(found: dict[str, Any]) -> str:
    """How each kind of sentence is answered."""
    rows = [
        f"| {kind} | {c['without mistake']} of {c['sentences']} | {c['right']} of {c['opinions']} | {c['not there']} |"
        for kind, c in [*found["kinds"].items(), ("all", found["all"])]
    ]
    head = "| kind | without any mistake | opinions right | opinions not there |"
    return "\n".join([head, "|---|---|---|---|", *rows])


def card() -> str:
    """The whole card."""
    config = json.loads((FOLDER / "config.json").read_text())
    metrics = json.loads((FOLDER / "metrics.json").read_text())
    test = json.loads((RESULTS / "box-test.json").read_text())
    sentences = json.loads((RESULTS / "box-sentences.json").read_text())
    columns = (("benchmark", "sun"), ("benchmark", "ma"), ("twelve", "sun"), ("twelve", "ma"), ("places", "sun"))
    figures = "\n".join(
        f"| {name} | " + " | ".join(f"{100 * test[data][family][metric]:.1f}" for data, family in columns) + " |"
        for metric, name in NAMES.items()
    )
    tables = {name: _kinds(found) for name, found in sentences.items()}
    calibration = metrics["calibration"]
    return f"""# places: the fast model in the box

The paper's own network, for texts about places: several times as fast as `reader`, the default, and it knows less.
Says of places named in English texts how each of twelve aspects is judged: positive, negative, or not at all.

- aspects: {", ".join(config["aspects"])}
- a Delayed EntNet with {config["model"]["chains"]} memory chains, one for each of {config["targets"]} targets; more
  targets are read in groups of {config["targets"]}
- word vectors: 35,001 words of GloVe 840B and some frequent ones aligned with them from GloVe 6B, in int8; other words
  get a vector from their spelling or a random one
- trained on Sentihood's training split and on 2,350 sentences made of patterns (`repro/box/write.py`: negations,
  contrasts, two places in one sentence), distilled from five seeds of `reader-large`
  (`repro/reader/paper_network.py`, on one H200; `tabsa train repro/box/places.toml` distils from its own kind); seed
  {metrics["seed"]}, selected on Sentihood's dev at epoch {metrics["epoch"]}
- calibrated on dev by a temperature of {calibration["temperature"]:.2f} and a bias for each class: calibration error
  {100 * calibration["error_before"]:.1f}% before, {100 * calibration["error_after"]:.1f}% after

## How good it is

As users get it (`tabsa evaluate places`): Sentihood's test split with the benchmark's four aspects and with all twelve
(London, 2016, a question-and-answer forum), and the package's `places` sentences, which are harder: written for
variety, from all over the world.

| % | Sentihood, 4 (sun) | 4 (ma) | 12 (sun) | 12 (ma) | `places`, 12 (sun) |
|---|---|---|---|---|---|
{figures}

Sentences written to try it, with real names (`python repro/box/ask.py`). These were written by someone who had seen
neither the model nor the patterns, and nothing was changed because of the answers (`repro/box/held-out.jsonl`; an
earlier model, whose patterns lacked "is too far", answered 43 of them without a mistake):

{tables["held-out"]}

These were looked at while it was being made, so they flatter it (`repro/box/sentences.jsonl`):

{tables["sentences"]}

## What it is bad at

- **Negation** in other words than the plain ones.
- **Two targets.** It mostly keeps them apart, but not always.
- **Opinions far from the name**, above all before it.
- **Sarcasm.** It reads words, not intent.
- **Anything but places.** It knows no other aspects; train your own for other domains.
- English only. Names it has never seen are fine, because a name is replaced by a token before the model sees it.

Sentihood's aspects follow its annotators: `general` is an overall judgement, `price` positive is cheap.
"""


if __name__ == "__main__":
    (FOLDER / "README.md").write_text(card(), encoding="utf-8")
