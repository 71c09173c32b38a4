"""The rooms, their order, and what importing the package costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tabsa

PACKAGE = Path(tabsa.__file__).parent
# A room imports only rooms of the lines above it; rooms of one line do not import each other.
ROOMS = [
    ["errors", "schema"],
    ["files"],
    ["config", "text"],
    ["vectors"],
    ["data"],
    ["concepts", "metrics"],
    ["calibration", "evaluate", "predictions", "published"],
    ["batch"],
    ["folder"],
    ["export", "linear", "samplers"],
    ["predictor"],
    ["layers"],
    ["models"],
    ["training"],
    ["explain", "score"],
    ["reproduce", "scale", "serve"],
    ["cli"],
]
RANK = {room: rank for rank, rooms in enumerate(ROOMS) for room in rooms}


def room_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "tabsa" and len(parts) > 1 else None


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            # `from tabsa import metrics` names a room, `from tabsa import load` does not.
            modules = [f"tabsa.{a.name}" for a in node.names] if node.module == "tabsa" else [node.module or ""]
        else:
            continue
        rooms |= {room for module in modules if (room := room_of(module)) in RANK}
    return rooms


SOURCES = [path for path in sorted(PACKAGE.rglob("*.py")) if path.parent != PACKAGE or not path.stem.startswith("__")]


def own_room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_every_room_has_its_place():
    assert {own_room(path) for path in SOURCES} <= set(RANK)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path):
    room = own_room(path)
    wrong = {other for other in imported_rooms(path) - {room} if RANK[other] >= RANK[room]}
    assert not wrong, f"{room} imports {wrong}, which stand beside or below it"


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}; import sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize("statement", ["import tabsa", "import tabsa.cli", "import tabsa.text, tabsa.datasets"])
def test_importing_is_light(statement):
    heavy = {"torch", "onnxruntime", "nltk", "sklearn", "scipy", "pyarrow", "matplotlib", "tensorboard", "ray"}
    assert not loaded_by(statement) & heavy


def test_public_names_exist():
    for name in tabsa.__all__:
        assert hasattr(tabsa, name)


def test_no_pickle_anywhere():
    for path in SOURCES:
        names = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
        assert not names & {"pickle", "joblib", "dill", "cloudpickle", "eval", "exec"}, path
        assert "torch.load(" not in path.read_text(), path
