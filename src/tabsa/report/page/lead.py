"""What the table says, in a few sentences that claim no more than the numbers hold."""

import re
from html import unescape

from tabsa.evaluation.page.markup import plural
from tabsa.report.page.shown import called
from tabsa.report.page.words import between, percent
from tabsa.report.summary import Summary, SummaryCell
from tabsa.report.tally import Tally, difference, wilson, z_of_many
from tabsa.text.escaping import html_text

_FEW = 30  # opinions that take a side


def head(summary: Summary) -> str:
    """The title, what the table says, and its counts."""
    sentences = " ".join(lead(summary))
    return f"""<p class="kicker">Opinions</p>
<h1>{html_text(summary.title)}</h1>
<p class="lead">{sentences}</p>
{_counts(summary)}"""


def plain_lead(summary: Summary) -> list[str]:
    """The sentences, as plain text."""
    return [unescape(re.sub(r"<[^>]*>", "", sentence)) for sentence in lead(summary)]


def lead(summary: Summary) -> list[str]:
    """The sentences, as HTML."""
    total = summary.total
    if not total.n:
        return [f"None of {plural(summary.texts, 'text')} has an opinion on what was asked."]
    said = [_how_many(summary), *_overall(total), *_best_and_worst(summary), *_surest(summary)]
    if total.judged < _FEW:
        said.append(f"{plural(total.judged, 'opinion')}: too few to tell much.")
    return said


def _how_many(summary: Summary) -> str:
    spoken = len(summary.targets) - len(summary.silent_targets)
    who = f"<b>{html_text(called(summary.targets[0]))}</b>" if spoken == 1 else plural(spoken, "target")
    on = plural(len(summary.aspects) - len(summary.silent_aspects), "aspect")
    of = f" of {summary.texts:,}" if summary.silent_told else ""
    return f"{summary.texts_with_opinion:,}{of} texts hold {plural(summary.opinions, 'opinion')} of {who} on {on}."


def _overall(total: Tally) -> list[str]:
    if total.share is None or total.interval is None:
        return []
    where = f"{percent(total.share)} of those that take a side are positive ({between(total.interval)})."
    return [html_text(where)]


def _best_and_worst(summary: Summary) -> list[str]:
    """The two ends of the targets, if they are surely apart: more surely, the more of them were looked at."""
    judged = {t: tally for t, tally in summary.target_totals().items() if tally.judged}
    if len(judged) < 2:
        return []
    z = z_of_many(len(judged) * (len(judged) - 1) // 2)
    ends = {target: wilson(tally.positive, tally.judged, z) for target, tally in judged.items()}
    best, worst = max(ends, key=lambda target: ends[target][0]), min(ends, key=lambda target: ends[target][1])
    apart = difference(judged[best], judged[worst], z)
    if best == worst or apart is None or apart[1] <= 0:
        return ["No target is surely seen better than another."]
    return [f"Seen best is {_named(best, judged[best])}, worst {_named(worst, judged[worst])}."]


def _surest(summary: Summary) -> list[str]:
    """The cell that is most surely praised, and the one that is most surely blamed, of all that were looked at."""
    cells = [cell for cell in summary.cells.values() if cell.tally.judged]
    z = z_of_many(len(cells))
    ends = [wilson(cell.tally.positive, cell.tally.judged, z) for cell in cells]
    praised, blamed = max(ends, default=(0.0, 0.0))[0], min((high for _, high in ends), default=1.0)
    said = []
    if praised > 0.5:
        said.append(f"The surest praise: {_of(cells[[low for low, _ in ends].index(praised)])}.")
    if blamed < 0.5:
        said.append(f"The surest blame: {_of(cells[[high for _, high in ends].index(blamed)])}.")
    return said


def _of(cell: SummaryCell) -> str:
    return _named(cell.target, cell.tally, cell.aspect)


def _named(target: str, tally: Tally, aspect: str = "") -> str:
    name = f"<b><bdi>{html_text(called(target))}</bdi></b>" + (f" on <b>{html_text(aspect)}</b>" if aspect else "")
    if tally.share is None:
        return name
    side, share = ("negative", 1 - tally.share) if tally.share < 0.5 else ("positive", tally.share)
    return f"{name} ({html_text(percent(share))} of {tally.judged:,} {side})"


def _counts(summary: Summary) -> str:
    numbers = {
        "texts": summary.texts,
        "with an opinion": summary.texts_with_opinion,
        "opinions": summary.opinions,
        "targets": len(summary.targets),
        "aspects": len(summary.aspects),
        "rejected": summary.rejected,
    }
    if not summary.silent_told:
        del numbers["texts"]
        numbers = {"texts with an opinion" if name == "with an opinion" else name: n for name, n in numbers.items()}
    parts = "".join(f"<div><dt>{name}</dt><dd>{number:,}</dd></div>" for name, number in numbers.items())
    return f'<dl class="counts">{parts}</dl>'
