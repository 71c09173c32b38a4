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
from tabsa.training import word_training as words
from tabsa.training.loop import figures_of
from tabsa.training.word_data import prepare
from tabsa.training.word_training import Trainer, reading_probabilities
from tabsa_repro import experiments, training
from tabsa_repro.experiments import EXPERIMENTS
from tabsa_repro.preparation import load_prepared, prepared_file, write_prepared
from tabsa_repro.records import commit
from tabsa_repro.running import combine, run
from tabsa_repro.store import Store
from tabsa_repro.training import train


def config_of(requested):
    return next(iter(requested.configs.values()))


def without_time(records):
    """What two runs of the same must share."""
    return [{key: value for key, value in record.items() if key != "seconds"} for record in records]


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


# ---- the test split


@pytest.mark.parametrize("system", ["delayed-entnet", "sentic-lstm"])
def test_training_does_not_depend_on_the_test_split(system, tmp_path):
    config = config_of(request("table1", tmp_path, system, settings=("model.concepts=",) if "sentic" in system else ()))
    without, with_test = prepare(config)[0], prepare(config, test="test")[0]
    assert without.test is None
    assert len(with_test.matrix) > len(without.matrix)
    assert np.array_equal(with_test.matrix[: len(without.matrix)], without.matrix)
    assert with_test.words[: len(without.words)] == without.words
    ends = []
    for prepared in (without, with_test):
        trainer = Trainer(config, prepared, (1,))
        for _ in trainer.run():
            pass
        ends.append(trainer.weights())
    assert ends[0].keys() == ends[1].keys()
    for name, tensor in ends[0].items():
        assert torch.equal(tensor, ends[1][name]), name


def test_concepts_of_the_test_split_keep_their_vectors(tmp_path):
    config = config_of(request("table1", tmp_path, "sentic-lstm", settings=("model.concepts=",)))
    without, with_test = prepare(config)[0], prepare(config, test="test")[0]
    for split in ("train", "dev"):
        assert np.array_equal(getattr(without, split).concepts, getattr(with_test, split).concepts)
    alone = prepare(replace(config, data=replace(config.data, dev="test")))[0]  # the same texts, as dev
    assert np.array_equal(with_test.concepts[with_test.test.concepts], alone.concepts[alone.dev.concepts])


def test_test_is_looked_at_once_from_the_best_state(tmp_path, monkeypatch):
    uncalibrated = ("training.epochs=3", "training.calibrate=temperature")
    config = config_of(request("table1", tmp_path, "entnet", settings=uncalibrated))
    prepared = prepare(config, test="test")[0]
    looks = []

    def counted(model, data, *rest):
        looks.append(data is prepared.test)
        return reading_probabilities(model, data, *rest)

    monkeypatch.setattr(training, "reading_probabilities", counted)
    monkeypatch.setattr(words, "reading_probabilities", counted)
    outcome = train(config, prepared, (3, 4))
    assert looks.count(True) == 1
    assert looks.count(False) == 3 + 1  # dev after every epoch, and at the end
    model = words.build_model(config, prepared, (3, 4))
    model.load_state_dict(outcome.weights)
    assert prepared.test is not None
    answers = arrays.combine(prepared.test, reading_probabilities(model, prepared.test))
    for run_, probabilities in zip(outcome.runs, answers, strict=True):
        assert run_.test == figures_of(prepared.test.gold, probabilities)


def test_prepared_data_without_a_test_split(tmp_path):
    config = config_of(request("table1", tmp_path, "entnet"))
    with pytest.raises(DataError, match="no test split"):
        train(config, prepare(config)[0], (1,))


