"""An encoder's folder as the `transformers` library writes it, with random weights."""

import json

import numpy as np
from safetensors.numpy import save_file

from reader_factory import random_weights, shape

CONFIG = {
    "model_type": "bert",
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "vocab_size": 60,
    "max_position_embeddings": 40,
    "layer_norm_eps": 1e-6,
    "hidden_act": "gelu",
}
OLD = {
    "bert": {
        "qkv": [f"attention.self.{name}" for name in ("query", "key", "value")],
        "out": ["attention.output.dense"],
        "norm": ["attention.output.LayerNorm"],
    },
    "mpnet": {
        "qkv": [f"attention.attn.{name}" for name in "qkv"],
        "out": ["attention.attn.o"],
        "norm": ["attention.LayerNorm"],
    },
}
BOTH = {"inner": ["intermediate.dense"], "outer": ["output.dense"], "last_norm": ["output.LayerNorm"]}


def write_encoder(folder, kind="bert", prefix="", sizes=None, **config):
    """A folder as the `transformers` library writes it, with the weights of `random_weights`."""
    folder.mkdir(exist_ok=True)
    own = shape(kind, **(sizes or {}))
    weights = random_weights(own, np.random.default_rng(5))
    stated = {"max_position_embeddings": own.positions, "model_type": kind, "vocab_size": own.vocabulary}
    stated |= {"relative_attention_num_buckets": own.buckets} if own.buckets else {}
    (folder / "config.json").write_text(json.dumps(CONFIG | stated | config))
    names = {"embeddings.word_embeddings.weight": weights["words"]}
    places = np.concatenate([np.full((own.first_position, own.size), 9, np.float32), weights["places"]])
    if kind == "bert":
        types = np.random.default_rng(6).normal(size=(2, own.size)).astype(np.float32)
        names["embeddings.token_type_embeddings.weight"], places = types, places - types[0]
    else:
        names["encoder.relative_attention_bias.weight"] = weights["distances"]
    names["embeddings.position_embeddings.weight"] = places
    names |= {f"embeddings.LayerNorm.{new}": weights[old] for new, old in (("weight", "norm"), ("bias", "norm_bias"))}
    for number in range(own.layers):
        for part, old in (OLD[kind] | BOTH).items():
            matrix, bias = (weights[f"layers.{number}.{part}{end}"] for end in ("", "_bias"))
            for n, name in enumerate(old):
                end = f"encoder.layer.{number}.{name}"
                names[f"{end}.weight"] = np.ascontiguousarray(np.split(matrix.T, len(old))[n])
                names[f"{end}.bias"] = np.split(bias, len(old))[n]
    save_file({prefix + name: array for name, array in names.items()}, folder / "model.safetensors")
    return own, weights
