"""The run folder: a run that is killed at any moment, or finds a full disk, ends as one that nothing disturbed."""

import itertools
import json
import os
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from killing import Killed, kill_at
from run_factory import config, small, small_for
from tabsa.errors import ModelError, OutputError
from tabsa.models.registry import SYSTEMS
from tabsa.training.run_folder import Run, RunFolder
from tabsa.training.word_training import Trainer

SEEDS = (7, 8)
PREPARED = small()
NEURAL = [name for name, system in SYSTEMS.items() if system.neural and not system.open_aspects]


def go(folder, of, *, data=PREPARED, seeds=SEEDS, resume=False):
    """Train to the end, as the command does."""
    trainer = Trainer(of, data, seeds)
    Run(folder, resume=resume).train(trainer)
    return trainer


def contents(folder):
    """Everything in a run folder that two equal runs share, bit by bit."""
    state = numbers(folder / "last.safetensors")
    return {"metrics": lines(folder), "config": (folder / "config.toml").read_text("utf-8"), "state": state}


def numbers(path):
    """A safetensors file's bytes by name, and what it says besides, but for what depends on the clock."""
    with safe_open(path, "np") as stream:
        arrays = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
        facts = dict(stream.metadata())
    progress = json.loads(facts.pop("progress"))
    for line in progress["history"]:
        del line["seconds"]
    return {"facts": (facts, progress)} | {n: (a.dtype, a.shape, a.tobytes()) for n, a in arrays.items()}


def lines(folder):
    """The lines of metrics.jsonl without what depends on the clock."""
    found = [json.loads(line) for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines()]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in found]


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of four epochs that nothing disturbed."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    go(folder, config(epochs=4))
    return folder


@pytest.fixture
def half(tmp_path):
    """A run that stopped after two of four epochs."""
    trainer, run = Trainer(config(epochs=4), PREPARED, SEEDS), RunFolder(tmp_path / "half")
    run.start(trainer.config, SEEDS)
    for validation in itertools.islice(trainer.run(), 2):
        run.save(trainer, validation)
    return run.path


def test_the_files_of_a_run(whole):
    names = sorted(path.name for path in whole.iterdir())
    assert names == ["config.toml", "last.safetensors", "metrics.jsonl"]
    assert [line["epoch"] for line in lines(whole)] == [1, 2, 3, 4]
    assert lines(whole)[0].keys() == {"epoch", "update", "loss", "dev", "improved"}
    assert len(lines(whole)[0]["dev"]) == len(SEEDS)
    assert (whole / "config.toml").read_text().startswith("seeds = [7, 8]\n")
    before = contents(whole)
    assert go(whole, config(epochs=4), resume=True).done  # a finished run is left as it is
    assert contents(whole) == before


@pytest.mark.parametrize(
    "options",
    [
        {"balance": "turns", "optimiser": "ftrl-tf"},
        {"balance": "sentence", "optimiser": "adam", "schedule": "linear", "ema": 0.9},
        {"balance": "mixed", "optimiser": "ftrl", "patience": 1},
        {"balance": "mixed", "kind": "entnet", "validate_every": 2},
        *({"kind": kind, "optimiser": "adam"} for kind in NEURAL),
    ],
    ids=str,
)
def test_a_run_that_stops_after_any_validation_ends_the_same(tmp_path, options):
    of, data = config(epochs=4, **options), small_for(options.get("kind", "delayed-entnet"))
    go(tmp_path / "whole", of, data=data)
    trainer, run = Trainer(of, data, SEEDS), RunFolder(tmp_path / "parts")
    while not trainer.done:  # every validation by a trainer of its own
        trainer = Trainer(of, data, SEEDS)
        run.resume(trainer)
        for validation in trainer.run():
            run.save(trainer, validation)
            break
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


def killed_at(step, folder, of, monkeypatch):
    """Train, killed right before the `step`th thing that changes a file; whether there was such a thing."""
    with monkeypatch.context() as patch:
        kill_at(patch, step, ((os, "open"), (os, "fsync"), (Path, "replace"), (Path, "open")))
        patch.setattr(Path, "unlink", lambda *_, **__: None)  # a killed process does not tidy up
        try:
            go(folder, of, resume=True)
        except Killed:
            return True
    return False


def test_a_kill_at_any_step_of_any_write_changes_nothing(tmp_path, monkeypatch):
    of = config(epochs=2, model={"chains": 2})
    go(tmp_path / "whole", of)
    step = 1
    while killed_at(step, tmp_path / str(step), of, monkeypatch):
        go(tmp_path / str(step), of, resume=True)
        assert contents(tmp_path / str(step)) == contents(tmp_path / "whole")
        assert not list((tmp_path / str(step)).glob(".*"))
        step += 1
    assert step > 10


def test_a_validation_whose_state_was_not_written_is_made_again(half, whole):
    trainer, run = Trainer(config(epochs=4), PREPARED, SEEDS), RunFolder(half)
    run.resume(trainer)
    before = run.last.read_bytes()
    run.save(trainer, next(trainer.run()))
    run.last.write_bytes(before)  # as if killed before the last state was written
    path = half / "config.toml"  # whose comments do not matter
    path.write_text("# mine\n" + "\n".join(line.partition("  #")[0] for line in path.read_text().splitlines()))
    assert go(half, config(epochs=4), resume=True).progress.epoch == 4
    assert lines(half) == lines(whole)


def foreign(path):
    save_file({"x": torch.ones(2)}, path, {"format": "pt"})


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (cut, r"is damaged \("),
        (lambda path: path.write_bytes(b""), r"is damaged \("),
        (foreign, "is not a state of a tabsa run"),
    ],
)
def test_a_state_that_cannot_be_used_is_one_line(half, spoil, message):
    spoil(half / "last.safetensors")
    with pytest.raises(ModelError, match=rf"^[^\n]*last\.safetensors {message}[^\n]*$") as caught:
        go(half, config(epochs=4), resume=True)
    assert caught.value.code == "no_resume"


@pytest.mark.parametrize(
    ("other", "seeds", "difference"),
    [
        (config(epochs=5), SEEDS, "its training.epochs is 4, not 5"),
        (config(epochs=4, model={"chains": 2}), SEEDS, "its model.chains is 3, not 2"),
        (config(epochs=4), (7, 8, 9), "its seeds is [7, 8], not [7, 8, 9]"),
    ],
)
def test_another_run_is_neither_continued_nor_overwritten(half, other, seeds, difference):
    before = contents(half)
    with pytest.raises(OutputError) as caught:
        go(half, other, seeds=seeds, resume=True)
    assert str(caught.value) == f"{half} holds another run ({difference})"
    assert caught.value.code == "another_run"
    with pytest.raises(OutputError, match="already holds a run"):
        go(half, config(epochs=4))
    assert contents(half) == before


@contextmanager
def full_disk(monkeypatch, after):
    """The first `after` files are written, the next ones find no space."""
    written = iter(range(10**6))

    def fsync(_):
        if next(written) >= after:
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        yield


def test_a_full_disk_is_one_line_and_the_run_can_go_on(tmp_path, whole, monkeypatch):
    messages = set()
    for after in range(4):
        folder = tmp_path / str(after)
        with full_disk(monkeypatch, after), pytest.raises(OutputError, match="No space left on device") as caught:
            go(folder, config(epochs=4))
        messages.add(str(caught.value).replace(str(folder), "").split(":")[0])
        assert not list(folder.glob(".*"))
        go(folder, config(epochs=4), resume=True)
        assert contents(folder) == contents(whole)
    assert messages == {f"cannot write /{name}" for name in ("config.toml", "metrics.jsonl", "last.safetensors")}
