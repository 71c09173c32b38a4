"""`tabsa train`: from a table of one's own labels, or a configuration, to a model folder."""

import io
import json
from pathlib import Path
from typing import NamedTuple

import pytest
from rich.console import Console

import tabsa as package
from command_line import CommandLine, refused, tabsa
from reader_folder import small_reader, write_reader
from table_rows import write_rows

REPOSITORY = Path(__file__).parents[2]
SMALL = ("vectors.size=6", "model.chains=3", "training.threads=1", "training.batch_size=32")
PLACES = ("train", REPOSITORY / "repro" / "quick" / "places.toml", *(w for one in SMALL for w in ("--set", one)))


class Trained(NamedTuple):
    folder: Path
    stdout: str
    stderr: str


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A small model of a shipped configuration, two epochs, two seeds."""
    folder = tmp_path_factory.mktemp("places") / "[bold] my-model"
    code, stdout, stderr = tabsa(*PLACES, "--out", folder, "--set", "training.epochs=2", "--seeds", 2)
    assert code == 0, stderr
    return Trained(folder, stdout, stderr)


def test_what_is_printed(places: Trained) -> None:
    assert places.stdout.startswith("places dev, %")
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in places.stdout.splitlines() if "│" in line]
    assert [row[0] for row in rows] == ["1", "2"]
    metrics = json.loads((places.folder / "metrics.json").read_text())
    for row, of_seed in zip(rows, metrics["seeds"].values(), strict=True):
        figures = [of_seed["ma"]["strict_accuracy"], *list(of_seed["sun"].values())[1:]]
        assert row[2:] == [f"{100 * figure:.1f}" for figure in figures]
    assert f"model folder: {places.folder}\n" in places.stdout
    lines = [line for line in places.stderr.splitlines() if not line.startswith("warning: ")]
    assert lines[0].startswith("delayed-entnet: ")
    assert "2 epochs" in lines[0]
    assert any(line.startswith("at most ") for line in lines)
    assert [line[:14] for line in lines if line.startswith("epoch")] == ["epoch 1: loss ", "epoch 2: loss "]


def test_a_run_goes_on_or_is_refused(places: Trained) -> None:
    again = (*PLACES, "--out", places.folder, "--set", "training.epochs=2", "--seeds", 2)
    assert refused(*again).endswith("continue it with --resume, or choose another --out")
    code, stdout, _ = tabsa(*again, "--resume")  # a finished run shows its results again
    assert (code, stdout) == (0, places.stdout)


def test_a_bar_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr("tabsa.cli.console.err", Console(file=screen, force_terminal=True, width=120))
    assert tabsa(*PLACES, "--out", tmp_path / "model", "--set", "training.epochs=1")[0] == 0
    assert "training" in screen.getvalue()
    assert "100%" in screen.getvalue()


def test_figures_that_are_not_defined_are_a_dash(tmp_path: Path) -> None:
    silent: dict[str, object] = {"target": "Hull", "aspect": "", "polarity": ""}
    judged = silent | {"aspect": "price", "polarity": "negative"}
    rows = [(silent if n % 2 else judged) | {"text": f"Day {n}: Hull is dear"} for n in range(40)]
    data = write_rows(tmp_path / "mine.csv", rows)
    code, stdout, stderr = tabsa("train", data, "--kind", "entnet", *PLACES[2:], "--epochs", 1, "--out", tmp_path / "m")
    assert code == 0, stderr
    assert "–" in stdout
    assert "nan" not in stdout + stderr
    metrics = json.loads((tmp_path / "m" / "metrics.json").read_text(), parse_constant=pytest.fail)
    assert metrics["dev"]["sun"]["sentiment_auc"] is None


WORDS = (("good", "positive"), ("bad", "negative"))
QUICK = ("--epochs", "4", "--set", "training.rate=0.01", "--set", "training.batch_size=8", "--set", "model.dropout=0.0")


def reviews(count: int, text: str = "text") -> list[dict[str, object]]:
    """Labels on texts that name nothing, with a column of texts called so."""
    rows = []
    for number in range(count):
        (food, liked), (price, worth) = WORDS[number % 2], WORDS[number // 2 % 2]
        written = f"the {food} food and {price} price {number}"
        rows += [
            {text: written, "aspect": "food", "polarity": liked},
            {text: written, "aspect": "price", "polarity": worth},
        ]
    return rows


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = small_reader(late_interaction=1, rounded=True, sizes={"layers": 2})
    return write_reader(tmp_path_factory.mktemp("base") / "base", model, "int8").path


def test_a_table_and_corrections_fine_tune_a_reader(command_line: CommandLine, base: Path, tmp_path: Path) -> None:
    data = write_rows(tmp_path / "cafe.csv", reviews(24, "Review"))
    correction = {"text": "great rooms", "target": None, "aspect": "rooms", "polarity": "positive", "asked_only": True}
    corrections = write_rows(tmp_path / "more.jsonl", [correction | {"text": f"great rooms {n}"} for n in range(4)])
    test, out = write_rows(tmp_path / "test.csv", reviews(8, "Review")), tmp_path / "mine"
    options = ("--text-column", "Review", "--more", corrections, "--test", test, *QUICK)
    code, stdout, stderr = command_line("train", data, "--base", base, "--out", out, *options)
    assert code == 0, stderr
    assert "no column 'target'" in stderr
    assert "24 texts, 48 opinions on 2 aspects\n" in stderr
    assert stderr.count(f"{data} has no column 'target'") == 1
    assert "took " in stderr
    assert "cross-validation over 28 texts" in stdout
    assert f"report: {out / 'report.html'}" in stdout
    assert f"{test}, %: opinion f1" in stdout
    assert (out / "report-test.html").exists()
    model = package.load(out)
    assert (model.aspects, model.implied) == (("food", "price", "rooms"), True)
    code, stdout, stderr = command_line("predict", "good food", "--model", out, "--json")  # nothing need be named
    assert (code, len(json.loads(stdout)["opinions"])) == (0, 3), stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("absent.csv",), "no file or folder absent.csv; expected your labels, or a configuration (.toml)"),
        (
            ("cafe.csv", "--aspect-column", "on"),
            "cafe.csv has no columns 'target', 'on'; it has Review, aspect, polarity",
        ),
        (("cafe.csv", "--text-column", "Review", "--base", "nobody"), "there is no model 'nobody'"),
        (("cafe.csv", "--text-column", "Review", "--more", "absent.csv"), "no file absent.csv"),
        (("run.toml", "--set", "training.epoch=3"), "unknown key 'training.epoch'; did you mean 'epochs'?"),
        (("run.toml", "--set", "data.name=place"), "unknown dataset 'place'; did you mean 'places'?"),
        (("run.toml", "--device", "tpu"), "the device is 'tpu'; expected cpu, cuda or auto"),
        (("run.toml", "--out", "cafe.csv"), "cannot write cafe.csv"),
    ],
)
def test_what_is_wrong_is_one_line(
    command_line: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "cafe.csv", reviews(6, "Review"))
    (tmp_path / "run.toml").write_text('kind = "entnet"\n[data]\nname = "places"\n[vectors]\nsize = 4\n')
    code, stdout, stderr = command_line("train", *arguments, *(() if "--out" in arguments else ("--out", "model")))
    assert (code, stdout) == (1, "")
    assert problem in stderr.splitlines()[-1]
    assert not (tmp_path / "model" / "config.json").exists()


@pytest.mark.parametrize("options", [(), ("--out", "x", "--seeds", "0"), ("--out", "x", "--epochs", "0")])
def test_wrong_usage(command_line: CommandLine, options: tuple[str, ...]) -> None:
    assert command_line("train", "mine.csv", *options)[0] == 2
