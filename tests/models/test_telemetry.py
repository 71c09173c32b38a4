"""onnxruntime gathers nothing and leaves nothing behind, wherever this package loads it."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tabsa

PACKAGE = Path(tabsa.__file__).parent
USE = "import tabsa; tabsa.load({model!r}).predict('Camden is dear.', ['Camden'], ['price'])"


def run(program: str, home: Path, **environment: str) -> list[Path]:
    """What there is in a user's home after a program."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ORT_"))}
    given = {"HOME": str(home), "PYTHONPATH": str(PACKAGE.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "-c", program], env=kept | given | environment, check=True, timeout=120)
    return sorted(home.rglob("*"))


@pytest.mark.parametrize("model", ["places", "reader"])
def test_a_prediction_leaves_nothing_in_the_users_home(tmp_path: Path, model: str) -> None:
    assert run(USE.format(model=model), tmp_path) == []


def test_onnxruntime_has_one_door() -> None:
    doors = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.split(".")[0] == "onnxruntime" for name in names):
                doors.add(path.relative_to(PACKAGE).as_posix())
    assert doors == {"models/onnx/session.py"}
