"""Every encoding, separator, line end and compression gives the rows that were written."""

import csv
import gzip
import io
import random
from itertools import product
from pathlib import Path

import pytest

from tabsa.errors import DataError, DataWarning
from tabsa.tables.rows import BadRow, Row, every_row, typed_rows

WESTERN = "Café déçu, naïve; œuvre – “très” l’été… 12,50 € Straße | Århus\tñandú"
WIDE = "Żółć łąka, кафе; 日本 – “ok” 😀 ½"
ENCODINGS = ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le", "utf-16-be", "big-mark"]
NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


def encoded(text: str, encoding: str) -> bytes:
    return b"\xfe\xff" + text.encode("utf-16-be") if encoding == "big-mark" else text.encode(encoding)


def cell(draw: random.Random, pool: str, ends: str) -> str:
    """Words, with now and then a quote, a separator or a line end inside."""
    words = [draw.choice(pool.split()) for _ in range(draw.randint(0, 9))]
    if words and draw.random() < 0.3:
        words.insert(draw.randrange(len(words)), draw.choice(['"', '""', ",", ";", ends, "3,5", " ", "a|b"]))
    return " ".join(words)


def written(rows: list[list[str]], separator: str, ends: str, quoting: int) -> str:
    stream = io.StringIO()
    csv.writer(stream, delimiter=separator, lineterminator=ends, quoting=quoting).writerows(rows)
    return stream.getvalue()


def read(path: Path) -> tuple[list[list[str]], str]:
    """The header and the rows, and what was said of the file."""
    notes: list[str] = []
    rows = list(every_row(path, on_guess=notes.append))
    assert all(isinstance(row, Row) for row in rows), [row for row in rows if isinstance(row, BadRow)][:3]
    assert len(notes) < 2
    header = list(rows[0].values)
    return [header, *([str(value) for value in row.values.values()] for row in rows)], "".join(notes)


@pytest.mark.parametrize(("encoding", "separator"), list(product(ENCODINGS, NAMES)))
def test_random_tables_come_back(tmp_path: Path, encoding: str, separator: str) -> None:
    draw = random.Random(f"{encoding} {separator}")
    for number in range(24):
        name = draw.choice(["my.csv", "my.tsv", "my.csv.gz", "my.tsv.gz"])
        pool = WESTERN if encoding == "cp1252" else WESTERN + " " + WIDE
        ends = draw.choice(["\n", "\r\n", "\r"])
        quoting = draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
        header = ["id", "text", *draw.sample(["stars", "Datum, Zeit", "größe", 'a "b"', "x y"], draw.randint(0, 3))]
        rows = [[str(n), *(cell(draw, pool, ends) for _ in header[1:])] for n in range(draw.choice([1, 3, 40, 900]))]
        rows[0][1] += " é"  # so that no file is ASCII
        said = draw.random() < 0.2
        content = (f"sep={separator}{ends}" if said else "") + written([header, *rows], separator, ends, quoting)
        path = tmp_path / f"{number}{name}"
        data = encoded(content, encoding)
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        back, note = read(path)
        assert back == [header, *rows]
        expected = "," if ".csv" in name else "\t"
        words = [{"cp1252": "Windows-1252", "utf-8": "", "utf-8-sig": ""}.get(encoding, "UTF-16")]
        words += [f"separated by {NAMES[separator]}"] if separator != expected else []
        told = ", ".join(filter(None, words))
        assert note == (f"{path}: read as {told}" if told else "")


