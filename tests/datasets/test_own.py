"""The user's own data: every format and shape gives the same examples, and every mistake one clear line."""

import csv
import gzip
import io
import json
import re
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from table_rows import text_rows
from tabsa.datasets.loading import load
from tabsa.datasets.records import Columns
from tabsa.datasets.selection import share
from tabsa.errors import DataError, DataNotFoundError, DataWarning
from tabsa.schema import UNNAMED, Example, Opinion, Span, Target

HEADER = ["id", "text", "target", "aspect", "polarity"]
CAMDEN = "Camden is dear, but safer than Brixton."
LEEDS = "Leeds is lively."
ROWS = [
    ["7", CAMDEN, "Camden", "price", "negative"],
    ["7", CAMDEN, "Camden", "safety", "Positive"],
    ["7", CAMDEN, "Brixton", "safety", "negative"],
    ["8", LEEDS, "Leeds", "", ""],
]
EXAMPLES = (
    Example(
        "7",
        CAMDEN,
        (Target("Camden", (Span(0, 6),)), Target("Brixton", (Span(31, 38),))),
        (
            Opinion("Camden", "price", "negative"),
            Opinion("Camden", "safety", "positive"),
            Opinion("Brixton", "safety", "negative"),
        ),
    ),
    Example("8", LEEDS, (Target("Leeds", (Span(0, 5),)),)),
)
NESTED = [
    {
        "id": example.id,
        "text": example.text,
        "targets": [target.name for target in example.targets],
        "opinions": [
            {"target": opinion.target, "aspect": opinion.aspect, "polarity": opinion.polarity}
            for opinion in example.opinions
        ],
    }
    for example in EXAMPLES
]
FLAT = [dict(zip(HEADER, row, strict=True)) for row in ROWS]


def table(rows, header=HEADER, **options) -> str:
    stream = io.StringIO()
    csv.writer(stream, **options).writerows([header, *rows])
    return stream.getvalue()


def lines(records) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def write(path: Path, content: str | bytes) -> Path:
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def write_parquet(path: Path, records) -> Path:
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'tabsa[tables]'")
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(records), path)
    return path


def load_csv(folder: Path, *rows, header=HEADER, **options):
    return load(write(folder / "my.csv", table(rows, header)), "all", **options)


def load_lines(folder: Path, *records, **options):
    return load(write(folder / "my.jsonl", lines(records)), "all", **options)


# Formats and shapes


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("my.csv", table(ROWS)),
        ("my.csv", table(ROWS, lineterminator="\n")),
        ("my.csv", b"\xef\xbb\xbf" + table(ROWS, quoting=csv.QUOTE_ALL).encode()),
        ("MY.CSV", table([*ROWS, [""] * 5])),
        ("my.csv.gz", table(ROWS)),
        ("my.csv", table(ROWS, delimiter=";")),
        ("my.csv", "sep=;\r\n" + table(ROWS, delimiter=";")),
        ("my.csv", table(ROWS, delimiter="\t").encode("utf-16")),
        ("my.tsv.gz", table(ROWS)),
        ("my.tsv", table(ROWS, delimiter="\t")),
        ("my.tsv.gz", table(ROWS, delimiter="\t")),
        ("my.jsonl", lines(FLAT)),
        ("my.jsonl", b"\xef\xbb\xbf" + lines(FLAT).replace("\n", "\r\n\r\n").encode()),
        ("my.ndjson", lines(NESTED)),
        ("my.jsonl.gz", lines(NESTED)),
        ("my.jsonl", lines([FLAT[0], NESTED[0], *NESTED[1:]]).replace('"id": "7"', '"id": 7')),
    ],
)
@pytest.mark.filterwarnings("ignore::tabsa.errors.DataWarning")
def test_every_text_format_and_shape_gives_the_same_dataset(tmp_path, name, content):
    path = write(tmp_path / name, content)
    dataset = load(str(path), "all")
    assert dataset.examples == EXAMPLES
    assert dataset.aspects == ("price", "safety")
    assert dataset.labels == ("none", "positive", "negative")
    assert (dataset.name, dataset.split) == (str(path), "all")


