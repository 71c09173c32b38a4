"""Results as rows of text, ours beside the published ones: the same for the command line and for a page."""

from collections.abc import Sequence
from typing import Final, TypeAlias

from tabsa.evaluation.metrics import FAMILIES, METRICS
from tabsa_repro.experiments import BASE
from tabsa_repro.paper import FIGURE3
from tabsa_repro.published import PUBLISHED
from tabsa_repro.records import Record

Rows: TypeAlias = list[list[str]]

_HEADER: Final = ("", "strict", "F1", "aspect AUC", "sent. acc.", "sent. AUC")
_SHARED: Final = METRICS[2:]  # the same in both families


def table_of(experiment: str, records: Sequence[Record], *, names: bool = False) -> Rows:
    """The header and the rows of an experiment's test figures, in percent.

    An ablation is named in words, or with `names` by the name that `--only` knows it by.
    """
    if experiment == "ablations":
        return ablations(records, "system" if names else "change")
    return figure3(records) if experiment == "figure3" else table1(records)


def table1(records: Sequence[Record]) -> Rows:
    """Each system, what was published of it, and ours less that, of the better family where there are two."""
    rows = [["system", *_HEADER]]
    for record in records:
        published = [getattr(PUBLISHED[record["config"]["kind"]], metric) for metric in METRICS]
        differences = [_signed(_best(record, m), p) for m, p in zip(METRICS, published, strict=True)]
        rows += _families(record["system"], record)
        rows += [["", "paper", *map(percent, published)], ["", "diff.", *differences]]
    return rows


def ablations(records: Sequence[Record], name: str = "change") -> Rows:
    """Each change, and how far the mean of the five figures moves by it."""
    rows = [["change", *_HEADER, "mean of five"]]
    base = next((record for record in records if record["system"] == BASE), None)
    for record in records:
        moved = "" if base is None or record is base else f" ({_signed(_overall(record), _overall(base))})"
        sun, ma = _families(record[name], record)
        rows += [[*sun, percent(_overall(record)) + moved], [*ma, ""]]
    return rows


def figure3(records: Sequence[Record]) -> Rows:
    """Each number of chains, with the published F1."""
    rows = [["chains", *_HEADER]]
    for record in records:
        chains = record["config"]["model"]["chains"]
        published = " ± ".join(map(percent, FIGURE3[chains]))
        rows += [*_families(str(chains), record), ["", "paper", "–", published, "–", "–", "–"]]
    return rows


def _families(name: str, record: Record) -> Rows:
    """Two rows: mean ± deviation of each metric on test, in either family; what they share stands in the first."""
    return [
        [name if family == FAMILIES[0] else "", family]
        + ["" if family != FAMILIES[0] and m in _SHARED else _with_deviation(record, family, m) for m in METRICS]
        for family in FAMILIES
    ]


def _with_deviation(record: Record, family: str, metric: str) -> str:
    mean, deviation = (record[what]["test"][family][metric] for what in ("mean", "sd"))
    several = len(record["runs"]) > 1 and deviation is not None
    return percent(mean) + (f" ± {percent(deviation)}" if several else "")


def _best(record: Record, metric: str) -> float | None:
    known = [value for family in FAMILIES if (value := record["mean"]["test"][family][metric]) is not None]
    return max(known, default=None)


def _overall(record: Record) -> float | None:
    """The mean of the five, with strict accuracy of `ma` and F1 of `sun`, as selection has it."""
    test = record["mean"]["test"]
    values = [test["ma"]["strict_accuracy"], *(test["sun"][metric] for metric in METRICS[1:])]
    return None if None in values else sum(values) / len(values)


def _signed(value: float | None, against: float | None) -> str:
    return "–" if value is None or against is None else f"{100 * (value - against):+.1f}"


def percent(fraction: float | None) -> str:
    """One decimal, or a dash."""
    return "–" if fraction is None else f"{100 * fraction:.1f}"


def markdown(rows: Rows) -> str:
    """The header and the rows as a page has them."""
    header, *body = rows
    lines = [header, ["---"] * len(header), *body]
    safe = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in safe)
