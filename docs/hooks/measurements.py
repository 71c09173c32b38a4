"""What was measured, as tables, where a page says `<!-- site: measurements -->`: every file of benchmarks/results.

A file is shown as it is: objects of one shape become the rows of a table, plain values a list, and what its script says
of itself stands above. So a new measurement needs nothing here.
"""

import ast
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

MARK = "<!-- site: measurements -->"
FOLDER = Path(__file__).parents[2] / "benchmarks"
_ABOUT = ("machine", "facts")  # what a measurement ran on; older files have it among their figures
_OLD = ("cores", "system", "python", "torch")
_LEFT_OUT = ("what", "command")  # said above the tables


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the measurements in their place."""
    return markdown.replace(MARK, "\n".join(measurements())) if MARK in markdown else markdown


def measurements(folder: Path = FOLDER) -> Iterator[str]:
    """A section a file, in the order of their names."""
    for path in sorted((folder / "results").glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            content = {"rows": content}
        yield f"\n## {path.stem}\n"
        yield from _script(folder / f"{path.stem}.py", content)
        yield from section({k: v for k, v in content.items() if k not in (*_ABOUT, *_OLD, *_LEFT_OUT)})
        about = {key: value for key, value in content.items() if key in _OLD}
        about |= {key: value for name in _ABOUT for key, value in _object(content.get(name)).items()}
        if about:
            told = "; ".join(f"{_words(key)} {_value(value)}" for key, value in about.items())
            yield f"\n*Measured on: {told}.*\n"


def _script(path: Path, content: Mapping[str, Any]) -> Iterator[str]:
    """The first sentence of the script's own words, and the command."""
    if path.exists():
        told = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        yield " ".join(told.split("\n\n")[0].split()) + "\n"
        yield f"```sh\n{content.get('command') or f'python benchmarks/{path.name}'}\n```\n"


def section(content: Mapping[str, Any], title: str = "") -> Iterator[str]:
    """Plain values as a list, then what is nested, each under its name."""
    plain = {key: value for key, value in content.items() if not isinstance(value, dict | list)}
    if plain:
        yield from (f"- {_words(f'{title} {key}'.strip())}: {_value(value)}" for key, value in plain.items())
        yield ""
    for key, value in content.items():
        if key not in plain:
            yield from _nested(value, f"{title}, {key}" if title else str(key))


def _nested(value: Any, title: str) -> Iterator[str]:
    rows = [(str(key), row) for key, row in value.items()] if isinstance(value, dict) else [("", row) for row in value]
    if rows and all(isinstance(row, dict) and _flat(row) for _, row in rows):
        yield from _table(title, rows)
    elif isinstance(value, dict) and _flat(value):
        yield from _table(title, [(_words(key), {"": row}) for key, row in value.items()])
    elif isinstance(value, dict):
        yield from section(value, title)
    else:
        yield f"- {_words(title)}: {', '.join(_value(row) for _, row in rows)}\n"


def _table(title: str, rows: list[tuple[str, Mapping[str, Any]]]) -> Iterator[str]:
    """Rows with the columns that any of them has."""
    columns = list(dict.fromkeys(key for _, row in rows for key in row))
    named = any(name for name, _ in rows)
    yield f"\n**{_words(title)}**\n"
    yield "| " + " | ".join(([""] if named else []) + [_words(column) for column in columns]) + " |"
    yield "|" + ("---|" if named else "") + "---|" * len(columns)
    for name, row in rows:
        cells = [_value(row[column]) if column in row else "" for column in columns]
        yield "| " + " | ".join(([_words(name)] if named else []) + cells) + " |"
    yield ""


def _flat(row: Mapping[str, Any]) -> bool:
    return not any(isinstance(value, dict | list) for value in row.values())


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _words(name: str) -> str:
    """A key as words, safe in a table."""
    return _safe(str(name).replace("_", " "))


def _value(value: Any) -> str:
    """A figure to four digits, and anything else as it stands."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    if isinstance(value, dict | list):
        return f"`{json.dumps(value)}`"
    return _safe(str(value))


def _safe(text: str) -> str:
    for mark in "\\`*_[]<>|":
        text = text.replace(mark, f"\\{mark}")
    return text
