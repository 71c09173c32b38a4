"""`-a` and `--aspects`, the same for every command, with a model that takes any words."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from open_model import open_model
from tabsa.cli.options import requested_aspects
from tabsa.datasets.loading import load as load_data
from tabsa.errors import DataError
from tabsa.text.aspects import EVERYDAY, LISTS

__all__ = ["open_model"]  # a fixture
Tabsa = Callable[..., tuple[int, str, str]]
TEXT = "The Pixel has a great battery but a bad camera."


@pytest.fixture
def predict(command_line: Tabsa, open_model: Path) -> Tabsa:
    """Runs `tabsa predict` with the open model."""
    return lambda *arguments: command_line("predict", TEXT, "-t", "Pixel", "--model", open_model, *arguments)


def aspects_of(stdout: str) -> list[str]:
    return [opinion["aspect"] for opinion in json.loads(stdout)["opinions"]]


# ---- what is asked


def test_lists_come_before_single_ones_and_nothing_twice() -> None:
    assert requested_aspects(None, None) is None
    assert requested_aspects([], []) is None
    assert requested_aspects(["price, wifi", "price"], ["camera", "wifi"]) == ["price", "wifi", "camera"]
    assert requested_aspects(["places"], ["wifi"]) == [*LISTS["places"], "wifi"]
    assert requested_aspects(None, ["food, drinks"]) == ["food, drinks"]


def test_any_words(predict: Tabsa) -> None:
    code, stdout, stderr = predict("-a", "battery  life", "--aspect", "camera", "--json")
    assert (code, stderr) == (0, "")
    assert aspects_of(stdout) == ["battery life", "camera"]
    assert [opinion["polarity"] for opinion in json.loads(stdout)["opinions"]] == ["mixed", "mixed"]


def test_the_models_own_list_by_default(predict: Tabsa) -> None:
    assert aspects_of(predict("--json")[1]) == list(EVERYDAY)


@pytest.mark.parametrize("name", LISTS)
def test_a_list_by_name(predict: Tabsa, name: str) -> None:
    assert aspects_of(predict("--aspects", name, "--json")[1]) == list(LISTS[name])


def test_a_file_and_words_with_commas(predict: Tabsa, tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("# mine\nbattery life\ncamera\n", "utf-8")
    stdout = predict("--aspects", path, "--aspects", "wifi, price", "-a", "noise", "--json")[1]
    assert aspects_of(stdout) == ["battery life", "camera", "wifi", "price", "noise"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--aspects", "phone"),
            "no list of aspects 'phone'; did you mean 'phones'?; a single aspect is given with -a",
        ),
        (("--aspects", "no-such.txt"), "no file no-such.txt"),
        (("-a", ""), "the aspect '' has no word in it"),
        (("-a", "x" * 101), "at most 100"),
    ],
)
def test_mistakes_are_one_line(predict: Tabsa, options: tuple[str, ...], message: str) -> None:
    code, stdout, stderr = predict(*options)
    assert (code, stdout) == (1, "")
    assert message in stderr
    assert stderr.count("\n") == 1


def test_a_closed_model_refuses_a_list_that_it_does_not_know(command_line: Tabsa, tiny_model: Path) -> None:
    code, _, stderr = command_line("predict", TEXT, "-t", "Pixel", "--model", tiny_model, "--aspects", "phones")
    assert code == 1
    assert "does not know the aspect 'overall'" in stderr
    assert "`reader`, the model in the box, takes any words" in stderr


def test_polarities_have_signs_of_their_own(predict: Tabsa, command_line: Tabsa, open_model: Path) -> None:
    _, stdout, _ = predict("-a", "camera", "-a", "wifi")
    assert "◆ mixed" in stdout
    assert "Pixel: silent on wifi" in stdout
    _, stdout, _ = command_line("predict", "Pixel has wifi.", "-t", "Pixel", "--model", open_model, "-a", "wifi")
    assert "○ neutral" in stdout


@pytest.mark.parametrize("command", ["predict", "score", "evaluate", "demo"])
def test_help_has_an_example_of_open_aspects(command_line: Tabsa, command: str) -> None:
    code, stdout, _ = command_line(command, "--help")
    assert code == 0
    assert "--aspects" in stdout
    assert "reader" in stdout


def test_a_model_without_gates_is_explained_by_its_words(predict: Tabsa, tmp_path: Path) -> None:
    code, _, _ = predict("--explain", tmp_path / "why.html")
    assert code == 0
    assert "no opinion found" in (tmp_path / "why.html").read_text("utf-8")


def test_the_demo_asks_an_open_model_about_each_review_what_is_worth_asking(
    command_line: Tabsa, open_model: Path, tmp_path: Path
) -> None:
    page = tmp_path / "demo.html"
    code, stdout, stderr = command_line("demo", "--model", open_model, "--out", page)
    assert (code, stderr) == (0, "")
    assert stdout.endswith(f"the same as a page: {page}\n")
    assert "waiting time" in page.read_text("utf-8")
    assert "ease of use" in page.read_text("utf-8")
    assert command_line("demo", "--model", open_model, "--out", page, "-a", "street food")[0] == 0
    assert "street food" in page.read_text("utf-8")
    assert "waiting time" not in page.read_text("utf-8")


# ---- score


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    path = tmp_path / "reviews.csv"
    path.write_text("id,text\n1,The Pixel has a great camera\n2,Pixel: bad battery\n3,Pixel with wifi\n", "utf-8")
    return path


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_table_is_scored_for_any_words(command_line: Tabsa, open_model: Path, reviews: Path, tmp_path: Path) -> None:
    score = ("score", reviews, "--model", open_model, "-t", "Pixel", "-a", "battery life", "--aspects", "camera,wifi")
    code, _, stderr = command_line(*score[:2], tmp_path / "wide.csv", *score[2:], "--probabilities")
    assert code == 0, stderr
    rows = rows_of(tmp_path / "wide.csv")
    assert [row["Pixel/battery life"] for row in rows] == ["none", "negative", "none"]
    assert [row["Pixel/wifi"] for row in rows] == ["none", "none", "neutral"]
    assert list(rows[0])[2:8] == ["Pixel/camera", *(f"Pixel/camera/{p}" for p in LABELS_SHOWN)]
    command_line(*score[:2], tmp_path / "long.csv", *score[2:], "--layout", "long")
    assert [(row["aspect"], row["polarity"]) for row in rows_of(tmp_path / "long.csv")] == [
        ("camera", "positive"),
        ("battery life", "negative"),
        ("wifi", "neutral"),
    ]


LABELS_SHOWN = ("none", "positive", "negative", "neutral", "mixed")


def test_a_run_is_not_resumed_with_other_aspects(
    command_line: Tabsa, open_model: Path, reviews: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.csv"
    score = ("score", reviews, out, "--model", open_model, "-t", "Pixel", "--chunk", 1)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tabsa.tables.outputs.FileOutput.finish", killed)
        assert command_line(*score, "-a", "camera", "-a", "wifi")[0] == 130
    assert (tmp_path / "out.csv.state.json").exists()
    code, _, stderr = command_line(*score, "-a", "camera", "--resume")
    assert code == 1
    assert "'aspects' is not what it was" in stderr
    assert command_line(*score, "--resume")[0] == 1  # the model's own are others, too
    assert (
        command_line(*score, "-a", " camera ", "--aspects", "camera, wifi", "--resume")[0] == 0
    )  # the same, said otherwise
    assert [row["Pixel/camera"] for row in rows_of(out)] == ["positive", "none", "none"]


# ---- evaluate


OWN = [
    {"text": "Pixel has a great camera", "targets": ["Pixel"], "aspects": ["camera", "wifi"]}
    | {"opinions": [{"target": "Pixel", "aspect": "camera", "polarity": "positive"}]},
    {"text": "Nokia: bad price", "targets": ["Nokia"], "aspects": ["price"]}
    | {"opinions": [{"target": "Nokia", "aspect": "price", "polarity": "negative"}]},
]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in OWN), "utf-8")
    return path


def test_a_dataset_is_asked_its_own_aspects(command_line: Tabsa, open_model: Path, own: Path) -> None:
    evaluate = ("evaluate", open_model, "--data", own, "--split", "all")
    code, stdout, stderr = command_line(*evaluate, "--json")
    assert (code, stderr) == (0, "")
    report = json.loads(stdout)
    assert report["questions"] == {
        "opinion_f1": 1.0,
        "presence_f1": 1.0,
        "polarity_accuracy": 1.0,
        "false_opinions": 0.0,
    }
    assert report["counts"]["rows"] == 3
    assert list(report["aspects"]) == ["camera", "wifi", "price"]
    assert list(json.loads(command_line(*evaluate, "-a", "price", "--json")[1])["aspects"]) == ["price"]
    code, stdout, _ = command_line(*evaluate, "--bootstrap", 0)
    assert code == 0
    assert "3 questions, 2 opinions" in stdout
    assert "F1 of opinions, with their polarity" in stdout


def test_everyday_is_readable(command_line: Tabsa, open_model: Path) -> None:
    try:
        load_data("everyday", "test-unseen")
    except DataError as e:
        pytest.skip(str(e))
    code, stdout, stderr = command_line(
        "evaluate", open_model, "--data", "everyday", "--split", "test-unseen", "--bootstrap", 20
    )
    assert (code, stderr) == (0, "")
    assert "aspects with most opinions" in stdout
    assert len(stdout.splitlines()) < 60
    assert max(map(len, stdout.splitlines())) <= 80
