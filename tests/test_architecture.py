"""The rooms, their order, and what importing the package costs."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import tabsa
from tabsa.models.registry import SYSTEMS

PACKAGE = Path(tabsa.__file__).parent
# A room imports only rooms of the lines above it; rooms of one line do not import each other. The number is the most
# lines it may have: it only goes down, and whoever needs more says what goes for it. The whole has a number of its own,
# which is less than their sum; the tests have as much.
ROOMS = [
    {"errors": 74, "schema": 97},
    {"files": 50},
    {"config": 106, "text": 977},  # languages, aspects alike, short names: cli gives those of `reproduce`
    {"tables": 779},
    {"datasets": 1178},
    {"embeddings": 618},
    {"encoding": 854},
    {"evaluation": 1215},
    {"checkpoint": 621, "nn": 1031},
    {"models": 3045},  # rows that pad cost nothing: explaining, checking and training give those of it
    {"inference": 1266},  # evidence of silence, exclusive aspects: models and training give those of cross-encoding
    {"pages": 1744},
    {"training": 3342, "scoring": 1071},
    {"plugins": 648},
    {"serve": 1434},
    {"cli": 1664},
    {"pretrained": 0},  # files, no code
]
MOST_LINES, MOST_FILES, MOST_SCRIPT_LINES, MOST_TEST_LINES = 22_000, 180, 2_700, 22_000
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


MODULES = {
    ".".join(("tabsa", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}


def own_room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def lines_of(paths: Iterable[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def test_the_top_floor_has_eighteen_rooms_at_most():
    found = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if not path.name.startswith(("__", "py."))}
    assert found == set(RANK)
    assert len([path for path in PACKAGE.iterdir() if path.is_dir() and not path.name.startswith("__")]) <= 18


@pytest.mark.parametrize(("room", "most"), [pair for rooms in ROOMS for pair in rooms.items()])
def test_a_room_stays_within_its_budget(room, most):
    assert lines_of(path for path in SOURCES if own_room(path) == room) <= most


def test_the_house_stays_within_its_budget():
    sources = list(PACKAGE.rglob("*.py"))
    assert lines_of(sources) <= MOST_LINES
    assert len(sources) <= MOST_FILES
    assert lines_of(PACKAGE.rglob("*.js")) <= MOST_SCRIPT_LINES
    assert lines_of(Path(__file__).parent.rglob("*.py")) <= MOST_TEST_LINES


def test_names_are_those_of_the_field():
    """A few words of our own dialect must not come back as names."""
    dialect = {"asked", "said", "told", "kept", "heard", "unheard", "along", "telling"}
    for path in SOURCES:
        names = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
        names |= {node.arg for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.arg)}
        assert not {part for name in names for part in name.lower().split("_")} & dialect, path


def imported_modules(path: Path) -> set[str]:
    """The modules of ours that a module imports when it is imported itself: what stands in functions comes later."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    later = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node not in later and (node.module or "").startswith("tabsa"):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name if name in MODULES else str(node.module) for name in names}
    return found & set(MODULES)


def test_no_module_imports_itself_in_a_circle():
    graph = {name: imported_modules(path) for name, path in MODULES.items()}
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, " -> ".join((*way[way.index(name) :], name))
        if name not in done:
            for other in sorted(graph[name]):
                visit(other, (*way, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_one_class_name_names_one_thing():
    places: dict[str, list[str]] = {}
    for path in [*SOURCES, *sorted(PACKAGE.parents[1].glob("repro/tabsa_repro/*.py"))]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(path.name)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_only_the_command_line_speaks_of_its_options():
    """A message that names an option is no use to a program or a page; `tabsa.cli.hints` adds it."""
    for path in SOURCES:
        if own_room(path) == "cli":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise):
                named = re.findall(r"(?<!ray start )(?<![\w`])--[a-z]+", ast.unparse(node))
                assert not named, f"{path}, line {node.lineno}"


def test_nobody_but_the_registry_knows_a_systems_name():
    names = set(SYSTEMS) - {"lr"}
    for path in SOURCES:
        if own_room(path) == "models" or path.name == "config.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare):
                compared = {leaf.value for leaf in ast.walk(node) if isinstance(leaf, ast.Constant)}
                assert not compared & {*names, "lr"}, f"{path}, line {node.lineno}"


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
    heavy = {"torch", "onnxruntime", "nltk", "sklearn", "scipy", "pyarrow", "matplotlib", "ray"}
    heavy |= {"huggingface_hub", "pandas", "polars", "duckdb", "spacy", "pyspark"}
    assert not loaded_by(statement) & heavy


def test_a_prediction_loads_few_modules():
    code = (
        "import sys, tabsa; tabsa.load().predict('Camden is dear.', ['Camden']); "
        "print(*[name for name in sys.modules if name.partition('.')[0] == 'tabsa' or '.' not in name])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = run.stdout.split()
    assert not {"torch", "onnx", "tokenizers", "transformers", "pandas", "scipy"} & set(found)
    loaded = [name for name in found if name.partition(".")[0] == "tabsa"]
    assert len(loaded) <= 60
    assert not {name.split(".")[1] for name in loaded if "." in name} & {"datasets", "training", "evaluation", "tables"}


def test_public_names_exist():
    for name in tabsa.__all__:
        assert hasattr(tabsa, name)


def test_no_pickle_anywhere():
    for path in SOURCES:
        names = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
        assert not names & {"pickle", "joblib", "dill", "cloudpickle", "eval", "exec"}, path
        assert "torch.load(" not in path.read_text(), path
