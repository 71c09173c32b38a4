"""What axe-core finds wrong with a page, for those who do not see it or do not use a mouse."""

import importlib.util
import os
from functools import cache
from pathlib import Path

import pytest
from selenium import webdriver

_PACKAGE = "selenium_axe_python"  # carries axe-core's own file
_MISSING = "needs axe-core: pip install '.[dev]'"
# The rules of WCAG 2.2 at levels A and AA, and axe's own best practices.
_TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
_RUN = """
const [tags, done] = arguments;
axe.run(document, { runOnly: { type: "tag", values: tags }, resultTypes: ["violations"] })
  .then(({ violations }) => done(violations), (error) => done(String(error)));
"""


def violations(driver: webdriver.Chrome) -> list[str]:
    """Each rule that the page as it stands breaks, with the elements: none where it is accessible.

    The whole document is looked at, frames too. Skips the test where axe-core is not installed, and fails it in CI.
    """
    driver.execute_script(_script())
    found = driver.execute_async_script(_RUN, list(_TAGS))
    assert isinstance(found, list), f"axe-core broke off: {found}"
    return [_described(violation, node) for violation in found for node in violation["nodes"]]


def _described(violation: dict, node: dict) -> str:
    place = " ".join(str(part) for part in node["target"])
    checks = [*node["any"], *node["all"], *node["none"]]
    why = "; ".join(dict.fromkeys(check["message"] for check in checks)) or violation["help"]
    return f"{violation['id']} ({violation['impact']}) at {place}: {why}"


@cache
def _script() -> str:
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        if os.environ.get("CI"):
            pytest.fail(_MISSING)
        pytest.skip(_MISSING)
    return (Path(spec.origin).parent / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
