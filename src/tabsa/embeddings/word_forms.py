"""The forms a word may be looked up by: itself, then what it may be an inflection of. English, by rule.

A rule may give a form that is no word; it is only ever looked up, so what no table has does no harm. What does harm is
a form that is another word (`evening` is no form of `even`): the commonest of those are listed.
"""

from collections.abc import Iterator
from typing import Final

from tabsa.text.tokens import cache_short

_SHORTEST: Final = 3  # letters of a stem: `red` is no past of `r`
_OTHER_WORDS: Final = (
    "news always perhaps towards does this thus plus bus gas during evening morning wedding something nothing number "
    "corner dinner summer letter latter matter offer tower shower flower counter order paper super former interest "
    "forest honest modest harvest rather either sever hundred need indeed"
)
_NOT_INFLECTED: Final = frozenset(_OTHER_WORDS.split())
# A lemma and its forms, which no rule finds.
_IRREGULAR_FORMS: Final = """
    bad worse worst; begin began begun; break broke broken; bring brought; build built; buy bought; catch caught;
    child children; choose chose chosen; come came; do did done does; drink drank drunk; drive drove driven;
    eat ate eaten; fall fell fallen; far further farther furthest; feel felt; fight fought; find found; foot feet;
    forget forgot forgotten; get got gotten; give gave given; go went gone; good better best; grow grew grown;
    have had has; hear heard; keep kept; know knew known; leave left; lose lost; make made; man men; mean meant;
    meet met; mouse mice; pay paid; person people; see saw seen; sell sold; shoot shot; sleep slept;
    speak spoke spoken; spend spent; steal stole stolen; take took taken; teach taught; tell told; thief thieves;
    think thought; wear wore worn; win won; woman women; write wrote written; be am is are was were been being;
    not n't
"""
_LEMMAS: Final = {
    form: lemma for lemma, *inflected in (entry.split() for entry in _IRREGULAR_FORMS.split(";")) for form in inflected
}


@cache_short(entries=1 << 15, longest=40)
def forms(word: str) -> tuple[str, ...]:
    """Return the forms of a word in lower case, itself first: `cheaper` -> cheaper, cheape, cheap, ..."""
    found = [word]
    if "-" in word.strip("-"):
        found += [word.replace("-", "_"), word.replace("-", "")]
    if word in _LEMMAS:
        found.append(_LEMMAS[word])
    elif word.isalpha() and word not in _NOT_INFLECTED:
        found += [stem for stem in _stems(word) if len(stem) >= _SHORTEST]
    return tuple(dict.fromkeys(found))


def _stems(word: str) -> Iterator[str]:
    """Yield what the word may be a plural, a past, a participle or a comparative of, the likeliest first."""
    for ending, put in (("ies", "y"), ("ied", "y"), ("ier", "y"), ("iest", "y"), ("ves", "f"), ("ves", "fe")):
        if word.endswith(ending):
            yield word.removesuffix(ending) + put
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        yield word.removesuffix("s")
        if word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
            yield word.removesuffix("es")
    for ending in ("ed", "ing", "er", "est"):
        if word.endswith(ending):
            stem = word.removesuffix(ending)
            yield stem + "e"  # rated: rate, not rat
            if stem[-1:] == stem[-2:-1] and stem[-1:] not in "aeiou":
                yield stem[:-1]  # bigger: big
            yield stem
