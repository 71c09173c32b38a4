"""Experiments run part by part: test looked at once, records that make themselves again, nothing trained twice."""

import json
import math
import statistics
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from result_factory import made_up, request
from tabsa.encoding import arrays
from tabsa.errors import ConfigError, DataError, DataNotFoundError, OutputError
from tabsa.evaluation.metrics import FAMILIES, METRICS
from tabsa.training import word_training
from tabsa.training.loop import figures_of
from tabsa.training.word_data import prepare
from tabsa.training.word_training import Trainer, reading_probabilities
from tabsa_repro import experiments, seed_runs
from tabsa_repro.experiments import EXPERIMENTS
from tabsa_repro.records import ResultStore, commit
from tabsa_repro.running import combine, run
from tabsa_repro.seed_runs import load_prepared, prepare_with_test, prepared_file, train, write_prepared

RESULTS = Path(__file__).parents[2] / "repro" / "results"
LR = ("model.pos_ngrams=0", "model.c=[10.0]")


def config_of(requested):
    return next(iter(requested.configs.values()))


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def messages_of(requested):
    messages = []
    run(requested, say=messages.append)
    return messages


@pytest.mark.parametrize("system", ["delayed-entnet", "sentic-lstm"])
def test_training_does_not_depend_on_the_test_split(system, tmp_path):
    sentic = system == "sentic-lstm"
    config = config_of(request("table1", tmp_path, system, settings=("model.concepts=",) if sentic else ()))
    without, with_test = prepare(config)[0], prepare_with_test(config)
    assert without.test is None
    assert len(with_test.matrix) > len(without.matrix)
    assert np.array_equal(with_test.matrix[: len(without.matrix)], without.matrix)
    assert with_test.words[: len(without.words)] == without.words
    ends = []
    for prepared in (without, with_test):
        trainer = Trainer(config, prepared, (1,))
        list(trainer.run())
        ends.append(trainer.weights())
    assert all(torch.equal(tensor, ends[1][name]) for name, tensor in ends[0].items())
    if sentic:
        for split in ("train", "dev"):
            assert np.array_equal(getattr(without, split).concepts, getattr(with_test, split).concepts)
        alone = prepare(replace(config, data=replace(config.data, dev="test")))[0]  # the same texts, as dev
        assert np.array_equal(with_test.concepts[with_test.test.concepts], alone.concepts[alone.dev.concepts])


