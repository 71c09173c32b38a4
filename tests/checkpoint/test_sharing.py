"""Folders for others: saved whole, pushed as one commit, with a card whose metadata the hub's own client reads."""

import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tabsa
from hub_server import NAME, TARGETS, TEXT, TOKEN, HubServer, answers
from tabsa.checkpoint.card import with_metadata, yaml_lines
from tabsa.checkpoint.checksums import CHECKSUMS
from tabsa.checkpoint.model_folder import ANSWERING, read_folder, shipped_models
from tabsa.errors import ModelError
from unchecked import unchecked

yaml = pytest.importorskip("yaml", reason="needs: pip install 'tabsa[hub]'")


def metadata(card: str) -> dict[str, Any]:
    """The YAML before a card, by a YAML parser."""
    assert card.startswith("---\n")
    found: dict[str, Any] = yaml.safe_load(card[4:].partition("\n---\n")[0])
    return found


# ---- saving


def test_a_saved_folder_is_the_same_model(tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "model.int8.onnx").write_bytes(b"of an earlier model")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    model = tabsa.load(tiny_model)
    assert model.save_pretrained(tmp_path / "out") is None
    saved = tabsa.load(tmp_path / "out")
    assert (saved.folder.sha256, answers(saved)) == (model.folder.sha256, answers(model))
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *("config.json", "model.onnx", "vectors.safetensors", "weights.safetensors", CHECKSUMS),
        *("README.md", "metrics.json", "notes.txt"),
    }


def test_a_report_with_the_data_s_texts_stays_at_home(tiny_model: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_model, tmp_path / "mine"))
    (folder / "report.html").write_text("texts")
    tabsa.load(folder).save_pretrained(tmp_path / "out")
    assert not (tmp_path / "out" / "report.html").exists()


def test_a_folder_is_saved_over_itself(tiny_model: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_model, tmp_path / "mine"))
    before = answers(tabsa.load(folder))
    tabsa.load(folder).save_pretrained(folder, model_card_kwargs={"license": "mit"})
    assert answers(tabsa.load(folder)) == before
    assert metadata((folder / "README.md").read_text())["license"] == "mit"


def test_an_older_folder_gets_checksums(tiny_model: Path, tmp_path: Path) -> None:
    folder = unchecked(Path(shutil.copytree(tiny_model, tmp_path / "old")))
    (folder / "README.md").unlink()
    tabsa.load(folder).save_pretrained(tmp_path / "out")
    assert (tmp_path / "out" / CHECKSUMS).read_bytes() == (tiny_model / CHECKSUMS).read_bytes()
    assert "# delayed-entnet\n\n- aspects: general, price" in (tmp_path / "out" / "README.md").read_text()


def test_what_is_damaged_is_not_passed_on(tiny_model: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_model, tmp_path / "mine"))
    model = tabsa.load(folder)
    (folder / "weights.safetensors").write_bytes(b"")
    with pytest.raises(ModelError, match=r"weights\.safetensors is damaged"):
        model.save_pretrained(tmp_path / "out")
    (folder / "weights.safetensors").unlink()
    with pytest.raises(ModelError, match=r"has no weights\.safetensors; the folder is incomplete"):
        model.save_pretrained(tmp_path / "out")
    assert not (tmp_path / "out").exists()


# ---- cards


@pytest.mark.parametrize("name", ["reader", "places"])
def test_cards_of_the_models_in_the_box(name: str) -> None:
    from huggingface_hub import ModelCard

    folder = read_folder(shipped_models()[name])
    text = (folder.path / "README.md").read_text("utf-8")
    card = ModelCard(with_metadata(text, folder))
    assert card.text.strip() == text.strip()
    data = card.data
    assert (data.language, data.license, data.library_name) == ("en", "mit", "tabsa")
    assert data.pipeline_tag == "text-classification"
    assert {"tabsa", "onnx", folder.config.kind} <= set(data.tags or ())
    figures = {
        (result.dataset_name, result.dataset_split, result.metric_name): result.metric_value
        for result in data.eval_results or ()
    }
    if name == "places":
        dev = folder.metrics["dev"]["sun"]["sentiment_auc"]
        assert figures["sentihood", "dev", "AUC of sentiment"] == pytest.approx(dev, abs=5e-5)
    else:
        unseen = folder.metrics["int8"]["everyday test-unseen"]["questions"]["opinion_f1"]
        assert figures["everyday", "test-unseen", "F1 of opinions"] == pytest.approx(unseen, abs=5e-5)


def test_what_a_card_says_stays_and_what_is_given_goes_first(tiny_model: Path) -> None:
    folder = read_folder(tiny_model)
    card = '---\r\ntags:\r\n- mine\r\nlicense: "apache-2.0"\r\n# a note\r\n---\r\n\r\n# Title\r\n'
    found = with_metadata(card, folder, {"license": "mit", "datasets": ["a/b", "c"], "pipeline_tag": None})
    assert found.endswith("---\n\n# Title\n")
    assert metadata(found) == {"license": "mit", "library_name": "tabsa", "tags": ["mine"], "datasets": ["a/b", "c"]}
    assert with_metadata(found, folder, {"pipeline_tag": None}) == found
    with pytest.raises(ModelError, match=r"'a: b' is no field of a model card"):
        with_metadata(card, folder, {"a: b": 1})
    with pytest.raises(ModelError, match=r"not set"):
        with_metadata(card, folder, {"tags": {"x"}})
    with pytest.raises(ModelError, match=r"not float"):
        with_metadata(card, folder, {"x": math.nan})


