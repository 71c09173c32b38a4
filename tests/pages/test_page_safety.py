"""Every page needs nothing but itself, can be read aloud, and no text breaks out of its place."""

import base64
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prediction_factory import made_up
from seen_page import Page
from tabsa.errors import OutputError
from tabsa.evaluation.report import evaluate
from tabsa.pages.counting import summarise
from tabsa.pages.evaluation_page import evaluation_page
from tabsa.pages.evidence_page import evidence_page
from tabsa.pages.rendering import write_page
from tabsa.pages.report_page import report_page
from tabsa.schema import Dataset, Example, Opinion, Span, Target

BAD = "Camden </script><script>alert('x')</script><img src=x onerror=alert(1)> & \"</table>"


def report_of(text: str, name: str, folder: Path) -> str:
    answer = {"aspect": name, "date": "2024-01-01", "id": name, "text": text}
    rows = [answer | {"target": t, "polarity": p} for t in (name, "x") for p in ("positive", '" onclick="x', name)]
    path = folder / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows * 6), "utf-8")
    path.with_name("t.jsonl.rejects.jsonl").write_text(json.dumps({"reason": name}), "utf-8")
    return report_page(summarise(path, title=name), name)


def evidence_of(text: str, name: str, folder: Path) -> str:
    found = {("Camden", "price"): '" onclick="x'}
    return evidence_page([made_up(text=f"{text} Camden", targets=["Camden", name], found=found)] * 2, title=name)


def evaluation_of(text: str, name: str, folder: Path) -> str:
    labels, marks = ("none", "<b>good</b>", '" onclick="x'), {"kind": name, "domain": name}
    example = Example(name, text, (Target(name, (Span(0, 1),)),), (Opinion(name, name, labels[1]),), tags=marks)
    data = Dataset(name, "all", (name,), labels, [example])
    wrong, right = (evaluate(data, np.array([[row]]), bootstrap=2, model=name) for row in ([0.1, 0.2, 0.7], [0, 1, 0]))
    explained = tuple(replace(one, evidence=((Span(1, len(text)), 0.5),)) for one in wrong.errors)
    return evaluation_page(replace(wrong, errors=explained), right)


Maker = Callable[[str, str, Path], str]
makers = pytest.mark.parametrize("page_of", [report_of, evidence_of, evaluation_of])


@makers
def test_a_script_in_a_text_is_text_and_no_other_can_run(page_of: Maker, tmp_path: Path) -> None:
    source = page_of(BAD, BAD, tmp_path)
    page = Page(source)
    assert not re.search(r"https?:|url\(|@import|innerHTML|\beval\(", source)
    assert not [e for e in page.elements if e[0] in ("link", "img", "iframe", "object", "base")]
    assert not [a for _, a, _ in page.elements if "src" in a or any(name.startswith("on") for name in a)]
    policy = next(a["content"] for _, a, _ in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    scripts = [text for _, text in page.all("script")]
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    allowed = "".join(f"; script-src 'sha256-{digest}'" for digest in digests)
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'{allowed}"
    assert len(scripts) == (page_of is report_of)
    assert BAD in page.all("h1")[0][1]
    assert any("<img src=x" in text for _, text in page.all("blockquote"))


@makers
def test_it_can_be_read_aloud_on_paper_and_at_night(page_of: Maker, tmp_path: Path) -> None:
    source = page_of("Camden is fine. So is all else.", "x", tmp_path)
    page = Page(source)
    identifiers = [a["id"] for _, a, _ in page.elements if "id" in a]
    assert len(identifiers) == len(set(identifiers))
    assert {a["href"][1:] for a, _ in page.all("a")} <= set(identifiers)
    assert [a["id"] for a, _ in page.all("section")] == re.findall(r'<li><a href="#([\w-]+)">', source)
    assert len(page.all("caption")) == len(page.all("table")) > 0
    assert all(a["scope"] in ("col", "row") for a, _ in page.all("th"))
    for attributes, _ in page.all("svg"):
        assert all(name in identifiers for name in attributes["aria-labelledby"].split())
    for wanted in ("color-scheme: light dark", "@media print", "print-color-adjust: exact", "max-width: 40rem"):
        assert wanted in source


@makers
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(codec="utf-8"), min_size=1, max_size=40), name=st.text(min_size=1, max_size=12))
def test_any_text_makes_a_well_formed_page(page_of: Maker, tmp_path: Path, text: str, name: str) -> None:
    if name.strip() and name.isprintable():
        assert Page(page_of(text, name, tmp_path)).all("title")[0][1]


def test_it_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = write_page("<p>", tmp_path / "new" / "r.HTML")
    assert path.read_text("utf-8") == "<p>"
    assert [p.name for p in path.parent.iterdir()] == ["r.HTML"]
    (tmp_path / "d.html").mkdir()
    with pytest.raises(OutputError, match="is a folder"):
        write_page("", tmp_path / "d.html")
    with pytest.raises(OutputError, match="cannot write"):
        write_page("", path / "a.html")
    for name in ("a.png", "a.svg", "a", "a.html.gz"):
        with pytest.raises(OutputError, match=r"expected a name that ends in \.html \(a browser prints it\)"):
            write_page("", tmp_path / name)
