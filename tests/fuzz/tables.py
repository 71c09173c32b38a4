"""Tables of every format through all that reads them: scores, reports, checks, data to learn from, the commands."""

import contextlib
import io
import json
import random
import shutil
import sys
from pathlib import Path
from typing import Any

from fuzz.cases import ANSWERED, REFUSED, Broken, Case, check_line
from fuzz.making import edited, some_edits, some_names, some_of, some_text, some_value, some_word, spelled
from fuzz.models import loaded
from fuzz.spreadsheets import content_of
from tabsa.cli import console, main
from tabsa.datasets import loading as datasets
from tabsa.datasets.checking import check
from tabsa.errors import TabsaError
from tabsa.pages.counting import summarise
from tabsa.pages.scored_files import ColumnNames
from tabsa.scoring.labelling import suggest_table
from tabsa.scoring.request import Layout, Request
from tabsa.scoring.single import score_table

_ENDS = (".csv", ".csv", ".tsv", ".jsonl", ".jsonl", ".ndjson", ".csv.gz", ".jsonl.gz", ".xlsx", ".parquet")
_COLUMNS = {
    "reviews": ("id", "text", "date"),
    "own": ("text", "targets", "implied"),
    "labelled": ("text", "target", "aspect", "polarity", "aliases", "asked_only"),
    "long": ("id", "text", "target", "aspect", "polarity", "confidence", "date", "evidence"),
    "wide": ("id", "text", "Camden price", "Camden safety", "Hull price", "date"),
}
_WAYS = {
    "reviews": ("score", "score", "suggest", "cli-score", "check"),
    "own": ("score", "score", "suggest", "cli-score"),
    "labelled": ("load", "load", "check", "cli-check", "report"),
    "long": ("report", "report", "cli-report", "check", "score"),
    "wide": ("report", "report", "cli-report", "load", "score"),
}
_USUAL = {
    "target": ("Camden", "Hull", "", None),
    "targets": ("Camden", "Camden; Hull", '["Camden", "Hull"]', ["Hull"], ""),
    "aliases": ("", "SW9", ["NW1", "SW9"]),
    "aspect": ("price", "safety", "general"),
    "polarity": ("positive", "negative", "none", "neutral", "Positive", ""),
    "confidence": (0.9, "0.5", 1, "", "nan"),
    "date": ("2026-01-31", "31/01/2026", "1/2/26", "2026-01-31T12:00:00Z", "Jan 3, 2026", 46000, "", "0000-00-00"),
    "implied": ("true", "no", "1", ""),
    "asked_only": ("true", "", True),
    "id": (1, "a", 2, "", 10**30),
}


def make(chance: random.Random) -> Case:
    """A table with rows as they should be and not, maybe damaged, and what is done with it."""
    shape = chance.choice(list(_COLUMNS))
    names = list(_COLUMNS[shape])
    if chance.random() < 0.2:
        names[chance.randrange(len(names))] = some_word(chance, 10)
    if chance.random() < 0.1:
        names.append(chance.choice((*names, "", "x" * 2000, some_word(chance))))
    rows = [[_cell(chance, name) for name in names] for _ in range(chance.choice((0, 1, 2, 3, 5, 12)))]
    case: Case = {
        "end": chance.choice(_ENDS),
        "names": names,
        "rows": rows,
        "way": chance.choice(_WAYS[shape]),
        "model": chance.choices(("tiny", "tiny-reader", "places"), (60, 38, 2))[0],
        "form": {
            "encoding": chance.choices(("utf-8", "utf-8-sig", "utf-16", "latin-1", "utf-16-be"), (80, 8, 5, 5, 2))[0],
            "separator": chance.choices((",", ";", "\t", "|", ":"), (70, 12, 12, 4, 2))[0],
            "ragged": chance.random() < 0.1,
            "quotes": chance.choices(("right", "none", "open"), (85, 10, 5))[0],
        },
        "request": _request(chance, shape),
    }
    if chance.random() < 0.4:
        case["edits"] = some_edits(chance)
    if chance.random() < 0.15:
        case["inner"] = some_edits(chance)  # of what is packed
    return case


def _cell(chance: random.Random, name: str) -> Any:
    way = chance.random()
    if way < 0.85 and name in _USUAL:
        return chance.choice(_USUAL[name])
    if way < 0.85 and " " in name:
        return chance.choice(("positive", "negative", "none", ""))
    return spelled(some_text(chance, 200)) if way < 0.93 else some_value(chance)


