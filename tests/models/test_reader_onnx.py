import dataclasses

import numpy as np
import onnx
import pytest
from onnx import TensorProto

import slow_reader
from reader_factory import shape
from reader_folder import ASPECTS, small_reader, torch_answers, weights_of, write_reader
from tabsa.checkpoint.model_folder import READER_GRAPHS
from tabsa.checkpoint.weight_storage import pack_columns, pack_weights, unpack_weights
from tabsa.embeddings.packing import pack_table, unpack_table
from tabsa.models.reader.reader_engine import ReaderEngine
from tabsa.schema import Span, Target

TEXT = "Camden is dear, but the rooms of Hull are nice and camden is far. Bad staff!"
CAMDEN = Target("Camden", (Span(0, 6), Span(50, 56)))
HULL = Target("Hull", (Span(33, 37),))
PLACE = Target("the place", (), implied=True)
TEXTS = [
    (TEXT, [CAMDEN, HULL]),
    (TEXT, [HULL, PLACE]),
    ("Awful food, great screen.", [PLACE]),
    ("Hull", [Target("Hull", (Span(0, 4),))]),
    ("This phone is not cheap: it is a nice phone, though the battery life is bad. " * 2, [PLACE]),
]
VARIANTS = [
    {"kind": kind, "late_interaction": late, "untied": untied, "sizes": {"layers": 3}}
    for kind in ("bert", "mpnet") for late, untied in ((1, False), (2, False), (3, False), (2, True))
]  # fmt: skip
VARIANTS.append({"late_interaction": 1, "untied": True})
VARIANTS.append({"depth": 2, "late_interaction": 1, "sizes": {"layers": 3}})


def cut(engine, texts=TEXTS):
    return [passage for text, targets in texts for passage in engine.cut(text, targets)]


def furthest(answers, others):
    return max(np.abs(a.probabilities - b).max() for a, b in zip(answers, others, strict=True))


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_answers_are_those_of_pytorch(tmp_path, variant, storage):
    model = small_reader(**variant)
    folder = write_reader(tmp_path, model, storage)
    engine = ReaderEngine(folder, 1)
    passages = cut(engine)
    aspects = (*ASPECTS, "", "the price of a very nice room")
    expected, asked = torch_answers(model, engine, passages, aspects), [aspects] * len(passages)
    assert furthest(engine.read_passages(passages, asked), expected) < 1e-5
    assert np.concatenate([p.reshape(-1, 4) for p in expected]).std(0).max() > 0.05
    rounded = ReaderEngine(folder, 1, "int8")
    answers = rounded.read_passages(passages, asked)
    assert 0 < furthest(answers, expected) < 0.25
    assert np.mean([np.abs(a.probabilities - b).mean() for a, b in zip(answers, expected, strict=True)]) < 0.02


def test_the_attention_is_a_share_of_each_piece(tmp_path):
    engine = ReaderEngine(write_reader(tmp_path, small_reader()), 1)
    read, ask = engine.sessions
    ids = np.array([[2, 2], [5, 6], [7, 3], [3, 0]])
    kept = ["keys.0", "values.0", "keys.1", "values.1"]
    states, *arrays = read.run(["entered", *kept], {"embedded": engine.embeddings(ids), "lengths": np.array([4, 3])})
    inputs = dict(zip(kept, arrays, strict=True))
    inputs |= {"lengths": np.array([4, 3]), "texts": np.array([1, 0, 1]), "targets": states[1, [1, 0, 1]]}
    aspects = {"aspects": states[2, [0, 1, 0]], "aspect_lengths": np.array([2, 1])}
    probabilities, shares = ask.run(["probabilities", "attention"], inputs | aspects)
    assert probabilities.shape == (3, 2, 4)
    assert shares.shape == (3, 2, 4)
    assert ((shares.sum(-1) > 0.1) & (shares.sum(-1) < 0.9)).all()  # the rest is of the question's own rows
    assert (shares[[0, 2], :, 3] < 1e-12).all()
    assert (shares[1] > 1e-6).all()


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
def test_graphs_hold_no_weights_but_say_where_they_lie(tmp_path, storage):
    model = small_reader(sizes={"size": 64, "inner": 128})
    folder = write_reader(tmp_path, model, storage)
    stored = folder.stored_weights()
    content = (tmp_path / "weights.safetensors").read_bytes()
    kinds = {TensorProto.FLOAT: "f4", TensorProto.FLOAT16: "f2", TensorProto.INT8: "i1", TensorProto.UINT8: "u1"}
    named = set()
    for name in (name for names in READER_GRAPHS.values() for name in names):
        graph = onnx.load(tmp_path / name, load_external_data=False).graph
        inside = [value for value in graph.initializer if value.data_location != TensorProto.EXTERNAL]
        assert sum(value.ByteSize() for value in inside) < 4000
        for value in graph.initializer:
            if value.data_location == TensorProto.EXTERNAL:
                where = {entry.key: entry.value for entry in value.external_data}
                assert where["location"] == "weights.safetensors"
                part = content[int(where["offset"]) : int(where["offset"]) + int(where["length"])]
                array = np.frombuffer(part, kinds[value.data_type]).reshape(tuple(value.dims))
                assert np.array_equal(array, stored[value.name])
                named.add(value.name)
    read_by_engine = {"encoder.words", "encoder.places"}
    assert named == {name for name in stored if name.removesuffix(".scale") not in read_by_engine}


