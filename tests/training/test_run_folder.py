import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from run_factory import config, small, small_for
from tabsa.errors import ModelError, OutputError
from tabsa.models.registry import SYSTEMS
from tabsa.training.config import RunConfig
from tabsa.training.loop import Validation
from tabsa.training.preparation import Prepared
from tabsa.training.run_folder import RunFolder
from tabsa.training.words import Trainer

Tabsa = Callable[..., tuple[int, str, str]]

SEEDS = (7, 8)
PREPARED = small()
PLACES = """
[data]
aspects = ["price", "safety"]
max_length = 12
[vectors]
size = 6
[model]
chains = 3
input_dropout = 0.3
[training]
epochs = 10
batch_size = 32
balance = "sentence"
optimiser = "adam"
rate = 0.01
threads = 1
"""


def go(
    folder: Path, of: RunConfig, *, data: Prepared = PREPARED, seeds: tuple[int, ...] = SEEDS, resume: bool = False
) -> Trainer:
    """Train to the end, as the command does."""
    trainer, run = Trainer(of, data, seeds), RunFolder(folder)
    if resume:
        run.resume(of, seeds, trainer)
    else:
        run.start(of, seeds)
    for evaluation in trainer.run():
        run.save(trainer, evaluation)
    return trainer


def contents(folder: Path) -> dict[str, Any]:
    """Everything in a run folder that two equal runs share, bit by bit."""
    states = {name: numbers(folder / f"{name}.safetensors") for name in ("last", "previous", "best")}
    return {"metrics": lines(folder), "config": (folder / "config.toml").read_text("utf-8"), **states}


def numbers(path: Path) -> dict[str, object]:
    """A safetensors file's bytes by name, and what it says besides (in no order that is always the same)."""
    with safe_open(path, "np") as stream:
        arrays = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
        return {"facts": stream.metadata()} | {
            name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()
        }


