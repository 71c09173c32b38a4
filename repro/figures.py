"""Write the tables of README.md and repro/README.md from the results that commands made.

    python repro/figures.py

Each table stands between `<!-- NAME -->` and `<!-- end -->`.
"""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "repro" / "results"
METRICS = ("strict_accuracy", "macro_f1", "aspect_auc", "sentiment_accuracy", "sentiment_auc")
PUBLISHED = {
    "lr": (None, 39.3, 92.4, 87.5, 90.5),
    "lstm-final": (None, 68.9, 89.8, 82.0, 85.4),
    "lstm-loc": (None, 69.3, 89.7, 81.9, 83.9),
    "lstm-ta-sa": (66.4, 76.7, None, 86.8, None),
    "sentic-lstm": (67.4, 78.2, None, 89.3, None),
    "delayed-entnet": (73.5, 78.5, 94.4, 91.0, 94.8),
}


def _percent(value: float | None, scale: float = 100) -> str:
    return "–" if value is None else f"{scale * value:.1f}"


def runs() -> dict[str, dict[str, object]]:
    """One seed of each system: dev and test figures."""
    return json.loads((RESULTS / "single-seed.json").read_text())


def single_seed() -> str:
    """Both families and the published figures."""
    lines = [
        "| system | strict sun / ma | F1 sun / ma | aspect AUC | sentiment accuracy | sentiment AUC |",
        "|---|---|---|---|---|---|",
    ]
    for system, run in runs().items():
        test = run["test"]
        both = [" / ".join(_percent(test[family][metric]) for family in ("sun", "ma")) for metric in METRICS[:2]]
        rest = [_percent(test["sun"][metric]) for metric in METRICS[2:]]
        lines.append(f"| {system} | " + " | ".join(both + rest) + " |")
        if system in PUBLISHED:
            published = " | ".join(_percent(value, 1) for value in PUBLISHED[system])
            lines.append(f"| *published* | {published} |")
    return "\n".join(lines)


def short() -> str:
    """A table for the front page."""
    lines = [
        "| | strict (ma) | F1 (sun) | aspect AUC | sentiment accuracy | sentiment AUC |",
        "|---|---|---|---|---|---|",
    ]
    for system, run in runs().items():
        test = run["test"]
        row = [test["ma"]["strict_accuracy"], *(test["sun"][metric] for metric in METRICS[1:])]
        lines.append(f"| {system} | " + " | ".join(map(_percent, row)) + " |")
    return "\n".join(lines)


def filled(page: Path) -> str:
    """The page with its tables renewed."""
    text = page.read_text(encoding="utf-8")
    for name, table in (("single-seed", single_seed), ("short", short)):
        block = re.compile(rf"(<!-- {name} -->\n).*?(\n<!-- end -->)", re.DOTALL)
        text = block.sub(lambda match, table=table: match[1] + table() + match[2], text)
    return text


PAGES = (ROOT / "README.md", ROOT / "repro" / "README.md")

if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page), encoding="utf-8")
