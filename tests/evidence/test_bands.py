import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prediction_factory import made_up
from tabsa.evidence.bands import bands, lines
from tabsa.evidence.grid import Cell, opinion_grid
from tabsa.text import Token


def test_the_mean_is_over_chains_and_directions():
    prediction = made_up()
    (passage,) = prediction.passages
    mean = bands(prediction, passage)[0]
    assert (mean.kind, mean.label) == ("mean", "mean")
    for word in range(len(passage.tokens)):
        np.testing.assert_allclose(mean.values[word], passage.gates[:, word, :].mean(), rtol=1e-6)


def test_an_opinion_weighs_the_chains_as_its_answer_does():
    prediction = made_up()
    (passage,) = prediction.passages
    shown = {band.label: band for band in bands(prediction, passage) if band.kind == "opinion"}
    assert list(shown) == ["price: Camden", "safety: Camden", "general: Croydon"]
    share = prediction.attention[1, 0]  # Croydon is the second target, general the first aspect
    for word in range(len(passage.tokens)):
        expected = sum(share[chain] * passage.gates[:, word, chain].mean() for chain in range(3))
        np.testing.assert_allclose(shown["general: Croydon"].values[word], expected, rtol=1e-5)


def test_questions_with_the_same_shares_go_together():
    prediction = made_up()
    prediction.attention[0] = prediction.attention[0, 0]
    (passage,) = prediction.passages
    labels = [band.label for band in bands(prediction, passage) if band.kind == "opinion"]
    assert labels == ["price, safety: Camden", "general: Croydon"]


def test_each_direction_has_a_band_for_each_chain():
    prediction = made_up(text="Croydon is far.", tied=2)
    (passage,) = prediction.passages
    single = [band for band in bands(prediction, passage) if band.kind in ("forward", "backward")]
    assert [(band.kind, band.label) for band in single] == [
        (kind, label) for kind in ("forward", "backward") for label in ("Croydon", "target 2, unused", "free 1")
    ]
    np.testing.assert_array_equal(single[4].values, passage.gates[1, :, 1])


def test_other_models_have_other_bands():
    for prediction, kinds in ((made_up(directions=1), {"mean", "opinion", "only"}), (made_up(directions=0), set())):
        (passage,) = prediction.passages
        assert {band.kind for band in bands(prediction, passage)} == kinds
    free = made_up(tied=0)
    labels = [band.label for band in bands(free, free.passages[0]) if band.kind == "forward"]
    assert labels == ["chain 1", "chain 2", "chain 3"]


@given(st.lists(st.integers(1, 12), max_size=60), st.integers(10, 60))
def test_lines_hold_all_words_in_order_and_are_not_too_long(lengths, width):
    tokens = [Token("x" * length, 0, length) for length in lengths]
    found = lines(tokens, width)
    assert [token for line in found for token in tokens[line]] == tokens
    for line in found:
        size = sum(max(4, len(token.text) + 2) for token in tokens[line])
        assert 0 < size <= width or line.stop - line.start == 1


def test_lines_are_about_equally_long():
    tokens = [Token("word", 0, 4)] * 11
    assert [line.stop - line.start for line in lines(tokens, 60)] == [6, 5]  # not 10 and 1


def test_the_grid_has_the_aspects_that_have_opinions():
    grid = opinion_grid(made_up(targets=("Camden", "Croydon", "Oslo"), found={("Camden", "price"): "negative"}))
    assert (grid.aspects, grid.silent) == (("price",), ("general", "safety"))
    assert [(target, [cell.polarity for cell in cells]) for target, cells in grid.rows] == [
        ("Camden", ["negative"]),
        ("Croydon", ["none"]),
        ("Oslo", ["none"]),
    ]
    assert grid.unmentioned == {"Oslo"}


def test_a_polarity_of_ones_own_has_a_sign_and_colours():
    grid = opinion_grid(made_up(found={("Camden", "price"): "conflict"}))
    (cell,) = grid.rows[0][1]
    assert (cell.sign, cell.tone) == ("●", "other")


@pytest.mark.parametrize(
    ("polarity", "sign"), [("positive", "▲"), ("negative", "▼"), ("neutral", "○"), ("mixed", "◆"), ("none", "")]
)
def test_every_polarity_that_has_a_meaning_has_its_own_sign(polarity, sign):
    cell = Cell(polarity, 0.9)
    assert (cell.sign, cell.tone) == (sign, polarity)