def test_plain_files_are_read_as_ever(tmp_path: Path) -> None:
    """What Python's own reader makes of a comma-separated file in UTF-8, with other separators in it."""
    draw = random.Random(7)
    for number in range(200):
        header = ["id", draw.choice(["text", "my text", "a;b", "one|two"]), "c"][: draw.choice([1, 2, 3])]
        pool = draw.choice(["; ;; a;b c;d", "a\tb | c|d e", WESTERN + WIDE])
        rows = [[cell(draw, pool, "\n") or "x" for _ in header] for _ in range(draw.randint(1, 30))]
        path = tmp_path / f"{number}.csv"
        content = written([header, *rows], ",", "\r\n", csv.QUOTE_MINIMAL)
        path.write_bytes(content.encode())
        back, note = read(path)
        assert (back, note) == (list(csv.reader(io.StringIO(content, newline=""))), "")


def test_windows_letters_far_down_are_found(tmp_path: Path) -> None:
    path = tmp_path / "my.csv"
    plain = b"id,text\r\n" + b"1,plain text\r\n" * 200_000
    path.write_bytes(plain + "2,Café très bon – 5 €\r\n".encode("cp1252"))
    with pytest.warns(DataWarning, match=r"my\.csv: read as Windows-1252$"):
        *_, last = typed_rows(path)
    assert last.values == {"id": "2", "text": "Café très bon – 5 €"}
    assert last.number == 200_002


def test_a_few_bad_rows_do_not_make_a_file_windows(tmp_path: Path) -> None:
    path = tmp_path / "my.csv"
    rows = [f"{n},schön und größer\n".encode() for n in range(50)]
    path.write_bytes(b"id,text\n" + b"".join(rows) + "x,schön\n".encode("cp1252") + rows[0])
    found = list(every_row(path))
    assert [row.number for row in found if isinstance(row, BadRow)] == [52]
    assert "row 52 is not UTF-8 text" in str(next(row.error for row in found if isinstance(row, BadRow)))


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Кафе на углу дорогое, но уютное. Персонал вежлив.", "cp1251"),
        ("Το καφέ είναι ακριβό αλλά ωραίο.", "cp1253"),
        ("カフェは高いが居心地が良い。店員は親切です。", "shift_jis"),
        ("咖啡馆很贵, 但很舒适。服务员很友好。", "gbk"),
        ("Kawiarnia jest droga, ale miła i duża, obsługa też.", "cp1250"),
        ("Café déçu, l’été très cher à côté, élève à l’école été", "mac_roman"),
        ("Café déçu, très cher à côté, élève à l'école", "cp850"),
    ],
)
def test_other_old_encodings_are_refused_not_misread(tmp_path: Path, text: str, encoding: str) -> None:
    path = tmp_path / "my.csv"
    path.write_bytes(b"id,text\n" + b"".join(b'%d,"%s"\n' % (n, text.encode(encoding)) for n in range(40)))
    with pytest.raises(DataError, match=r"my\.csv is neither UTF-8 nor Windows-1252 text; save it as UTF-8$"):
        list(every_row(path))


@pytest.mark.parametrize(
    "text", ["Der Kaffee schmeckt großartig, Preis 3,50 €", "C’est cher… très “chic”", "¿Qué tal? ¡Muy bien, señor!"]
)
def test_western_texts_are_windows(tmp_path: Path, text: str) -> None:
    path = tmp_path / "my.csv"
    path.write_bytes("id;text\r\n1;{}\r\n".format(text.replace(";", " ")).encode("cp1252"))
    back, note = read(path)
    assert back == [["id", "text"], ["1", text]]
    assert note == f"{path}: read as Windows-1252, separated by semicolons"


def test_two_separators_that_fit_are_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "my.csv"
    path.write_text("id;text,more\n1;good, cheap\n2;bad, dear\n")
    with pytest.raises(DataError, match=r"may be separated by commas or by semicolons; say which .* 'sep=,'$"):
        list(every_row(path))
    path.write_text("sep=;\n" + path.read_text())
    back, _ = read(path)
    assert back[0] == ["id", "text,more"]
    assert [row.number for row in every_row(path, on_guess=lambda _: None)] == [2, 3]


