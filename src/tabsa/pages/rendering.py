"""Templates to pages: one file that loads nothing, in which every text that is given in is escaped."""

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from tabsa.errors import OutputError
from tabsa.evaluation.report_tables import p_value, points
from tabsa.evaluation.report_tables import percent as figure
from tabsa.files import replacing
from tabsa.pages import tally
from tabsa.schema import UNSURE, Span

_HERE: Final = Path(__file__).parent
_UNFIT: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")  # what HTML cannot hold


def render(template: str, *, script: str = "", **values: Any) -> str:
    """Fill a template; no other script than `script`, a file of this folder, can run in the page."""
    code = (_HERE / script).read_text(encoding="utf-8") if script else ""
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    style = "".join((_HERE / name).read_text(encoding="utf-8") for name in ("style.css", "report.css"))
    return _environment().get_template(template).render(style=style, script=code, digest=digest, **values)


def check_page_name(path: str | Path) -> Path:
    """Return the path if a page can be written there: worth asking before a long computation."""
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise OutputError(f"cannot write a page to '{path}'; expected a name that ends in .html (a browser prints it)")
    if path.is_dir():
        raise OutputError(f"{path} is a folder; expected the name of a file")
    return path


def write_page(page: str, path: str | Path) -> Path:
    """Write a page whole or not at all; an OutputError says where the name is none or it cannot be written."""
    path = check_page_name(path)
    with replacing(path) as stream:
        stream.write(page)
    return path


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_fit,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"SIGNS": tally.SIGNS, "UNSURE": UNSURE}
    environment.filters |= {
        "between": tally.between,
        "count": "{:,}".format,
        "figure": figure,
        "name": tally.display_name,
        "p_value": p_value,
        "percent": tally.percent,
        "plural": tally.plural,
        "points": points,
        "tone": tally.tone,
    }
    return environment


def _fit(value: object) -> object:
    """Put the replacement character for what HTML cannot hold."""
    return _UNFIT.sub("\ufffd", value) if isinstance(value, str) and not isinstance(value, Markup) else value


def cut(text: str, marks: Mapping[Span, str | float], most: int | None = None) -> list[tuple[str, str | float | None]]:
    """Cut a text at its marks, for the macro `pieces`: names of mentions and weights of words; None between them."""
    most, reached = len(text) if most is None else most, 0
    found: list[tuple[str, str | float | None]] = []
    for (start, end), mark in sorted(marks.items()):
        if start >= reached and end <= most:
            found += [(text[reached:start], None), (text[start:end], mark)]
            reached = end
    return [*found, (text[reached:most] + "…" * (most < len(text)), None)]


def html_text(text: str) -> Markup:
    """Escape a text as templates do."""
    return escape(_fit(text))
