"""The page on integrations: each example is run by itself, and prints what the page shows."""

import os
import re
from pathlib import Path

import pytest

from printed import alike

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "integrations.md"
MADE = "<!-- made by tests/plugins/test_integrations_page.py -->\n"
EXAMPLE = re.compile(
    rf"^## (?P<name>.+)\n\n```python\n(?P<code>(?:.*\n)+?)```\n{MADE}```text\n(?P<shown>(?:.*\n)*?)```", re.M
)
NEEDS = {
    "pandas": ["pandas"],
    "Polars": ["polars"],
    "DuckDB": ["duckdb", "pyarrow"],
    "scikit-learn": ["sklearn"],
    "spaCy": ["spacy"],
}
EXAMPLES = {found["name"]: found for found in EXAMPLE.finditer(PAGE.read_text(encoding="utf-8"))}


def test_every_integration_has_an_example_of_twelve_lines_at_most():
    assert EXAMPLES.keys() == NEEDS.keys()
    spark = (ROOT / "docs" / "examples" / "spark_opinions.py").read_text(encoding="utf-8")
    for code in (*(found["code"] for found in EXAMPLES.values()), spark):
        assert len([line for line in code.splitlines() if line.strip()]) <= 12


def test_the_page_has_the_example_for_spark():
    spark = (ROOT / "docs" / "examples" / "spark_opinions.py").read_text(encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    block = re.compile(r"(?<=```py\n)(?:.*\n)*?(?=```)")
    if os.environ.get("TABSA_WRITE_DOCS"):
        PAGE.write_text(block.sub(lambda _: spark, text, count=1), encoding="utf-8")
    assert block.search(PAGE.read_text(encoding="utf-8"))[0] == spark, "stale: run this test with TABSA_WRITE_DOCS=1"


@pytest.mark.parametrize("name", NEEDS)
def test_an_example_prints_what_the_page_shows(name, monkeypatch, capsys, tmp_path):
    for package in NEEDS[name]:
        pytest.importorskip(package, reason="needs pip install '.[dev,tables]'")
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    exec(compile(EXAMPLES[name]["code"], f"{PAGE}, {name}", "exec"), {})
    printed = "".join(f"{line.rstrip()}\n" for line in capsys.readouterr().out.strip("\n").split("\n"))
    if os.environ.get("TABSA_WRITE_DOCS"):
        text = PAGE.read_text(encoding="utf-8")  # anew: other examples may have changed it
        found = next(found for found in EXAMPLE.finditer(text) if found["name"] == name)
        PAGE.write_text(text[: found.start("shown")] + printed + text[found.end("shown") :], encoding="utf-8")
    else:
        assert alike(EXAMPLES[name]["shown"], printed), "stale: run this test with TABSA_WRITE_DOCS=1"