def test_rows_of_another_length_do_not_change_the_separator(tmp_path: Path) -> None:
    path = tmp_path / "my.csv"
    path.write_text("id;text;stars\n" + "1;a, b, c;3,5\n" * 8 + "2;too;many;fields\n3;one\n")
    found = list(every_row(path, on_guess=lambda _: None))
    assert [row.number for row in found if isinstance(row, BadRow)] == [10, 11]
    assert found[0] == Row(f"{path} row 2", {"id": "1", "text": "a, b, c", "stars": "3,5"}, 2)


def test_a_broken_utf16_file_loses_only_its_bad_rows(tmp_path: Path) -> None:
    path = tmp_path / "my.csv"
    good = "id,text\n1,a\n".encode("utf-16-le")
    path.write_bytes(b"\xff\xfe" + good + b"2\0,\0\x3d\xd8\n\0" + "3,c\n".encode("utf-16-le") + b"4")
    found = list(every_row(path, on_guess=lambda _: None))
    assert [(row.number, isinstance(row, BadRow)) for row in found] == [(2, False), (3, True), (4, False), (5, True)]
    assert "row 3 is not UTF-16 text" in str(found[1].error)
    with pytest.raises(DataError, match="is not UTF-16 text"), pytest.warns(DataWarning):
        list(typed_rows(path))


def test_json_lines_in_utf16(tmp_path: Path) -> None:
    path = tmp_path / "my.jsonl"
    path.write_bytes('{"text": "Café"}\r\n{"text": "é"}\r\n'.encode("utf-16"))
    notes: list[str] = []
    rows = [row.values for row in every_row(path, on_guess=notes.append) if isinstance(row, Row)]
    assert rows == [{"text": "Café"}, {"text": "é"}]
    assert notes == [f"{path}: read as UTF-16"]


def test_what_breaks_off_is_read_up_to_there(tmp_path: Path) -> None:
    path = tmp_path / "my.csv.gz"
    draw = random.Random(3)
    content = "id;text\n" + "".join(f"{n};é{draw.random()}\n" for n in range(20_000))
    path.write_bytes(gzip.compress(content.encode("cp1252"))[:-5000])
    rows = every_row(path, on_guess=lambda _: None)
    assert next(rows).values["text"].startswith("é0.")
    with pytest.raises(DataError, match="is not a whole gzip file"):
        assert sum(1 for _ in rows) < 20_000


@pytest.mark.parametrize(
    ("start", "line"),
    [
        (b"PK\x03\x04rest", "is a zip archive or an Excel workbook, not text; give a workbook the name .xlsx"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is an old or an encrypted Excel workbook, not text; save it as CSV"),
        (b"%PDF-1.7", "is a PDF file, not a table; expected rows"),
        (b"PAR1", "is a Parquet file; give it the name .parquet"),
        (b"\x1f\x8b\x08", "is a packed file (gzip); give it a name that ends in .gz"),
        ("a,b".encode("utf-32"), "is UTF-32 text; save it as UTF-8"),
        (b"\0\x01\x02\x03", "is not text (it holds zero bytes); save it as CSV UTF-8"),
    ],
)
def test_what_is_no_text_has_its_name(tmp_path: Path, start: bytes, line: str) -> None:
    path = tmp_path / "my.csv"
    path.write_bytes(start)
    with pytest.raises(DataError) as caught:
        list(every_row(path))
    assert str(caught.value).startswith(f"{path} {line}")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("my.xls", "an old Excel workbook; save it as .xlsx, or save it as CSV UTF-8"),
        ("my.ods", "an OpenDocument table; save it as CSV UTF-8"),
        ("my.numbers", "a Numbers table; export it as CSV"),
        ("My.PDF", "a PDF file, not a table; expected rows, one text each"),
    ],
)
def test_names_of_other_kinds_of_file(tmp_path: Path, name: str, line: str) -> None:
    with pytest.raises(DataError) as caught:
        list(every_row(tmp_path / name))
    assert str(caught.value) == f"{tmp_path / name} is {line}"