def _request(chance: random.Random, shape: str) -> dict[str, Any]:
    asked: dict[str, Any] = {
        "layout": chance.choice(("wide", "long")),
        "out": chance.choice((".csv", ".jsonl", ".csv")),
    }
    if shape == "own":
        asked |= {"target_column": "targets"} | ({"implied_column": "implied"} if chance.random() < 0.5 else {})
    else:
        asked["targets"] = some_names(chance, "Camden is dear", 3) or ["Camden"]
    for name in ("probabilities", "every", "evidence"):
        asked[name] = chance.random() < 0.2
    if chance.random() < 0.1:
        asked["out"] = chance.choice((".parquet", ".tsv", ".xlsx", ".csv.gz", ""))
    if chance.random() < 0.1:
        asked["prefix"] = chance.choice(("a" * 1000, some_word(chance), "="))
    if chance.random() < 0.1:
        asked["text_column"] = chance.choice(("text", "id", "nobody", some_word(chance)))
    if chance.random() < 0.1:
        asked["keep"] = some_of(chance, ("id", "text", "nobody"), 2)
    asked["chunk"] = chance.choice((1, 2, 1024))
    return asked


class Tables:
    """Runs tables."""

    def __init__(self, models: Path, scratch: Path) -> None:
        self._models, self._folder = models, scratch / "tables"

    def run(self, case: Case) -> str:
        """Write the table, and hand it to what the case says."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        source = self._folder / f"table{case['end']}"
        content = content_of(case["end"], case["names"], case["rows"], case["form"], case.get("inner", []))
        source.write_bytes(edited(content, case.get("edits", [])))
        way = case["way"]
        if way.startswith("cli-"):
            return _on_the_command_line(self._arguments(way, source, case))
        if way == "check":
            check(source)
        elif way == "load":
            datasets.load(source, "all")
        elif way == "report":
            self._report(source)
        else:
            self._score(source, case)
        return ANSWERED

    def _report(self, source: Path) -> None:
        summary = summarise(source, columns=ColumnNames())
        json.dumps(summary.to_dict(), allow_nan=False)
        summary.write_html(self._folder / "report.html")
        summary.write_csv(self._folder / "numbers.csv")

    def _score(self, source: Path, case: Case) -> None:
        asked = dict(case["request"])
        out = self._folder / f"out{asked.pop('out')}"
        asked["layout"] = Layout(asked["layout"])
        if "targets" in asked:
            asked["targets"] = dict.fromkeys(asked["targets"], ())
        model = loaded(self._models, case["model"])
        request = Request(**asked)
        if case["way"] == "suggest":
            suggest_table(source, out, model, request, 2)
            return
        progress = score_table(source, out, model, request)
        if progress.counts.scored + progress.counts.rejected != progress.counts.rows:
            raise Broken("rows are neither scored nor rejected")
        if not out.exists():
            raise Broken("there is no output")
        if out.suffix == ".jsonl":
            for line in out.read_text("utf-8").split("\n")[:-1]:
                json.loads(line, parse_constant=_refuse_constant)

    def _arguments(self, way: str, source: Path, case: Case) -> list[str]:
        asked = case["request"]
        model = str(self._models / case["model"]) if case["model"].startswith("tiny") else case["model"]
        if way == "cli-check":
            return ["data", "check", str(source)]
        if way == "cli-report":
            return ["report", str(source), "--out", str(self._folder / "report.html")]
        told = ["score", str(source), str(self._folder / f"out{asked['out']}"), "--model", model]
        if "target_column" in asked:
            return [*told, "--target-column", asked["target_column"]]
        (self._folder / "names.txt").write_text("\n".join(asked["targets"]), "utf-8", "surrogatepass")
        return [*told, "--targets", str(self._folder / "names.txt"), "--layout", asked["layout"]]


def _refuse_constant(name: str) -> None:
    raise Broken(f"{name} is in the results")


def _on_the_command_line(arguments: list[str]) -> str:
    """Exit 0, or 1 and one line; what is asked here is never wrong usage."""
    out, err = io.StringIO(), io.StringIO()
    before, code = sys.argv, 0
    sys.argv = ["tabsa", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _consoles(out, err):
            main()
    except SystemExit as end:
        code = int(end.code or 0)
    except TabsaError as error:
        raise Broken("the command line let an error through") from error
    finally:
        sys.argv = before
    errors = [line for line in err.getvalue().splitlines() if line.startswith("error:")]
    if code == 0 and not errors:
        return ANSWERED
    if code != 1 or len(errors) != 1:
        raise Broken(f"the command line ended with {code} and said {err.getvalue()[-300:]!r}")
    check_line(errors[0])
    return REFUSED


@contextlib.contextmanager
def _consoles(out: io.StringIO, err: io.StringIO) -> Any:
    before = console.out.file, console.err.file
    console.out.file, console.err.file = out, err
    try:
        yield
    finally:
        console.out.file, console.err.file = before
