"""`tabsa(text)` and `tabsa(text, targets)` in DuckDB's SQL, against the Predictor."""

import pytest

duckdb = pytest.importorskip("duckdb", reason="needs DuckDB: pip install 'tabsa[duckdb]'")
pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'tabsa[tables]'")

ROWS = [
    ("Camden has good food but Brixton is bad.", "Camden"),
    (None, "Camden"),
    ("Nobody knows.", None),
    ("Brixton: lovely food, awful price.", "Brixton"),
]
NAMES = ["Camden", "Brixton"]
ASPECTS = ["price", "food"]


@pytest.fixture
def connection():
    with duckdb.connect() as found:
        found.execute("CREATE TABLE reviews (number INTEGER, text VARCHAR, who VARCHAR)")
        found.executemany("INSERT INTO reviews VALUES (?, ?, ?)", [(n, *row) for n, row in enumerate(ROWS)])
        yield found


def register(connection, model, **options):
    from tabsa.plugins.duckdb import register

    register(connection, model, **{"aspects": ASPECTS} | options)


def told(prediction, every=False):
    return [
        {"target": o.target or None, "aspect": o.aspect, "polarity": o.polarity, "probability": o.confidence}
        for o in (prediction.opinions if every else prediction.found())
    ]


@pytest.mark.parametrize("every", [False, True])
def test_a_text_gives_a_list_of_opinions(connection, model, every):
    register(connection, model, targets=iter(NAMES), every=every)
    for _ in range(2):  # the second time, the names are still there
        found = connection.sql("SELECT tabsa(text) FROM reviews ORDER BY number").fetchall()
        expected = [None if text is None else told(model.predict(text, NAMES, ASPECTS), every) for text, _ in ROWS]
        assert [row for (row,) in found] == expected
    assert any(expected)


def test_a_row_names_its_own_targets(connection, model):
    register(connection, model, every=True)
    one = connection.sql("SELECT tabsa(text, who) FROM reviews ORDER BY number").fetchall()
    assert one[0][0] == told(model.predict(ROWS[0][0], ["Camden"], ASPECTS), every=True)
    assert [row for (row,) in one[1:3]] == [None, []]  # no text, and nobody to ask for
    many = connection.sql("SELECT tabsa(text, ['Brixton', NULL, 'Camden', 'Camden']) FROM reviews").fetchall()
    assert many[0][0] == told(model.predict(ROWS[0][0], ["Brixton", "Camden"], ASPECTS), every=True)
    with pytest.raises(duckdb.InvalidInputException, match="whose opinions"):
        connection.sql("SELECT tabsa(text) FROM reviews").fetchall()


def test_what_no_text_names(connection, model):
    register(connection, model, implied=True, every=True)
    for query in ("SELECT tabsa(text) FROM reviews", "SELECT tabsa(text, NULL::VARCHAR) FROM reviews"):
        found = connection.sql(query).fetchall()
        assert found[2][0] == told(model.predict(ROWS[2][0], None, ASPECTS, implied=True), every=True)
        assert {opinion["target"] for opinion in found[2][0]} == {None}


def test_many_rows_keep_their_order(connection, model):
    register(connection, model, targets=NAMES)
    connection.execute("CREATE TABLE many AS SELECT r.*, i FROM reviews r, range(1500) t(i)")
    distinct = connection.sql(
        "SELECT number, count(DISTINCT tabsa(text)::VARCHAR) FROM many GROUP BY number"
    ).fetchall()
    assert dict(distinct) == {0: 1, 1: 0, 2: 1, 3: 1}
    wrong = """
        SELECT count(*) FROM (SELECT m.*, tabsa(m.text) AS a FROM many m) JOIN reviews r USING (number)
        WHERE a <> tabsa(r.text)
    """
    assert connection.sql(wrong).fetchall() == [(0,)]


def test_registering_again_replaces(connection, model):
    register(connection, model, targets=NAMES, name="opinions")
    register(connection, model, targets=["Leeds"], every=True, name="opinions")
    (row,) = connection.sql("SELECT opinions('Leeds has bad food.')").fetchall()
    assert row[0] == told(model.predict("Leeds has bad food.", ["Leeds"], ASPECTS), every=True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("tabsa(3)", "a text is of type int; expected VARCHAR"),
        ("tabsa('x', 3)", "targets are of type int; expected VARCHAR, or a list"),
        ("tabsa('x', [3])", "targets are of type list; expected VARCHAR, or a list"),
        ("tabsa('x', 'y', 'z')", "given 3 arguments; expected a text"),
    ],
)
def test_what_is_wrong_is_said(connection, model, call, message):
    register(connection, model, targets=NAMES)
    with pytest.raises(duckdb.InvalidInputException, match=message):
        connection.sql(f"SELECT {call}").fetchall()
