"""`tabsa data check`, through the command line's own main."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEADER = "id,text,target,aspect,polarity\n"
PLAIN = "".join(f"{n},Leeds is number {n}.,Leeds,price,{('positive', 'negative')[n % 2]}\n" for n in range(100, 120))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my.csv"
    path.write_text(HEADER + PLAIN, encoding="utf-8")
    return path


def test_a_file_with_nothing_wrong(command_line, file):
    code, out, err = command_line("data", "check", file)
    assert (code, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "20 texts, 0 with two or more targets" in lines
    assert "20 targets: 20 named, 0 unnamed, 0 not in text" in lines
    assert "20 questions (a target and an aspect): 20 judged, 0 none" in lines
    assert "polarities: positive 10 (50%), negative 10 (50%)" in lines
    assert lines[-1] == "Nothing looks wrong."


def test_findings_of_a_kind_are_capped_and_those_alike_are_one_line(command_line, file):
    with file.open("a", encoding="utf-8") as stream:
        stream.writelines(f"1,Leeds is dear.,Leeds,{name},positive\n" for name in "abcde")
        stream.writelines(f"{n},,Leeds,price,positive\n" for n in range(10))
    code, out, err = command_line("data", "check", file)
    assert (code, err) == (0, "")
    assert "rows that cannot be read (10): loading stops at the first one" in out
    printed = " ".join(out.split())
    assert "row 27 'text' is empty; expected the text that is judged (also 28, 29, 30 ...)" in printed
    shown = re.findall(r"^ +row (\d+)  aspect '(\w)' has 1 opinion *$", out, re.MULTILINE)
    assert shown == [("22", "a"), ("23", "b"), ("24", "c")]
    assert "15 findings; --json lists them all." in out


def test_it_fits_the_terminal(command_line, tmp_path):
    path = tmp_path / "my.jsonl"
    names = [f"{'a very long name ' * 5}{n}" for n in range(20)]
    opinions = [{"target": name, "aspect": name, "polarity": name} for name in names]
    path.write_text(json.dumps({"text": "x" * 300, "opinions": opinions * 1000}) + "\n", encoding="utf-8")
    code, out, _ = command_line("data", "check", path)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80


def test_what_would_steer_a_terminal_is_not_printed(command_line, tmp_path):
    path = tmp_path / "my.jsonl"
    row = {"text": "Dear.", "target": "\x1b[31mred[/]", "aspect": "[bold]\x07", "polarity": "\x1b"}
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    code, out, _ = command_line("data", "check", path)
    assert code == 0
    assert not {"\x1b", "\x07"} & set(out)
    assert "[bold]" in out


def test_json_has_it_all(command_line, file):
    with file.open("a", encoding="utf-8") as stream:
        stream.writelines(f"{n},Leeds has {n}.,Leds,aspect number {n},positive\n" for n in range(15))
    code, out, err = command_line("data", "check", file, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found.keys() == {
        "file", "unit", "rows", "texts", "several_targets", "targets", "left_empty", "pairs", "opinions",
        "polarities", "aspects", "findings",
    }  # fmt: skip
    assert (found["file"], found["unit"], found["texts"]) == (str(file), "row", 35)
    assert found["targets"] == {"named": 20, "unnamed": 0, "not_in_text": 15}
    assert len(found["aspects"]) == 16
    assert found["polarities"] == {"positive": 25, "negative": 10}
    codes = [finding["code"] for finding in found["findings"]]
    assert (codes.count("target_not_in_text"), codes.count("rare_aspect"), len(codes)) == (15, 15, 30)
    assert found["findings"][0] == {
        "code": "target_not_in_text",
        "line": 22,
        "message": "'Leds' is not in the text; did you mean 'Leeds'?",
    }


def test_columns_are_named_by_options(command_line, tmp_path):
    path = tmp_path / "my.csv"
    path.write_text("key,review,brand,topic,mood\n7,Leeds is dear.,Leeds,price,negative\n", encoding="utf-8")
    code, out, err = command_line("data", "check", path)
    assert (code, out) == (1, "")
    assert err == (
        f"error: {path} has no column 'text'; it has key, review, brand, topic, mood; perhaps it is 'review'; name it "
        "with --text-column, or in a configuration as data.columns.text\n"
    )
    options = ["--text-column", "review", "--target-column", "brand", "--aspect-column", "topic"]
    options += ["--polarity-column", "mood", "--id-column", "key"]
    found = json.loads(command_line("data", "check", path, *options, "--json")[1])
    assert (found["texts"], found["opinions"], found["targets"]["named"]) == (1, 1, 1)
    assert "unreadable" not in {finding["code"] for finding in found["findings"]}


@pytest.mark.parametrize("name", ["nowhere.csv", ".", "my.txt", "my.csv"])
def test_a_file_that_cannot_be_opened_is_one_line_and_1(command_line, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.txt").touch()
    (tmp_path / "my.csv").write_bytes("text\n".encode("utf-32"))
    for options in ([], ["--json"]):
        code, out, err = command_line("data", "check", name, *options)
        assert (code, out) == (1, "")
        assert err.startswith("error: ")
        assert err.count("\n") == 1


def test_help_has_an_example(command_line):
    code, out, _ = command_line("data", "check", "--help")
    assert code == 0
    assert "Example: tabsa data check reviews.csv --text-column review" in " ".join(out.split())


def test_the_page_on_data_shows_what_is_printed(command_line, monkeypatch):
    monkeypatch.chdir(ROOT)
    _, out, _ = command_line("data", "check", "docs/examples/unchecked.csv")
    printed = "\n".join(line.rstrip() for line in out.strip().splitlines())
    page = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    assert f"tabsa data check docs/examples/unchecked.csv\n```\n\n```text\n{printed}\n```" in page
