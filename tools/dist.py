"""Build what is released, and try it as a user would: `make dist`.

    python tools/dist.py            all of it, into dist/
    python tools/dist.py --quick    wheel and sdist with what is in them, without the environments

1. Builds the wheel and the sdist (hatchling), and the wheel again from the sdist: the same bytes.
2. Looks at what is in them: the package with its models, whole, nothing else, and at most 60 MB of wheel.
3. `twine check --strict`.
4. Installs the wheel into an empty environment of each Python that it is for and that is found here, and runs
   `tabsa demo` and `tabsa predict` outside the checkout.

Exit code 1 where anything is wrong; a Python that is not found is said, and is no failure unless none is.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_BYTES = 60_000_000  # of a wheel
PYTHONS = ("3.11", "3.12", "3.13")
PACKAGES = {"tabsa": ROOT / "src" / "tabsa", "tabsa_repro": ROOT / "repro" / "tabsa_repro"}
SDIST = re.compile(
    r"(src/tabsa|repro/tabsa_repro)/.+|README\.md|CHANGELOG\.md|CITATION\.cff|LICENSE|pyproject\.toml|PKG-INFO|\.gitignore"
)
UNWANTED = re.compile(r"(^|/)(__pycache__|runs|tests|\.[^/]*|.*\.(pyc|pkl|pickle|pt|bin|tmp|orig|log))(/|$)")
TOOLS = ("hatchling", "twine")
ASKED = ["predict", "Leith is cheap but far from the centre.", "-t", "Leith", "-a", "price", "--json"]


class DistError(Exception):
    """What is built is not fit for release."""


def build(out: Path, python: str = sys.executable, root: Path = ROOT) -> tuple[Path, Path]:
    """The wheel and the sdist of a tree; needs hatchling."""
    _run([python, "-m", "hatchling", "build", "-d", str(out), "-t", "wheel", "-t", "sdist"], root)
    return next(out.glob("*.whl")), next(out.glob("*.tar.gz"))


def check_wheel(path: Path, sources: Mapping[str, Path] = PACKAGES) -> list[str]:
    """What is wrong with a wheel: its size, files that are missing, and files that do not belong there."""
    found = []
    if path.stat().st_size > MOST_BYTES:
        found.append(f"{path.name} has {path.stat().st_size / 1e6:.1f} MB; at most {MOST_BYTES / 1e6:.0f} are allowed")
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        info = next(name.partition("/")[0] for name in names if ".dist-info/" in name)
        expected = {
            f"{package}/{file.relative_to(folder).as_posix()}"
            for package, folder in sources.items()
            for file in folder.rglob("*")
            if file.is_file() and "__pycache__" not in file.parts
        }
        found += [f"{path.name} lacks {name}" for name in sorted(expected - names)]
        strange = {name for name in names - expected if not name.startswith(f"{info}/")}
        found += [f"{path.name} has {name}" for name in sorted(strange | set(filter(UNWANTED.search, names)))]
        found += [f"{path.name} lacks {info}/{name}" for name in ("licenses/LICENSE",) if f"{info}/{name}" not in names]
        if "tabsa = tabsa.cli:main" not in wheel.read(f"{info}/entry_points.txt").decode():
            found.append(f"{path.name} has no command")
        for name in sorted(filter(re.compile(r".*/pretrained/.*/checksums\.json").fullmatch, names)):
            for file, digest in json.loads(wheel.read(name))["sha256"].items():
                whole = f"{name.rpartition('/')[0]}/{file}"
                if whole not in names or hashlib.sha256(wheel.read(whole)).hexdigest() != digest:
                    found.append(f"{path.name}: {whole} is not what its checksum says")
    return found


def check_sdist(path: Path) -> list[str]:
    """What is wrong with an sdist."""
    with tarfile.open(path) as archive:
        inside = [(member.name.partition("/")[2], member.isfile()) for member in archive.getmembers()]
    names = {name for name, is_file in inside if is_file}
    allowed = {name for name in names if SDIST.fullmatch(name)}
    strange = names - allowed | {name for name in allowed - {".gitignore"} if UNWANTED.search(name)}
    needed = {"README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "pyproject.toml", "PKG-INFO"}
    return [
        *(f"{path.name} has {name}" for name in sorted(strange)),
        *(f"{path.name} lacks {name}" for name in sorted(needed - names)),
        *(f"{path.name} has a link: {name}" for name, is_file in inside if not is_file),
    ]


def rebuild(sdist: Path, wheel: Path, python: str = sys.executable) -> list[str]:
    """Build the wheel from the sdist; says what differs."""
    with tempfile.TemporaryDirectory() as temporary:
        with tarfile.open(sdist) as archive:
            archive.extractall(temporary, filter="data")
        (tree,) = Path(temporary).iterdir()
        _run([python, "-m", "hatchling", "build", "-d", f"{temporary}/again", "-t", "wheel"], tree)
        (again,) = (Path(temporary) / "again").glob("*.whl")
        if again.read_bytes() == wheel.read_bytes():
            return []
        one, other = _digests(wheel), _digests(again)
        differing = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
        return [f"the sdist builds another wheel: {', '.join(differing[:5]) or 'the same files, packed otherwise'}"]


def find_pythons() -> dict[str, str]:
    """The interpreters of the Pythons that the package is for, by version: of pyenv, or on the path."""
    found = {}
    for version in PYTHONS:
        own = sorted(
            Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(f"versions/{version}.*/bin/python")
        )
        for candidate in (*map(str, own[::-1]), shutil.which(f"python{version}"), sys.executable):
            if candidate and _version(candidate).startswith(f"{version}."):
                found[version] = candidate
                break
    return found


def try_wheel(wheel: Path, python: str) -> str:
    """Install the wheel into an empty environment, and use it from an empty folder; says how that went."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        started = time.monotonic()
        _run([python, "-m", "venv", "env"], folder)
        own = str(folder / "env" / ("Scripts" if os.name == "nt" else "bin"))
        _install(f"{own}/python", str(wheel), folder=folder)
        installed = time.monotonic() - started
        _run([f"{own}/python", "-m", "pip", "--disable-pip-version-check", "check"], folder)
        version = _run([f"{own}/tabsa", "--version"], folder).split()[-1]
        if f"-{version}-" not in wheel.name:
            raise DistError(f"`tabsa --version` says {version}, and the wheel is {wheel.name}")
        _run([f"{own}/tabsa", "demo", "--out", "demo.html"], folder)
        if b"</html>" not in (folder / "demo.html").read_bytes():
            raise DistError("`tabsa demo` wrote no page")
        (opinion,) = json.loads(_run([f"{own}/tabsa", *ASKED], folder))["opinions"]
        if opinion["polarity"] != "positive":
            raise DistError(f"`tabsa predict` says that cheap is {opinion['polarity']}")
        used = time.monotonic() - started - installed
    return f"installed in {installed:.0f} s; version, demo and predict fine, {used:.0f} s"


