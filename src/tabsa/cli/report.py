"""`tabsa report`: a scored table summed up, as one page."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from tabsa.cli import options
from tabsa.cli.console import err, note, print_json, warn
from tabsa.cli.options import optional
from tabsa.errors import OutputError


def command(
    scored: Annotated[Path, typer.Argument(metavar="SCORED", help="What `tabsa score` wrote; a table or a folder.")],
    page: Annotated[Path | None, optional("FILE.html", "Write the page, and its numbers as FILE.csv.", "--out")] = None,
    title: Annotated[str | None, optional("TEXT", "What it is called. [default: the file's name]")] = None,
    text_column: Annotated[str | None, optional("C", "The column of texts. [default: text, or the longest]")] = None,
    id_column: Annotated[str | None, optional("C", "What tells texts apart. [default: id, else row]")] = None,
    date_column: Annotated[str | None, optional("C", "[default: that which is called so, or holds dates]")] = None,
    target_column: Annotated[str | None, optional("C", "Of a wide table whose rows name their own targets.")] = None,
    day_first: Annotated[bool | None, optional("", "How to read 3/4/2024.", "--day-first/--month-first")] = None,
    as_json: Annotated[bool, options.flag("--json", "Print all of it as JSON, shares as fractions.")] = False,
    escape_formulas: options.EscapeFormulas = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Say what a scored table says: who is judged how on what, how sure that is, and the sentences behind it.

    The page is one file that needs nothing else: a heat map with counts and intervals, change over time, two targets
    compared, the most telling sentences with a filter, and what was silent or rejected.

    Examples:
    - `tabsa report opinions.csv --out report.html`
    - `tabsa report opinions.csv --out report.html --title "Reviews of 2024"`
    - `tabsa report scored/ --out report.html --date-column posted`
    - `tabsa report opinions.parquet --json`
    """
    numbers = page.with_suffix(".csv") if page else None
    written = [path for path in (page, numbers) if path]
    _check(scored, written, overwrite=overwrite)
    from tabsa.pages.counting import summarise
    from tabsa.pages.scored_files import WIDE, ColumnNames

    names = ColumnNames(text=text_column, id=id_column, date=date_column, target=target_column, day_first=day_first)
    with err.status("reading") if err.is_terminal else nullcontext() as status:
        counted = (lambda rows: status.update(f"{rows:,} rows")) if status else lambda _: None
        summary = summarise(scored, title=title or "", columns=names, on_progress=counted)
    if page and numbers:
        summary.write_csv(numbers, escape_formulas=escape_formulas)
        summary.write_html(page, numbers=numbers.name)
    if as_json:
        print_json(summary.to_dict())
    else:
        typer.echo(" ".join(summary.sentences()))
    if summary.targets == ("",) and summary.layout == WIDE:
        warn("the answers are of what texts do not name; if a column names it, say which with --target-column")
    for path in written:
        note(f"wrote {path}")


def _check(scored: Path, written: list[Path], *, overwrite: bool) -> None:
    """Refuse what cannot be written, before a long table is read."""
    from tabsa.pages.rendering import check_page_name

    for path in written[:1]:
        check_page_name(path)
    for path in written:
        if path.resolve() == scored.resolve():
            raise OutputError(f"{path} is the input; choose another name")
        if scored.is_dir() and path.resolve().is_relative_to(scored.resolve()):
            raise OutputError(f"{path} would lie among the scored tables in {scored}; choose another folder")
        if path.exists() and not overwrite:
            raise OutputError(f"{path} exists", code="output_exists")
