"""A summary as one page that needs nothing but itself, on screen, on paper and for the ear."""

from pathlib import Path

from tabsa.errors import OutputError
from tabsa.files import replacing
from tabsa.report.page.comparing import comparing_part
from tabsa.report.page.heat import heat_part
from tabsa.report.page.lead import head
from tabsa.report.page.rest import rest_part
from tabsa.report.page.sentences import sentences_part
from tabsa.report.page.shown import Shown
from tabsa.report.page.times import times_part
from tabsa.report.summary import Summary
from tabsa.text.escaping import html_document, html_text, json_text

_SCRIPTS = ("counting.js", "sentences.js", "choices.js")  # one script: put behind each other in this order
_NAMES = {
    "judged": "Who is judged how on what",
    "time": "Change over time",
    "compared": "Two compared",
    "sentences": "Telling sentences",
    "silent": "Silent and rejected",
}


def check_report_name(path: str | Path) -> Path:
    """The path, if a page can be written there: worth asking before a long computation."""
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise OutputError(f"cannot write a report to '{path}'; expected a name that ends in .html")
    if path.is_dir():
        raise OutputError(f"{path} is a folder; expected the name of a file")
    return path


def write_page(summary: Summary, path: str | Path, beside: str = "") -> Path:
    """Write the page; raises an OutputError where the name does not end in .html, or it cannot be written."""
    path = check_report_name(path)
    with replacing(path) as stream:
        stream.write(html_page(summary, beside))
    return path


def html_page(summary: Summary, beside: str = "") -> str:
    """The page as text; `beside` is the name of the table of all numbers, where there is one."""
    shown = Shown.of(summary)
    parts = {
        "judged": heat_part(summary, shown, beside),
        "time": times_part(summary, shown),
        "compared": comparing_part(summary, shown),
        "sentences": sentences_part(summary, shown),
        "silent": rest_part(summary),
    }
    there = {name: part for name, part in parts.items() if part}
    links = "".join(f'<li><a href="#{name}">{_NAMES[name]}</a></li>' for name in there)
    content = "\n".join(there.values())
    first = next(iter(there))
    body = f"""<a class="skip" href="#{first}">To the numbers</a>
<header>
{head(summary)}
<nav aria-label="Contents"><ul>{links}</ul></nav>
</header>
{content}
<script type="application/json" id="numbers">{json_text(shown.numbers(summary))}</script>
<footer><p>{_about(summary)}</p></footer>"""
    script = "\n".join(_file(name) for name in _SCRIPTS)
    return html_document(summary.title, _file("page.css"), body, script)


def _file(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _about(summary: Summary) -> str:
    read = ", ".join(
        f"{html_text(role)} from <q>{html_text(column)}</q>" for role, column in summary.columns.items() if column
    )
    told = f" Read: {read}." if read else ""
    return f"Made by tabsa from {_files(summary)}.{told} What the figures mean: docs/report.md."


def _files(summary: Summary) -> str:
    first, *others = summary.files
    return html_text(first) + (f" and {len(others):,} more" if others else "")
