"""The user's own data: every format and shape gives the same examples, and every mistake one clear line."""

import json
import re
import warnings
from pathlib import Path

import pandas as pd
import pytest

from table_rows import text_rows, write_rows
from tabsa.datasets.loading import load
from tabsa.datasets.own import frame_dataset
from tabsa.datasets.records import Columns
from tabsa.datasets.selection import share
from tabsa.errors import DataError, DataNotFoundError, DataWarning
from tabsa.schema import UNNAMED, Dataset, Example, Opinion, Span, Target

CAMDEN = "Camden is dear, but safer than Brixton."
LEEDS = "Leeds is lively."
KNEES = "My knees met the man in front."
JET2 = "Jet2 was on time, and the seat was tight."
IT = Target(UNNAMED, (), implied=True)


def row(text: str, target: str | None = "", aspect: str = "", polarity: str | None = "", **more: object) -> dict:
    return {"text": text, "target": target, "aspect": aspect, "polarity": polarity, **more}


FLAT = [
    row(CAMDEN, "Camden", "price", "negative", id="7"),
    row(CAMDEN, "Camden", "safety", "Positive", id="7"),
    row(CAMDEN, "Brixton", "safety", "neg", id="7"),
    row(LEEDS, "Leeds", id="8"),
]


def nested(text: str, targets: list, opinions: list[tuple], **more: object) -> dict:
    """A row a text; opinions are triples."""
    listed = [dict(zip(("target", "aspect", "polarity"), opinion, strict=True)) for opinion in opinions]
    return {"text": text, "targets": targets, "opinions": listed, **more}


OF_CAMDEN = [("Camden", "price", "negative"), ("Camden", "safety", "positive"), ("Brixton", "safety", "negative")]
NESTED = [nested(CAMDEN, ["Camden", "Brixton"], OF_CAMDEN, id="7"), nested(LEEDS, ["Leeds"], [], id="8")]
BOTH_TARGETS = (Target("Camden", (Span(0, 6),)), Target("Brixton", (Span(31, 38),)))
EXAMPLES = (
    Example("7", CAMDEN, BOTH_TARGETS, tuple(Opinion(*one) for one in OF_CAMDEN)),
    Example("8", LEEDS, (Target("Leeds", (Span(0, 5),)),)),
)
# With open aspects: targets without a name, the aspects asked of each text, domain and kind.
OPEN_FLAT = [
    row(KNEES, "", "leg room", "negative", id="1", aspects="leg room;price", domain="airlines", kind="implicit"),
    row(JET2, "Jet2", "punctuality", "positive", id="2", aspects="punctuality; seat", domain="airlines", kind=""),
    row(JET2, "", "seat", "Mixed", id="2", aspects="seat;crew", domain="", kind=""),
    row("Back again.", id="3", aspects="", domain="", kind=""),
]
OF_JET2 = [("Jet2", "punctuality", "positive"), (None, "seat", "mixed")]
TAGS = {"domain": "airlines", "kind": "implicit"}
OPEN_NESTED = [
    nested(KNEES, [None], [(None, "leg room", "negative")], id="1", aspects=["leg room", "price"], **TAGS),
    nested(
        JET2, ["Jet2", None], OF_JET2, id="2", aspects=["punctuality", "seat", "crew"], domain="airlines", kind=None
    ),
    nested("Back again.", [], [], id="3", aspects=None, domain=None, kind=None),
]
OPEN_EXAMPLES = (
    Example("1", KNEES, (IT,), (Opinion(UNNAMED, "leg room", "negative"),), ("leg room", "price"), TAGS),
    Example(
        "2",
        JET2,
        (Target("Jet2", (Span(0, 4),)), IT),
        (Opinion("Jet2", "punctuality", "positive"), Opinion(UNNAMED, "seat", "mixed")),
        ("punctuality", "seat", "crew"),
        {"domain": "airlines"},
    ),
    Example("3", "Back again.", ()),
)


