"""What is released: the quick half of `make dist`, and that the files which name a version agree."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

import tabsa

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def dist() -> ModuleType:
    spec = importlib.util.spec_from_file_location("dist", ROOT / "tools" / "dist.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def built(dist: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    pytest.importorskip("hatchling", reason="needs what builds wheels: pip install hatchling")
    wheel, sdist = dist.build(tmp_path_factory.mktemp("dist"))
    return wheel, sdist


@pytest.mark.site
def test_wheel_and_sdist_are_fit_for_release(dist: ModuleType, built: tuple[Path, Path]) -> None:
    wheel, sdist = built
    assert wheel.name == f"tabsa-{tabsa.__version__}-py3-none-any.whl"
    assert dist.check_wheel(wheel) == []
    assert dist.check_sdist(sdist) == []
    assert dist.rebuild(sdist, wheel) == []


def test_one_version_everywhere() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", tabsa.__version__)
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {tabsa.__version__}\n" in citation
    versions = re.findall(r"^## \[(.+?)\](?: - (\S+))?$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert versions[0] == ("Unreleased", "") or versions[0][0] == tabsa.__version__
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", date) for name, date in versions if name != "Unreleased")
