"""Whole runs of readers: from a file of one's own to a model folder that answers as training did."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from encoder_folder import write_encoder
from question_sets import SMALL, VOCABULARY, config, prepared
from reader_factory import make_reader, piece_reader, question_batch, write_tokeniser
from run_factory import small
from tabsa.datasets.loading import load
from tabsa.embeddings.packing import pack_weights, unpack_weights
from tabsa.encoding.answers import PresenceCalibration
from tabsa.encoding.pieces import NO_SLOT
from tabsa.encoding.questions import AspectTable, Questions, answers_of
from tabsa.errors import ConfigError
from tabsa.inference.evaluating import predict_questions
from tabsa.inference.predictor import Predictor
from tabsa.nn.context import EVALUATION
from tabsa.training.config import run_config
from tabsa.training.distillation import as_questions, with_answers
from tabsa.training.fit import fit
from tabsa.training.question_graphs import QuestionGraphs, Room, more_room, padded, room_of
from tabsa.training.reader import ReaderTrainer, probabilities_of
from tabsa.training.reader_run import start

MPNET = ("<pad>", "<unk>", "<s>", "</s>")


@pytest.fixture(scope="module")
def encoders(tmp_path_factory) -> dict[str, Path]:
    """A small BERT, and a small MPNet with the same words under other numbers."""
    found = {}
    for kind, special in (("bert", {}), ("mpnet", {"special": MPNET, "extra": ("more", "words")})):
        folder = found[kind] = tmp_path_factory.mktemp(kind)
        pieces = len(piece_reader(**special).wordpieces.vocabulary)
        write_encoder(folder, kind, sizes={"vocabulary": pieces, "longest": 64})
        write_tokeniser(folder / "tokenizer.json", **special)
    return found


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> Path:
    """Texts that judge what they name, in one file a split."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(3)
    for split, count in (("train", 40), ("dev", 16)):
        rows = []
        for number in range(count):
            aspect, other = (str(one) for one in rng.choice(SMALL, 2, replace=False))
            polarity = ("positive", "negative")[number % 2]
            judged = f"Camden : {aspect} is {'good' if polarity == 'positive' else 'bad'} and a{number} Hull is far"
            opinion = {"target": "Camden", "aspect": aspect, "polarity": polarity}
            rows.append(
                {"text": judged, "targets": ["Camden", "Hull"], "aspects": [aspect, other], "opinions": [opinion]}
            )
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def run_of(encoder: Path, table: Path, **sections):
    base = {
        "kind": "reader",
        "model": {"encoder": str(encoder), "late_interaction": 1, "dropout": 0.0},
        "data": {"name": str(table), "max_length": 60},
        "training": {
            "epochs": 2, "batch_size": 8, "optimiser": "adamw", "rate": 0.003, "select": "opinion_f1", "ema": 0.5
        },
    }  # fmt: skip
    for name, values in sections.items():
        base[name] = base.get(name, {}) | values
    return run_config(base)


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
def test_a_folder_answers_as_training_did(kind, encoders, table, tmp_path):
    """The Predictor's answers are the network's, calibrated: one reading for both."""
    of = run_of(encoders[kind], table)
    fitted = fit(of, tmp_path / "model", seeds=2)
    folder = fitted.folder
    assert {"read.onnx", "ask.onnx", "tokenizer.json", "config.json"} <= {path.name for path in folder.path.iterdir()}
    begun = start(of, (0,), None)
    with torch.no_grad():
        for name, tensor in begun.model.named_parameters():
            tensor.copy_(torch.from_numpy(folder.weights[name]))
    held = begun.prepared.held[0]
    own = answers_of(held.data, len(held.gold), probabilities_of(begun.model, begun.prepared, held.data)[0])
    expected = PresenceCalibration(**folder.config.calibration).apply(own)
    dataset = load(str(table), "dev")
    found = predict_questions(Predictor(folder), dataset)
    np.testing.assert_allclose(found, expected[:, : len(dataset.labels)], atol=2e-3)  # weights are kept in float16
    assert json.loads((folder.path / "metrics.json").read_text())["dev"]["questions"].keys() >= {"opinion_f1"}
    assert len(fitted.rows) == 2


