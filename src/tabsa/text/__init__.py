"""Text: sentences, tokens, and where a text names its targets."""

from tabsa.text.sentences import split_sentences
from tabsa.text.targets import TargetFinder, all_targets, mark_spans, parse_target
from tabsa.text.tokens import Token, tokenise, tokenise_marked

__all__ = [
    "TargetFinder",
    "Token",
    "all_targets",
    "mark_spans",
    "parse_target",
    "split_sentences",
    "tokenise",
    "tokenise_marked",
]
