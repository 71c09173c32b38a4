"""Documentation that can go stale is made from the code, or compared with it."""

import json
import os
import re
import runpy
import shlex
import textwrap
from pathlib import Path

import pytest

from command_line import tabsa
from printed import alike

ROOT = Path(__file__).parents[1]
STALE = "stale: run this test with TABSA_WRITE_DOCS=1"


def written(page: Path, made: str) -> str:
    """What a page holds; with TABSA_WRITE_DOCS=1, after it was written anew."""
    if os.environ.get("TABSA_WRITE_DOCS"):
        page.write_text(made, encoding="utf-8")
    return page.read_text(encoding="utf-8")


def test_the_options_in_the_training_page_are_the_configurations():
    from tabsa.config import to_toml
    from tabsa.training.run_config import run_config

    page = ROOT / "docs" / "training.md"
    text = page.read_text(encoding="utf-8")
    block = re.compile(r"(<!-- made by tests/test_docs\.py.*?-->\n```toml\n).*?(\n```)", re.DOTALL)
    made = block.sub(lambda m: m[1] + to_toml(run_config({"kind": "delayed-entnet"})).rstrip() + m[2], text)
    assert written(page, made) == made, STALE


PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(ROOT.glob("*/**/*.md"))


@pytest.mark.parametrize("page", [p for p in PAGES if ".venv" not in str(p)], ids=lambda p: str(p.relative_to(ROOT)))
def test_links_to_files_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        if "://" not in link:
            assert (page.parent / link).exists(), f"{page.name} links to {link}"


USING = ROOT / "docs" / "using.md"
SHOWN = [USING, ROOT / "docs" / "quickstart.md", ROOT / "docs" / "concepts" / "questions.md"]
BLOCK = re.compile(
    r"(?P<made><!-- made by tests/test_docs\.py -->\n)?```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.M | re.S
)


def printed_by(command: str) -> str:
    code, out, err = tabsa(*shlex.split(command, comments=True)[1:])
    assert code == 0, err
    return out


def written_anew(page: Path, capsys) -> str:
    """The page with its Python and its commands run, in order, and what they print put into the blocks made so."""
    names: dict[str, object] = {}
    printed = ""

    def remade(block: re.Match) -> str:
        nonlocal printed
        if block["made"]:
            lines = "\n".join(line.rstrip() for line in printed.strip("\n").split("\n"))
            return f"{block['made']}```{block['kind']}\n{lines}\n```"
        if block["kind"] == "python":
            capsys.readouterr()
            exec(compile(block["text"], str(page), "exec"), names)
            printed = capsys.readouterr().out
        elif block["kind"] == "sh":
            commands = [line for line in block["text"].splitlines() if line.startswith("tabsa ")]
            printed = "".join(map(printed_by, commands))
        return block[0]

    return BLOCK.sub(remade, page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.stem)
def test_a_page_on_using_models_shows_what_happens(page, monkeypatch, capsys, tmp_path):
    for package in ("pandas", "matplotlib"):
        pytest.importorskip(package)
    (tmp_path / "docs").symlink_to(ROOT / "docs")  # commands name files as seen from the repository
    monkeypatch.chdir(tmp_path)
    made = written_anew(page, capsys)
    assert alike(written(page, made), made), STALE


def test_the_page_on_using_a_model_has_the_figures_of_int8():
    found = json.loads((ROOT / "benchmarks" / "results" / "int8.json").read_text(encoding="utf-8"))
    same, loss = found["probabilities"]["all aspects"]["same_label"], max(0, found["largest_loss"])
    cores = found["machine"]["threads"]
    sentence = (
        f"Measured on Sentihood's test split from text to opinions (`benchmarks/int8.py`): "
        f"{found['times_as_fast']:.1f} times as fast on {cores} core{'s' * (cores > 1)} "
        f"with{'' if found['machine']['vnni'] else 'out'} VNNI instructions, the same label for "
        f"{same:.2%} of pairs, and at most {loss:.2f} points lost of any metric."
    )
    text = USING.read_text(encoding="utf-8")
    paragraph = re.compile(
        r"(<!-- made by tests/test_docs\.py from benchmarks/results/int8\.json -->\n).*?(?=\n\n)", re.S
    )
    assert paragraph.search(text)
    made = paragraph.sub(lambda m: m[1] + textwrap.fill(sentence, 120), text)
    assert written(USING, made) == made, STALE


def test_the_model_card_and_the_tables_have_the_figures_that_were_measured():
    card = runpy.run_path(str(ROOT / "repro" / "box" / "card.py"))["card"]
    page = ROOT / "src" / "tabsa" / "pretrained" / "places" / "README.md"
    assert page.read_text(encoding="utf-8") == card(), "stale: run `python repro/box/card.py`"
    script = runpy.run_path(str(ROOT / "repro" / "figures.py"))
    for page in script["PAGES"]:
        assert page.read_text(encoding="utf-8") == script["filled"](page), "stale: run `python repro/figures.py`"
