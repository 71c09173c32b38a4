"""The one reading of a text, for training, evaluation and use: text and targets -> passages -> slots -> arrays.

passages    what of a text is read at once, and for which targets
words       a passage as words with target tokens, and whose mention each stands near
labels      what is learnt from a passage, and the gold labels of a dataset
arrays      a dataset as arrays
answers     what a model says of passages, and of a text read in several
"""

from tabsa.encoding.answers import Engine, OpenedPassage, PassageAnswer, asked_columns, keep_strongest
from tabsa.encoding.arrays import PADDING, Encoded, combine, combine_readings, count_words, encode, readings
from tabsa.encoding.labels import NOT_ASKED, gold_labels
from tabsa.encoding.passages import Passage, passages
from tabsa.encoding.words import aspect_matrix, aspect_words, neighbours, passage_words, slots, target_word

__all__ = [
    "NOT_ASKED",
    "PADDING",
    "Encoded",
    "Engine",
    "OpenedPassage",
    "Passage",
    "PassageAnswer",
    "asked_columns",
    "aspect_matrix",
    "aspect_words",
    "combine",
    "combine_readings",
    "count_words",
    "encode",
    "gold_labels",
    "keep_strongest",
    "neighbours",
    "passage_words",
    "passages",
    "readings",
    "slots",
    "target_word",
]
