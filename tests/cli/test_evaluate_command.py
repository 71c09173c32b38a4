"""`tabsa evaluate`, through the command line's own main."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from command_line import CommandLine, refused
from prediction_files import write_predictions
from table_rows import text_rows
from tabsa.datasets import loading as data
from tabsa.evaluation.metrics import FAMILIES, METRICS
from tabsa.inference.evaluating import evaluate

DOCS = Path(__file__).parents[2] / "docs" / "evaluation.md"
REVIEWS = """\
id,text,target,aspect,polarity
1,Camden is dear but Brixton is cheap,Camden,price,negative
1,Camden is dear but Brixton is cheap,Brixton,price,positive
2,Camden is safe,Camden,safety,positive
3,Brixton,Brixton,price,none
"""


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    path = tmp_path / "reviews.csv"
    path.write_text(REVIEWS, "utf-8")
    return path


@pytest.fixture
def predictions(tmp_path: Path, reviews: Path) -> Path:
    """A file that always says none."""
    dataset = data.load(str(reviews), "all")
    path = tmp_path / "predictions.jsonl"
    write_predictions(path, dataset, np.tile([1.0, 0.0, 0.0], (4, 2, 1)))
    return path


# ---- figures


def test_json_is_what_the_contract_says(command_line: CommandLine, predictions: Path, reviews: Path) -> None:
    code, stdout, stderr = command_line("evaluate", predictions, "--data", reviews, "--split", "all", "--json")
    assert (code, stderr) == (0, "")
    report = json.loads(stdout)
    assert list(report)[:4] == ["sun", "ma", "data", "split"]
    assert (report["data"], report["split"]) == (str(reviews), "all")
    for family in FAMILIES:
        assert tuple(report[family]) == METRICS
        assert tuple(report["intervals"][family]) == METRICS
    assert report["sun"]["strict_accuracy"] == report["ma"]["strict_accuracy"] == report["ma"]["macro_f1"] == 0.25
    assert report["sun"]["macro_f1"] == 0
    assert report["sun"]["sentiment_auc"] == 0.5  # price alone has both polarities
    assert report["aspects"]["safety"]["sentiment_auc"] is None


def test_without_a_bootstrap_there_are_no_intervals(
    command_line: CommandLine, predictions: Path, reviews: Path
) -> None:
    options = ("--data", reviews, "--split", "all", "--bootstrap", 0)
    assert json.loads(command_line("evaluate", predictions, *options, "--json")[1])["intervals"] is None
    assert "[" not in command_line("evaluate", predictions, *options)[1]


@pytest.mark.parametrize(
    ("options", "aspects"),
    [
        (("--aspects", "all"), ["price", "safety"]),
        (("--aspects", "safety"), ["safety"]),
        (("--aspects", "safety", "--aspects", "price"), ["safety", "price"]),
    ],
)
def test_rows_on_aspects_that_are_not_scored_may_be_in_the_file(
    command_line: CommandLine, predictions: Path, reviews: Path, options: tuple[str, ...], aspects: list[str]
) -> None:
    code, stdout, _ = command_line("evaluate", predictions, "--data", reviews, "--split", "all", "--json", *options)
    assert code == 0
    assert list(json.loads(stdout)["aspects"]) == aspects


# ---- reports, mistakes, and two models


def test_a_report_and_the_mistakes_are_written(
    command_line: CommandLine, tiny_model: Path, reviews: Path, tmp_path: Path
) -> None:
    page, table = tmp_path / "out" / "r.html", tmp_path / "e.csv"
    options = ("--data", reviews, "--split", "all", "--bootstrap", 20, "-a", "price", "-a", "safety")
    plain = command_line("evaluate", tiny_model, *options, "--json")
    code, stdout, stderr = command_line("evaluate", tiny_model, *options, "--json", "--report", page, "--errors", table)
    assert (code, stdout) == (0, plain[1])
    assert stderr == f"wrote {page}\nwrote {table}\n"
    source, rows = page.read_text("utf-8"), list(text_rows(table))
    assert "tiny on" in source
    report = evaluate(tiny_model, data.load(str(reviews), "all"), bootstrap=0)
    assert [row["predicted"] for row in rows] == [error.predicted for error in report.errors]
    assert source.count("<blockquote") == len(rows)
    assert "carries" in source  # evidence is looked for
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".")]


def test_two_models_on_the_same_questions(
    command_line: CommandLine, tiny_model: Path, reviews: Path, tmp_path: Path
) -> None:
    options = ("--data", reviews, "--split", "all", "--bootstrap", 50)
    code, stdout, _ = command_line("evaluate", tiny_model, *options, "--against", "places", "--json")
    assert code == 0
    both = json.loads(stdout)
    for name, part in (("tiny", both), ("places", both["against"])):
        assert part["model"] == name
        assert list(part["aspects"]) == ["general", "price", "safety", "transit-location"]  # what both answer
    figure = both["comparison"]["figures"]["questions"]["opinion_f1"]
    assert figure["first"] == both["questions"]["opinion_f1"]
    assert figure["second"] == both["against"]["questions"]["opinion_f1"]
    assert figure["difference"] == pytest.approx(figure["first"] - figure["second"])
    assert both["comparison"]["resamples"] == 50
    page = tmp_path / "r.html"
    code, stdout, _ = command_line("evaluate", tiny_model, *options, "--against", "places", "--report", page)
    assert code == 0
    assert "tiny against places on" in " ".join(stdout.split())
    assert "Against places" in page.read_text("utf-8")


def test_a_model_against_a_file(command_line: CommandLine, tiny_model: Path, predictions: Path, reviews: Path) -> None:
    options = ("--data", reviews, "--split", "all", "--bootstrap", 20, "--json")
    mixed = json.loads(command_line("evaluate", predictions, *options, "--against", tiny_model)[1])
    assert mixed["comparison"]["first"] == predictions.name
    assert list(mixed["aspects"]) == ["price", "safety"]  # what the file has rows on, and the model answers
    assert mixed["comparison"]["figures"]["questions"]["presence_f1"]["first"] == 0


# ---- what is wrong is one line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("{folder}",), "is a folder; expected a predictions file"),
        (("none.jsonl",), "No such file or directory"),
        (("{predictions}", "--report", "r.pdf"), "cannot write a page to 'r.pdf'; expected a name that ends in .html"),
        (("{predictions}", "--errors", "e.xlsx"), "cannot write 'e.xlsx'; expected a name that ends in .csv"),
        (("{predictions}", "--against", "no-such.jsonl"), "cannot read no-such.jsonl"),
        (("{predictions}", "--data", "sentihod"), "did you mean"),
        (("{predictions}", "--data", "sentihood", "--split", "tset"), "did you mean"),
    ],
)
def test_what_cannot_be_read_written_or_compared(
    predictions: Path, reviews: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    first, *others = (one.format(folder=tmp_path, predictions=predictions) for one in arguments)
    assert message in refused("evaluate", first, "--data", reviews, "--split", "all", *others)


def test_part_of_a_file_is_said_to_be_one(command_line: CommandLine, tiny_model: Path, tmp_path: Path) -> None:
    rows = "".join(f"Camden is number {n},Camden,price,positive\n" for n in range(60))
    (tmp_path / "mine.csv").write_text("Review,Product,Topic,Label\n" + rows, "utf-8")
    columns = {"text": "Review", "target": "Product", "aspect": "Topic", "polarity": "Label"}
    options = [part for role, name in columns.items() for part in (f"--{role}-column", name)]
    code, _, stderr = command_line("evaluate", tiny_model, "--data", tmp_path / "mine.csv", "--bootstrap", 0, *options)
    assert code == 0
    assert re.search(r"its test part alone \(\d+ texts\); --split all takes the whole file", stderr)


# ---- the benchmark


@pytest.mark.data
def test_always_none_on_sentihood(command_line: CommandLine, tmp_path: Path, data_dir: Path) -> None:
    """A file on all twelve aspects, scored on the four of the benchmark."""
    dataset = data.load("sentihood", "test", data_dir=data_dir, aspects=["all"])
    path = tmp_path / "none.jsonl"
    write_predictions(path, dataset, np.tile([1.0, 0.0, 0.0], (1879, 12, 1)))
    options = ("--data", "sentihood", "--split", "test", "--data-dir", data_dir, "--json")
    code, stdout, stderr = command_line("evaluate", path, *options)
    assert (code, stderr) == (0, "")
    report = json.loads(stdout)
    assert round(report["sun"]["strict_accuracy"], 6) == round(report["ma"]["strict_accuracy"], 6) == 0.478978
    assert report["sun"]["macro_f1"] == 0
    assert round(report["ma"]["macro_f1"], 6) == 0.478978
    assert round(report["row_accuracy"], 6) == 0.838212
    assert list(report["aspects"]) == ["general", "price", "safety", "transit-location"]


@pytest.mark.data
def test_the_example_in_the_documentation(
    command_line: CommandLine, tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = DOCS.read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TABSA_DATA", str(data_dir))
    exec(_block(page, "python"), {})
    for line in _block(page, "sh").splitlines():
        assert command_line(*shlex.split(line, comments=True)[1:])[0] == 0


def test_the_report_in_the_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    page = DOCS.read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    exec(_block(page, "python", 2), {})
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "both.html", "errors.csv", "report.png"}


def _block(page: str, language: str, number: int = 1) -> str:
    """A code block in that language, the first by default."""
    return page.split(f"```{language}\n")[number].split("```")[0]