@pytest.mark.parametrize(
    "records",
    [
        FLAT,
        NESTED,
        [{**row, "id": float(row["id"])} for row in FLAT],
        [{**row, "aspect": row["aspect"] or None, "polarity": row["polarity"] or None} for row in FLAT],
        [{**row, "targets": [{"name": name, "mentions": None} for name in row["targets"]]} for row in NESTED],
    ],
)
def test_parquet_gives_the_same_dataset_in_either_shape(tmp_path, records):
    assert load(write_parquet(tmp_path / "my.parquet", records), "all").examples == EXAMPLES


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"needs pyarrow; install it with `pip install 'tabsa\[tables\]'`"):
        load(write(tmp_path / "my.parquet", b""), "all")


@given(
    st.lists(
        st.tuples(st.text(st.characters(codec="utf-8"), min_size=1), st.sampled_from(["a", "b"])),
        min_size=1,
    )
)
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_comes_back_as_it_was_written(tmp_path, texts):
    kept = [(f"x{text}", target) for text, target in texts]
    rows = [[str(number), text, target, "c", "d"] for number, (text, target) in enumerate(kept)]
    records = [dict(zip(HEADER, row, strict=True)) for row in rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        for dataset in (load_csv(tmp_path, *rows), load_lines(tmp_path, *records)):
            assert [(example.text, example.targets[0].name) for example in dataset.examples] == kept


# What rows mean


def test_rows_without_ids_are_one_example_where_the_text_is_the_same(tmp_path):
    rows = [[LEEDS, "Leeds", "price", "positive"], ["Leeds, again", "Leeds", "", ""], [LEEDS, "Leeds", "fun", "none"]]
    dataset = load_csv(tmp_path, *rows, header=HEADER[1:])
    assert [(example.id, example.text) for example in dataset.examples] == [("1", LEEDS), ("2", "Leeds, again")]
    assert dataset.examples[0].opinions == (Opinion("Leeds", "price", "positive"),)
    assert dataset.aspects == ("price", "fun")


def test_labels_are_none_then_positive_and_negative_then_others_as_they_appear(tmp_path):
    polarities = ["mixed", "Neutral", "negative", "none", " POSITIVE "]
    rows = [[str(n), LEEDS, "Leeds", "fun", polarity] for n, polarity in enumerate(polarities)]
    assert load_csv(tmp_path, *rows).labels == ("none", "positive", "negative", "mixed", "neutral")
    assert load_csv(tmp_path, rows[1]).labels == ("none", "neutral")


def test_repeated_and_conflicting_opinions_are_counted_and_the_later_kept(tmp_path):
    rows = [["1", LEEDS, "Leeds", "fun", polarity] for polarity in ("positive", "positive", "negative")]
    with pytest.warns(DataWarning, match=r"my\.csv all: dropped 1 repeated and 1 conflicting opinion$"):
        dataset = load_csv(tmp_path, *rows)
    assert dataset.examples[0].opinions == (Opinion("Leeds", "fun", "negative"),)


def test_given_mentions_are_taken_and_others_are_found(tmp_path):
    header = [*HEADER, "start", "end"]
    rows = [
        ["1", "It is dear; Leeds is not Leeds", "Leeds", "price", "negative", "0", "2"],
        ["1", "It is dear; Leeds is not Leeds", "Leeds", "", "", "12.0", "17"],
        ["2", LEEDS, "Leeds", "", "", "", ""],
    ]
    first, second = load_csv(tmp_path, *rows, header=header).examples
    assert first.targets == (Target("Leeds", (Span(0, 2), Span(12, 17))),)
    assert second.targets == (Target("Leeds", (Span(0, 5),)),)


def test_nested_targets_may_have_mentions_and_aliases(tmp_path):
    record = {
        "text": "The Smoke beats leeds.",
        "targets": [
            {"name": "London", "aliases": ["the smoke"]},
            {"name": "Leeds", "mentions": [[16, 21]]},
            {"name": "York", "mentions": []},
        ],
        "opinions": [{"target": "London", "aspect": "general", "polarity": "positive"}],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dataset = load_lines(tmp_path, record)
    assert dataset.examples[0].targets == (
        Target("London", (Span(0, 9),)),
        Target("Leeds", (Span(16, 21),)),
        Target("York", implied=True),
    )


def test_a_name_inside_a_given_mention_is_not_found_there(tmp_path):
    record = {
        "text": "Camden Market is in Camden.",
        "targets": ["Camden", {"name": "the market", "mentions": [[0, 13]]}],
        "opinions": [],
    }
    with pytest.warns(DataWarning, match="no opinion on price"):
        (example,) = load_lines(tmp_path, record, aspects=["price"]).examples
    assert example.targets == (Target("Camden", (Span(20, 26),)), Target("the market", (Span(0, 13),)))


def test_a_target_that_the_text_does_not_name_is_implied_and_counted(tmp_path):
    rows = [["1", "Too dear.", "Leeds", "price", "negative"], ["2", "Cheap.", "York", "price", "positive"]]
    with pytest.warns(DataWarning) as caught:
        dataset = load_csv(tmp_path, *rows)
    path = tmp_path / "my.csv"
    assert [str(warning.message) for warning in caught] == [
        f"{path} all: 2 targets are not in the text by name, so taken as implied (first: 'Leeds' in {path} row 2)"
    ]
    assert [example.targets for example in dataset.examples] == [
        (Target("Leeds", implied=True),),
        (Target("York", implied=True),),
    ]


def test_a_text_may_have_no_target(tmp_path):
    dataset = load_csv(tmp_path, *ROWS, ["9", "Hello.", "", "", ""])
    assert dataset.examples[-1] == Example("9", "Hello.", ())


def test_columns_may_have_other_names(tmp_path):
    columns = Columns(text="review", id="key", target="brand", aspect="topic", polarity="sentiment")
    dataset = load_csv(tmp_path, *ROWS, header=["key", "review", "brand", "topic", "sentiment"], columns=columns)
    assert dataset.examples == EXAMPLES
    with pytest.raises(DataError, match="has columns of its own"):
        load("places", "test", columns=columns)


# Aspects


def test_asked_aspects_are_kept_in_their_order(tmp_path):
    assert load_csv(tmp_path, *ROWS, aspects=("safety", "price")).aspects == ("safety", "price")
    dataset = load_csv(tmp_path, *ROWS, aspects=("safety",))
    assert [opinion.aspect for opinion in dataset.examples[0].opinions] == ["safety", "safety"]
    assert load_csv(tmp_path, *ROWS, aspects="all").aspects == ("price", "safety")


def test_an_aspect_that_does_not_occur_is_kept_with_a_warning(tmp_path):
    with pytest.warns(DataWarning, match=r"my\.csv: no opinion on parking; its aspects are price, safety$"):
        assert load_csv(tmp_path, *ROWS, aspects=("price", "parking")).aspects == ("price", "parking")


def test_a_file_without_opinions_needs_its_aspects_named(tmp_path):
    with pytest.raises(DataError, match="holds no opinion, so its aspects are unknown"):
        load_csv(tmp_path, ROWS[-1])
    with pytest.raises(DataError, match="holds no opinion, so its aspects are unknown"):
        load_csv(tmp_path, ROWS[-1], aspects=["all"])
    with pytest.raises(DataError, match="no aspect is asked for"):
        load_csv(tmp_path, *ROWS, aspects=[])
    with pytest.warns(DataWarning, match="its aspects are none"):
        assert load_csv(tmp_path, ROWS[-1], aspects=["price"]).labels == ("none",)


# Splits


def test_a_folder_has_one_file_a_split_and_the_same_aspects_and_labels_in_each(tmp_path):
    write(tmp_path / "train.csv", table(ROWS))
    write(tmp_path / "test.jsonl.gz", lines([{**FLAT[0], "aspect": "parks", "polarity": "mixed"}]))
    train, test = load(tmp_path, "train"), load(tmp_path, "test")
    assert train.examples == EXAMPLES
    assert [example.opinions for example in test.examples] == [(Opinion("Camden", "parks", "mixed"),)]
    assert train.aspects == test.aspects == ("price", "safety", "parks")
    assert train.labels == test.labels == ("none", "positive", "negative", "mixed")
    with pytest.raises(DataError, match=r"unknown split of .* 'dev'; expected one of train, test$"):
        load(tmp_path, "dev")
    write(tmp_path / "train.tsv", table(ROWS, delimiter="\t"))
    with pytest.raises(DataError, match=r"has both train\.csv and train\.tsv; keep one file a split"):
        load(tmp_path, "train")


def test_a_single_file_is_held_apart_by_text(tmp_path):
    rows = [[str(n), f"Leeds, part {n % 400}", "Leeds", "fun", "positive"] for n in range(500)]
    parts = {split: load_csv(tmp_path, *rows).examples for split in ("all",)}
    parts |= {split: load(tmp_path / "my.csv", split).examples for split in ("train", "dev", "test")}
    assert sorted(example.id for part in ("train", "dev", "test") for example in parts[part]) == sorted(
        example.id for example in parts["all"]
    )
    texts = [{example.text for example in parts[part]} for part in ("train", "dev", "test")]
    assert sum(map(len, texts)) == len(set.union(*texts)) == 400
    assert 0.75 < len(texts[0]) / 400 < 0.85
    assert min(len(texts[1]), len(texts[2])) > 25
    load_csv(tmp_path, *rows[250:])
    assert {example.id for example in load(tmp_path / "my.csv", "dev").examples} <= {e.id for e in parts["dev"]}


def test_where_a_text_goes_never_changes():
    assert share("") == pytest.approx(int("e3b0c44298fc1c14", 16) / 2**64, abs=1e-15)
    assert share(CAMDEN) == pytest.approx(0.6959867225270527, abs=1e-15)


def test_a_file_too_small_to_split_says_so(tmp_path):
    write(tmp_path / "my.csv", table(ROWS[:3]))
    for split in ("train", "all"):
        assert load(tmp_path / "my.csv", split).examples == EXAMPLES[:1]
    for split in ("dev", "test"):
        with pytest.raises(DataError, match=f"is too small to hold out a '{split}' split; ask for 'all'"):
            load(tmp_path / "my.csv", split)
    with pytest.raises(DataError, match=r"unknown split of .*my\.csv 'al'; did you mean 'all'\?"):
        load(tmp_path / "my.csv", "al")


def test_what_is_not_there_is_one_clear_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataNotFoundError, match=r"no file or folder my\.csv"):
        load("my.csv", "all")
    for name in ("./sentihood", "no/such/folder", "~nobody-here/my.csv", "x" * 5000 + ".csv"):
        with pytest.raises(DataNotFoundError, match="no file or folder"):
            load(name, "all")
    with pytest.raises(DataError, match="unknown dataset"):
        load("x" * 5000, "all")
    with pytest.raises(DataNotFoundError, match=r"no split in the folder .*; expected train\.csv"):
        load(tmp_path, "all")
    write(tmp_path / "my.txt", b"text")
    with pytest.raises(DataError, match=r"cannot tell the format of my\.txt by its name; expected one of \.csv"):
        load("my.txt", "all")


# Mistakes


def changed(row=0, **values):
    return [{**record, **(values if number == row else {})} for number, record in enumerate(FLAT)]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", "{path} holds no rows"),
        (table([]), "{path} holds no rows"),
        (table([["1", LEEDS]], header=["id", "text"]), "{path} has no column 'aspect'; it has id, text"),
        (
            table([["1", LEEDS]], header=["id", "Review"]),
            "{path} has no column 'text'; it has id, Review; perhaps it is 'Review'",
        ),
        (
            table([[LEEDS, "Leeds", "x"]], header=["text", "target", "category"]),
            "{path} has no column 'aspect'; it has text, target, category; perhaps it is 'category'",
        ),
        (table([], header=["text", " text"]), "{path} has more than one column 'text'"),
        ("id;text;target;aspect;polarity\n1,a,b,c,d\n", "{path} has one column, 'id;text;target;aspect;polarity'"),
        (table([*ROWS, ["9", "x"]]), "{path} row 6 has 2 fields; the header has 5"),
        (table([["1", "a\nb", "c", "", ""], ["2", " ", "c", "", ""]]), "{path} row 3: 'text' is empty"),
        (table([["1", LEEDS, "", "", "", 0, 5]], header=[*HEADER, "start", "end"]), "{path} row 2: 'target' is empty"),
        (table([["1", LEEDS, "Leeds", "", "positive"]]), "{path} row 2: polarity 'positive' has no 'aspect'"),
        (table([ROWS[0], ["7", LEEDS, "Leeds", "", ""]]), "{path} row 3: id '7' has another text than in {path} row 2"),
        (table([ROWS[0], ["", LEEDS, "Leeds", "", ""]]), "{path} row 3: some rows have an id and some have not"),
        ('text,target,aspect,polarity\n"never closed,a,b,c\n', "{path} line 2: unexpected end of data; put a text"),
        ('text,target,aspect,polarity\n"Nice" place,a,b,c\n', "{path} line 2: ',' expected after '\"'; put a text"),
        (f'text,target,aspect,polarity\n"{"x" * 10_000_001}",a,b,c\n', "{path} line 2: field larger than field limit"),
        (table(ROWS).encode("utf-32"), "{path} is UTF-32 text; save it as UTF-8"),
        (b"\0\0" + table(ROWS).encode(), "{path} is not text (it holds zero bytes)"),
        (b"PK\x03\x04", "{path} is a zip archive or an Excel workbook, not text; give a workbook the name .xlsx"),
        (b"%PDF-1.7\n", "{path} is a PDF file, not a table"),
        (table(ROWS).encode() + b"\xe9", "{path} is not UTF-8 text (byte "),
    ],
)
def test_a_mistake_in_a_csv_is_one_clear_line(tmp_path, content, line):
    check(write(tmp_path / "my.csv", content), line)


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("my.jsonl", "\n{]\n", "{path} line 2 is not JSON: Expecting property name"),
        ("my.jsonl", "[" * 100_000, "{path} line 1 is not usable JSON"),
        ("my.jsonl", '{"id": ' + "1" * 5000 + "}", "{path} line 1 is not usable JSON"),
        ("my.jsonl", '"' + "x" * 10_000_000, "{path} line 1 is longer than 10,000,000 characters"),
        ("my.parquet", b"PAR1", "{path} is not a readable Parquet file"),
        ("my.parquet", b"", "{path} is not a readable Parquet file"),
    ],
)
def test_a_broken_file_is_one_clear_line(tmp_path, name, content, line):
    check(write(tmp_path / name, content), line)


