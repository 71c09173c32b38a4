"""Vectors for a vocabulary in one call, and the cache: used when it can be trusted, written anew when not."""

import json
import multiprocessing
import os
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from tabsa.embeddings import EmbeddingTable, Fallbacks, cache, load_vectors
from tabsa.errors import DataError, DataNotFoundError
from tabsa.files import sha256

WORDS = ("the", "n't", "location1", "location2", "(", "clubs/bars", "15")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "glove.txt"
    rows = {"the": 1, "not": 2, ",": 3, "clubs": 4, "bars": 6, "other": 9}
    path.write_text("".join(f"{word} {n} {-n}.5 0.25\n" for word, n in rows.items()), encoding="utf-8")
    return path


@pytest.fixture
def reads(monkeypatch) -> list[str]:
    """What was read or hashed, in order."""
    done: list[str] = []
    for name in ("read_vectors", "sha256"):
        original = getattr(cache, name)
        monkeypatch.setattr(cache, name, lambda *a, n=name, f=original: (done.append(n), f(*a))[1])
    return done


def same(one: EmbeddingTable, other: EmbeddingTable) -> bool:
    facts = [(t.words, t.how, t.source, t.scale, t.matrix.dtype) for t in (one, other)]
    return facts[0] == facts[1] and np.array_equal(one.matrix, other.matrix)


def entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def test_one_call_reads_every_spelling_that_a_fallback_needs(source):
    table = load_vectors(source, WORDS)
    assert table.words == WORDS
    assert table.how == ("exact", "clitic", "random", "random", "punctuation", "parts", "random")
    np.testing.assert_array_equal(table["n't"], [2, -2.5, 0.25])
    np.testing.assert_array_equal(table["clubs/bars"], [5, -5.5, 0.25])
    assert load_vectors(source, WORDS, fallbacks=Fallbacks.none()).how == ("exact",) + ("missing",) * 6


def test_the_second_call_neither_reads_nor_hashes(source, tmp_path, reads):
    first = load_vectors(source, WORDS, cache_dir=tmp_path / "cache")
    second = load_vectors(source, WORDS, cache_dir=tmp_path / "cache")
    assert reads == ["read_vectors"]
    assert same(first, second)
    assert len(entries(tmp_path / "cache")) == 1


def test_a_touched_file_is_hashed_once_and_not_read(source, tmp_path, reads):
    first = load_vectors(source, WORDS, cache_dir=tmp_path / "cache")
    os.utime(source, ns=(1, 1))
    assert same(first, load_vectors(source, WORDS, cache_dir=tmp_path / "cache"))
    assert same(first, load_vectors(source, WORDS, cache_dir=tmp_path / "cache"))
    assert reads == ["read_vectors", "sha256"]


@pytest.mark.parametrize("replacement", ["the 7 7 7\n", None])
def test_a_changed_file_is_read_again(source, tmp_path, replacement):
    load_vectors(source, WORDS, cache_dir=tmp_path / "cache")
    text = replacement or source.read_text(encoding="utf-8").replace("the 1", "the 7")  # None: of the same size
    source.write_text(text, encoding="utf-8")
    os.utime(source, ns=(2, 2))
    table = load_vectors(source, WORDS, cache_dir=tmp_path / "cache")
    assert table["the"][0] == 7
    assert same(table, load_vectors(source, WORDS, cache_dir=tmp_path / "cache"))


def test_other_words_order_fallbacks_or_members_have_their_own_entry(source, tmp_path):
    folder = tmp_path / "cache"
    load_vectors(source, WORDS, cache_dir=folder)
    assert load_vectors(source, WORDS[::-1], cache_dir=folder).words == WORDS[::-1]
    seeded = load_vectors(source, WORDS, fallbacks=Fallbacks(seed=1), cache_dir=folder)
    assert not np.array_equal(seeded["location1"], load_vectors(source, WORDS, cache_dir=folder)["location1"])
    archive = tmp_path / "two.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("a.txt", "the 1 1\n")
        packed.writestr("b.txt", "the 2 2\n")
    assert load_vectors(archive / "a.txt", ["the"], cache_dir=folder)["the"][0] == 1
    assert load_vectors(archive / "b.txt", ["the"], cache_dir=folder)["the"][0] == 2
    assert len(entries(folder)) == 5


