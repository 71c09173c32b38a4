"""A form around a file, checked against the limits and the model, as what is asked of every row."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from tabsa.errors import TabsaError
from tabsa.scoring import Layout
from tabsa.scoring import Request as ScoreRequest
from tabsa.scoring.reading import InputTable
from tabsa.scoring.scorer import Scorer
from tabsa.serve.asking import check_aspects, check_targets, parse_targets, refuse_more
from tabsa.serve.problems import Problem
from tabsa.serve.schema import ScoreForm
from tabsa.serve.service import Service
from tabsa.serve.settings import Settings

_CHUNK: Final = 256  # rows at a time: fewer than on the command line, because somebody watches
_COUNTED: Final = 4096  # rows at a time that are only counted


def score_request(form: ScoreForm, service: Service) -> ScoreRequest:
    """What is asked; raises a Problem where a field is wrong or beyond a limit."""
    settings = service.settings
    _check_names(form, settings)
    aspects = check_aspects(form.aspect or None, form.aspect_list, service.predictor, settings, "aspect")
    targets = parse_targets(form.targets)
    check_targets(targets, settings)
    implied = service.predictor.implied if form.implied is None else form.implied
    if not targets and form.target_column is None and not implied:
        message = "give either 'targets', names to look for in every row, or 'target_column'"
        raise Problem(422, "invalid", message)
    return ScoreRequest(
        targets=dict(targets) if form.target_column is None else None,
        target_column=form.target_column,
        implied=implied,
        aspects=aspects,
        text_column=form.text_column,
        id_column=form.id_column,
        layout=Layout(form.layout),
        probabilities=form.probabilities,
        evidence=form.evidence,
        prefix=form.prefix,
        chunk=_CHUNK,
        longest_text=settings.max_row_characters,
        most_targets=settings.max_targets,
        longest_name=settings.max_name_characters,
        most_cells=settings.max_result_cells,
        most_bytes=settings.max_result_bytes,
    )


def _check_names(form: ScoreForm, settings: Settings) -> None:
    refuse_more("targets", len(form.targets), settings.max_targets, "targets")
    refuse_more("prefix", len(form.prefix), settings.max_name_characters, "characters")
    for field in ("text_column", "id_column", "target_column", "date_column"):
        name = getattr(form, field) or ""
        refuse_more(field, len(name), settings.max_column_characters, "characters of a column's name")


def refuse_large(source: Path, request: ScoreRequest, service: Service) -> None:
    """Refuse what would make too many cells, before it is scored; how many a long layout makes is not known then."""
    most, columns = service.settings.max_result_cells, Scorer(source, ".csv", service.predictor, request).columns
    if source.stat().st_size * columns <= most:  # a row has a byte at least
        return
    rows = 0
    with suppress(TabsaError), InputTable(source, on_guess=lambda _: None) as table:  # scoring says what is wrong
        for chunk in table.chunks(_COUNTED):
            rows += len(chunk)
            if rows * columns > most:
                message = (
                    f"the results would have more than {most:,} new cells, {columns:,} a row; "
                    "score fewer rows, targets or aspects at a time, or use the long layout"
                )
                raise Problem(422, "limit", message)
