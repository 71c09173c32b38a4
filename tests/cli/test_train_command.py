import io
import itertools
import json
import math
import random
import shutil
import sys
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from rich.console import Console
from safetensors.numpy import load_file, save_file

from tabsa.cli import main
from tabsa.evaluation.metrics import FAMILIES, METRICS
from unchecked import unchecked

REPOSITORY = Path(__file__).parents[2]
SMALL = ("--set", "vectors.size=6", "--set", "model.chains=3", "--set", "training.threads=1")


class Result(NamedTuple):
    """What a command left behind."""

    code: int
    stdout: str
    stderr: str


def tabsa(*arguments: object) -> Result:
    """Run `tabsa` with these arguments."""
    stdout, stderr, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(stdout), redirect_stderr(stderr):
        patch.setattr(sys, "argv", ["tabsa", *map(str, arguments)])
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    return Result(code, stdout.getvalue(), stderr.getvalue())


def fine(*arguments: object) -> Result:
    result = tabsa(*arguments)
    assert result.code == 0, result.stderr
    return result


def refused(*arguments: object) -> str:
    """The one line of a user's error."""
    code, stdout, stderr = tabsa(*arguments)
    assert (code, stdout, stderr.count("\n")) == (1, "", 1), stderr
    return stderr


def evaluated(folder: Path, *options: object) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(fine("evaluate", folder, "--bootstrap", 0, "--json", *options).stdout)
    return report


# ---- the shipped configuration


class Trained(NamedTuple):
    folder: Path
    result: Result


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """The model of the README's command, two epochs of it, with two seeds."""
    folder = tmp_path_factory.mktemp("places") / "my-model"
    config = REPOSITORY / "repro" / "quick" / "places.toml"
    return Trained(folder, fine("train", config, "--out", folder, "--set", "training.epochs=2", "--seeds", 2))


def test_the_final_table_has_a_line_a_seed(places: Trained) -> None:
    stdout = places.result.stdout
    assert stdout.startswith("places dev, %")
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in stdout.splitlines() if line.startswith("│")]
    assert [row[0] for row in rows] == ["1", "2"]
    for row, of_seed in zip(
        rows, json.loads((places.folder / "metrics.json").read_text())["seeds"].values(), strict=True
    ):
        shown = [of_seed["ma"]["strict_accuracy"], *list(of_seed["sun"].values())[1:]]
        assert row[2:] == [f"{100 * figure:.1f}" for figure in shown]
    assert f"model folder: {places.folder}" in stdout


def test_progress_is_told_on_stderr(places: Trained) -> None:
    first, *others = places.result.stderr.splitlines()
    assert first.startswith("delayed-entnet: ")
    assert "texts" in first
    assert others[0].startswith("epoch 1: loss ")
    assert "dev: strict (ma) " in others[0]


def test_the_model_folder(places: Trained) -> None:
    names = {path.name for path in places.folder.iterdir()}
    assert {"README.md", "config.json", "metrics.json", "run", "vectors.safetensors", "weights.safetensors"} <= names
    config = json.loads((places.folder / "config.json").read_text())
    assert config["aspects"] == ["general", "price", "safety", "transit-location"]
    assert config["labels"] == ["none", "positive", "negative"]
    assert (config["kind"], config["targets"]) == ("delayed-entnet", 2)
    metrics = json.loads((places.folder / "metrics.json").read_text())
    before = metrics["seeds"][str(metrics["seed"])]  # calibration changes no decision, and hardly an AUC
    assert metrics["dev"]["ma"]["strict_accuracy"] == before["ma"]["strict_accuracy"]
    assert metrics["dev"]["sun"]["macro_f1"] == before["sun"]["macro_f1"]
    assert metrics["dev"]["sun"]["aspect_auc"] == pytest.approx(before["sun"]["aspect_auc"], abs=0.03)
    assert metrics["calibration"]["error_after"] <= metrics["calibration"]["error_before"] + 0.02
    card = (places.folder / "README.md").read_text("utf-8")
    assert card.startswith("# delayed-entnet trained on places")
    assert f"| macro_f1 | {100 * metrics['dev']['sun']['macro_f1']:.1f} |" in card


