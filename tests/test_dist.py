"""What is released: the quick half of `make dist`, and that the files which name a version agree."""

import importlib.util
import re
import tarfile
import tomllib
import zipfile
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


def test_wheel_and_sdist_are_fit_for_release(dist: ModuleType, built: tuple[Path, Path]) -> None:
    wheel, sdist = built
    assert wheel.name == f"tabsa-{tabsa.__version__}-py3-none-any.whl"
    assert dist.check_wheel(wheel) == []
    assert dist.check_sdist(sdist) == []
    assert dist.rebuild(sdist, wheel) == []


def test_what_is_not_fit_is_found(
    dist: ModuleType, built: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(built[0]) as wheel:
        small = {name: wheel.read(name) for name in wheel.namelist() if "pretrained/reader/" not in name}
    config = "tabsa/pretrained/places/config.json"
    changed = small | {"tests/data/x.csv": b"", "tabsa/__pycache__/x.pyc": b"", config: small[config] + b" "}
    del changed["tabsa/py.typed"]
    path = tmp_path / built[0].name
    with zipfile.ZipFile(path, "w") as wheel:
        for name, content in changed.items():
            wheel.writestr(name, content)
    monkeypatch.setattr(dist, "MOST_BYTES", 1_000_000)
    found = "\n".join(dist.check_wheel(path))
    for words in (
        "MB; at most 1 are allowed", "lacks tabsa/py.typed", "lacks tabsa/pretrained/reader/weights.safetensors",
        "has tests/data/x.csv", "has tabsa/__pycache__/x.pyc", f"{config} is not what its checksum says",
    ):  # fmt: skip
        assert words in found
    path = tmp_path / "tabsa-0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in ("runs/x.log", "src/tabsa/.carry/x", "tests/test_x.py", "README.md"):
            member = tarfile.TarInfo(f"tabsa-0/{name}")
            archive.addfile(member)
    found = "\n".join(dist.check_sdist(path))
    for words in ("has runs/x.log", "has src/tabsa/.carry/x", "has tests/test_x.py", "lacks LICENSE"):
        assert words in found
    assert "README.md" not in found


def test_one_version_everywhere() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", tabsa.__version__)
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {tabsa.__version__}\n" in citation
    versions = re.findall(r"^## \[(.+?)\](?: - (\S+))?$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert versions[0] == ("Unreleased", "") or versions[0][0] == tabsa.__version__
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", date) for name, date in versions if name != "Unreleased")


def test_the_changelog_s_order() -> None:
    order = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        headings = re.findall(r"^### (.+)$", part, re.M)
        assert headings == [name for name in order if name in headings]


def test_the_citation_is_read() -> None:
    yaml = pytest.importorskip("yaml", reason="needs: pip install 'tabsa[hub]'")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    licence = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["license"]
    assert (citation["cff-version"], citation["license"], citation["type"]) == ("1.2.0", licence, "software")
    (paper,) = citation["references"]
    assert (paper["doi"], [author["family-names"] for author in paper["authors"]]) == (
        "10.18653/v1/N18-2045",
        ["Liu", "Cohn", "Baldwin"],
    )