def main() -> None:
    """Do all of it, and say what was found."""
    parser = argparse.ArgumentParser(description="Build what is released, and try it.")
    parser.add_argument("--quick", action="store_true", help="build and look, without twine and environments")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the files are left")
    options = parser.parse_args()
    try:
        _dist(options.out.resolve(), quick=options.quick)
    except DistError as e:
        sys.exit(f"not fit for release: {e}")


def _dist(out: Path, *, quick: bool) -> None:
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as temporary:
        python = sys.executable
        if not quick:
            _run([sys.executable, "-m", "venv", "tools"], Path(temporary))
            python = f"{temporary}/tools/bin/python"
            _install(python, *TOOLS, folder=ROOT)
        wheel, sdist = build(out, python)
        _say("wheel", f"{wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB of at most {MOST_BYTES / 1e6:.0f}")
        _say("sdist", f"{sdist.name}, {sdist.stat().st_size / 1e6:.1f} MB")
        _refuse([*check_wheel(wheel), *check_sdist(sdist)])
        _say("content", "the package and its models, whole, and nothing else")
        _refuse(rebuild(sdist, wheel, python))
        _say("rebuilt", "the sdist builds the same wheel, byte for byte")
        if quick:
            return
        _run([python, "-m", "twine", "check", "--strict", str(wheel), str(sdist)], ROOT)
        _say("twine", "check --strict passed for both")
    pythons = find_pythons()
    for version in PYTHONS:
        if version not in pythons:
            _say(f"Python {version}", "not found here, so not tried")
            continue
        _say(f"Python {_version(pythons[version])}", try_wheel(wheel, pythons[version]))
    _refuse([] if pythons else [f"none of Python {', '.join(PYTHONS)} is found here, so nothing was tried"])
    _say("done", f"{wheel.parent} holds what can be uploaded")


def _digests(wheel: Path) -> dict[str, str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def _version(python: str) -> str:
    ran = subprocess.run(
        [python, "-c", "import platform; print(platform.python_version())"], capture_output=True, text=True, check=False
    )
    return ran.stdout.strip()


def _install(python: str, *what: str, folder: Path) -> None:
    pins = str(ROOT / "constraints.txt")
    _run([python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "-c", pins, *what], folder)


def _run(command: list[str], folder: Path) -> str:
    """Run a command in a folder, without what the shell says of Python's paths; gives what it prints."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    }
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode:
        lines = (ran.stdout + ran.stderr).strip().splitlines()[-15:]
        raise DistError("\n".join([f"`{' '.join(command)}` ended with {ran.returncode}:", *lines]))
    return ran.stdout


def _refuse(found: Iterable[str]) -> None:
    if lines := list(found):
        raise DistError("\n  ".join(lines[:20]))


def _say(what: str, words: str) -> None:
    print(f"{what:<15} {words}", flush=True)


if __name__ == "__main__":
    main()
