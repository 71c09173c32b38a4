"""Texts in other languages are told from English ones, and English ones hardly ever from English."""

import pytest

from tabsa.datasets.loading import load
from tabsa.text.languages import looks_foreign

FOREIGN = [
    "Die Bedienung war unfreundlich und langsam.",
    "Très bon téléphone, la batterie tient deux jours.",
    "No volveremos a este hotel, era muy ruidoso.",
    "Il telefono si scalda e la batteria dura poco.",
    "Obsługa była miła, ale jedzenie było zimne.",
    "Телефон быстро разряжается и сильно греется.",
    "这款手机的电池很耐用,屏幕也很好。",
]
ENGLISH = [
    "Sehr gut!",  # too short to tell
    "Great phone, fast delivery, excellent battery, lovely screen",  # no small word at all
    "We had crème brûlée at the Café de la Paix, and the maître d' was rude.",
    "Los Angeles, San Diego, Las Vegas: dear, dear, dear",
    "Москва is a lovely city with a bad airport",
]


@pytest.mark.parametrize("text", FOREIGN)
def test_another_language_is_seen(text: str) -> None:
    assert looks_foreign(text)


@pytest.mark.parametrize("text", ENGLISH)
def test_english_is_not(text: str) -> None:
    assert not looks_foreign(text)


def test_hardly_any_text_of_our_corpora_is_taken_for_another_language() -> None:
    texts = {one.text for name in ("places", "everyday") for one in load(name, "train").examples}
    assert sum(map(looks_foreign, texts)) < 0.001 * len(texts)
