"""Texts that writers hand in: blocks as rows, and what is wrong with them."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs PyTorch: pip install 'tabsa[train]'")

GOOD = """== trams | two targets
@ Supertram | _
Supertram was late.
This one wasn't!
? punctuality = np ; price = 00; seats=0u

"""
WRONG = {
    "? punctuality = n": "a letter for each target",
    "? punctuality = np ; Punctuality = 00 ; seats = 00": "an aspect, once",
    "punctuality = np": "expected ==",
}


@pytest.fixture
def written(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "repro" / "everyday"))
    yield __import__("written")
    for name in ("written", "check", "silver"):
        sys.modules.pop(name, None)


def test_a_block_is_a_row(written, tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text(GOOD)
    [(row, wrong)] = written.texts(path)
    assert (row["text"], row["targets"], wrong) == ("Supertram was late. This one wasn't!", ["Supertram", None], [])
    assert row["aspects"] == ["punctuality", "price", "seats"]
    labels = {(one["target"], one["aspect"]): one["polarity"] for one in row["opinions"]}
    assert labels.pop(("Supertram", "punctuality")) == "negative"
    assert labels == {(None, "punctuality"): "positive", (None, "seats"): "neutral"}


@pytest.mark.parametrize("line", WRONG)
def test_what_is_wrong_is_said(written, tmp_path, line):
    path = tmp_path / "texts.txt"
    path.write_text(GOOD.replace("? punctuality = np ; price = 00; seats=0u", line))
    [(_, wrong)] = written.texts(path)
    assert any(WRONG[line] in one for one in wrong)
