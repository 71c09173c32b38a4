"""Plain data: texts, targets, opinions, datasets. Imports nothing of ours.

A *text* mentions *targets* (a place, a brand, a person); an *opinion* gives a target's *aspect* a *polarity*.
A target-aspect pair that no opinion names has the polarity `none`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

# A polarity is a plain string, because a user's data may bring its own; these are the ones that have a meaning here.
Polarity: TypeAlias = str
NONE: Final = "none"
POSITIVE: Final = "positive"
NEGATIVE: Final = "negative"
NEUTRAL: Final = "neutral"  # spoken of, and not judged
MIXED: Final = "mixed"  # praised and blamed, and neither wins
UNSURE: Final = 0.55  # an answer of a lower probability is shown and counted as unsure
UNNAMED: Final = ""  # the name of the target that a text is about and does not name; null in JSON


class Span(NamedTuple):
    """Characters `start` to `end` of a text, as in `text[start:end]`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Target:
    """A thing that may be judged: a name, and where the text mentions it.

    A text says nothing of a target that it does not mention, unless that is `implied`: what the text is about and does
    not name.
    """

    name: str
    mentions: tuple[Span, ...] = ()
    implied: bool = False


@dataclass(frozen=True, slots=True)
class Opinion:
    """One judgement: `target`'s `aspect` is seen as `polarity`."""

    target: str
    aspect: str
    polarity: Polarity


@dataclass(frozen=True, slots=True)
class Example:
    """A text with its targets and the opinions it expresses; every pair without an opinion is `none`.

    Where `aspects` are given, the text was labelled on these alone: nothing is known of others.
    """

    id: str
    text: str
    targets: tuple[Target, ...]
    opinions: tuple[Opinion, ...] = ()
    aspects: tuple[str, ...] | None = None
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)  # what else is known of it, such as its domain

    def polarity(self, target: str, aspect: str) -> Polarity:
        """Return the gold polarity of one target-aspect pair."""
        found = (one.polarity for one in self.opinions if (one.target, one.aspect) == (target, aspect))
        return next(found, NONE)


@dataclass(frozen=True, slots=True)
class Dataset:
    """One split of a dataset: examples, and the aspects and labels they are judged by.

    `labels` is the order of every probability vector: `none` first, then the polarities.
    """

    name: str
    split: str
    aspects: tuple[str, ...]
    labels: tuple[Polarity, ...]
    examples: Sequence[Example] = field(repr=False)

    @property
    def polarities(self) -> tuple[Polarity, ...]:
        """The labels other than `none`."""
        return self.labels[1:]

    def questions(self) -> Iterator[tuple[Example, Target, str, Polarity]]:
        """Yield every target and aspect of every text, with the gold polarity, in order."""
        for example, target in self.groups():
            for aspect in self.aspects if example.aspects is None else example.aspects:
                yield example, target, aspect, example.polarity(target.name, aspect)

    def groups(self) -> Iterator[tuple[Example, Target]]:
        """Return every (example, target), in order: a group has one row for each aspect."""
        return ((example, target) for example in self.examples for target in example.targets)
