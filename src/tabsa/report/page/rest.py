"""What is not in the numbers: silence, rows that could not be scored, rows without a date."""

from collections.abc import Sequence

from tabsa.evaluation.page.markup import count, plural, row_head, section, table
from tabsa.report.page.shown import called
from tabsa.report.summary import Summary
from tabsa.text.escaping import html_text

_MOST_NAMES = 60
_ABOUT = (
    "What the numbers above leave out. Intervals tell of chance in which texts there are, not of the model's mistakes: "
    "the sentences show those."
)


def rest_part(summary: Summary) -> str:
    """The part of the page."""
    lines = [_texts(summary)]
    lines += _silent("target", [called(target) for target in summary.silent_targets])
    lines += _silent("aspect", summary.silent_aspects)
    if summary.times and summary.times.undated:
        lines.append(
            f"{plural(summary.times.undated, 'row')} without a date that can be read: not in the change over time."
        )
    if summary.unreadable:
        lines.append(f"{plural(summary.unreadable, 'row')} of the scored table itself cannot be read.")
    if not summary.rejected:
        lines.append("No row was rejected, as far as the files beside the table tell.")
    content = "<ul>" + "".join(f"<li>{line}</li>" for line in lines) + "</ul>"
    if summary.rejected:
        rows = [row_head(why) + count(number) for why, number in summary.reasons.items()]
        content += table(f"{plural(summary.rejected, 'row')} could not be scored", ["reason", "rows"], rows)
    return section("silent", "Silent and rejected", content, _ABOUT)


def _texts(summary: Summary) -> str:
    silent = summary.texts - summary.texts_with_opinion
    if summary.silent_told:
        return f"{silent:,} of {plural(summary.texts, 'text')} have no opinion on what was asked."
    return "Texts without an opinion are not in this table, so that nobody can tell here how many they were."


def _silent(noun: str, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    listed = ", ".join(f"<bdi>{html_text(name)}</bdi>" for name in names[:_MOST_NAMES])
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    return [f"No opinion on {plural(len(names), noun)}: {listed}{more}."]