def test_the_entry_is_safetensors_with_its_facts(source, tmp_path):
    load_vectors(source, WORDS, cache_dir=tmp_path / "cache")
    (entry,) = entries(tmp_path / "cache")
    with safe_open(entry, framework="numpy") as stream:
        assert set(stream.keys()) == {"matrix", "how", "digest"}
        facts = json.loads(stream.metadata()["tabsa"])
    assert set(facts) == {"request", "source", "size", "modified", "scale"}
    assert set(facts["request"]) == {"format", "name", "words", "fallbacks"}
    assert facts["source"] == {"name": "glove.txt", "sha256": sha256(source)}
    assert str(tmp_path) not in str(facts)


def test_a_damaged_entry_is_never_used(source, tmp_path, reads):
    folder = tmp_path / "cache"
    first = load_vectors(source, WORDS, cache_dir=folder)
    (entry,) = entries(folder)
    good = entry.read_bytes()
    damaged = [b"", b"not safetensors at all", good[:7], good[:100], good[:-1], good + b"x", b"\xff" * 100]
    damaged += [good[:i] + bytes([good[i] ^ 1]) + good[i + 1 :] for i in range(len(good))]
    for content in damaged:
        entry.write_bytes(content)
        reads.clear()
        assert same(first, load_vectors(source, WORDS, cache_dir=folder))
        assert "read_vectors" in reads
        assert entry.read_bytes() == good


def test_a_foreign_entry_is_never_used(source, tmp_path):
    folder = tmp_path / "cache"
    first = load_vectors(source, WORDS, cache_dir=folder)
    (entry,) = entries(folder)
    good = entry.read_bytes()
    tensors = {"matrix": np.zeros((7, 3), np.float32), "how": np.zeros(7, np.uint8)}
    for metadata in (None, {"tabsa": "{}"}):
        save_file(tensors, entry, metadata)
        assert same(first, load_vectors(source, WORDS, cache_dir=folder))
        assert entry.read_bytes() == good


def test_a_folder_that_cannot_be_written_costs_a_warning(source, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way", encoding="utf-8")
    with pytest.warns(UserWarning, match="not kept for the next run: cannot write"):
        table = load_vectors(source, WORDS, cache_dir=blocked / "cache")
    assert same(table, load_vectors(source, WORDS))


@pytest.mark.skipif(
    os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_a_read_only_folder_costs_a_warning(source, tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o500)
    with pytest.warns(UserWarning, match="not kept"):
        load_vectors(source, WORDS, cache_dir=folder)


def test_a_folder_in_the_entrys_place_costs_a_warning(source, tmp_path):
    load_vectors(source, WORDS, cache_dir=tmp_path / "cache")
    (entry,) = entries(tmp_path / "cache")
    entry.unlink()
    entry.mkdir()
    with pytest.warns(UserWarning, match="not kept"):
        assert load_vectors(source, WORDS, cache_dir=tmp_path / "cache").words == WORDS


def test_a_broken_source_leaves_no_entry(tmp_path):
    broken = tmp_path / "broken.txt"
    broken.write_text("no vectors in here\n", encoding="utf-8")
    with pytest.raises(DataError):
        load_vectors(broken, WORDS, cache_dir=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()
    with pytest.raises(DataNotFoundError):
        load_vectors(tmp_path / "absent.txt", WORDS, cache_dir=tmp_path / "cache")


def load_often(source: Path, folder: Path) -> None:
    warnings.simplefilter("error")
    for n in range(15):
        os.utime(source, ns=(n, n))  # every time a new write
        assert load_vectors(source, WORDS, cache_dir=folder).how[0] == "exact"


def test_processes_may_share_a_folder(source, tmp_path):
    folder = tmp_path / "cache"
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=load_often, args=(source, folder)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    assert len(entries(folder)) == 1
    assert same(load_vectors(source, WORDS, cache_dir=folder), load_vectors(source, WORDS))