def test_the_seed_that_is_best_on_dev_is_the_model(places: Trained) -> None:
    metrics = json.loads((places.folder / "metrics.json").read_text())
    run = load_file(places.folder / "run" / "best.safetensors")
    weights = load_file(places.folder / "weights.safetensors")
    for name, array in weights.items():
        assert np.array_equal(array, run[name][metrics["seed"] - 1])

    def score(figures: dict[str, dict[str, float]]) -> float:
        return figures["ma"]["strict_accuracy"] + sum(list(figures["sun"].values())[1:])

    assert max(metrics["seeds"], key=lambda seed: score(metrics["seeds"][seed])) == str(metrics["seed"])


def test_evaluate_the_model_on_test(places: Trained) -> None:
    report = json.loads(fine("evaluate", places.folder, "--data", "places", "--split", "test", "--json").stdout)
    assert (report["data"], report["split"]) == ("places", "test")
    for family in FAMILIES:
        assert tuple(report[family]) == METRICS
        assert all(0 <= figure <= 1 for figure in report[family].values())
    assert list(report["aspects"]) == ["general", "price", "safety", "transit-location"]
    assert "aspect macro-F1" in fine("evaluate", places.folder, "--data", "places", "--bootstrap", 0).stdout


def test_evaluating_on_dev_gives_the_figures_of_training(places: Trained) -> None:
    report = evaluated(places.folder, "--data", "places", "--split", "dev")
    metrics = json.loads((places.folder / "metrics.json").read_text())
    for family in FAMILIES:
        assert report[family] == pytest.approx(metrics["dev"][family], abs=1e-6)


def test_evaluate_on_some_of_the_aspects(places: Trained) -> None:
    report = evaluated(places.folder, "--data", "places", "--aspects", "safety,price")
    assert list(report["aspects"]) == ["safety", "price"]
    whole = evaluated(places.folder, "--data", "places")
    assert report["aspects"]["price"] == whole["aspects"]["price"]
    message = refused("evaluate", places.folder, "--data", "places", "--aspects", "quiet")
    assert "places has the aspect 'quiet', which the model does not know (general, price" in message


# ---- TensorBoard


