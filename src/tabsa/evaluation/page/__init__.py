"""A report as one page that needs nothing but itself: no script, no font, no address; every text in it is escaped."""

from pathlib import Path

from tabsa.errors import OutputError
from tabsa.evaluation.page.figures import main_figures, summary, two_models
from tabsa.evaluation.page.mistakes import mistakes_part
from tabsa.evaluation.page.parts import (
    aspect_part,
    confusion_part,
    history_part,
    polarity_part,
    reliability_part,
    tag_parts,
)
from tabsa.evaluation.report import Report
from tabsa.files import replacing
from tabsa.text.escaping import html_document, html_text

_NAMES = {
    "figures": "Figures",
    "against": "Against another",
    "confusion": "Confusion",
    "polarities": "By polarity",
    "aspects": "By aspect",
    "by-kind": "By kind",
    "by-domain": "By domain",
    "reliability": "Reliability",
    "history": "Learning",
    "mistakes": "Mistakes",
}


def check_page_name(path: str | Path) -> Path:
    """The path, if a page can be written there: worth asking before a long computation."""
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise OutputError(f"cannot write a report to '{path}'; expected a name that ends in .html")
    return path


def write_page(report: Report, path: str | Path, against: Report | None = None) -> Path:
    """Write the page; raises an OutputError where the name does not end in .html, or it cannot be written."""
    path = check_page_name(path)
    with replacing(path) as stream:
        stream.write(html_page(report, against))
    return path


def html_page(report: Report, against: Report | None = None) -> str:
    """The page as text."""
    parts = {"figures": main_figures(report)}
    if against is not None:
        resamples = report.resamples.count if report.resamples else 0
        parts["against"] = two_models(report.compare(against, bootstrap=resamples))
    parts |= {"confusion": confusion_part(report), "polarities": polarity_part(report), "aspects": aspect_part(report)}
    parts |= {f"by-{tag}": part for tag, part in tag_parts(report).items()}
    parts |= {"reliability": reliability_part(report), "history": history_part(report)}
    parts["mistakes"] = mistakes_part(report)
    shown = {name: part for name, part in parts.items() if part}
    return _frame(report, shown)


def _frame(report: Report, parts: dict[str, str]) -> str:
    style = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
    links = "".join(f'<li><a href="#{name}">{_NAMES[name]}</a></li>' for name in parts)
    notes = "".join(f'<p class="warning" role="note">{html_text(note)}</p>' for note in report.notes)
    content = "\n".join(parts.values())
    body = f"""<header>
<p class="kicker">Evaluation</p>
<h1>{html_text(report.title)}</h1>
{summary(report)}
{notes}
<nav aria-label="Contents"><ul>{links}</ul></nav>
</header>
{content}
<footer><p>Made by tabsa. What the figures mean: docs/evaluation.md.</p></footer>"""
    return html_document(report.title, style, body)
