"""Write the tables of README.md, repro/README.md and some pages of docs/ from the results that commands made.

    python repro/figures.py

Each table stands between `<!-- NAME -->` and `<!-- end -->`.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tabsa.evaluation.metrics import FAMILIES, METRICS
from tabsa_repro.experiments import PAPER
from tabsa_repro.paper_tables import markdown, table_of
from tabsa_repro.published import PUBLISHED, PublishedFigures

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "repro" / "results"
Table = Callable[[Path], str | None]  # from the folder of results
_SHORT = "| | strict | F1 | aspect AUC | sentiment accuracy | sentiment AUC |"

# Later systems that the package does not have, for comparison.
OTHERS = {
    "BERT-pair-QA-M": PublishedFigures(0.794, 0.864, 0.970, 0.936, 0.964, "Sun et al. (2019)"),
    "BERT-pair-QA-B": PublishedFigures(0.792, 0.879, 0.971, 0.933, 0.970, "Sun et al. (2019)"),
    "QACG-BERT": PublishedFigures(0.809, 0.897, 0.978, 0.938, 0.978, "Wu and Ong (2021)"),
}


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def reproduced(experiment: str) -> Table:
    """All seeds of an experiment, with what was published; nothing before it has been run."""

    def table(results: Path) -> str | None:
        path = results / f"{experiment}.json"
        return markdown(table_of(experiment, json.loads(path.read_text()))) if path.exists() else None

    return table


def table1_short(results: Path) -> str | None:
    """Means of all seeds for the front page, the better family where there are two, above the published figures."""
    path = results / "table1.json"
    if not path.exists():
        return None
    lines = [_SHORT, "|---|---|---|---|---|---|"]
    for record in json.loads(path.read_text()):
        test, system = record["mean"]["test"], record["system"]
        if system == PAPER:
            continue
        row = [max(test[family][metric] for family in FAMILIES) for metric in METRICS]
        published = [getattr(PUBLISHED[record["config"]["kind"]], metric) for metric in METRICS]
        lines.append(f"| {system} | " + " | ".join(map(_percent, row)) + " |")
        lines.append("| *published* | " + " | ".join(map(_percent, published)) + " |")
    return "\n".join(lines)


def against(results: Path) -> str | None:
    """In words, how the paper's model stands to the paper, and how long its schedule takes."""
    path = results / "table1.json"
    if not path.exists():
        return None
    records = {record["system"]: record for record in json.loads(path.read_text())}
    record, taught = records["delayed-entnet"], records["delayed-entnet-taught"]
    schedule = records[PAPER]
    published = PUBLISHED["delayed-entnet"]

    def differences(test: dict[str, dict[str, float]]) -> str:
        named = zip(
            METRICS, ("strict accuracy", "F1", "aspect AUC", "sentiment accuracy", "sentiment AUC"), strict=True
        )
        each = ((name, max(test[f][metric] for f in FAMILIES) - getattr(published, metric)) for metric, name in named)
        return ", ".join(f"{name} {100 * difference:+.1f}" for name, difference in each)

    return (
        f"Delayed EntNet less the paper, in points: {differences(record['mean']['test'])}.\n"
        f"Taught by ten others of its kind: {differences(taught['mean']['test'])}.\n"
        f"The mean of five such seeds' probabilities: {differences(taught['ensemble']['test'])}.\n"
        f"By the paper's own recipe: {differences(schedule['mean']['test'])};\n"
        f"its full schedule with five seeds takes {schedule['seconds']:.0f} s on one {schedule['device']}\n"
        f"(`{schedule['command']}`)."
    )


def together(results: Path) -> str | None:
    """The mean of all seeds' probabilities as one system, the better family where there are two."""
    path = results / "table1.json"
    if not path.exists():
        return None
    lines = [_SHORT, "|---|---|---|---|---|---|"]
    for record in json.loads(path.read_text()):
        if "ensemble" in record:
            test = record["ensemble"]["test"]
            row = [max(test[family][metric] for family in FAMILIES) for metric in METRICS]
            lines.append(f"| {record['system']} | " + " | ".join(map(_percent, row)) + " |")
    return "\n".join(lines)