def scalars(run: Path) -> dict[str, list[int]]:
    """The steps of each curve, as TensorBoard reads them."""
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = accumulator.EventAccumulator(str(run)).Reload()
    return {tag: [point.step for point in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_tensorboard_events(places: Trained) -> None:
    run = places.folder / "run"
    assert list(run.glob("events.out.tfevents.*"))
    steps = [json.loads(line)["update"] for line in (run / "metrics.jsonl").read_text().splitlines()]
    curves = scalars(run)
    assert {"loss/1", "loss/2", "dev sun macro_f1/1", "dev ma strict_accuracy/2"} <= curves.keys()
    assert all(found == steps for found in curves.values())


def test_a_resumed_run_has_every_point_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorboard")
    from tabsa.training.run_folder import RunFolder

    config = REPOSITORY / "repro" / "quick" / "places.toml"
    arguments = ("train", config, "--out", tmp_path, *SMALL, "--set", "training.epochs=4", "--resume")
    save, clock = RunFolder.save, itertools.count(1000, 100)
    own_time = SimpleNamespace(time=lambda: float(next(clock)))  # so that the files' names are in order of time
    monkeypatch.setattr("tensorboard.summary.writer.event_file_writer.time", own_time)

    def killed(run: RunFolder, trainer: Any, validation: Any) -> None:
        if validation.epoch == 3:
            raise KeyboardInterrupt
        save(run, trainer, validation)

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "save", killed)
        assert tabsa(*arguments).code != 0
    fine(*arguments)
    steps = [json.loads(line)["update"] for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert len(steps) == 4
    assert all(found == steps for found in scalars(tmp_path / "run").values())
    assert fine(*arguments).stdout.count("model folder") == 1  # a finished run shows its results again


# ---- data of one's own


PHRASES = {
    "battery": {"good": "lasts for days", "bad": "is empty by noon", "mixed": "lasts, but charges slowly"},
    "screen": {"good": "looks bright", "bad": "scratches at once", "mixed": "is sharp but dim"},
}


def reviews(count: int, seed: int = 0) -> list[dict[str, str]]:
    """Rows about phones, with aspects and polarities that no shipped dataset has."""
    rng, rows = random.Random(seed), []
    for number in range(count):
        first, second = rng.sample(["Nokia", "Fairphone", "Pear Phone X"], 2)
        aspect = rng.choice(list(PHRASES))
        polarity = rng.choice(["good", "bad", "mixed"])
        text = f"Day {number}: the {aspect} of the {first} {PHRASES[aspect][polarity]}, unlike that of my {second}."
        rows.append({"id": str(number), "text": text, "target": first, "aspect": aspect, "polarity": polarity})
        rows.append({"id": str(number), "text": text, "target": second, "aspect": "", "polarity": ""})
    return rows


def as_csv(rows: list[dict[str, str]]) -> str:
    lines = [",".join(f'"{row[key]}"' for key in row) for row in rows]
    return "\n".join([",".join(rows[0]), *lines]) + "\n"


def config_for(data: Path, **training: Any) -> str:
    options = {"epochs": 3, "batch_size": 16, "optimiser": "adam", "rate": 0.02, "threads": 1} | training
    lines = [f"{key} = {json.dumps(value)}" for key, value in options.items()]
    return (
        f'kind = "delayed-entnet"\n[data]\nname = {json.dumps(str(data))}\n'
        "[vectors]\nsize = 6\n[model]\nchains = 3\n[training]\n" + "\n".join(lines)
    )


@pytest.mark.parametrize("balance", ["mixed", "sentence"])
def test_a_csv_of_ones_own(tmp_path: Path, balance: str) -> None:
    data, toml, out = tmp_path / "phones.csv", tmp_path / "phones.toml", tmp_path / "model"
    data.write_text(as_csv(reviews(90)), "utf-8")
    toml.write_text(config_for(data, balance=balance))
    result = fine("train", toml, "--out", out)
    assert result.stdout.startswith(f"{data.name} dev, %; ")
    config = json.loads((out / "config.json").read_text())
    assert set(config["aspects"]) == {"battery", "screen"}
    assert config["labels"][0] == "none"
    assert set(config["labels"]) == {"none", "good", "bad", "mixed"}
    assert load_file(out / "weights.safetensors")["output"].shape == (6, 4)
    dev = evaluated(out, "--data", data, "--split", "dev")
    for family in FAMILIES:
        expected = json.loads((out / "metrics.json").read_text())["dev"][family]
        assert dev[family] == pytest.approx(expected, abs=1e-6)
    test = evaluated(out, "--data", data, "--split", "test")
    assert set(test["aspects"]) == {"battery", "screen"}
    assert set(test["aspects"]["screen"]["support"]) == {"good", "bad", "mixed"}


def test_a_folder_of_json_lines(tmp_path: Path) -> None:
    for split, seed in (("train", 1), ("dev", 2), ("test", 3)):
        rows = [json.dumps({key: value or None for key, value in row.items()}) for row in reviews(30, seed)]
        (tmp_path / f"{split}.jsonl").write_text("\n".join(rows), "utf-8")
    toml = tmp_path / "phones.toml"
    toml.write_text(config_for(tmp_path))
    fine("train", toml, "--out", tmp_path / "model", "--set", "data.aspects=['screen']", "--set", "kind=entnet")
    assert json.loads((tmp_path / "model" / "config.json").read_text())["aspects"] == ["screen"]
    assert list(evaluated(tmp_path / "model", "--data", tmp_path)["aspects"]) == ["screen"]


def test_a_model_learns_what_a_csv_says(tmp_path: Path) -> None:
    """Enough to tell that labels, aspects and targets are not mixed up on the way."""
    data, toml, out = tmp_path / "phones.csv", tmp_path / "phones.toml", tmp_path / "model"
    data.write_text(as_csv(reviews(150)), "utf-8")
    toml.write_text(config_for(data, epochs=24, rate=0.01, balance="sentence", validate_every=8))
    model = ("--set", "vectors.size=24", "--set", "model.input_dropout=0", "--set", "model.output_dropout=0")
    fine("train", toml, "--out", out, *model)
    report = evaluated(out, "--data", data, "--split", "test")
    assert report["sun"]["strict_accuracy"] > 0.7
    assert report["sun"]["sentiment_accuracy"] > 0.7  # by chance it is about a third


def test_figures_that_are_not_defined(tmp_path: Path) -> None:
    """With one polarity there is no AUC of polarities; JSON has no NaN for that, and people see a dash."""
    data, toml, out = tmp_path / "phones.csv", tmp_path / "phones.toml", tmp_path / "model"
    rows = [row | {"polarity": row["polarity"] and "good"} for row in reviews(60)]
    data.write_text(as_csv(rows), "utf-8")
    toml.write_text(config_for(data, epochs=1))
    result = fine("train", toml, "--out", out)
    assert "–" in result.stdout
    assert "nan" not in result.stdout + result.stderr
    metrics = json.loads((out / "metrics.json").read_text(), parse_constant=pytest.fail)
    assert metrics["dev"]["sun"]["sentiment_auc"] is None
    assert "| sentiment_auc | – | – |" in (out / "README.md").read_text("utf-8")
    line = (out / "run" / "metrics.jsonl").read_text().splitlines()[0]
    assert json.loads(line, parse_constant=pytest.fail)["dev"][0]["sun"]["sentiment_auc"] is None


def test_names_that_look_like_markup(tmp_path: Path) -> None:
    folder = tmp_path / "[bold] [" / "red]"
    folder.mkdir(parents=True)
    (folder / "phones.csv").write_text(as_csv(reviews(60)), "utf-8")
    (folder / "phones.toml").write_text(config_for(folder / "phones.csv", epochs=1))
    stdout = fine("train", folder / "phones.toml", "--out", folder / "[x] model").stdout
    assert f"model folder: {folder / '[x] model'}\n" in stdout
    assert stdout.startswith("phones.csv dev, %; ")


# ---- what can go wrong


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(
        'kind = "delayed-entnet"\n[data]\naspects = ["price"]\n[vectors]\nsize = 4\n'
        "[model]\nchains = 2\n[training]\nepochs = 1\n"
    )
    return path


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--set", "training.epoch=3"), "unknown key 'training.epoch'; did you mean 'epochs'?"),
        (("--set", "trainig.epochs=3"), "unknown key 'trainig'; did you mean 'training'?"),
        (("--set", "training.epochs"), "'training.epochs' is not a setting; expected section.key=value"),
        (("--set", "training.epochs=many"), "'training.epochs' is 'many'; expected a whole number"),
        (("--set", "kind=delayedentnet"), "'kind' is 'delayedentnet'; did you mean 'delayed-entnet'?"),
        (("--set", "model.chains=1"), "'model.chains' is 1; hybrid keys need at least 2, one a target"),
        (("--set", "data.name=place"), "unknown dataset 'place'; did you mean 'places'?"),
        (("--set", "data.dev=dve"), "unknown split of places 'dve'"),
        (("--set", "data.aspects=['prise']"), "unknown aspect 'prise'; did you mean 'price'?"),
        (("--set", "vectors.file=no/such.txt"), "no no/such.txt in "),
        (("--device", "tpu"), "the device is 'tpu'; expected cpu, cuda or auto"),
        (("--data-dir", "/no/such/folder", "--set", "data.name=sentihood"), "/no/such/folder does not exist"),
    ],
)
def test_one_clear_line(toml: Path, tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    assert message in refused("train", toml, "--out", tmp_path / "model", *options)
    assert not (tmp_path / "model").exists()


def test_no_gpu(toml: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert "finds no CUDA device here" in refused("train", toml, "--out", tmp_path / "model", "--device", "cuda")


def test_a_configuration_that_is_not_there_or_not_toml(tmp_path: Path) -> None:
    assert "cannot read" in refused("train", tmp_path / "no.toml", "--out", tmp_path / "model")
    (tmp_path / "bad.toml").write_text("[training\n")
    assert "is not valid TOML" in refused("train", tmp_path / "bad.toml", "--out", tmp_path / "model")


def test_out_is_a_file(toml: Path, tmp_path: Path) -> None:
    out = tmp_path / "taken"
    out.write_text("mine")
    assert f"cannot write {out}" in refused("train", toml, "--out", out)
    assert out.read_text() == "mine"


@pytest.mark.parametrize("options", [("--out", "x", "--seeds", "0"), (), ("--out", "x", "--epochs", "0")])
def test_wrong_usage(toml: Path, options: tuple[str, ...]) -> None:
    code, stdout, stderr = tabsa("train", toml, *options)
    assert (code, stdout) == (2, "")
    assert "Traceback" not in stderr


def test_a_rate_at_which_nothing_can_be_learnt(toml: Path, tmp_path: Path) -> None:
    settings = ("--set", "training.rate=1e38", "--set", "training.optimiser=ftrl-tf")
    code, stdout, stderr = tabsa("train", toml, "--out", tmp_path / "model", *settings)
    assert (code, stdout) == (1, "")
    assert "warning: seed 1 diverged by epoch 1, and stops there; try a lower training.rate" in stderr
    assert stderr.splitlines()[-1].startswith("error: the weights grew beyond all bounds")
    assert not (tmp_path / "model" / "config.json").exists()


def test_a_bar_on_a_terminal(toml: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr("tabsa.cli.progress.err", Console(file=screen, force_terminal=True, width=200))
    fine("train", toml, "--out", tmp_path / "model")
    shown = screen.getvalue()
    assert "epoch 1/1" in shown
    assert "loss " in shown
    assert "aspect AUC" in shown
    assert "updates/s" in shown


# ---- model folders that are spoilt


@pytest.fixture
def spoilt(places: Trained, tmp_path: Path) -> Path:
    """A copy of a model folder, to spoil."""
    folder = tmp_path / "spoilt"
    folder.mkdir()
    for path in places.folder.iterdir():
        if path.is_file():
            (folder / path.name).write_bytes(path.read_bytes())
    return unchecked(folder)


def change(folder: Path, **values: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_a_copy_works_without_its_run(spoilt: Path, places: Trained) -> None:
    first, second = (evaluated(folder, "--data", "places") for folder in (spoilt, places.folder))
    assert first | {"model": ""} == second | {"model": ""}


def test_spoilt_model_folders_are_one_clear_line(spoilt: Path) -> None:
    def error() -> str:
        return refused("evaluate", spoilt, "--data", "places", "--bootstrap", 0)

    config = (spoilt / "config.json").read_text()
    change(spoilt, kind="crystal-ball")
    assert "holds a 'crystal-ball', which is no system of this version; expected one of: lr, " in error()
    change(spoilt, kind="delayed-entnet", labels=["none", "positive", "negative", "mixed"])
    assert "model.onnx does not fit the folder's other files; make it again with `tabsa export " in error()
    (spoilt / "config.json").write_text(config)
    (spoilt / "model.onnx").write_bytes(b"\x80\x04N.")
    assert "model.onnx cannot be run (" in error()
    (spoilt / "model.onnx").unlink()
    assert f"has no model.onnx; make it with `tabsa export {spoilt}`" in error()
    (spoilt / "vectors.safetensors").write_bytes(b"\x80\x04N.")
    assert "vectors.safetensors is damaged" in error()
    (spoilt / "config.json").unlink()
    assert "is a folder; expected a predictions file, or a model folder" in error()


def test_spoilt_weights_are_one_clear_line(spoilt: Path) -> None:
    """What reads the weights is not `evaluate`, but `export` and whatever trains on."""
    from tabsa.checkpoint.model_folder import read_folder
    from tabsa.errors import ModelError
    from tabsa.models.folder_network import load_model

    def error() -> str:
        with pytest.raises(ModelError) as error:
            load_model(read_folder(spoilt), np.zeros((3, 300), np.float32), (1, 2))
        assert "\n" not in str(error.value)
        return str(error.value)

    config, weights = (spoilt / "config.json").read_text(), load_file(spoilt / "weights.safetensors")
    change(spoilt, model={"chain": 6})
    assert "config.json: unknown key 'model.chain'; did you mean 'chains'?" in error()
    change(spoilt, model={"chains": 1})
    assert "config.json: 'model.chains' is 1; hybrid keys need at least 2" in error()
    change(spoilt, model={"chains": 7})
    assert "the weights do not fit config.json: 'free_keys' has shape (4, 300), expected (5, 300)" in error()
    (spoilt / "config.json").write_text(config)

    save_file({name: array for name, array in weights.items() if name != "output"}, spoilt / "weights.safetensors")
    assert "'output' has shape None, expected (300, 3)" in error()
    assert "the weights do not fit config.json" in refused("export", spoilt)
    save_file(weights | {"more": weights["output"]}, spoilt / "weights.safetensors")
    assert "'more' has shape (300, 3), expected None" in error()
    save_file(weights | {"output": np.full_like(weights["output"], math.nan)}, spoilt / "weights.safetensors")
    assert "'output' of the weights holds something that is not a finite number" in error()
    (spoilt / "weights.safetensors").write_bytes(b"\x80\x04N.")
    assert "weights.safetensors is damaged" in error()
    assert "weights.safetensors is damaged" in refused("export", spoilt)


def test_data_with_labels_that_the_model_does_not_know(places: Trained, tmp_path: Path) -> None:
    data = tmp_path / "phones.csv"
    data.write_text("text,target,aspect,polarity\n" + "Hull is cheap,Hull,price,meh\n" * 2, "utf-8")
    code, _, stderr = tabsa("evaluate", places.folder, "--data", data, "--split", "all")
    assert code == 1
    assert "has the label 'meh', which the model does not know (none, positive, negative)" in stderr
    assert Counter(line.split(":")[0] for line in stderr.splitlines())["error"] == 1


def test_a_run_with_teachers_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    options = ("vectors.file=", "distillation.teachers=2", "augmentation.copies=2", "training.epochs=2")
    settings = [word for option in options for word in ("--set", option)]
    arguments = ("train", REPOSITORY / "repro" / "quick" / "places.toml", *SMALL, *settings)
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    stderr = fine(*arguments, "--out", whole).stderr
    assert "2 teachers: " in stderr
    assert (whole / "run" / "teachers-1" / "best.safetensors").exists()
    shutil.copytree(whole / "run" / "teachers-1", stopped / "run" / "teachers-1")
    (stopped / "run" / "teachers-1" / "last.safetensors").unlink()  # as if killed after the first of two epochs
    assert "holds a run" in refused(*arguments, "--out", stopped).replace("already ", "")
    fine(*arguments, "--out", stopped, "--resume")
    assert (stopped / "weights.safetensors").read_bytes() == (whole / "weights.safetensors").read_bytes()
    assert fine(*arguments, "--out", stopped, "--resume").stdout  # finished: nothing is trained again