def test_it_learns_and_resumes(encoders, table, tmp_path):
    """A run that is broken off and taken up ends as one that was not."""
    longer = run_of(encoders["bert"], table, training={"epochs": 3})
    whole = fit(longer, tmp_path / "whole").folder
    seen = []

    class Stop(Exception):
        pass

    from tabsa.training.callbacks import Callback

    class Breaker(Callback):
        def on_validation(self, trainer, validation):
            seen.append(validation.epoch)
            if validation.epoch == 2:
                raise Stop

    with pytest.raises(Stop):
        fit(longer, tmp_path / "parts", callbacks=[Breaker()])
    resumed = fit(longer, tmp_path / "parts", resume=True).folder
    assert seen == [1, 2]
    for name, array in whole.weights.items():
        np.testing.assert_array_equal(resumed.weights[name], array)


@pytest.mark.parametrize("way", ["model.late_interaction=1", "model.cross_encode=true"])
def test_a_small_reader_learns_from_large_ones_with_another_tokeniser(encoders, table, tmp_path, way):
    """Teachers are trained first and answer in their own pieces; what they say is learnt."""
    of = run_of(
        encoders["bert"],
        table,
        distillation={"teachers": 2, "settings": [f"model.encoder={encoders['mpnet']}", way], "weight": 0.8},
        augmentation={"copies": 2},
    )
    roles = []
    from tabsa.training.callbacks import Callback

    class Recorder(Callback):
        def on_start(self, trainer, role, folder):
            roles.append((role, len(trainer.seeds), trainer.texts, folder.name))

    fit(of, tmp_path / "model", callbacks=[Recorder()])
    assert roles == [("teachers", 2, 40, "teachers-1"), ("model", 1, 80, "run")]


def test_what_has_no_folder_is_refused(encoders, table):
    through = run_of(encoders["bert"], table)
    through = replace(through, model=replace(through.model, cross_encode=True))
    with pytest.raises(ConfigError, match="is a teacher, and has no model folder"):
        start(through, (1,), None)
    with pytest.raises(ConfigError, match="no folder 'nowhere'"):
        start(run_of(Path("nowhere"), table), (1,), None)


def test_an_encoder_by_its_name_on_the_hub(encoders, table, monkeypatch):
    """The hub's own cache is where its files lie; what it says where it has none is one line."""
    monkeypatch.setattr("huggingface_hub.hf_hub_download", lambda name, file: str(encoders["bert"] / file))
    assert start(run_of(Path("someone/encoder"), table), (1,), None).shape.kind == "bert"

    def offline(name, file):
        raise OSError("we are offline\nand say so at length")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", offline)
    with pytest.raises(ConfigError, match=r"the hub does not give it .we are offline.$"):
        start(run_of(Path("someone/encoder"), table), (1,), None)


def test_a_run_ends_at_its_limit():
    of = config(training={"epochs": 9, "schedule": "linear"})
    model = make_reader(sizes={"vocabulary": VOCABULARY, "longest": 64})
    trainer = ReaderTrainer(of, prepared(of), model)
    trainer.limit = trainer.updates + 2
    assert trainer.total == trainer.limit
    assert [validation.update for validation in trainer.run()] == [trainer.updates, trainer.limit]
    assert trainer.done


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
def test_padding_to_a_graphs_shape_changes_no_answer(kind):
    model, batch = make_reader(kind), question_batch()
    room = more_room(room_of(batch), Room(16, 8, 3, 12))
    larger = padded(batch, room)
    assert (larger.pieces.shape[2], larger.targets.shape[2], *larger.aspects.shape[1:]) == room
    assert room.fits(room_of(batch))
    assert not room_of(batch).fits(room)
    own, other = model(batch, context=EVALUATION).logits, model(larger, context=EVALUATION).logits
    torch.testing.assert_close(other[:, :, : own.shape[2]], own, rtol=0, atol=1e-5)
    assert (larger.labels[:, :, own.shape[2] :] == -1).all()
    assert torch.isfinite(other).all()