def quick(results: Path) -> str | None:
    """What `quick/sentihood.toml` comes to, in both families, on dev and on test."""
    path = results / "quick.json"
    if not path.exists():
        return None
    lines = [_SHORT.replace("| |", "| | |", 1), "|---|---|---|---|---|---|---|"]
    content = json.loads(path.read_text())
    for split in ("dev", "test"):
        for family in FAMILIES:
            row = [content[split][family][metric] for metric in METRICS]
            lines.append(f"| {split} | {family} | " + " | ".join(map(_percent, row)) + " |")
    return "\n".join(lines)


def figure2(results: Path) -> str | None:
    """How much of a gate is left far from any mention."""
    path = results / "figure2.json"
    if not path.exists():
        return None
    lines = ["| system | gate beside a mention | ten words on or more | share that is left |", "|---|---|---|---|"]
    for record in json.loads(path.read_text())["systems"]:
        found = record["gates"]["far_over_near"]
        spread = "" if found["sd"] is None else f" ± {_percent(found['sd'])}"
        row = (f"{found['near']:.3f}", f"{found['far']:.3f}", f"{_percent(found['share'])}%{spread}")
        lines.append(f"| {record['system']} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def _records(results: Path) -> dict[tuple[str, str], Any]:
    path = results / "reader.json"
    found = json.loads(path.read_text()) if path.exists() else []
    return {(record["system"], record["data"]): record for record in found}


def reader(results: Path) -> str | None:
    """The readers on Sentihood's test split, family `sun`, beside the best that was published."""
    records = _records(results)
    if not records:
        return None
    lines = [_SHORT, "|---|---|---|---|---|---|"]
    for (system, data), record in records.items():
        if data != "sentihood":
            continue
        mean, spread = record["mean"]["test"]["sun"], record["sd"]["test"]["sun"]
        cells = (f"{_percent(mean[metric])} ± {_percent(spread[metric])}" for metric in METRICS)
        lines.append(f"| {system} | {' | '.join(cells)} |")
    for system in ("reader-large, any aspects", "reader, any aspects"):
        several = records[system, "several"]["mean"]["sentihood test"]["sun"]
        lines.append(f"| {system} | " + " | ".join(_percent(several[m]) for m in METRICS) + " |")
    lines.append("| *QACG-BERT, published, selected on test* | 80.9 | 89.7 | 97.8 | 93.8 | 97.8 |")
    return "\n".join(lines)


def reader_others(results: Path) -> str | None:
    """The readers on other data: a line for each figure, a column for each reader."""
    records = _records(results)
    if not records:
        return None
    in_box = "reader in the package"
    systems = ("reader-large", "reader-large, question layers", "reader", in_box)

    def mean(system: str, data: str) -> Any:
        found = records.get((system, data))
        return None if found is None else found["mean"]

    box = json.loads((ROOT / "src/tabsa/pretrained/reader/metrics.json").read_text())["int8"]

    def questions(split: str, own: str = "") -> Callable[[str], str]:
        def cell(system: str) -> str:
            names = ("opinion_f1", "presence_f1", "polarity_accuracy", "false_opinions")
            several = box if system == in_box else mean(f"{system}, any aspects", "several")
            found = several.get(own or split if system == in_box else split)
            return " / ".join(_percent(found["questions"][name]) for name in names) if found else "–"

        return cell

    def restaurants(system: str) -> str:
        found = mean(system, "semeval2014")
        names = ("f1", "4-way", "3-way", "binary")
        return " / ".join(_percent(found["test"]["semeval2014"][name]) for name in names) if found else "–"

    def mams(system: str) -> str:
        found = mean(system, "mams")
        return _percent(found["dev"]["questions"]["polarity_accuracy"]) if found else "–"

    def flawless(system: str) -> str:
        if system == in_box:
            return str(sum(right for right, _ in box["held-out"].values()))
        found = mean(f"{system}, any aspects", "several")["held-out"]["sentences"]["without mistake"]
        return f"{found:.1f}".removesuffix(".0")

    rows: list[tuple[str, Callable[[str], str]]] = [
        ("SemEval-2014 test: F1 of categories / 4-way / 3-way / binary", restaurants),
        ("MAMS categories, dev: 3-way accuracy", mams),
        ("one model with any aspects: opinion F1 / presence F1 / polarity / false opinions", lambda _: ""),
        ("`everyday`, test, unseen domains", questions("everyday test-unseen")),
        ("`everyday`, test, seen domains", questions("everyday test-seen")),
        ("`everyday`, test, asked what is hard", questions("everyday test-hard")),
        ("`everyday`, test, later texts", questions("everyday test-new")),
        ("`real`, test", questions("real test")),
        ("`places`, test", questions("places test")),
        ("60 held-out sentences about places", questions("held-out", "repro/box/held-out.jsonl all")),
        ("of these without any mistake", flawless),
    ]
    lines = ["| % | " + " | ".join(systems) + " |", "|---|" + "---|" * len(systems)]
    return "\n".join([*lines, *(f"| {name} | " + " | ".join(map(cell, systems)) + " |" for name, cell in rows)])


def judge(results: Path) -> str | None:
    """The judge beside the reader in the package: a line for each held-out set."""
    path = results / "judge.json"
    if not path.exists():
        return None
    record = next(one for one in json.loads(path.read_text()) if one["system"] == "judge")
    box = json.loads((ROOT / "src/tabsa/pretrained/reader/metrics.json").read_text())["int8"]
    names = ("opinion_f1", "presence_f1", "polarity_accuracy", "false_opinions")

    def cell(figures: dict[str, Any] | None) -> str:
        return " / ".join(_percent(figures["questions"][name]) for name in names) if figures else "–"

    head = f"judge, mean of {len(record['seeds'])} seeds | their answers averaged | `reader`"
    lines = [f"| opinion F1 / presence F1 / polarity / false opinions | {head} |", "|---|---|---|---|"]
    for data, figures in record["mean"].items():
        lines.append(f"| {data} | {cell(figures)} | {cell(record['ensemble'][data])} | {cell(box.get(data))} |")
    sun = (one["sentihood test"]["sun"] for one in (record["mean"], record["ensemble"], box))
    rows = (" / ".join(_percent(one[metric]) for metric in METRICS) for one in sun)
    return "\n".join([*lines, "| Sentihood's benchmark, test, family `sun` | " + " | ".join(rows) + " |"])


def gpu(results: Path) -> str | None:
    """An update on a GPU, each way it can be run."""
    content = json.loads((results.parents[1] / "benchmarks" / "results" / "gpu_training.json").read_text())
    lines = ["| path, products | ms an update | times eager | GB |", "|---|---|---|---|"]
    for name, row in content["updates"].items():
        lines.append(f"| {name} | {row['ms']:.1f} | {row['times_eager']:.1f} | {row['gigabytes']:.0f} |")
    minutes = content["seconds_for_14400_updates_drawing_included"] / 60
    return "\n".join([*lines, "", f"The paper's 14,400 updates take {minutes:.0f} minutes, drawing included."])


def speed(results: Path) -> str | None:
    """What using the model in the box costs, each figure beside what one would use instead."""

    def measured(name: str) -> Any:
        return json.loads((results.parents[1] / "benchmarks" / "results" / f"{name}.json").read_text())

    scoring, start, install = measured("scoring")["sentences_per_second"], measured("start"), measured("install")
    services = measured("service")["services"]
    clients = "64"
    one, two = (services[name][clients]["requests_per_second"] for name in ("tabsa", "tabsa-workers"))
    bert = services["bert-base"][clients]["requests_per_second"]
    seconds = start["median_seconds"]
    rows = [
        ("sentences a second of `reader`, all targets and 12 aspects", f"{scoring['reader']:,.0f}", "`scoring.py`"),
        ("with 12 more aspects", f"{scoring['reader 24']:,.0f}", "`scoring.py`"),
        ("of `places`, and in int8", f"{scoring['places']:,.0f}, {scoring['places int8']:,.0f}", "`scoring.py`"),
        ("MiniLM's shape, one pass a sentence", f"{scoring['minilm']:,.0f}", "`scoring.py`"),
        ("BERT-base's shape, one pass a pair", f"{scoring['bert-base']:,.1f}", "`scoring.py`"),
        (
            f"requests a second of `tabsa serve`, {clients} clients: one worker, two",
            f"{one:,.0f}, {two:,.0f}",
            "`service.py`",
        ),
        ("BERT-base's shape behind FastAPI", f"{bert:,.1f}", "`service.py`"),
        ("seconds from `tabsa predict` to its answer", f"{seconds['tabsa predict']:.2f}", "`start.py`"),
        ("seconds of `import torch` alone", f"{seconds['import torch']:.2f}", "`start.py`"),
        (
            "install for use, MB and seconds",
            f"{install['environment_mb']:.0f}, {install['install_seconds']:.0f}",
            "`install.py`",
        ),
    ]
    return "\n".join(["| | | measured by |", "|---|---|---|", *(f"| {a} | {b} | {c} |" for a, b, c in rows)])


def instead(results: Path) -> str | None:
    """Sentences a second beside shapes of what people use instead, and what that makes of a million."""
    path = results.parents[1] / "benchmarks" / "results" / "scoring.json"
    rates = json.loads(path.read_text())["sentences_per_second"]
    lines = ["| | sentences a second | a million take | times `reader` |", "|---|---|---|---|"]
    names = {
        "reader": "`reader`",
        "reader 24": "`reader`, 24 aspects",
        "places int8": "`places`, int8",
        "minilm": "MiniLM's shape, one pass a sentence, answers not counted",
        "bert-base": "BERT-base's shape, one pass a pair",
    }
    for name, title in names.items():
        hours = 1e6 / rates[name] / 3600
        took = f"{60 * hours:.0f} minutes" if hours < 2 else f"{hours:.0f} hours"
        share = rates[name] / rates["reader"]
        lines.append(f"| {title} | {rates[name]:,.{0 if rates[name] >= 10 else 1}f} | {took} | {share:.2g} |")
    return "\n".join(lines)


# Systems of benchmarks/results/alternatives.json, as they are called in tables.
_ALTERNATIVES = {
    "reader": "**`reader`**, in the box",
    "places": "`places`, in the box",
    "pair": "pair classifier (bge-small), trained on `everyday` on this CPU",
    "llm-8": "language model, 1.5 billion in four bits, eight examples",
    "llm-0": "language model, 1.5 billion in four bits, no examples",
    "nli": "zero-shot NLI (DeBERTa-v3-xsmall's shape, int8, two classes)",
    "setfit": "SetFit for aspects (bge-small)",
    "vader": "VADER, a lexicon",
}
_SHORTER = ("reader", "pair", "llm-8", "llm-0", "nli", "vader")
_FIRST = ("opinion_f1", "polarity_of_found", "false_opinions")


def _alternatives(results: Path) -> dict[str, Any]:
    path = results.parents[1] / "benchmarks" / "results" / "alternatives.json"
    return json.loads(path.read_text())["systems"] if path.exists() else {}  # type: ignore[no-any-return]


def _cells(row: dict[str, float] | None, names: tuple[str, ...]) -> str:
    return "–" if row is None else " / ".join(_percent(row[name]) for name in names)


def _rate(value: float) -> str:
    return f"{value:,.{0 if value >= 10 else 1}f}"


def alternatives(part: str) -> Table:
    """Every system on one `part` of the four sets: the sample that all were asked, or all of their texts."""

    def table(results: Path) -> str | None:
        found = _alternatives(results)
        sets = ("everyday", "real", "mams", "sentihood")
        head = ["F1 / polarity / false opinions, %", "`everyday`", "`real`", "MAMS", "Sentihood", "sentences a second"]
        lines = [f"| {' | '.join([*head, 'MB', 'seconds to start'])} |", "|---" * 8 + "|"]
        for name, title in _ALTERNATIVES.items():
            if rows := found.get(name, {}).get(part):
                entry, rate = found[name], rows.get("everyday") or rows["sentihood"]
                cells = [_cells(rows.get(one), _FIRST) for one in sets] + [_rate(rate["sentences_per_second"])]
                cells += [f"{entry['megabytes']:,}", f"{entry['start_seconds']:.1f}"]
                lines.append(f"| {title} | {' | '.join(cells)} |")
        return "\n".join(lines) if len(lines) > 2 else None

    return table


def alternatives_short(results: Path) -> str | None:
    """Some of them for the front page, on all texts where they were asked all."""
    found = _alternatives(results)
    lines = ["| | F1, `everyday` | F1, `real` | sentences a second | MB installed |", "|---|---|---|---|---|"]
    for name in _SHORTER:
        if rows := found.get(name, {}).get("all") or found.get(name, {}).get("sample"):
            texts = "" if "all" in found[name] else f" ({rows['real']['texts']} texts)"
            cells = [_cells(rows.get(one), _FIRST[:1]) for one in ("everyday", "real")]
            cells += [_rate(rows["everyday"]["sentences_per_second"]), f"{found[name]['megabytes']:,}"]
            lines.append(f"| {_ALTERNATIVES[name]}{texts} | {' | '.join(cells)} |")
    return "\n".join(lines) if len(lines) > 2 else None


def entries(results: Path) -> str | None:
    """Whoever answered all questions of `everyday` and `real`."""
    names = ("opinion_f1", "presence_f1", "polarity_of_found", "false_opinions")
    lines = ["| | `everyday`, test-unseen | `real`, test | made by |", "|---|---|---|---|"]
    for name, entry in _alternatives(results).items():
        if (rows := entry.get("all", {})).keys() >= {"everyday", "real"}:
            cells = [_cells(rows[one], names) for one in ("everyday", "real")]
            lines.append(f"| {_ALTERNATIVES.get(name, name)} | {' | '.join(cells)} | `{entry['command'].split()[1]}` |")
    return "\n".join(lines) if len(lines) > 2 else None


def compared(results: Path) -> str | None:
    """Our systems on Sentihood's test split, family `sun`, among published ones that read once a pair."""
    path, records = results / "table1.json", _records(results)
    if not (path.exists() and records):
        return None
    rows = {"reader": records["reader", "sentihood"]["mean"]["test"]["sun"]}
    rows["reader, any aspects"] = records["reader, any aspects", "several"]["mean"]["sentihood test"]["sun"]
    paper = {record["system"]: record["mean"]["test"]["sun"] for record in json.loads(path.read_text())}
    rows |= {name: paper[name] for name in ("delayed-entnet-taught", "lr")}
    lines = [_SHORT, "|---|---|---|---|---|---|"]
    lines += [
        f"| {name} | " + " | ".join(_percent(row[metric]) for metric in METRICS) + " |" for name, row in rows.items()
    ]
    for name, other in OTHERS.items():
        cells = " | ".join(_percent(getattr(other, metric)) for metric in METRICS)
        lines.append(f"| *{name}, {other.source}* | {cells} |")
    return "\n".join(lines)


def _measured(results: Path, name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((results.parents[1] / "benchmarks" / "results" / f"{name}.json").read_text())
    return content


def large_tables(results: Path) -> str | None:
    """Three ways to score many rows, and what came of killing one."""
    content = _measured(results, "large_tables")
    small, large = content["memory"]
    kill = content["killed"]
    lines = [f"| {content['rows']:,} rows of Parquet in twelve files, `{content['model']}` | seconds | rows/s |"]
    lines.append("|---" * 3 + "|")
    lines += [f"| {way} | {took} | {content['rows_per_second'][way]:,} |" for way, took in content["seconds"].items()]
    memory = f"{small['peak_mib']:.0f} MiB for {small['rows']:,} rows, {large['peak_mib']:.0f} for {large['rows']:,}"
    machine = content["machine"]
    return "\n".join(lines) + (
        f"\n\nMemory of one process at most: {memory}. The Ray job, killed with all its processes when it had written "
        f"{kill['tables_before']} of {kill['tables']} tables, went on in {kill['seconds_to_go_on']} s: {kill['lost']} "
        f"rows lost, {kill['doubled']} doubled. {machine['cores']} cores; {machine['load_average_before']} processes "
        "were waiting for them before it began."
    )


def front(results: Path) -> str | None:
    """Models in the box beside what people would pick instead: quality and speed in one table."""
    path, records = results / "table1.json", _records(results)
    if not (path.exists() and records):
        return None
    rates = _measured(results, "scoring")["sentences_per_second"]
    shown = ("strict_accuracy", "macro_f1", "sentiment_accuracy")
    paper = {record["system"]: record["mean"]["test"]["sun"] for record in json.loads(path.read_text())}
    box = ROOT / "src" / "tabsa" / "pretrained"
    shipped = json.loads((box / "reader" / "metrics.json").read_text())["int8"]  # as it is in the package

    def row(name: str, sentihood: Any, found: Any, rate: float | None, model: str = "") -> str:
        figures = " / ".join(_percent(sentihood[metric]) for metric in shown)
        size = f"{sum(f.stat().st_size for f in (box / model).iterdir()) / 1e6:.0f}" if model else "–"
        speed = "–" if rate is None else f"{rate:,.{0 if rate >= 10 else 1}f}"
        sets = (found.get(one, {}).get("questions", {}) for one in ("real test", "everyday test-unseen"))
        own = " | ".join(_percent(one.get("opinion_f1")) for one in sets)
        return f"| {name} | {own} | {figures} | {speed} | {size} |"

    def open_row(name: str, found: Any, rate: float | None, model: str = "") -> str:
        return row(name, found["sentihood test"]["sun"], found, rate, model)

    best = OTHERS["QACG-BERT"]
    pair = {metric: getattr(best, metric) for metric in shown}
    lines = [
        "| | `real` | `everyday` | Sentihood | sentences a second | MB |",
        "|---|---|---|---|---|---|",
        open_row("**`reader`**, any aspects, one model for everything", shipped, rates["reader"], "reader"),
        row("an earlier one, trained for Sentihood", records["reader", "sentihood"]["mean"]["test"]["sun"], {}, None),
        open_row("`reader-large`, its teacher", records["reader-large, any aspects", "several"]["mean"], None),
        row("`delayed-entnet-taught`, the network of **`places`**", paper["delayed-entnet-taught"], {},
            rates["places"], "places"),
        row("BERT, a pass for each pair (*QACG-BERT, published*)", pair, {}, rates["bert-base"]),
        row("logistic regression (`lr`)", paper["lr"], {}, None),
    ]  # fmt: skip
    return "\n".join(lines)


def few_shot(results: Path) -> str | None:
    """Opinion F1 by how many texts are labelled."""
    path = results / "few-shot.json"
    if not path.exists():
        return None
    rows = {(row["system"], row["labels_of"], row["texts"]): row for row in json.loads(path.read_text())["rows"]}
    sizes = [("one domain", 8), ("one domain", 32), ("one domain", 90), ("six domains", 128), ("six domains", 540)]
    lines = ["| labelled texts, of | " + " | ".join(f"{size}, {of}" for of, size in sizes) + " |", "|---" * 6 + "|"]
    base = [_percent(rows["base", of, 0]["opinion_f1"]) for of, _ in sizes]
    lines.append("| the reader as it is | " + " | ".join(base) + " |")
    for system, title in (("tuned", "fine-tuned"), ("fresh", "without our start"), ("lr", "logistic regression")):
        found = [rows[system, of, size] for of, size in sizes]
        lines.append(f"| {title} | " + " | ".join(_percent(row["opinion_f1"]) for row in found) + " |")
    tuned = [rows["tuned", of, size] for of, size in sizes]
    gains = [f"{100 * row['gain']:+.1f} (±{100 * row['gain_sd_of_draws']:.1f})" for row in tuned]
    lines.append("| gain of fine-tuning, its deviation over draws | " + " | ".join(gains) + " |")
    lines.append("| draws of ten that got worse | " + " | ".join(str(row["draws_worse"]) for row in tuned) + " |")
    return "\n".join(lines)


def own_labels(results: Path) -> str | None:
    """Sixty posts about phones, and MAMS as a table of one's own."""
    phones, mams = results / "phones.json", results / "mams-csv.json"
    if not (phones.exists() and mams.exists()):
        return None
    mean, other = json.loads(phones.read_text())["mean"], json.loads(mams.read_text())
    lines = ["| | opinion F1 | presence F1 | polarity of true opinions | false opinions | |", "|---" * 6 + "|"]
    names = ("opinion_f1", "presence_f1", "polarity_accuracy", "false_opinions")

    def line(title: str, row: dict[str, float], took: str = "") -> str:
        return f"| {title} | " + " | ".join(_percent(row[name]) for name in names) + f" | {took} |"

    lines.append(line("60 posts on phones (mean of ten splits): the reader as it is", mean["reader"]))
    lines.append(line("the same, fine-tuned", mean["tuned"], f"{mean['tuned']['seconds']:.0f} s"))
    lines.append(line("the same, `lr`", mean["lr"], f"{mean['lr']['seconds']:.0f} s"))
    lines.append(line("MAMS, 3,141 reviews (dev): the reader as it is", other["base"]))
    lines.append(line("the same, fine-tuned", other["tuned"], f"{other['train_seconds'] / 60:.1f} min"))
    return "\n".join(lines)


def _evidence(results: Path) -> dict[str, Any] | None:
    path = results / "evidence.json"
    return json.loads(path.read_text()) if path.exists() else None


def _whole(share: float) -> str:
    return f"{100 * share:.0f}%"


def evidence(results: Path) -> str | None:
    """What is lost where the first words are taken out, or kept alone, in several orders."""
    found = _evidence(results)
    if found is None:
        return None
    kinds = {"comprehensiveness": "taken out: 10 / 20 / 30% (high is good)"}
    kinds["sufficiency"] = "kept alone: 10 / 20 / 30% (low is good)"
    lines = [f"| points of probability lost, words in the order of | {' | '.join(kinds.values())} |", "|---|---|---|"]
    for model, content in found["faithfulness"].items():
        about = f"{content['texts']} texts of {content['data']}, {content['words']:.0f} words each"
        lines.append(f"| **{model}**, {about} | | |")
        for name, losses in content["orders"].items():
            cells = (" / ".join(f"{value:.1f}" for value in losses[kind]) for kind in kinds)
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def marked(results: Path) -> str | None:
    """Words and sentences that were marked by hand, among the first that are given."""
    found = _evidence(results)
    if found is None:
        return None
    own = found["marked"]["evidence"]
    heads = (
        f"{own['all']['texts']} texts whose deciding words were marked by hand",
        "a marked word is among the first three",
        "of the first three are marked",
        f"both, of the {own['right']['texts']} that are answered right",
    )
    lines = [f"| {' | '.join(heads)} |", "|---" * 4 + "|"]
    for name, groups in found["marked"].items():
        figures = [_whole(groups[group][figure]) for group in ("all", "right") for figure in ("any", "share")]
        lines.append(f"| {name} | {figures[0]} | {figures[1]} | {figures[2]} / {figures[3]} |")
    sentence = [_whole(own[group]["sentence"]) for group in ("all", "right")]
    lines.append(f"| the first sentence given is a marked one | {sentence[0]} | | {sentence[1]} |")
    return "\n".join(lines)


def documents(results: Path) -> str | None:
    """Texts of several sentences, read whole and in windows."""
    found = _evidence(results)
    if found is None:
        return None
    names = ("opinion_f1", "presence_f1", "polarity_accuracy")
    lines = ["| opinion F1 / presence F1 / polarity | read whole | in windows |", "|---|---|---|"]
    own = found["documents"]["sentences"]
    for name, row in found["documents"].items():
        if row is not own:
            cells = (" / ".join(_percent(row[way][figure]) for figure in names) for way in ("whole", "windows"))
            title = f"{name} ({row['texts']} texts, {row['whole']['questions']:,} questions)"
            lines.append(f"| {title} | " + " | ".join(cells) + " |")
    lines += [
        "",
        f"Of the {own['opinions found']} opinions found in the documents, the first sentence given was marked as",
        f"carrying the label in {_whole(own['first sentence is marked'])}, one of those given in",
        f"{_whole(own['a sentence given is marked'])} (by chance {_whole(own['by chance'])}); for",
        f"{_whole(own['not read for the target'])} of the labels, no marked sentence was read for the target.",
    ]
    return "\n".join(lines)


TABLES: dict[str, Table] = {
    "front": front,
    "evidence": evidence,
    "marked": marked,
    "documents": documents,
    "few-shot": few_shot,
    "own-labels": own_labels,
    "reader": reader,
    "reader-others": reader_others,
    "judge": judge,
    "instead": instead,
    "compared": compared,
    "alternatives": alternatives("sample"),
    "alternatives-all": alternatives("all"),
    "alternatives-short": alternatives_short,
    "entries": entries,
    "large tables": large_tables,
    "speed": speed,
    "gpu": gpu,
    "table1": reproduced("table1"),
    "table1-short": table1_short,
    "against": against,
    "together": together,
    "quick": quick,
    "ablations": reproduced("ablations"),
    "figure3": reproduced("figure3"),
    "figure2": figure2,
}


def filled(page: Path, results: Path = RESULTS) -> str:
    """The page with its tables renewed, those whose results are there."""
    text = page.read_text(encoding="utf-8")
    for name, table in TABLES.items():
        # Up to the next end, also where nothing stands between: an empty block must not take the text behind it.
        block = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        made = table(results) if block.search(text) else None
        if made is not None:
            text = block.sub(lambda match, made=made: f"{match[1]}{made}\n{match[2]}", text)
    return text


PAGES = (
    *(ROOT / page for page in ("README.md", "repro/README.md", "benchmarks/README.md")),
    *(ROOT / "docs" / page for page in ("cluster.md", "comparison.md")),
    *(ROOT / "docs" / "results" / page for page in ("quality.md", "judge.md", "everyday.md", "benchmarks.md")),
)

if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page), encoding="utf-8")