def load_rows(folder: Path, *rows: dict, name: str = "my.jsonl", **options: object) -> Dataset:
    """The whole of a file with these rows, where nothing is to be warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return load(write_rows(folder / name, rows), "all", **options)


def questions(dataset: Dataset) -> list[tuple[str, str, str, str]]:
    return [(example.text, target.name, aspect, polarity) for example, target, aspect, polarity in dataset.questions()]


# ---- formats and shapes


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("my.csv", FLAT),
        ("MY.CSV", [*FLAT, row("", id="")]),
        ("my.tsv", FLAT),
        ("my.ndjson", NESTED),
        ("my.jsonl", [{**FLAT[0], "id": 7}, {**NESTED[0], "id": 7.0}, NESTED[1]]),
        ("my.parquet", NESTED),
        ("my.parquet", [{**one, "id": float(one["id"]), "aspect": one["aspect"] or None} for one in FLAT]),
    ],
)
@pytest.mark.filterwarnings("ignore::tabsa.errors.DataWarning")
def test_every_format_and_shape_gives_the_same_dataset(tmp_path, name, rows):
    path = write_rows(tmp_path / name, rows)
    dataset = load(str(path), "all")
    assert (dataset.examples, dataset.aspects) == (EXAMPLES, ("price", "safety"))
    assert (dataset.labels, dataset.name, dataset.split) == (("none", "positive", "negative"), str(path), "all")


def without_nothing(rows: list[dict]) -> list[dict]:
    return [{key: value for key, value in one.items() if value is not None} for one in rows]


@pytest.mark.parametrize(
    ("name", "rows"), [("my.csv", OPEN_FLAT), ("my.parquet", OPEN_NESTED), ("my.jsonl", without_nothing(OPEN_NESTED))]
)
def test_every_format_has_open_aspects(tmp_path, name, rows):
    dataset = load_rows(tmp_path, *rows, name=name)
    assert dataset.examples == OPEN_EXAMPLES
    assert dataset.aspects == ("leg room", "price", "punctuality", "seat", "crew")
    assert dataset.labels == ("none", "positive", "negative", "mixed")


def test_missing_cells_of_a_frame_are_empty_and_its_columns_may_have_other_names():
    frame = pd.DataFrame([row(LEEDS, "Leeds", "fun", "pos"), row("Dull.", None, "fun", "neg")])
    frame["id"] = [float("nan"), pd.NA]
    renamed = frame.rename(columns={"text": "Review"})
    assert [e.text for e in frame_dataset(renamed, Columns(text="Review")).examples] == [LEEDS, "Dull."]
    with pytest.warns(DataWarning, match="the frame has no column 'text': texts are taken from 'Review'"):
        assert [e.text for e in frame_dataset(renamed).examples] == [LEEDS, "Dull."]


def test_examples_are_taken_as_they_are():
    example = Example("1", "x", (IT,), (Opinion("", "price", "angry"),))
    data = frame_dataset([example])
    assert (data.examples, data.labels) == ((example,), ("none", "angry"))
    assert frame_dataset(data) is data


# ---- what rows mean


def test_rows_without_ids_are_one_example_where_the_text_is_the_same(tmp_path):
    rows = [row(LEEDS, "Leeds", "price", "positive"), row("Leeds, again", "Leeds"), row(LEEDS, "Leeds", "fun", "none")]
    dataset = load_rows(tmp_path, *rows)
    assert [(example.id, example.text) for example in dataset.examples] == [("1", LEEDS), ("2", "Leeds, again")]
    assert dataset.examples[0].opinions == (Opinion("Leeds", "price", "positive"),)
    assert dataset.aspects == ("price", "fun")


def test_labels_are_none_then_those_with_a_meaning_then_others_as_they_appear(tmp_path):
    polarities = ["+1", "mixed", "Neu", "negative", "none", " POSITIVE "]
    rows = [row(f"{LEEDS} {n}", "Leeds", "fun", polarity) for n, polarity in enumerate(polarities)]
    assert load_rows(tmp_path, *rows).labels == ("none", "positive", "negative", "neutral", "mixed", "+1")
    assert load_rows(tmp_path, rows[2]).labels == ("none", "neutral")


def test_repeated_and_conflicting_opinions_are_counted_and_the_later_taken(tmp_path):
    rows = [row(LEEDS, target, "fun", one) for target in ("Leeds", None) for one in ("pos", "positive", "negative")]
    with pytest.warns(DataWarning, match=r"my\.csv all: dropped 4 repeated or conflicting opinions$"):
        dataset = load(write_rows(tmp_path / "my.csv", rows), "all")
    assert dataset.examples[0].opinions == (Opinion("Leeds", "fun", "negative"), Opinion("", "fun", "negative"))


def test_targets_may_have_mentions_and_aliases(tmp_path):
    record = {
        "text": "The Smoke beats leeds.",
        "targets": [
            {"name": "London", "aliases": ["the smoke"]},
            {"name": "Leeds", "mentions": [[16, 21.0], [16, 21]]},
            {"name": "York", "mentions": []},
            None,
        ],
        "opinions": [{"target": "London", "aspect": "general", "polarity": "positive"}],
    }
    expected = (Target("London", (Span(0, 9),)), Target("Leeds", (Span(16, 21),)), Target("York", implied=True), IT)
    assert load_rows(tmp_path, record).examples[0].targets == expected
    inside = nested(
        "Camden Market is in Camden.", ["Camden", {"name": "it", "mentions": [[0, 13]]}], [], aspects="price"
    )
    (example,) = load_rows(tmp_path, inside).examples
    assert example.targets == (Target("Camden", (Span(20, 26),)), Target("it", (Span(0, 13),)))
    opinions = [(name, "price", "positive") for name in ("Jet2", None)]
    for listed in (None, ["Jet2"]):
        (example,) = load_rows(tmp_path, nested(JET2, listed, opinions)).examples
        assert example.targets == (Target("Jet2", (Span(0, 4),)), IT)
        assert example.polarity(UNNAMED, "price") == example.polarity("Jet2", "price") == "positive"
    for aliases in (["Stokey", "N16"], "Stokey; N16"):
        flat = row("Stokey is dear, like all of N16.", "Stoke Newington", "price", "neg", aliases=aliases)
        (target,) = load_rows(tmp_path, flat).examples[0].targets
        assert target.mentions == (Span(0, 6), Span(28, 31))


def test_a_target_that_the_text_does_not_name_is_implied_and_counted(tmp_path):
    path = write_rows(
        tmp_path / "my.csv", [row("Dear.", "Leeds", "price", "neg"), row("Cheap.", "York", "price", "pos")]
    )
    with pytest.warns(DataWarning) as caught:
        dataset = load(path, "all")
    assert [str(warning.message) for warning in caught] == [
        f"{path} all: targets that are not in the text by name are taken as implied (2, first 'Leeds' in {path} row 2)"
    ]
    assert [target for _, target in dataset.groups()] == [Target("Leeds", implied=True), Target("York", implied=True)]


# ---- columns


SURVEY = {"text": "Review", "target": "Product", "aspect": "Topic", "polarity": "Label", "id": "Key"}


def test_columns_may_have_other_names(tmp_path):
    rows = [{SURVEY[key]: value for key, value in one.items()} for one in FLAT]
    path = write_rows(tmp_path / "my.csv", rows)
    for columns in (SURVEY, Columns(**SURVEY)):
        assert load(path, "all", columns=columns).examples == EXAMPLES
    with pytest.raises(DataError, match="has columns of its own"):
        load("places", "test", columns=SURVEY)
    with pytest.warns(DataWarning, match="no column 'text': texts are taken from 'Review'"):
        assert load(path, "all", columns={**SURVEY, "text": "text"}).examples == EXAMPLES
    with pytest.raises(DataError, match=r"no columns 'aspect', 'polarity'; it has Review, ") as caught:
        load(path, "all", columns={key: value for key, value in SURVEY.items() if key not in ("aspect", "polarity")})
    assert caught.value.code == "no_column"
    with pytest.raises(
        DataError, match=r"no columns 'Text' \(did you mean 'text'\?\), .*; it has x0, x1.* and 18 more"
    ):
        load_rows(tmp_path, {**{f"x{n}": n for n in range(29)}, "text": LEEDS}, columns={"text": "Text"})


def test_without_a_column_of_targets_each_text_is_about_one_thing(tmp_path):
    rows = [{"text": f"Dear {n}.", "aspect": "price", "polarity": "neg"} for n in range(3)]
    with pytest.warns(DataWarning, match=r"has no column 'target' \(only text, aspect, polarity\)"):
        data = load(write_rows(tmp_path / "my.jsonl", rows), "all")
    assert questions(data) == [(f"Dear {n}.", "", "price", "negative") for n in range(3)]
    assert load_rows(tmp_path, *rows, columns={"target": ""}).examples == data.examples
    with pytest.raises(DataError, match="no column 'brand'"):
        load_rows(tmp_path, *rows, columns={"target": "brand"})


# ---- aspects


def test_chosen_aspects_are_taken_in_their_order(tmp_path):
    assert load_rows(tmp_path, *FLAT, aspects=("safety", "price")).aspects == ("safety", "price")
    dataset = load_rows(tmp_path, *FLAT, aspects=("safety",))
    assert [opinion.aspect for opinion in dataset.examples[0].opinions] == ["safety", "safety"]
    assert load_rows(tmp_path, *FLAT, aspects="all").aspects == ("price", "safety")
    assert load_rows(tmp_path, *FLAT, aspects=("price", "parking")).aspects == ("price", "parking")
    with pytest.raises(DataError, match="no aspect is asked for"):
        load_rows(tmp_path, *FLAT, aspects=[])
    with pytest.raises(DataError, match="holds no opinion, so its aspects are unknown"):
        load_rows(tmp_path, FLAT[-1], aspects=["all"])


def test_questions_are_the_aspects_asked_of_each_text(tmp_path):
    assert [one[1:] for one in questions(load_rows(tmp_path, *OPEN_NESTED[:2]))] == [
        ("", "leg room", "negative"),
        ("", "price", "none"),
        ("Jet2", "punctuality", "positive"),
        ("Jet2", "seat", "none"),
        ("Jet2", "crew", "none"),
        ("", "punctuality", "none"),
        ("", "seat", "mixed"),
        ("", "crew", "none"),
    ]
    dataset = load_rows(tmp_path, *OPEN_NESTED, aspects=["crew", "seat"])
    assert [example.aspects for example in dataset.examples] == [(), ("seat", "crew"), None]
    assert dataset.examples[1].opinions == (Opinion(UNNAMED, "seat", "mixed"),)


# ---- single questions: asked_only, left empty, withdrawn


BOTH = "Camden is dear, and Brixton has good bars."
SAFE = "Camden is safe."
DEAR = "Too dear for me."


def only(*values: str | None, **more: object) -> dict:
    return row(*values, asked_only=True, **more)


@pytest.mark.parametrize("name", ["my.jsonl", "my.csv"])
def test_nothing_but_the_pairs_was_asked(tmp_path, name):
    pairs = [
        (BOTH, "Camden", "price", "negative"),
        (BOTH, "Brixton", "nightlife", "positive"),
        (SAFE, "Camden", "price", "none"),
        (DEAR, "", "price", "negative"),
    ]
    dataset = load_rows(tmp_path, *(only(*pair, model="reader", row=7) for pair in pairs), name=name)
    assert questions(dataset) == pairs
    assert [example.id for example in dataset.examples] == ["1", "1", "2", "3"]
    opinions = [dict(zip(("target", "aspect", "polarity"), pair[1:], strict=True)) for pair in pairs[:2]]
    nested = load_rows(tmp_path, {"text": BOTH, "opinions": opinions, "asked_only": True})
    assert questions(nested) == pairs[:2]
    (example,) = load_rows(tmp_path, *(only(BOTH, name, "price", "none") for name in ("Camden", "Brixton"))).examples
    assert ([target.name for target in example.targets], example.aspects) == (["Camden", "Brixton"], ("price",))


def test_a_withdrawn_row_takes_back_earlier_ones(tmp_path):
    dataset = load_rows(
        tmp_path,
        only(BOTH, "Camden", "price", "positive"),
        only(BOTH, "Camden", "safety", "positive"),
        only(BOTH, "Brixton", "price", "positive"),
        only(SAFE, "Camden", "noise", "positive"),
        only(BOTH, "Camden", "price", None, withdrawn=True),
        only(BOTH, "Brixton", "price", None, withdrawn=True),
        only(SAFE, "Camden", "noise", None, withdrawn=True),
        only(BOTH, "Brixton", "price", "negative"),
    )
    assert questions(dataset) == [(BOTH, "Camden", "safety", "positive"), (BOTH, "Brixton", "price", "negative")]
    assert dataset.aspects == ("safety", "price")


@pytest.mark.parametrize("name", ["my.jsonl", "my.csv"])
def test_a_half_filled_table_is_what_was_filled_in(tmp_path, name):
    path = write_rows(
        tmp_path / name,
        [
            only(BOTH, "Camden", "price", "negative"),
            only(BOTH, "Camden", "price", ""),
            only(BOTH, "Brixton", "price", ""),
            only(SAFE, "Camden", "noise", ""),
            only(DEAR, "", "service", ""),
            row(DEAR, "", "price", "none"),
        ],
    )
    with pytest.warns(DataWarning, match=r"my\.\w+: rows without a polarity count as not asked \(4\)"):
        dataset = load(path, "all")
    assert questions(dataset) == [(BOTH, "Camden", "price", "negative"), (DEAR, UNNAMED, "price", "none")]
    empty = write_rows(tmp_path / name, [only(BOTH, "Camden", "price", ""), only(SAFE, "Camden", "price", "")])
    with pytest.raises(DataError, match=r"no text has a label yet; fill in the column 'polarity'"):
        load(empty, "all")


# ---- splits


def test_a_folder_has_one_file_a_split_and_the_same_aspects_and_labels_in_each(tmp_path):
    write_rows(tmp_path / "train.csv", FLAT)
    write_rows(tmp_path / "test.jsonl", [{**FLAT[0], "aspect": "parks", "polarity": "mixed"}])
    train, test = load(tmp_path, "train"), load(tmp_path, "test")
    assert train.examples == EXAMPLES
    assert [example.opinions for example in test.examples] == [(Opinion("Camden", "parks", "mixed"),)]
    assert train.aspects == test.aspects == ("price", "safety", "parks")
    assert train.labels == test.labels == ("none", "positive", "negative", "mixed")
    with pytest.raises(DataError, match=r"unknown split of .* 'dev'; expected one of train, test$"):
        load(tmp_path, "dev")


def test_a_single_file_is_held_apart_by_text(tmp_path):
    rows = [row(f"Leeds, part {n % 400}", "Leeds", "fun", "positive", id=str(n)) for n in range(500)]
    path = write_rows(tmp_path / "my.csv", rows)
    parts = {split: load(path, split).examples for split in ("all", "train", "dev", "test")}
    ids = {split: {example.id for example in part} for split, part in parts.items()}
    assert ids["train"] | ids["dev"] | ids["test"] == ids["all"]
    texts = [{example.text for example in parts[split]} for split in ("train", "dev", "test")]
    assert sum(map(len, texts)) == len(set.union(*texts)) == 400
    assert 0.75 < len(texts[0]) / 400 < 0.85
    assert min(len(texts[1]), len(texts[2])) > 25
    write_rows(path, rows[250:])
    assert {example.id for example in load(path, "dev").examples} <= ids["dev"]


def test_where_a_text_goes_never_changes():
    assert share("") == pytest.approx(int("e3b0c44298fc1c14", 16) / 2**64, abs=1e-15)
    assert share(CAMDEN) == pytest.approx(0.6959867225270527, abs=1e-15)


# ---- mistakes


def test_what_is_not_there_is_one_clear_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("my.csv", "./sentihood", "no/such/folder", "x" * 5000 + ".csv"):
        with pytest.raises(DataNotFoundError, match="no file or folder"):
            load(name, "all")
    with pytest.raises(DataError, match="unknown dataset"):
        load("x" * 5000, "all")
    with pytest.raises(DataNotFoundError, match=r"no split in the folder .*; expected train\.csv"):
        load(tmp_path, "all")
    (tmp_path / "my.txt").touch()
    with pytest.raises(DataError, match=r"cannot tell the format of my\.txt by its name; expected one of \.csv"):
        load("my.txt", "all")


GOOD = {"target": "Leeds", "aspect": "fun", "polarity": "positive"}


@pytest.mark.parametrize(
    ("records", "line"),
    [
        ([], "{path} holds no rows"),
        ([row(" ", "Leeds")], "line 1: 'text' is empty"),
        ([{"target": "a", "aspect": "b", "polarity": "c"}], "has no column 'text'"),
        ([row("\ud800")], "line 1: 'text' holds half a character"),
        ([row(LEEDS, "Leeds", "", "positive")], "line 1: polarity 'positive' has no 'aspect'"),
        ([row(LEEDS, id="1"), row("Hull", id="1")], "line 2: id '1' has another text than in {path} line 1"),
        ([row(LEEDS, aspects=["fun", 5])], "line 1: 'aspects' is 5; expected text"),
        ([{"text": LEEDS, "opinions": ["fun"]}], "line 1, opinion 1 is 'fun'; expected an object"),
        ([{"text": LEEDS, "opinions": [{"aspect": "fun"}]}], "line 1, opinion 1 has no 'target'; it has 'aspect'"),
        ([{"text": LEEDS, "targets": [5], "opinions": []}], "line 1, target 1 is 5; expected an object"),
        ([{"text": LEEDS, "targets": ["leeds"], "opinions": [GOOD]}], "line 1: 'Leeds' stands for two targets"),
        (
            [{"text": LEEDS, "targets": [{"name": "a", "mentions": [[0, 1.5]]}], "opinions": []}],
            "line 1, target 1: the mention [0, 1.5] is not two whole numbers",
        ),
        (
            [{"text": LEEDS, "targets": [{"name": "a", "mentions": [[0, 99]]}], "opinions": [{**GOOD, "target": "a"}]}],
            "line 1: mention 0-99 of 'a' is not in the text",
        ),
    ],
)
def test_a_mistake_is_one_clear_line(tmp_path, records, line):
    path = tmp_path / "my.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        load(path, "all")
    assert line.format(path=path) in str(caught.value)
    assert "\n" not in str(caught.value)


# ---- the documentation


@pytest.mark.parametrize(("kind", "suffix"), [("csv", ".csv"), ("json", ".jsonl")])
def test_the_blocks_in_the_documentation_load(tmp_path, kind, suffix):
    page = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
    blocks = re.findall(rf"```{kind}\n(.*?)```", page, flags=re.DOTALL)
    assert blocks
    for number, block in enumerate(blocks):
        path = tmp_path / f"block{number}{suffix}"
        path.write_text(block, encoding="utf-8")
        dataset = load(path, "all")
        assert [example.id for example in dataset.examples] == list(dict.fromkeys(row["id"] for row in text_rows(path)))
        assert any(example.opinions for example in dataset.examples)
        assert all(target.mentions or target.name == UNNAMED for _, target in dataset.groups())


def test_a_mention_that_overlaps_is_left_out_and_counted(tmp_path):
    targets = [{"name": "Camden", "mentions": [[0, 6]]}, {"name": "Camden is", "mentions": [[0, 9]]}]
    file = write_rows(tmp_path / "my.jsonl", [nested(CAMDEN, targets, [("Camden is", "price", "negative")])])
    with pytest.warns(DataWarning, match=r"the longest stays \(1 left out, first mention 0-6 of 'Camden'"):
        (example,) = load(str(file), "all").examples
    assert [target.mentions for target in example.targets] == [(), (Span(0, 9),)]


def test_a_text_without_targets_is_silent_where_texts_imply_theirs(tmp_path):
    rows = [nested(KNEES, [], [(None, "seat", "negative")]), nested(LEEDS, [], [])]
    assert load(str(write_rows(tmp_path / "my.jsonl", rows)), "all").examples[1].targets == (IT,)
    rows.append(nested(CAMDEN, ["Camden"], [("Camden", "price", "negative")]))
    assert load(str(write_rows(tmp_path / "my.jsonl", rows)), "all").examples[1].targets == ()
