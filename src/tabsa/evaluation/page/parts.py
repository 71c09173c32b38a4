"""Parts of the questions: what was taken for what, by polarity, aspect, kind and domain, and by how sure it was."""

import math

from tabsa.evaluation.page.charts import curve_chart, reliability_chart
from tabsa.evaluation.page.history import LOSSES, SCORES, curves
from tabsa.evaluation.page.markup import chip, count, plural, row_head, section, share, table
from tabsa.evaluation.report import Report, TagReport
from tabsa.evaluation.report_tables import percent
from tabsa.text.escaping import html_text

_MOST, _SHOWN = 50, 30  # rows of a table; where there are more, fewer are shown
_TAG_NAMES = {"kind": ("By kind of text", "kinds"), "domain": ("By domain", "domains")}


def confusion_part(report: Report) -> str:
    """The confusion matrix as a heat table, each row shaded by shares of it."""
    labels = list(report.confusion)
    rows = []
    for gold, said in report.confusion.items():
        total = sum(said.values())
        cells = [
            f'<td class="{"right" if label == gold else "wrong"}" style="--v:{number / max(1, total):.4f}">'
            f"<b>{number:,}</b><small>{percent(number / total) if total else '–'}%</small></td>"
            for label, number in said.items()
        ]
        rows.append(f'<th scope="row">{chip(gold)}</th>{"".join(cells)}<td class="total">{total:,}</td>')
    heads = ("right", *(f"said {label}" for label in labels), "all")
    about = "A row is what is right, a column what was said; the percentages of a row make 100."
    made = table("What was said for what is right", heads, rows, "confusion")
    return section("confusion", "What is taken for what", made, about)


def polarity_part(report: Report) -> str:
    """Precision, recall and F1 of each label."""
    rows = [
        f'<th scope="row">{chip(label)}</th>{count(one.gold)}{count(one.predicted)}{count(one.right)}'
        f"{share(one.precision)}{share(one.recall)}{share(one.f1, bar=True)}"
        for label, one in report.labels.items()
    ]
    heads = ("", "in the data", "said", "right", "precision", "recall", "F1")
    return section("polarities", "By polarity", table("Questions, and figures in %", heads, rows))


def aspect_part(report: Report) -> str:
    """Each aspect, or those with most opinions where there are very many."""
    shown = list(report.aspects.items())
    caption = "Opinions in the data, and figures in %"
    if len(shown) > _MOST:
        shown.sort(key=lambda item: -sum(item[1].support.values()))
        caption = f"The {_SHOWN} of {len(shown):,} aspects with most opinions: opinions in the data, figures in %"
        del shown[_SHOWN:]
    polarities = list(next(iter(report.aspects.values())).support)
    rows = [
        row_head(aspect)
        + "".join(count(number) for number in one.support.values())
        + share(one.precision)
        + share(one.recall)
        + share(one.f1, bar=True)
        + share(one.aspect_auc)
        + share(one.sentiment_accuracy, bar=True)
        for aspect, one in shown
    ]
    heads = ("aspect", *polarities, "precision", "recall", "F1", "AUC", "sentiment accuracy")
    about = "Precision, recall and F1 are of finding an opinion, whatever its polarity."
    return section("aspects", "By aspect", table(caption, heads, rows), about)


def tag_parts(report: Report) -> dict[str, str]:
    """By kind and by domain, where the data has them; by the name of the part."""
    return {tag: _tag_part(tag, found) for tag, found in report.tags.items()}


def _tag_part(tag: str, found: dict[str, TagReport]) -> str:
    heading, noun = _TAG_NAMES[tag]
    shown = list(found.items())
    caption = "Questions, and figures in %"
    if len(shown) > _MOST:
        caption = f"The {_SHOWN} of {len(shown):,} {noun} with most questions: questions, and figures in %"
        del shown[_SHOWN:]
    rows = [
        row_head(value)
        + count(one.texts)
        + count(one.questions)
        + count(one.opinions)
        + share(one.opinion_f1, bar=True)
        + share(one.presence_f1)
        + share(one.polarity_accuracy, bar=True)
        + share(one.false_opinions)
        for value, one in shown
    ]
    heads = (tag, "texts", "questions", "opinions", "opinion F1", "presence F1", "polarity", "false opinions")
    return section(f"by-{tag}", heading, table(caption, heads, rows))


def reliability_part(report: Report) -> str:
    """Two diagrams: of whether there is an opinion, and of its polarity."""
    presence, polarity = report.reliability["presence"], report.reliability["polarity"]
    charts = reliability_chart(
        "presence", f"Presence: error {_error(presence.error)}", presence, ("opinion said to be so likely", "is there")
    )
    if polarity.bins:
        charts += reliability_chart(
            "polarity", f"Polarity: error {_error(polarity.error)}", polarity, ("so sure of its polarity", "is right")
        )
    about = (
        "Answers are right as often as they are sure where the dots lie on the dashed line; above it the model is too "
        "modest, below it too sure. The area of a dot, and the bar under it, say how many answers it stands for. The "
        "error is how far they are from the line on average, in points; of all answers together it is "
        f"{_error(report.reliability['answer'].error)}."
    )
    return section("reliability", "How sure it is", f'<div class="charts">{charts}</div>', about)


def _error(error: float) -> str:
    return "–" if math.isnan(error) else f"{100 * error:.1f}"


def history_part(report: Report) -> str:
    """How training went, where the model's folder tells; empty otherwise."""
    losses, scores = (curves(report.history, names) for names in (LOSSES, SCORES))
    charts = ""
    if losses:
        charts += curve_chart("loss", "Loss", losses, lambda value: f"{value:.3g}", "loss")
    if scores:
        charts += curve_chart("scores", "Figures on held-out data", scores, lambda value: f"{value:.0%}", "share")
    if not charts:
        return ""
    epochs = plural(int(max(epoch for curve in losses + scores for epoch, _ in curve.points)), "epoch")
    about = f"As training wrote it down, over {html_text(epochs)}; <i>base</i> is the model before it."
    return section("history", "How it learned", f'<div class="charts">{charts}</div>', about)
