"""Inputs that nobody should give, made by hypothesis: each is answered, or refused in one line of ours.

`corpus/` has what was once found: each file says what it is, and is replayed by every run of the tests.
"""

import base64
import csv
import io
import json
import math
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("fastapi", reason="needs the service: pip install 'tabsa[serve]'")
pytest.importorskip("pyarrow", reason="needs Parquet: pip install 'tabsa[tables]'")
pytest.importorskip("torch", reason="needs PyTorch: pip install 'tabsa[train]'")

from fastapi.testclient import TestClient

from command_line import tabsa
from reader_folder import small_reader, write_reader
from tabsa.datasets.checking import check
from tabsa.datasets.loading import load as load_data
from tabsa.errors import TabsaError
from tabsa.inference.predictor import Predictor, load
from tabsa.pages.counting import summarise
from tabsa.schema import Span, Target
from tabsa.scoring.labelling import suggest_table
from tabsa.scoring.request import Layout, Request
from tabsa.scoring.single import score_table
from tabsa.serve.app import create_app
from tabsa.serve.settings import Settings
from tabsa.text.sentences import split_sentences
from tabsa.text.suggestions import suggest, suggest_common

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.json"))
FUZZED = settings(max_examples=300, derandomize=True, suppress_health_check=list(HealthCheck), print_blob=False)
INSIDES = ("Traceback", "pydantic", "site-packages", "<class '", " object at 0x")
NAMES = ("Camden", "Brixton", "Hull", "Zürich", "St. John's", "R&D", "O2", "北京", "서울", "C++", "a")
MODELS = ("tiny", "tiny-reader")

words = st.sampled_from(
    [*NAMES, "is", "not", "dear", "<target1>", "entity1", "[SEP]", "##s", "don't", "1,000.50", "U.S.", "\n", ". "]
)
# Any character there is, half ones too, beside alphabets that have met trouble before.
odd = st.text(st.characters(), max_size=12) | st.text(
    st.sampled_from("\ud800\udfff\x00\x1b\u202e\u200d\ufeff\u0301😀İﬃ北很贵กำ서²½"), max_size=12
)
texts = st.lists(words | odd, max_size=30).map(" ".join)
names = st.lists(st.sampled_from(NAMES) | odd, max_size=4)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | odd | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd, inner, max_size=3),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("models")
    shutil.copytree(tiny_model, place / "tiny")
    write_reader(place / "tiny-reader", small_reader())
    return {name: place / name for name in MODELS}


@pytest.fixture(scope="module")
def models(folders: dict[str, Path]) -> dict[str, Predictor]:
    return {name: load(path, threads=1) for name, path in folders.items()}


def one_line(message: str) -> None:
    assert message.strip()
    assert "\n" not in message
    assert not any(word in message for word in INSIDES), message