def lines(folder: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl without what depends on the clock."""
    found = [json.loads(line) for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines()]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in found]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


# ---- what a run leaves


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four epochs that nothing disturbed."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    go(folder, config(epochs=4))
    return folder


def test_the_files_of_a_run(whole: Path) -> None:
    names = sorted(path.name for path in whole.iterdir())
    assert names == ["best.safetensors", "config.toml", "last.safetensors", "metrics.jsonl", "previous.safetensors"]
    assert [line["epoch"] for line in lines(whole)] == [1, 2, 3, 4]
    assert lines(whole)[0].keys() == {"epoch", "update", "loss", "dev", "improved"}
    assert len(lines(whole)[0]["dev"]) == len(SEEDS)
    assert (whole / "config.toml").read_text().startswith("seeds = [7, 8]\n")


def test_the_best_weights_are_a_file_of_their_own(whole: Path) -> None:
    trainer = Trainer(config(epochs=4), PREPARED, SEEDS)
    RunFolder(whole).resume(config(epochs=4), SEEDS, trainer)
    best = load_file(whole / "best.safetensors")
    assert best.keys() == trainer.best.keys()
    assert all(torch.equal(tensor, trainer.best[name]) for name, tensor in best.items())


# ---- resuming


@pytest.mark.parametrize(
    "options",
    [
        {"balance": "mixed", "optimiser": "ftrl"},
        {"balance": "turns", "optimiser": "ftrl-tf"},
        {"balance": "sentence", "optimiser": "adam", "schedule": "cosine"},
        {"balance": "mixed", "optimiser": "adagrad", "patience": 1},
        {"balance": "sentence", "optimiser": "adamw", "warmup": 9, "model": {"keys": "tied", "chains": 2}},
        {"balance": "mixed", "kind": "entnet", "validate_every": 2},
    ],
)
def test_a_run_that_stops_after_any_evaluation_ends_the_same(tmp_path: Path, options: dict[str, Any]) -> None:
    of = config(epochs=4, **options)
    go(tmp_path / "whole", of)
    trainer, run = Trainer(of, PREPARED, SEEDS), RunFolder(tmp_path / "parts")
    run.start(of, SEEDS)
    while not trainer.done:  # every evaluation by a trainer of its own
        trainer = Trainer(of, PREPARED, SEEDS)
        run.resume(of, SEEDS, trainer)
        for evaluation in trainer.run():
            run.save(trainer, evaluation)
            break
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


@pytest.mark.parametrize(
    "kind", [name for name, system in SYSTEMS.items() if system.neural and not system.open_aspects]
)
def test_a_run_of_every_model_can_be_resumed(tmp_path: Path, kind: str) -> None:
    of, data = config(epochs=2, kind=kind, optimiser="adam"), small_for(kind)
    go(tmp_path / "whole", of, data=data)
    trainer, run = Trainer(of, data, SEEDS), RunFolder(tmp_path / "parts")
    run.start(of, SEEDS)
    run.save(trainer, next(trainer.run()))
    go(tmp_path / "parts", of, data=data, resume=True)
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


class Killed(BaseException):
    """Stands for a kill: nothing that handles errors sees it."""


def killed_at(step: int, folder: Path, of: RunConfig, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Train, killed right before the `step`th thing that changes a file; whether there was such a thing."""
    left = step

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                raise Killed
            return function(*arguments, **options)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", counted(os.open))
        patch.setattr(os, "fsync", counted(os.fsync))
        patch.setattr(Path, "replace", counted(Path.replace))
        patch.setattr(Path, "open", counted(Path.open))
        patch.setattr(Path, "unlink", lambda *_, **__: None)  # a killed process does not tidy up
        try:
            go(folder, of, resume=True)
        except Killed:
            return True
    return False


def test_a_kill_at_any_step_of_any_write_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = config(epochs=3, model={"chains": 2})
    go(tmp_path / "whole", of)
    step = 1
    while killed_at(step, tmp_path / str(step), of, monkeypatch):
        go(tmp_path / str(step), of, resume=True)
        assert contents(tmp_path / str(step)) == contents(tmp_path / "whole")
        assert not list((tmp_path / str(step)).glob(".*"))
        step += 1
    assert step > 20


def test_a_finished_run_is_left_as_it_is(whole: Path) -> None:
    before = contents(whole)
    trainer = go(whole, config(epochs=4), resume=True)
    assert trainer.done
    assert contents(whole) == before


def test_resuming_where_there_is_no_run_starts_one(tmp_path: Path, whole: Path) -> None:
    go(tmp_path / "run", config(epochs=4), resume=True)
    assert contents(tmp_path / "run") == contents(whole)


def test_lines_of_epochs_that_are_trained_again_are_dropped(tmp_path: Path) -> None:
    of, run = config(epochs=4), RunFolder(tmp_path)
    go(tmp_path, of)
    (tmp_path / "last.safetensors").unlink()  # as if killed before the last state was written
    with (tmp_path / "metrics.jsonl").open("a") as stream:
        stream.write('{"epoch": 5, "upda')  # and in the middle of a line
    trainer = Trainer(of, PREPARED, SEEDS)
    run.resume(of, SEEDS, trainer)
    assert trainer.progress.epoch == 3
    assert [line["epoch"] for line in lines(tmp_path)] == [1, 2, 3]


def test_changing_the_best_weights_does_not_change_the_file_they_came_from(tmp_path: Path) -> None:
    go(tmp_path, config())
    before = contents(tmp_path)
    trainer = Trainer(config(), PREPARED, SEEDS)
    RunFolder(tmp_path).resume(config(), SEEDS, trainer)
    for tensor in trainer.best.values():
        tensor.fill_(9)
    assert contents(tmp_path) == before


# ---- what cannot be resumed


@pytest.fixture
def half(tmp_path: Path) -> Path:
    """A run that stopped after two of four epochs."""
    trainer, run = Trainer(config(epochs=4), PREPARED, SEEDS), RunFolder(tmp_path / "half")
    run.start(config(epochs=4), SEEDS)
    for evaluation in trainer.run():
        run.save(trainer, evaluation)
        if evaluation.epoch == 2:
            break
    return tmp_path / "half"


def foreign(path: Path) -> None:
    save_file({"x": torch.ones(2)}, path, {"format": "pt"})


def of_another_model(path: Path) -> None:
    other = config(model={"chains": 4})
    trainer, run = Trainer(other, PREPARED, SEEDS), RunFolder(path.parent / "other")
    run.path.mkdir(exist_ok=True)
    run.save(trainer, Validation(1, 1, [0.0, 0.0], [{}, {}], [False, False], 0.0))
    run.last.replace(path)


SPOILS = [
    (cut, r"is damaged \("),
    (lambda path: path.write_bytes(b""), r"is damaged \("),
    (lambda path: path.write_bytes(bytes(500)), r"is damaged \("),
    (foreign, "is not a state of a tabsa run"),
    (of_another_model, "is the state of another model than this run's"),
]


@pytest.mark.parametrize(("spoil", "message"), SPOILS)
def test_an_unusable_last_state_falls_back_on_the_previous_one(
    half: Path, whole: Path, spoil: Callable[[Path], None], message: str
) -> None:
    spoil(half / "last.safetensors")
    with pytest.warns(UserWarning, match=rf"last\.safetensors {message}.*; going on from previous\.safetensors$"):
        trainer = go(half, config(epochs=4), resume=True)
    assert trainer.progress.epoch == 4
    assert contents(half) == contents(whole)


@pytest.mark.parametrize(("spoil", "message"), SPOILS)
def test_two_unusable_states(half: Path, spoil: Callable[[Path], None], message: str) -> None:
    spoil(half / "last.safetensors")
    spoil(half / "previous.safetensors")
    with pytest.raises(ModelError, match=rf"last\.safetensors {message}.*; nothing to go on from") as caught:
        go(half, config(epochs=4), resume=True)
    assert "\n" not in str(caught.value)


def test_an_unusable_last_state_does_not_become_the_previous_one(half: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill right after falling back must leave something to fall back on."""
    cut(half / "last.safetensors")
    monkeypatch.setattr("tabsa.training.run_folder._snapshot", lambda _: (_ for _ in ()).throw(Killed))
    with pytest.warns(UserWarning, match="going on from"), pytest.raises(Killed):
        go(half, config(epochs=4), resume=True)
    trainer = Trainer(config(epochs=4), PREPARED, SEEDS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RunFolder(half).resume(config(epochs=4), SEEDS, trainer)
    assert trainer.progress.epoch == 1


@pytest.mark.parametrize(
    ("other", "seeds", "difference"),
    [
        (config(epochs=5), SEEDS, "its training.epochs is 4, not 5"),
        (config(epochs=4, balance="turns"), SEEDS, "its training.balance is 'mixed', not 'turns'"),
        (config(epochs=4, model={"chains": 2}), SEEDS, "its model.chains is 3, not 2"),
        (config(epochs=4, kind="entnet"), SEEDS, "its kind is 'delayed-entnet', not 'entnet'"),
        (config(epochs=4), (7, 8, 9), "its seeds is [7, 8], not [7, 8, 9]"),
    ],
)
def test_another_run_is_not_continued(half: Path, other: RunConfig, seeds: tuple[int, ...], difference: str) -> None:
    before = contents(half)
    with pytest.raises(OutputError) as caught:
        go(half, other, seeds=seeds, resume=True)
    assert str(caught.value) == f"{half} holds another run ({difference})"
    assert caught.value.code == "another_run"
    assert contents(half) == before


def test_comments_in_the_configuration_do_not_matter(half: Path) -> None:
    path = half / "config.toml"
    path.write_text("# mine\n" + "\n".join(line.partition("  #")[0] for line in path.read_text().splitlines()))
    trainer = Trainer(config(epochs=4), PREPARED, SEEDS)
    RunFolder(half).resume(config(epochs=4), SEEDS, trainer)
    assert trainer.progress.epoch == 2


def test_a_new_run_does_not_overwrite_one(half: Path) -> None:
    before = contents(half)
    with pytest.raises(OutputError, match="already holds a run"):
        go(half, config(epochs=4))
    assert contents(half) == before


# ---- a disk that is full


@contextmanager
def full_disk(monkeypatch: pytest.MonkeyPatch, after: int) -> Iterator[None]:
    """The first `after` files are written, the next ones find no space."""
    written = iter(range(10**6))

    def fsync(_: int) -> None:
        if next(written) >= after:
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        yield


def test_a_full_disk_is_one_line_and_the_run_can_go_on(
    tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = set()
    for after in range(9):
        folder = tmp_path / str(after)
        with full_disk(monkeypatch, after), pytest.raises(OutputError, match="No space left on device") as caught:
            go(folder, config(epochs=4))
        messages.add(str(caught.value).replace(str(folder), ""))
        assert not list(folder.glob(".*"))
        go(folder, config(epochs=4), resume=True)
        assert contents(folder) == contents(whole)
    assert {message.split(":")[0] for message in messages} == {
        "cannot write /config.toml",
        "cannot write /best.safetensors",
        "cannot write /last.safetensors",
    }


@contextmanager
def no_file_above(size: int) -> Iterator[None]:
    """Have the system itself refuse to write a file beyond a size."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_write_that_the_system_refuses(half: Path, whole: Path) -> None:
    size = (half / "last.safetensors").stat().st_size
    with (
        no_file_above(size - 100),
        pytest.raises(OutputError, match=r"cannot write .*last\.safetensors: File too large"),
    ):
        go(half, config(epochs=4), resume=True)
    with no_file_above(10), pytest.raises(OutputError, match=r"cannot write .*: File too large"):
        go(half, config(epochs=4), resume=True)
    go(half, config(epochs=4), resume=True)
    assert contents(half) == contents(whole)


# ---- the same through the command


@pytest.fixture
def tabsa(command_line: Tabsa) -> Tabsa:
    """Runs `tabsa` with arguments; gives the exit code, stdout and stderr."""
    return command_line


def test_the_command_says_in_one_line_what_is_wrong(tabsa: Tabsa, tmp_path: Path) -> None:
    toml, out = tmp_path / "places.toml", tmp_path / "out"
    toml.write_text(PLACES.replace("epochs = 10", "epochs = 2"))
    arguments = ("train", toml, "--out", out)
    assert tabsa(*arguments)[0] == 0

    def refused(*more: object) -> str:
        code, stdout, stderr = tabsa(*arguments, *more)
        assert (code, stdout, stderr.count("\n")) == (1, "", 1)
        return stderr

    assert "already holds a run; continue it with --resume" in refused()
    assert "its training.rate is 0.01, not 0.5" in refused("--resume", "--set", "training.rate=0.5")
    assert "its seeds is [1], not [1, 2]" in refused("--resume", "--seeds", 2)

    cut(out / "run" / "last.safetensors")
    code, _, stderr = tabsa(*arguments, "--resume")
    assert code == 0
    first, *others = stderr.splitlines()
    assert first.startswith(f"warning: {out / 'run' / 'last.safetensors'} is damaged (")
    assert first.endswith("; going on from previous.safetensors")
    noticed = [line for line in others if "warning" in line]
    assert [line.split()[1] for line in noticed] == ["train", "dev"]  # how small they are

    cut(out / "run" / "last.safetensors")
    cut(out / "run" / "previous.safetensors")
    assert "nothing to go on from; start again in another --out" in refused("--resume")


def test_the_command_on_a_full_disk(tabsa: Tabsa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toml, out = tmp_path / "places.toml", tmp_path / "out"
    toml.write_text(PLACES.replace("epochs = 10", "epochs = 2"))
    with full_disk(monkeypatch, 4):
        code, stdout, stderr = tabsa("train", toml, "--out", out)
    assert (code, stdout) == (1, "")
    assert "Traceback" not in stderr
    assert stderr.splitlines()[-1].endswith("No space left on device")
    assert tabsa("train", toml, "--out", out, "--resume")[0] == 0


# ---- a real process, really killed


def start(toml: Path, out: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tabsa", "train", str(toml), "--out", str(out), "--seeds", "2", "--resume"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def wait_for(process: "subprocess.Popen[str]", epoch: int, folder: Path) -> bool:
    """Wait until an epoch is on record; whether the process is still going then."""
    path = folder / "metrics.jsonl"
    while process.poll() is None:
        if path.exists() and path.read_text("utf-8").count("\n") >= epoch:
            return True
        time.sleep(0.002)
    return False


def test_kill_minus_nine_at_random_moments_changes_no_bit(tabsa: Tabsa, tmp_path: Path) -> None:
    toml = tmp_path / "places.toml"
    toml.write_text(PLACES)
    assert tabsa("train", toml, "--out", tmp_path / "whole", "--seeds", 2)[0] == 0
    moments, killed, out = random.Random(11), 0, tmp_path / "killed"
    for epoch in (1, 4, 7):
        process = start(toml, out)
        if wait_for(process, epoch, out / "run"):
            time.sleep(moments.uniform(0, 0.2))
            process.send_signal(signal.SIGKILL)
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
    assert killed >= 2
    last = start(toml, out)
    _, stderr = last.communicate()
    assert last.returncode == 0, stderr
    assert contents(out / "run") == contents(tmp_path / "whole" / "run")
    assert [line["epoch"] for line in lines(out / "run")] == list(range(1, 11))
    for name in ("weights.safetensors", "metrics.json", "config.json", "README.md"):
        assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    assert numbers(out / "vectors.safetensors") == numbers(tmp_path / "whole" / "vectors.safetensors")
    assert not list((out / "run").glob(".*.tmp"))