def test_arrays_are_saved_whole(tmp_path):
    """safetensors writes the memory behind a view, not its numbers."""
    data = prepared().train
    columns = np.stack([data.targets.astype(np.int32), data.aspects], axis=1)
    strided = replace(data, aspects=columns[:, 1])
    save_file(strided.arrays(), tmp_path / "pool.safetensors")
    back = Questions.of(load_file(tmp_path / "pool.safetensors"))
    np.testing.assert_array_equal(back.aspects, data.aspects)


def test_readings_of_words_as_questions_and_back():
    """What a reader says lands where the reading, target and aspect are that it was asked about."""
    words = replace(small(), words=("<padding>", *(f"w{n}" for n in range(1, 12))))
    reader = piece_reader()
    table = AspectTable(reader)
    asked = as_questions(words, words.train, reader, table)
    names = {number: piece for piece, number in reader.wordpieces.vocabulary.items()}
    soft = np.random.default_rng(1).dirichlet(np.ones(len(words.labels)), len(asked.targets))
    taught = with_answers(words, words.train, asked, soft)
    count, aspects = 0, len(words.aspects)
    slot_rows = {row: slot for slot, row in enumerate(words.targets)}
    for n in range(len(words.train)):
        read = words.train.tokens[n, : words.train.lengths[n]].tolist()
        order = [*dict.fromkeys(slot_rows[row] for row in read if row in slot_rows)]
        pieces = asked.pieces[asked.starts[n] : asked.starts[n + 1]]
        assert [names[piece] for piece in pieces].count("entity") == sum(row in slot_rows for row in read)
        for target in range(len(words.targets)):
            present = words.train.groups[n, target] >= 0
            for aspect in range(aspects):
                if not present:
                    assert (taught.soft_labels[n, target, aspect] == 0).all()
                    continue
                np.testing.assert_allclose(taught.soft_labels[n, target, aspect], soft[count], rtol=1e-6)
                expected = order.index(target) if target in order else NO_SLOT
                assert asked.targets[count] == expected
                assert asked.aspects[count] == table.rows[words.aspects[aspect]]
                assert asked.labels[count] == words.train.labels[n, target, aspect]
                count += 1
    assert count == len(asked.targets)


def test_a_rounded_reader_is_what_int8_keeps(encoders, table, tmp_path):
    """Quantisation-aware training: the folder in int8 answers as the network did, but for float16 in vectors."""
    of = run_of(encoders["bert"], table, model={"rounded": True})
    begun = start(of, (1,), None)
    assert not begun.model.encoder.words.requires_grad
    trainer = ReaderTrainer(of, begun.prepared, begun.model)
    before = begun.model.encoder.layers[0].qkv.detach().clone()
    assert all(np.isfinite(validation.loss).all() for validation in trainer.run())
    assert not torch.equal(before, begun.model.encoder.layers[0].qkv)  # rounding lets gradients through
    weights = {name: tensor.detach()[0].numpy() for name, tensor in begun.model.named_parameters()}
    kept = unpack_weights(pack_weights(weights, "int8", tables=("encoder.words",)))
    plain = start(run_of(encoders["bert"], table), (1,), None).model
    with torch.no_grad():
        for name, tensor in plain.named_parameters():
            tensor.copy_(torch.from_numpy(kept[name]))
    data = begun.prepared.held[0].data
    expected = probabilities_of(begun.model, begun.prepared, data)
    np.testing.assert_allclose(probabilities_of(plain, begun.prepared, data), expected, atol=2e-3)


def test_where_nothing_can_be_captured_it_is_learnt_plainly():
    """On a machine without a GPU every capture fails: one line says so, and each batch is learnt once."""
    seen = []

    def learn(batch):
        seen.append(batch.pieces.shape[2])
        return torch.zeros(2)

    graphs = QuestionGraphs(learn, [])
    batch = question_batch()
    with pytest.warns(UserWarning, match="not captured as CUDA graphs"):
        graphs.learn(batch)
    graphs.learn(batch)
    assert seen == [16, batch.pieces.shape[2]]  # the first was padded for a graph
