"""What comes of a finished job: its summary, the same as the report's, and the rows behind each number."""

import html
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tabsa.files import replacing
from tabsa.report import ColumnNames, Summary, summarise
from tabsa.report.page import write_page
from tabsa.report.page.lead import lead
from tabsa.report.table import write_numbers
from tabsa.scoring import Layout, Request
from tabsa.serve.opinion_index import write_index

SUMMARY: Final = "summary.json"
REPORT: Final = "report.html"
NUMBERS: Final = "numbers.csv"
INDEX: Final = "opinions.sqlite"
MOST_TARGETS: Final = 100
MOST_ASPECTS: Final = 100
_LONGEST_NAME: Final = 120


@dataclass(frozen=True, slots=True)
class AskedFile:
    """A file that is being scored, as whoever sent it knows it."""

    name: str
    request: Request
    date_column: str | None = None
    escape_formulas: bool = False  # in what is written for whoever sent it; what the service reads itself is as it was

    def columns(self) -> ColumnNames:
        """What the columns of the results are for."""
        asked, wide = self.request, self.request.layout is Layout.WIDE
        return ColumnNames(
            text=asked.text_column,
            id=asked.id_column,
            date=self.date_column,
            target=asked.target_column if wide else None,
            prefix=asked.prefix or None,
        )


def write_findings(folder: Path, result: Path, asked: AskedFile, on_progress: Callable[[int], None]) -> None:
    """Write a job's summary, its report, its numbers and the index of its opinions into the job's folder."""
    columns = asked.columns()
    title = asked.name[:_LONGEST_NAME] or "A table"
    summary = summarise(result, title=title, columns=columns, on_progress=on_progress)
    write_numbers(summary, folder / NUMBERS, escape_formulas=asked.escape_formulas)
    write_page(summary, folder / REPORT, f"{NUMBERS}, which can be downloaded, too")
    write_index(folder / INDEX, result, columns, asked.request.targets)
    with replacing(folder / SUMMARY) as stream:  # last: where it is, so are the others
        json.dump(_told(summary), stream, ensure_ascii=False, allow_nan=False)


def _told(summary: Summary) -> dict[str, Any]:
    """What `GET /v1/jobs/{id}/summary` answers: of very many targets or aspects only the most spoken-of."""
    told = summary.to_dict()
    targets, aspects = told["targets"], told["aspects"]
    shown = {"targets": targets[:MOST_TARGETS], "aspects": aspects[:MOST_ASPECTS]}
    kept = {(target, aspect) for target in shown["targets"] for aspect in shown["aspects"]}
    cells = [cell for cell in told["cells"] if (cell["target"], cell["aspect"]) in kept]
    for cell in cells:
        del cell["telling"]
    time = told["time"] and {name: told["time"][name] for name in ("column", "bucket", "undated", "total")}
    totals = {
        "target_totals": told["target_totals"][:MOST_TARGETS],
        "aspect_totals": told["aspect_totals"][:MOST_ASPECTS],
    }
    left_out = {"targets": len(targets) - len(shown["targets"]), "aspects": len(aspects) - len(shown["aspects"])}
    silent = told["silent"] | {
        "targets": told["silent"]["targets"][:MOST_TARGETS],
        "aspects": told["silent"]["aspects"][:MOST_ASPECTS],
    }
    told = {name: value for name, value in told.items() if name not in ("files", "layout")}
    return (
        told
        | shown
        | totals
        | {
            "cells": cells,
            "time": time,
            "silent": silent,
            "left_out": left_out,
            "sentences": [_plain(sentence) for sentence in lead(summary)],
        }
    )


def _plain(sentence: str) -> str:
    """A sentence of the report without its markup; what it escaped is as it was."""
    return html.unescape(re.sub(r"<[^>]*>", "", sentence))
