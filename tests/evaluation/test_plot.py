"""The report as a matplotlib figure."""

import pytest

from scored_data import many
from tabsa.evaluation.report import evaluate


def test_three_panels_with_the_report_in_them():
    pytest.importorskip("matplotlib")
    dataset, probabilities = many([1, 2, 3] * 10)
    report = evaluate(dataset, probabilities, bootstrap=0, model="mine")
    figure = report.plot()
    confusion, aspects, reliability = figure.axes
    shown = [int(text.get_text()) for text in confusion.texts]
    assert shown == [count for row in report.confusion.values() for count in row.values()]
    assert sorted(label.get_text() for label in aspects.get_yticklabels()) == sorted(
        f"{name} ({sum(one.support.values())})" for name, one in report.aspects.items()
    )
    widths = sorted(bar.get_width() for bar in aspects.patches)
    assert widths == pytest.approx(sorted(v for o in report.aspects.values() for v in (o.f1, o.sentiment_accuracy)))
    presence = reliability.lines[1]
    assert presence.get_ydata() == pytest.approx([one.accuracy for one in report.reliability["presence"].bins])
    assert figure.get_suptitle() == "mine on towns test"