def answered_or_refused(act: Any) -> Any:
    """Do it: an error of ours is one line, any other is a finding."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return act()
        except TabsaError as error:
            one_line(str(error))
            return None


def edited(content: bytes, draw: Any) -> bytes:
    """Damage bytes in up to three places, or leave them alone."""
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, max(0, len(content) - 1)))
        what = draw(st.sampled_from([b"", b"\x00", b"\xff\xfe", b'"', b"\n", b",", b"{", b"\xed\xa0\x80", b"9" * 50]))
        content = content[:place] + what + content[place + draw(st.integers(0, 3)) :]
    return content


# ---- texts


def check_prediction(model: Predictor, text: str, targets: Any, **options: Any) -> None:
    found = answered_or_refused(lambda: model.predict(text, targets, **options))
    if found is None:
        return
    assert found.text == text
    for opinion in found.opinions:
        shares = opinion.probabilities
        assert all(math.isfinite(share) and -1e-6 <= share <= 1 + 1e-6 for share in shares.values())
        assert sum(shares.values()) == pytest.approx(1, abs=1e-3)
        assert shares[opinion.polarity] == max(shares.values())
    json.dumps(found.to_dict(), allow_nan=False)
    (again,) = model.predict_many([text], targets, **options)
    for one, other in zip(found.opinions, again.opinions, strict=True):
        assert one.probabilities == pytest.approx(other.probabilities, abs=2e-3)
    if found.opinions:
        first = found.opinions[0]
        for word in found.evidence(first.target, first.aspect).words:
            assert 0 <= word.span.start < word.span.end <= len(text)
            assert math.isfinite(word.weight)


@pytest.mark.fuzz
@FUZZED
@given(data=st.data())
def test_texts(models, data):
    text = data.draw(texts)
    spans = split_sentences(text)
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert all(text[span.start : span.end] == name for name, found in suggest(text) for span in found)
    suggest_common([text, "Camden is dear."])
    model = models[data.draw(st.sampled_from(MODELS))]
    aspects = data.draw(st.none() | st.lists(st.sampled_from(["price", "safety"]) | odd, max_size=3))
    check_prediction(model, text, data.draw(names), aspects=aspects, implied=data.draw(st.none() | st.booleans()))


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        pytest.param("Camden is dear.", [Target("Camden", (Span(18, 50),))], id="marked behind the end"),
        pytest.param("Camden is dear.", [Target("Camden", (Span(9, 5),))], id="marked from end to start"),
        pytest.param("Camden Hull Brixton " * 500, ["Camden", "Hull", "Brixton"], id="names throughout"),
        pytest.param("北京很贵但是漂" * 1427, ["北京"], id="no spaces"),
        pytest.param("a" * 1_000_000, ["Camden"], id="one word of a megabyte"),
    ],
)
def test_texts_once_found(models, text, targets):
    found = answered_or_refused(lambda: models["tiny-reader"].predict(text, targets))
    marked = isinstance(targets[0], Target)
    assert (found is None) == marked, "mentions outside the text are refused, long texts read"


# ---- tables


def use_table(source: Path, way: str, model: Predictor, **request: Any) -> None:
    """Hand a table to what reads such tables."""
    out = source.with_name("out.jsonl")
    if isinstance(request.get("targets"), list):
        request["targets"] = dict.fromkeys(request["targets"], ())
    if way == "check":
        check(source)
    elif way == "load":
        load_data(source, "all")
    elif way == "report":
        summary = summarise(source)
        json.dumps(summary.to_dict(), allow_nan=False)
        summary.write_html(source.with_name("report.html"))
        summary.write_csv(source.with_name("numbers.csv"))
    elif way == "suggest":
        suggest_table(source, out, model, Request(**request), 2, overwrite=True)
    else:
        counts = score_table(source, out, model, Request(**request), overwrite=True).counts
        assert counts.scored + counts.rejected == counts.rows
        for line in out.read_text("utf-8").split("\n")[:-1]:
            json.loads(line, parse_constant=pytest.fail)


USUAL = {
    "text": texts, "target": st.sampled_from(["Camden", "Hull", "", None]), "aspect": st.sampled_from(["price", ""]),
    "polarity": st.sampled_from(["positive", "none", "Positive", "", "nan"]), "id": st.integers() | odd,
    "confidence": st.sampled_from([0.9, "0.5", "nan", ""]), "date": st.sampled_from(["2026-01-31", "1/2/26", "", "0"]),
}  # fmt: skip


@pytest.mark.fuzz
@FUZZED
@given(data=st.data())
def test_tables(models, tmp_path_factory, data):
    columns = data.draw(st.lists(st.sampled_from(list(USUAL)) | odd, min_size=1, max_size=6))
    rows = [[data.draw(USUAL.get(n, values) | values) for n in columns] for _ in range(data.draw(st.integers(0, 5)))]
    name = data.draw(st.sampled_from(["table.csv", "table.tsv", "table.jsonl"]))
    stream = io.StringIO()
    if name.endswith(".jsonl"):
        stream.writelines(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows)
    else:
        csv.writer(stream, delimiter="\t" if "tsv" in name else ",").writerows([columns, *rows])
    encoding = data.draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
    source = tmp_path_factory.mktemp("table") / name
    source.write_bytes(edited(stream.getvalue().encode(encoding, "surrogatepass"), data.draw))
    way = data.draw(st.sampled_from(["check", "load", "report", "suggest", "score"]))
    request = {"targets": data.draw(names) or ["Camden"], "layout": data.draw(st.sampled_from(list(Layout)))}
    model = models[data.draw(st.sampled_from(MODELS))]
    answered_or_refused(lambda: use_table(source, way, model, **request if way in ("suggest", "score") else {}))


@pytest.mark.parametrize("path", [p for p in CORPUS if p.name.startswith("table")], ids=lambda path: path.stem)
def test_tables_once_found(path, models, tmp_path):
    case = json.loads(path.read_text("utf-8"))
    source = tmp_path / case["name"]
    content = base64.b64decode(case["base64"]) if "base64" in case else case["text"].encode("utf-8", "surrogatepass")
    source.write_bytes(content)
    way = case["way"].removeprefix("cli-")
    if way == case["way"]:
        answered_or_refused(lambda: use_table(source, way, models["tiny"], **case.get("request", {})))
        return
    arguments = {"check": ["data", "check", source], "report": ["report", source, "--out", tmp_path / "report.html"]}
    code, out, err = tabsa(*arguments[way])
    assert code in (0, 1)
    assert "\x1b" not in out + err
    for line in err.splitlines():
        one_line(line)


# ---- requests


@pytest.fixture(scope="module")
def client(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Any:
    corrections = str(tmp_path_factory.mktemp("corrections") / "corrections.jsonl")
    app = create_app(Settings(model=str(folders["tiny"]), threads=1, corrections=corrections))
    with TestClient(app, "http://localhost", raise_server_exceptions=False) as running:
        yield running


def check_response(response: Any) -> None:
    assert 200 <= response.status_code < 500, response.text[:300]
    if response.headers.get("content-type", "").startswith("application/json") and response.content:
        content = json.loads(response.content, parse_constant=pytest.fail)
        if response.status_code >= 400:
            one_line(content["error"]["message"])
            assert {"code", "message", "field"} <= set(content["error"])


@pytest.mark.fuzz
@FUZZED
@given(data=st.data())
def test_uploads(client, data):
    rows = [
        ["id", "text", "more"],
        *([n, data.draw(texts), data.draw(odd)] for n in range(data.draw(st.integers(0, 4)))),
    ]
    stream = io.StringIO()
    csv.writer(stream).writerows(rows)
    content = edited(stream.getvalue().encode("utf-8", "replace"), data.draw)
    name = data.draw(st.sampled_from(["t.csv", "t.jsonl", "t.xlsx", "../../etc/x.csv", "t.pdf", "a" * 300]))
    form = {"targets": "Camden"} | data.draw(
        st.dictionaries(
            st.sampled_from(["layout", "format", "target_column", "implied", "text_column", "events"]),
            st.sampled_from(["long", "jsonl", "=x", "more", "true", "nobody", "price", ""]), max_size=3,
        )
    )  # fmt: skip
    path = data.draw(st.sampled_from(["/v1/columns", "/v1/score", "/v1/report"]))
    check_response(client.post(path, data=form, files={"file": (name, content)}))


@pytest.mark.parametrize("path", [p for p in CORPUS if p.name.startswith("request")], ids=lambda path: path.stem)
def test_requests_once_found(path, client):
    case = json.loads(path.read_text("utf-8"))
    body = case["body"].encode("latin-1")
    response = client.request(case["method"], case["path"], content=body, headers=case["headers"])
    check_response(response)
    assert response.status_code == 200 if case["method"] == "HEAD" else response.status_code >= 400
