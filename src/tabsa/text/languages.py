"""A cheap look at whether a text is English: its script, and small words of English and of a few other languages."""

import re
from typing import Final

from tabsa.text.sentences import word_set

_LEAST: Final = 5  # words; fewer tell nothing
_FOREIGN: Final = 0.5  # share of the letters that are of other scripts than Latin
_WORDS: Final = re.compile(r"[^\W\d_]+")
_UNSPACED: Final = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # each like a word
_ENGLISH: Final = word_set(
    "the and of to is was are were it its this that these for with but not you your they my we our i he she his her "
    "have has had be been at by from as or if there what which who will would can could so very all out up no one do "
    "did just get got than then them when too more here how about after only good great don doesn didn isn wasn ve ll"
)
# Of German, Dutch, French, Spanish, Portuguese, Italian, Polish, Swedish and Danish, without those that open names.
_OTHERS: Final = word_set(
    "der das und ist nicht ein eine einen sehr auch mit für auf ich wir sie aber wurde hatte dem den des zu von bei "
    "die war hat noch nie wie het een niet ook maar zijn voor met wij ik heel erg te naar nog "
    "le les des est une et pas très nous vous mais pour dans avec sur je il elle qui du au aux était sont ce cette "
    "bon el los las una y pero muy es con para por que del lo está fue se nos mi su como más todo aunque bastante "
    "os um uma não muito mas com foi são dos das em ao eu "
    "di che è non per molto gli della sono ma nel era ci anche ho si e mai questo "
    "się nie jest i z ale bardzo był było jak są dla tym tej od ze czy tylko "
    "och att det som är inte på för jag mycket av har til af ikke jeg meget"
)


def looks_foreign(text: str) -> bool:
    """Tell whether a text of at least five words is probably in another language than English.

    It is where half of its letters are of another script, or where at least two words, and more than are English, are
    small words of other languages or have letters that English lacks. Where nothing tells, it is taken for English.
    """
    words = _WORDS.findall(text)
    letters = "".join(words)
    if len(words) + len(_UNSPACED.findall(letters)) < _LEAST:
        return False
    if sum(letter > "\u024f" and not "\u1e00" <= letter <= "\u1eff" for letter in letters) > _FOREIGN * len(letters):
        return True
    english = {word.casefold() for word in words} & _ENGLISH
    small = {word.casefold() for place, word in enumerate(words) if place == 0 or not word.istitle()}  # not Las Vegas
    other = sum(word in _OTHERS or not word.isascii() for word in small - _ENGLISH)
    return other >= 2 and other > len(english)