@pytest.mark.parametrize("count", [8, 32])
def test_buckets_of_distances(count):
    found = dataclasses.replace(shape("mpnet", longest=300), buckets=count).distance_buckets()
    assert found.tolist() == [slow_reader.bucket(distance, count) for distance in range(-299, 300)]


def test_columns_in_eight_bits_by_hand():
    matrix = np.array([[1.0, -0.5], [0.52, 0.26], [-0.2, 0.0]], np.float32)
    numbers, scale = pack_columns(matrix)
    np.testing.assert_allclose(scale, [1 / 63, 0.5 / 63], rtol=1e-6)
    assert numbers.tolist() == [[63, -63], [33, 33], [-13, 0]]


def test_a_table_in_four_bits_is_near_and_a_block_at_a_time():
    rng = np.random.default_rng(3)
    table = rng.normal(size=(50, 64)).astype(np.float32) * rng.uniform(0.01, 3, (50, 1)).astype(np.float32)
    table[7] = 0
    packed, scales = pack_table(table)
    assert (packed.shape, packed.dtype, scales.shape, scales.dtype) == ((50, 32), np.uint8, (50, 2), np.float16)
    again = unpack_table(packed, scales)
    slow = np.empty_like(table)
    for row, column in np.ndindex(*table.shape):
        byte = int(packed[row, column // 2])
        code = byte >> 4 if column % 2 else byte & 15
        slow[row, column] = (code - 8) * np.float32(scales[row, column // 32])
    assert np.array_equal(again, slow)
    assert np.array_equal(again[[3, 9]], unpack_table(packed[[3, 9]], scales[[3, 9]]))
    assert not again[7].any()
    blocks, off = table.reshape(50, 2, 32), (again - table).reshape(50, 2, 32)
    plain = np.abs(blocks).max(-1, keepdims=True) / 7
    naive = np.square(np.rint(blocks / np.where(plain > 0, plain, 1)) * plain - blocks).sum(-1)
    assert np.square(off).sum() < 0.85 * naive.sum()
    assert np.sqrt(np.square(off).mean() / np.square(table).mean()) < 0.09


def test_what_is_packed_comes_back():
    model = small_reader("mpnet", sizes={"size": 64})
    weights = weights_of(model)
    for storage, furthest_off in (("float32", 0), ("float16", 1e-3), ("int8", 0.05)):
        stored = pack_weights(weights, storage, tables=("encoder.words",))
        again = unpack_weights(stored)
        assert again.keys() == weights.keys()
        for name, array in weights.items():
            assert again[name].shape == array.shape
            assert again[name].dtype == np.float32
            limit = 0.2 if storage == "int8" and name == "encoder.words" else furthest_off
            assert np.abs(again[name] - array).max() <= limit * np.abs(array).max(), name
        twice = pack_weights(again, storage, tables=("encoder.words",))
        if storage != "int8":
            assert all(np.array_equal(twice[name], stored[name]) for name in stored)
    assert stored["encoder.words"].dtype == np.uint8
    assert stored["encoder.layers.0.out"].dtype == np.int8
    assert stored["output"].dtype == stored["encoder.distances"].dtype == stored["hidden_bias"].dtype == np.float16


@pytest.mark.parametrize(
    "stored",
    [
        {"a.scale": np.ones(3)},
        {"a": np.ones((2, 3), np.int8), "a.scale": np.ones(2, np.float32)},
        {"a": np.ones(3, np.int8), "a.scale": np.ones(3, np.float32)},
        {"a": np.ones((2, 16), np.uint8), "a.scale": np.ones((2, 2), np.float16)},
        {"a": np.ones((2, 15), np.uint8), "a.scale": np.ones((2, 0), np.float16)},
    ],
)
def test_arrays_that_do_not_fit_each_other(stored):
    with pytest.raises(ValueError, match="scale"):
        unpack_weights(stored)
