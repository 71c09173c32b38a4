import shutil

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from safetensors.torch import load_file as load_tensors
from safetensors.torch import save_file as save_tensors

import slow_reader
from encoder_folder import write_encoder as write
from reader_factory import moved, random_weights, shape
from tabsa.errors import ModelError
from tabsa.models.reader.encoder import Encoder, read_encoder, read_shape
from tabsa.nn.context import EVALUATION


def draw_pieces(seeds=2, texts=4, longest=9, vocabulary=60):
    rng = np.random.default_rng(2)
    lengths = rng.integers(2, longest + 1, (seeds, texts))
    lengths[:, 0] = longest
    pieces = rng.integers(4, vocabulary, (seeds, texts, longest))
    pieces[np.arange(longest) >= lengths[..., None]] = 0
    return torch.from_numpy(pieces), torch.from_numpy(lengths)


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
@pytest.mark.parametrize("prefix", [False, True])
@pytest.mark.parametrize("number", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_a_folder_is_read_under_our_names(kind, prefix, number, tmp_path):
    """With the model's name before each, and the old names of a normalisation, or without; in any precision."""
    own, weights = write(tmp_path, kind, f"{kind}." if prefix else "")
    tensors = {name: tensor.to(number) for name, tensor in load_tensors(tmp_path / "model.safetensors").items()}
    if prefix:
        old = (("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta"))
        for new, before in old:
            tensors = {name.replace(new, before): tensor for name, tensor in tensors.items()}
    save_tensors(tensors, tmp_path / "model.safetensors")
    found, arrays = read_encoder(tmp_path)
    assert found == own
    assert {name: array.shape for name, array in arrays.items()} == own.weight_sizes()
    exact = number in (torch.float32, torch.float64)
    for name, array in arrays.items():
        assert array.dtype == np.float32
        np.testing.assert_allclose(array, weights[name], atol=1e-6 if exact else 0.03, err_msg=name)


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
def test_states_are_those_of_the_equations(kind):
    own = shape(kind)
    encoder = moved(Encoder(own, random_weights(own, np.random.default_rng(1)), 2, 0.3))
    pieces, lengths = draw_pieces()
    states = encoder.lower(pieces, lengths, EVALUATION)[0].detach()
    for seed, text in np.ndindex(2, 4):
        end = int(lengths[seed, text])
        expected = slow_reader.encode(own, slow_reader.of_seed(encoder, seed), pieces[seed, text, :end].tolist())
        np.testing.assert_allclose(states[seed, text, :end], expected, atol=1e-10)


def refused(folder, read=read_encoder):
    with pytest.raises(ModelError) as caught:
        read(folder)
    message = str(caught.value)
    assert "\n" not in message
    assert str(folder) in message
    return message


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"model_type": "roberta"}, "'kind' is 'roberta'; expected a bert or an mpnet"),
        ({"model_type": None}, "'kind' is 'None'"),
        ({"hidden_act": "relu"}, "its activation is 'relu'; expected gelu"),
        ({"position_embedding_type": "relative_key"}, "its positions are 'relative_key'; expected absolute ones"),
        ({"hidden_size": "wide"}, "does not describe an encoder"),
        ({"hidden_size": None}, "does not describe an encoder"),
        ({"hidden_size": 26}, "heads of 26 numbers are of no encoder"),
        ({"num_attention_heads": 0}, "expected a whole number from 1"),
        ({"num_hidden_layers": -2}, "expected a whole number from 1"),
        ({"layer_norm_eps": []}, "does not describe an encoder"),
    ],
)
def test_a_wrong_description_is_refused(change, expected, tmp_path):
    write(tmp_path, **change)
    assert expected in refused(tmp_path, read_shape)


def test_a_folder_that_is_no_encoders_is_refused(tmp_path):
    assert "config.json" in refused(tmp_path)
    for text in ("", "{", "[]", "3", "{}", '"bert"', '{"model_type": "bert"}'):
        (tmp_path / "config.json").write_text(text)
        assert "does not describe an encoder" in refused(tmp_path, read_shape)
    (tmp_path / "config.json").write_bytes(b"\xff\xfe")
    refused(tmp_path)
    write(tmp_path)
    path = tmp_path / "model.safetensors"
    whole = path.read_bytes()
    for damaged in (b"", b"PK\3\4", whole[:-8], whole[:300]):
        path.write_bytes(damaged)
        assert "is damaged" in refused(tmp_path)
    path.unlink()
    assert "cannot read" in refused(tmp_path)


def test_weights_of_another_shape_are_refused(tmp_path):
    write(tmp_path, num_hidden_layers=3)
    assert "has no 'encoder.layer.2.attention.self.query.weight'; expected the weights of a bert" in refused(tmp_path)
    write(tmp_path, vocab_size=61)
    assert "'words' is (60, 24); its config.json promises (61, 24)" in refused(tmp_path)
    write(tmp_path, max_position_embeddings=50)
    assert "'places' is (40, 24); its config.json promises (50, 24)" in refused(tmp_path)
    write(tmp_path, hidden_size=48)
    assert "promises" in refused(tmp_path)
    write(tmp_path / "other", "mpnet")
    shutil.copy(tmp_path / "other" / "model.safetensors", tmp_path)
    refused(tmp_path)
    write(tmp_path)
    arrays = load_file(tmp_path / "model.safetensors")
    arrays["encoder.layer.1.output.dense.bias"][3] = np.nan
    save_file(arrays, tmp_path / "model.safetensors")
    assert "'encoder.layer.1.output.dense.bias' holds something that is not a finite number" in refused(tmp_path)