# ---- what is kept


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Two systems of Table 1, three seeds."""
    requested = request("table1", tmp_path_factory.mktemp("results"), "lstm-final", "entnet", seeds=3)
    messages = []
    run(requested, say=messages.append)
    return requested, messages


def test_a_result_is_one_object_a_system(finished):
    requested, messages = finished
    records = read(requested.out / "table1.json")
    assert [record["system"] for record in records] == ["lstm-final", "entnet"]
    assert messages == [f"{name}: training with 3 seeds on cpu" for name in ("lstm-final", "entnet")]
    fields = {"system", "seeds", "runs", "mean", "sd", "config", "command", "commit", "vectors", "device", "seconds"}
    for record in records:
        assert fields <= set(record)
        assert record["seeds"] == [run_["seed"] for run_ in record["runs"]] == [1, 2, 3]
        assert record["command"].startswith(f"tabsa reproduce table1 --only {record['system']} --seeds 3 --set ")
        assert record["config"]["training"]["epochs"] == 2
        assert record["vectors"]["file"] == "random"
        assert record["commit"] == commit()
        assert record == read(requested.out / "parts" / "table1" / f"{record['system']}.json")


def test_mean_and_deviation_are_those_of_the_runs(finished):
    for record in read(finished[0].out / "table1.json"):
        for split in ("dev", "test"):
            for family in FAMILIES:
                for metric in METRICS:
                    values = [run_[split][family][metric] for run_ in record["runs"]]
                    assert all(0 <= value <= 1 for value in values)
                    assert math.isclose(record["mean"][split][family][metric], statistics.mean(values))
                    assert math.isclose(record["sd"][split][family][metric], statistics.stdev(values), abs_tol=1e-12)


def test_a_rerun_skips_what_is_there(finished):
    requested, _ = finished
    messages, before = [], (requested.out / "table1.json").read_bytes()
    run(requested, say=messages.append)
    assert messages == ["lstm-final: already there", "entnet: already there"]
    assert (requested.out / "table1.json").read_bytes() == before


def test_the_file_of_all_is_enough_to_go_on(finished, tmp_path):
    requested = replace(finished[0], out=tmp_path)
    (tmp_path / "table1.json").write_bytes((finished[0].out / "table1.json").read_bytes())
    messages = []
    run(requested, say=messages.append)
    assert messages == ["lstm-final: already there", "entnet: already there"]
    assert read(tmp_path / "table1.json") == read(finished[0].out / "table1.json")


def test_another_run_is_refused(finished):
    requested, _ = finished
    other = replace(requested, settings=(*requested.settings, "training.rate=0.5"), only=("entnet",))
    with pytest.raises(OutputError, match=r"entnet\.json holds another run of entnet \(its training\.rate is .*again"):
        run(other)
    with pytest.raises(OutputError, match=r"its seeds is \[1, 2, 3\], not \[1\]"):
        run(replace(requested, seeds=1))


def test_again_replaces_one_and_keeps_the_others(finished, tmp_path):
    (tmp_path / "table1.json").write_bytes((finished[0].out / "table1.json").read_bytes())
    before = read(tmp_path / "table1.json")
    run(replace(finished[0], out=tmp_path, again=True, seeds=1, only=("lstm-final",)))
    after = read(tmp_path / "table1.json")
    assert after[0]["seeds"] == [1]
    assert after[0]["sd"]["test"]["sun"]["macro_f1"] is None
    assert after[1] == before[1]


def test_the_same_run_in_another_result_is_not_trained_again(tmp_path):
    requested = request("table1", tmp_path, "delayed-entnet", seeds=1)
    run(requested)
    chains = config_of(requested).model.chains
    messages = []
    records = run(replace(requested, experiment="figure3", only=(f"chains-{chains}",)), say=messages.append)
    assert messages == [f"chains-{chains}: the same run as table1's delayed-entnet, which is there"]
    record = records[f"chains-{chains}"]
    assert record["mean"] == read(tmp_path / "table1.json")[0]["mean"]
    (combined,) = read(tmp_path / "figure3.json")
    assert (combined["system"], combined["chains"]) == (f"chains-{chains}", chains)
    assert set(combined["published"]) == {"macro_f1", "sd"}


def test_options_that_came_later_count_as_their_defaults(finished, tmp_path):
    records = read(finished[0].out / "table1.json")
    for record in records:
        del record["config"]["training"]["patience"]
    (tmp_path / "table1.json").write_text(json.dumps(records))
    messages = []
    run(replace(finished[0], out=tmp_path), say=messages.append)
    assert messages == ["lstm-final: already there", "entnet: already there"]


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_results_that_are_there_are_runs_of_todays_configurations(experiment):
    """Options may have had other names when they were made; nothing is trained again for that."""
    store = Store(Path(__file__).parents[2] / "repro" / "results")
    records = store.records(experiment)
    assert list(records) == [part.name for part in EXPERIMENTS[experiment]]
    for part in EXPERIMENTS[experiment]:
        seeds = records[part.name]["seeds"]
        assert store.finished(experiment, part, experiments.config_of(part), seeds) == records[part.name]


def test_a_damaged_part(tmp_path):
    requested = request("table1", tmp_path, "entnet")
    path = tmp_path / "parts" / "table1" / "entnet.json"
    path.parent.mkdir(parents=True)
    path.write_text("{")
    with pytest.raises(DataError, match=r"entnet\.json is not valid JSON"):
        run(requested)


def test_a_seed_that_diverges_is_no_result(tmp_path, monkeypatch):
    config = config_of(request("table1", tmp_path, "entnet"))
    prepared = prepare(config, test="test")[0]
    monkeypatch.setattr(Trainer, "run", lambda *_: iter(()))  # there was nothing that could be scored
    with pytest.raises(ConfigError, match="seed 1 of entnet diverged before its first validation"):
        train(config, prepared, (1,))


# ---- prepared data


def test_prepared_files_give_the_same_result(finished, tmp_path, monkeypatch):
    requested, _ = finished
    files = write_prepared(tmp_path / "ready", requested.configs.values(), None)
    assert sorted(path.name for path in files) == sorted({prepared_file(c) for c in requested.configs.values()})
    monkeypatch.setattr("tabsa_repro.preparation.prepare", lambda *_, **__: pytest.fail("there is no data here"))
    run(replace(requested, out=tmp_path / "out", prepared=tmp_path / "ready"))
    ours, theirs = (without_time(read(out / "table1.json")) for out in (tmp_path / "out", requested.out))
    assert ours == theirs


def test_a_file_that_was_not_prepared(tmp_path):
    config = config_of(request("table1", tmp_path, "entnet"))
    with pytest.raises(DataNotFoundError, match=r"has no places-\w{12}\.safetensors, the prepared data of this entnet"):
        load_prepared(config, tmp_path, None)


# ---- lr


LR = ("model.pos_ngrams=0", "model.c=[10.0]")


def test_lr_is_fitted_once(tmp_path):
    pytest.importorskip("scipy")
    records = run(request("table1", tmp_path, "lr", settings=LR))
    record = records["lr"]
    assert (record["seeds"], len(record["runs"]), record["vectors"]) == ([], 1, None)
    assert record["runs"][0]["seed"] is None
    assert record["sd"]["test"]["sun"]["macro_f1"] == 0
    assert record["mean"]["test"] == record["runs"][0]["test"]
    messages = []
    run(request("table1", tmp_path, "lr", settings=LR, seeds=4), say=messages.append)
    assert messages == ["lr: already there"]


def test_lr_is_left_out_with_prepared_data(tmp_path):
    with pytest.raises(ConfigError, match="lr reads texts"):
        run(request("table1", tmp_path, "lr", settings=LR, prepared=tmp_path))


# ---- everything together


def test_combining_keeps_the_order_of_the_experiment(tmp_path):
    store, records = Store(tmp_path), made_up("table1")
    (tmp_path / "table1.json").write_text(json.dumps(records[::-1]))
    combine(store, "table1")
    assert [record["system"] for record in read(tmp_path / "table1.json")] == [r["system"] for r in records]


def test_nothing_is_combined_where_there_is_nothing(tmp_path):
    for experiment in ("table1", "figure2", "figure3"):
        combine(Store(tmp_path), experiment)
    assert not list(tmp_path.iterdir())
