"""Documentation that can go stale is made from the code, or compared with it."""

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_the_options_in_the_training_page_are_the_configurations():
    from tabsa.config import to_toml
    from tabsa.training.config import run_config

    page = ROOT / "docs" / "training.md"
    text = page.read_text(encoding="utf-8")
    block = re.compile(r"(<!-- made by tests/test_docs\.py.*?-->\n```toml\n).*?(\n```)", re.DOTALL)
    expected = block.sub(lambda m: m[1] + to_toml(run_config({})).rstrip() + m[2], text)
    if os.environ.get("TABSA_WRITE_DOCS"):
        page.write_text(expected, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == expected, "stale: run this test with TABSA_WRITE_DOCS=1"


PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(ROOT.glob("*/**/*.md"))


@pytest.mark.parametrize("page", [p for p in PAGES if ".venv" not in str(p)], ids=lambda p: str(p.relative_to(ROOT)))
def test_links_to_files_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        if "://" not in link:
            assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_the_model_card_has_the_figures_that_were_measured():
    import runpy

    card = runpy.run_path(str(ROOT / "repro" / "box" / "card.py"))["card"]
    page = ROOT / "src" / "tabsa" / "pretrained" / "places" / "README.md"
    assert page.read_text(encoding="utf-8") == card(), "stale: run `python repro/box/card.py`"


def test_the_tables_have_the_figures_that_were_measured():
    import runpy

    script = runpy.run_path(str(ROOT / "repro" / "figures.py"))
    for page in script["PAGES"]:
        assert page.read_text(encoding="utf-8") == script["filled"](page), "stale: run `python repro/figures.py`"