def test_data_are_named_without_their_path(tiny_model: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_model, tmp_path / "mine"))
    figures = {"questions": {"opinion_f1": 0.5, "false_opinions": 0.1, "presence_f1": None}}
    metrics = {"data": "/home/me/secret/reviews.csv", "split": "held out", "base": "reader", "dev": figures}
    (folder / "metrics.json").write_text(json.dumps(metrics))
    card = with_metadata("# mine\n", read_folder(folder))
    assert "secret" not in card
    found = metadata(card)
    assert found["language"] == "en"  # as its base
    assert "license" not in found
    (result,) = found["model-index"][0]["results"]
    assert result["dataset"] == {"type": "reviews", "name": "reviews", "split": "held out"}
    assert result["metrics"] == [{"type": "f1", "value": 0.5, "name": "F1 of opinions"}]


@pytest.mark.parametrize(
    "value",
    [
        *(
            "no",
            "Yes",
            "null",
            "~",
            "1",
            "1e3",
            "0x1f",
            "2026-11-16",
            "a: b",
            "a #b",
            "- a",
            "",
            " x ",
            "ä",
            "'",
            '"q"',
        ),
        *(
            "a\nb",
            "---",
            "{}",
            "[x]",
            "&a",
            "*a",
            "!x",
            "%x",
            "@x",
            "`x`",
            "a:",
            "inf",
            ".nan",
            "e",
            "12:30:00",
            "\x1b",
        ),
        *(0, -1.5, True, None, [], {}, [[1, [2]], {"a": []}], {"a": {"b": [{"c": 1, "d": ["no"]}]}}, ["a", ["b"]]),
    ],
)
def test_yaml_says_what_was_meant(value: Any) -> None:
    assert yaml.safe_load("\n".join(yaml_lines({"x": value, "on": [value]}))) == {"x": value, "on": [value]}


# ---- pushing


class TestPushing:
    def test_pushed_and_loaded(self, there: HubServer, tiny_model: Path) -> None:
        model = tabsa.load(tiny_model)
        address = model.push_to_hub("me/mine", token=TOKEN, private=True, model_card_kwargs={"license": "mit"})
        repo = there.repos["me/mine"]
        oid = repo.refs["main"]
        assert address == f"{there.url}/me/mine/commit/{oid}"
        assert len(repo.commits) == 2, "one commit behind the first"
        assert repo.private
        assert metadata(repo.commits[oid]["README.md"].decode())["license"] == "mit"
        assert set(repo.commits[oid]) & set(ANSWERING) == set(json.loads(repo.commits[oid][CHECKSUMS])["sha256"])
        loaded = type(model).from_pretrained(f"me/mine@{oid}", token=TOKEN, sha256=model.folder.sha256)
        assert answers(loaded) == answers(model)

    def test_another_model_over_it(self, there: HubServer, files: dict[str, bytes], tiny_model: Path) -> None:
        there.repos["someone/tiny"].commit(files | {"model.int8.onnx": b"of an earlier model"})
        tabsa.load(tiny_model).push_to_hub("someone/tiny", token=TOKEN, commit_message="again")
        repo = there.repos["someone/tiny"]
        now = repo.commits[repo.refs["main"]]
        assert "model.int8.onnx" not in now
        assert now["run.py"] == files["run.py"], "what is not ours is left alone"
        assert tabsa.load(NAME).predict(TEXT, TARGETS).opinions

    def test_branches_and_requests(self, there: HubServer, tiny_model: Path, tmp_path: Path) -> None:
        model = tabsa.load(tiny_model)
        repo = there.repos["someone/tiny"]
        main = repo.refs["main"]
        model.push_to_hub("someone/tiny", token=TOKEN, branch="next")
        address = model.save_pretrained(
            tmp_path / "tiny", push_to_hub=True, repo_id="someone/tiny", token=TOKEN, create_pr=True
        )
        assert address == f"{there.url}/someone/tiny/discussions/1"
        assert repo.refs["main"] == main
        assert tabsa.load(f"{NAME}@next").folder.sha256 == model.folder.sha256

    def test_who_may_not(self, there: HubServer, tiny_model: Path) -> None:
        with pytest.raises(ModelError, match=r"^the hub does not take or give hub:me/mine: .*401") as caught:
            tabsa.load(tiny_model).push_to_hub("me/mine", token="hf_wrong")
        assert "hf_wrong" not in str(caught.value)
        assert "me/mine" not in there.repos


# ---- the documents' examples


def test_the_documents_examples_run(
    there: HubServer, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(__file__).parents[2]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    repo = there.repos["someone/tiny"]
    repo.refs["v1.0"] = repo.refs["main"]
    names: dict[str, Any] = {"tabsa": tabsa}
    texts = [(root / name).read_text("utf-8") for name in ("docs/hub.md", "README.md")]
    blocks = [block for text in texts for block in re.findall(r"```python\n(.*?)```", text, re.S) if "hub:" in block]
    assert len(blocks) == 3
    for block in blocks:
        assert len(block.splitlines()) <= 12
        exec(block.replace("OWNER/NAME", "someone/tiny"), names)
    assert names["pin"] == read_folder(tiny_model).sha256
    assert len(repo.commits) == 2
    command = re.search(r"^sha256sum .*$", texts[0], re.M)
    assert command is not None
    shell = command[0].replace("python -c", f"{sys.executable} -c")
    found = subprocess.run(["sh", "-c", shell], cwd=tmp_path / "my-folder", capture_output=True, text=True, check=True)
    assert found.stdout.split()[0] == names["pin"]