def test_a_broken_gzip_file_is_one_clear_line(tmp_path):
    whole = gzip.compress(table(ROWS * 100).encode())
    path = tmp_path / "my.csv.gz"
    for content in (b"id,text", whole[:-20], whole[:10] + b"\xff" * 50):
        path.write_bytes(content)
        check(path, "{path} is not a whole gzip file: ")


def test_a_file_that_may_not_be_read_is_one_clear_line(tmp_path, monkeypatch):
    def denied(*_, **__):
        raise PermissionError(13, "Permission denied")

    path = write(tmp_path / "my.csv", table(ROWS))
    monkeypatch.setattr(Path, "open", denied)
    check(path, "cannot read {path}: Permission denied")


def test_the_byte_that_is_not_utf8_is_named_in_a_long_file(tmp_path):
    content = table([["1", "é" * 50_000, "a", "b", "c"]]).encode()
    path = write(tmp_path / "my.csv", content[:80_001] + b"\xff" + content[80_001:])
    check(path, f"(byte {80_000 if content[80_000] == 0xC3 else 80_001})")


def check(path: Path, line: str) -> None:
    with pytest.raises(DataError) as caught:
        load(path, "all")
    assert line.format(path=path) in str(caught.value)
    assert "\n" not in str(caught.value)


# The documentation's own files


def test_the_documented_examples_load_as_the_same_opinions():
    folder = Path(__file__).parents[2] / "docs" / "examples"
    flat, nested = load(folder / "opinions.csv", "all"), load(folder / "reviews.jsonl", "all")
    assert flat.examples == nested.examples
    assert (flat.aspects, flat.labels) == (nested.aspects, nested.labels)


@pytest.mark.parametrize(("kind", "suffix"), [("csv", ".csv"), ("json", ".jsonl")])
def test_the_blocks_in_the_documentation_load(tmp_path, kind, suffix):
    page = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
    blocks = re.findall(rf"```{kind}\n(.*?)```", page, flags=re.DOTALL)
    assert blocks
    for number, block in enumerate(blocks):
        path = write(tmp_path / f"block{number}{suffix}", block)
        dataset = load(path, "all")
        assert [example.id for example in dataset.examples] == list(dict.fromkeys(row["id"] for row in text_rows(path)))
        assert any(example.opinions for example in dataset.examples)
        assert all(target.mentions or target.name == UNNAMED for _, target in dataset.groups())
