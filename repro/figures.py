"""Write the tables of README.md and repro/README.md from the results that commands made.

    python repro/figures.py

Each table stands between `<!-- NAME -->` and `<!-- end -->`.
"""

import json
import re
from pathlib import Path

from tabsa.metrics import METRICS
from tabsa.published import SYSTEMS

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "repro" / "results"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


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
        published = " | ".join(_percent(getattr(SYSTEMS[system].published, metric)) for metric in METRICS)
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
