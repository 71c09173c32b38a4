"""The documentation as a site: built without a warning, no link leads nowhere, nothing is loaded from elsewhere."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import tabsa
from seen_page import Page

pytestmark = pytest.mark.site
ROOT = Path(__file__).parents[1]
if importlib.util.find_spec("mkdocs") is None or importlib.util.find_spec("mkdocstrings") is None:
    if os.environ.get("CI"):
        pytest.fail("needs the docs extra: pip install '.[docs]'", pytrace=False)
    pytest.skip("needs the docs extra: pip install '.[docs]'", allow_module_level=True)


class SitePage:
    """What a page links to, what it loads, what can be linked to in it, and its words."""

    def __init__(self, source: str) -> None:
        elements = Page(source).elements
        self.links = [found["href"] for tag, found, _ in elements if tag == "a" and "href" in found]
        self.loaded = [found[name] for _, found, _ in elements for name in ("src", "data", "poster") if name in found]
        sheets = (found for tag, found, _ in elements if tag == "link")
        self.loaded += [one["href"] for one in sheets if one.get("rel") not in ("prev", "next", "canonical")]
        self.ids = {found[name] for _, found, _ in elements for name in ("id", "name") if name in found}
        (self.words,) = (text for tag, _, text in elements if tag == "html")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` does."""
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return out


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, SitePage]:
    return {path: SitePage(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}


def test_every_link_and_every_anchor_leads_somewhere(site, pages):
    checked = 0
    for path, page in pages.items():
        if path.name == "404.html":
            continue  # its links start at the root of a host
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target = target / "index.html"
            assert target.is_file(), f"{path.relative_to(site)} links to {link}"
            if parts.fragment and target.suffix == ".html" and not parts.fragment.startswith("__"):
                assert unquote(parts.fragment) in pages[target].ids, f"{path.relative_to(site)} links to {link}"
            checked += 1
    assert checked > 1000


def test_every_page_is_in_the_navigation(site, pages):
    home = site / "index.html"
    named = {(site / unquote(urlsplit(link).path)).resolve() for link in pages[home].links if not urlsplit(link).scheme}
    left = {path for path in pages if path.name != "404.html"} - named
    assert not left
    written = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert written <= {path.relative_to(site) for path in pages}


def test_nothing_is_loaded_from_elsewhere(site, pages):
    for path, page in pages.items():
        for address in page.loaded:
            parts = urlsplit(address)
            assert parts.scheme in ("", "data"), f"{path.relative_to(site)} loads {address}"
            assert not parts.netloc, f"{path.relative_to(site)} loads {address}"
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", sheet.read_text(encoding="utf-8")), sheet.name
    assert json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]


def test_the_reference_has_every_command_and_option(site, pages):
    import typer

    from tabsa.cli.commands import app

    page = pages[site / "reference" / "commands.html"]
    words = page.words
    group = typer.main.get_command(app)
    for name, command in group.commands.items():
        assert f"tabsa-{name}" in page.ids
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert parameter.opts[0] in words, f"{name} {parameter.opts[0]}"
    assert {"tabsa-data-fetch", "tabsa-data-check"} <= page.ids


def test_the_reference_has_the_public_names_with_their_docstrings(site, pages):
    page = pages[site / "reference" / "python.html"]
    names = {"tabsa.load", "tabsa.train", "tabsa.evaluate", "tabsa.schema.Dataset", "tabsa.errors.TabsaError"}
    assert names <= page.ids
    assert "tabsa.inference.predictor.Predictor.predict_many" in page.ids
    assert " ".join(tabsa.load.__doc__.splitlines()[0].split()[:4]) in page.words


def test_every_measurement_is_shown(site, pages):
    page = pages[site / "results" / "benchmarks.html"]
    results = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
    assert results
    assert {path.stem for path in results} <= page.ids
    rates = json.loads((ROOT / "benchmarks" / "results" / "scoring.json").read_text())["sentences_per_second"]
    assert f"{rates['places int8']:,.0f}" in page.words
    assert f"{rates['bert-base']:.4g}" in page.words