def test_test_is_looked_at_once_from_the_best_state(tmp_path, monkeypatch):
    uncalibrated = ("training.epochs=3", "training.calibrate=temperature")
    config = config_of(request("table1", tmp_path, "entnet", settings=uncalibrated))
    prepared = prepare_with_test(config)
    looks = []

    def counted(model, data, *rest):
        looks.append(data is prepared.test)
        return reading_probabilities(model, data, *rest)

    monkeypatch.setattr(seed_runs, "reading_probabilities", counted)
    monkeypatch.setattr(word_training, "reading_probabilities", counted)
    outcome = train(config, prepared, (3, 4))
    assert looks.count(True) == 1
    assert looks.count(False) == 3 + 1  # dev after every epoch, and at the end
    model = word_training.build_model(config, prepared, (3, 4))
    model.load_state_dict(outcome.weights)
    answers = arrays.combine(prepared.test, reading_probabilities(model, prepared.test))
    for one, probabilities in zip(outcome.runs, answers, strict=True):
        assert one.test == figures_of(prepared.test.gold, probabilities)
    with pytest.raises(DataError, match="no test split"):
        train(config, replace(prepared, test=None), (1,))
    monkeypatch.setattr(Trainer, "run", lambda *_: iter(()))  # there was nothing that could be scored
    with pytest.raises(ConfigError, match="seed 1 of entnet diverged before its first validation"):
        train(config, prepared, (1,))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Two systems of Table 1, three seeds."""
    requested = request("table1", tmp_path_factory.mktemp("results"), "lstm-final", "entnet", seeds=3)
    return requested, messages_of(requested)


def test_a_result_is_one_object_a_system(finished):
    requested, messages = finished
    records = read(requested.out / "table1.json")
    assert [record["system"] for record in records] == ["lstm-final", "entnet"]
    assert messages == [f"{name}: training with 3 seeds on cpu" for name in ("lstm-final", "entnet")]
    for record in records:
        assert record["seeds"] == [one["seed"] for one in record["runs"]] == [1, 2, 3]
        assert record["command"].startswith(f"tabsa reproduce {record['system']} --seeds 3 --set ")
        assert record["config"]["training"]["epochs"] == 2
        assert record["vectors"]["file"] == "random"
        assert record["commit"] == commit()
        assert {"device", "seconds", "ensemble"} <= set(record)
        assert record == read(requested.out / "parts" / "table1" / f"{record['system']}.json")
        for split in ("dev", "test"):
            for family in FAMILIES:
                for metric in METRICS:
                    values = [one[split][family][metric] for one in record["runs"]]
                    assert all(0 <= value <= 1 for value in values)
                    assert math.isclose(record["mean"][split][family][metric], statistics.mean(values))
                    assert math.isclose(record["sd"][split][family][metric], statistics.stdev(values), abs_tol=1e-12)


def test_a_rerun_skips_what_is_there(finished, tmp_path):
    requested, _ = finished
    there = ["lstm-final: already there", "entnet: already there"]
    before = (requested.out / "table1.json").read_bytes()
    assert messages_of(requested) == there
    assert (requested.out / "table1.json").read_bytes() == before
    records = read(requested.out / "table1.json")
    for record in records:
        del record["config"]["training"]["patience"]  # an option that came later counts as its default
        record["config"]["training"]["gone"] = 3
    (tmp_path / "table1.json").write_text(json.dumps(records))
    assert messages_of(replace(requested, out=tmp_path)) == there  # the file of all is enough to go on
    other = replace(requested, settings=(*requested.settings, "training.rate=0.5"), only=("entnet",))
    with pytest.raises(OutputError, match=r"entnet\.json holds another run of entnet \(its training\.rate is .*again"):
        run(other)
    with pytest.raises(OutputError, match=r"its seeds is \[1, 2, 3\], not \[1\]"):
        run(replace(requested, seeds=1))
    run(replace(requested, out=tmp_path, again=True, seeds=1, only=("lstm-final",)))
    after = read(tmp_path / "table1.json")
    assert after[0]["seeds"] == [1]
    assert after[0]["sd"]["test"]["sun"]["macro_f1"] is None
    assert after[1] == records[1]
    (tmp_path / "parts" / "table1" / "entnet.json").write_text("{")
    with pytest.raises(DataError, match=r"entnet\.json is not valid JSON"):
        run(replace(requested, out=tmp_path))


def test_the_same_run_in_another_result_is_not_trained_again(tmp_path):
    requested = request("table1", tmp_path, "delayed-entnet", seeds=1)
    run(requested)
    chains = config_of(requested).model.chains
    name = f"chains-{chains}"
    again = replace(requested, experiment="figure3", only=(name,))
    assert messages_of(again) == [f"{name}: the same run as table1's delayed-entnet, which is there"]
    (combined,) = read(tmp_path / "figure3.json")
    assert combined["mean"] == read(tmp_path / "table1.json")[0]["mean"]
    assert combined["command"].startswith(f"tabsa reproduce figure3 --only {name} ")
    assert (combined["system"], combined["chains"]) == (name, chains)
    assert set(combined["published"]) == {"macro_f1", "sd"}


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_results_that_are_there_are_runs_of_todays_configurations(experiment):
    store = ResultStore(RESULTS)
    records = store.records(experiment)
    assert list(records) == [part.name for part in EXPERIMENTS[experiment]]
    for part in EXPERIMENTS[experiment]:
        seeds = records[part.name]["seeds"]
        assert store.finished(experiment, part, experiments.config_of(part), seeds) == records[part.name]


def test_prepared_files_give_the_same_result(finished, tmp_path, monkeypatch):
    requested, _ = finished
    files = write_prepared(tmp_path / "ready", requested.configs.values(), None)
    assert sorted(path.name for path in files) == sorted({prepared_file(c) for c in requested.configs.values()})
    monkeypatch.setattr(seed_runs, "prepare", lambda *_, **__: pytest.fail("there is no data here"))
    run(replace(requested, out=tmp_path / "out", prepared=tmp_path / "ready"))
    ours, theirs = (
        [{key: value for key, value in record.items() if key != "seconds"} for record in read(out / "table1.json")]
        for out in (tmp_path / "out", requested.out)
    )
    assert ours == theirs
    with pytest.raises(DataNotFoundError, match=r"has no places-\w{12}\.safetensors, the prepared data of this entnet"):
        load_prepared(config_of(request("table1", tmp_path, "entnet")), tmp_path, None)


def test_lr_is_fitted_once(tmp_path):
    pytest.importorskip("sklearn")
    record = run(request("table1", tmp_path, "lr", settings=LR))["lr"]
    assert (record["seeds"], len(record["runs"]), record["vectors"]) == ([], 1, None)
    assert record["runs"][0]["seed"] is None
    assert record["sd"]["test"]["sun"]["macro_f1"] == 0
    assert record["mean"]["test"] == record["runs"][0]["test"]
    assert messages_of(request("table1", tmp_path, "lr", settings=LR, seeds=4)) == ["lr: already there"]
    with pytest.raises(ConfigError, match="lr reads texts"):
        run(request("table1", tmp_path, "lr", settings=LR, prepared=tmp_path))


def test_combining_has_the_order_of_the_experiment(tmp_path):
    for experiment in ("table1", "figure2", "figure3"):
        combine(ResultStore(tmp_path), experiment)
    assert not list(tmp_path.iterdir())
    records = made_up("table1")
    (tmp_path / "table1.json").write_text(json.dumps(records[::-1]))
    combine(ResultStore(tmp_path), "table1")
    assert [record["system"] for record in read(tmp_path / "table1.json")] == [r["system"] for r in records]
