"""Rows of a user's table put together to examples: texts, their targets, opinions, and what was asked of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from tabsa.datasets.records import Named, Record, mark
from tabsa.errors import DataError
from tabsa.schema import UNNAMED, Opinion, Span, Target
from tabsa.text import TargetFinder


@dataclass(slots=True, eq=False)
class Draft:
    """An example whose rows are still being gathered; `where` is its first row."""

    id: str
    text: str
    where: str
    targets: dict[str, Named] = field(default_factory=dict)
    opinions: list[Opinion] = field(default_factory=list)
    inventory: dict[str, None] | None = None  # aspects, each once; None where no row has a list of them
    tags: dict[str, str] = field(default_factory=dict)
    _judged: dict[str, str] = field(default_factory=dict)  # each aspect with the first row that has an opinion on it
    _whole: set[str] = field(default_factory=set)  # targets that the whole list of aspects was asked of
    _single: dict[str, dict[str, None]] = field(default_factory=dict)  # aspects asked one by one, by target
    _unasked: set[tuple[str, str]] = field(default_factory=set)

    def add(self, record: Record, where: str) -> None:
        """Take in what another row says."""
        self._unasked |= set(record.unasked)
        if record.withdrawn:
            self._withdraw(record.unasked)
            return
        named = record.targets
        if record.asked_only:
            for opinion in record.opinions:
                self._single.setdefault(opinion.target, {})[opinion.aspect] = None
            named = tuple(target for target in named if target.name in self._single)
        else:
            self._whole |= {target.name for target in named}
        self.opinions += record.opinions
        for opinion in record.opinions:
            self._judged.setdefault(opinion.aspect, where)
        for target in named:
            earlier = self.targets.get(target.name)
            self.targets[target.name] = _joined(earlier, target) if earlier else target
        if record.aspects is not None:
            self.inventory = (self.inventory or {}) | dict.fromkeys(record.aspects)
        self.tags = {**record.tags, **self.tags}

    def _withdraw(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Forget what was said of some pairs of a target and an aspect."""
        gone = set(pairs)
        self.opinions = [one for one in self.opinions if (one.target, one.aspect) not in gone]
        for target, aspect in gone:
            single = self._single.get(target, {})
            single.pop(aspect, None)
            if not single and target not in self._whole:
                self._single.pop(target, None)
                self.targets.pop(target, None)
        left = {opinion.aspect for opinion in self.opinions}
        self._judged = {aspect: where for aspect, where in self._judged.items() if aspect in left}

    @property
    def aspects(self) -> Iterable[str]:
        """The aspects asked of it; where there is no list of them, those it has opinions on."""
        if self.inventory is None:
            return self._judged
        return self.inventory | {aspect: None for single in self._single.values() for aspect in single}

    @property
    def asks(self) -> bool:
        """Whether anything is known of it: not where its rows wait for their polarities, or were withdrawn."""
        return bool(self.targets) or not self._unasked

    def asked(self, every: Mapping[str, object]) -> dict[tuple[str, ...] | None, list[str]]:
        """Its targets by the aspects, of `every` one there is, that were asked of them; None where all were."""
        judged = {(opinion.target, opinion.aspect) for opinion in self.opinions}
        found: dict[tuple[str, ...] | None, list[str]] = {}
        if not self.targets:
            return {None if self.inventory is None else tuple(name for name in self.inventory if name in every): []}
        for name in self.targets:
            single, whole = self._single.get(name, {}), name in self._whole
            without = {aspect for target, aspect in self._unasked - judged if target == name}
            if whole and self.inventory is None and not without:
                found.setdefault(None, []).append(name)
                continue
            listed = (every if self.inventory is None else self.inventory | single) if whole else single
            wanted = tuple(aspect for aspect in listed if aspect in every and aspect not in without)
            found.setdefault(wanted, []).append(name)
        return found

    def refuse_unasked(self) -> None:
        """Raise a DataError where there is an opinion on an aspect that was not asked."""
        for aspect, where in self._judged.items():
            if aspect not in self.aspects:
                raise DataError(
                    f"{where} has an opinion on {aspect!r}, but the aspects asked of its text are "
                    f"{', '.join(self.aspects)}; ask for it there, or take the opinion out"
                )

    def find_targets(self) -> tuple[Target, ...]:
        """The targets in the order they are named; mentions that were not given are found in the rest of the text."""
        mentions = {target.name: target.mentions or () for target in self.targets.values() if target.name != UNNAMED}
        if any(target.mentions is None for target in self.targets.values()):
            given = [span for spans in mentions.values() for span in spans]
            for target in self._finder().find(self.text):
                if self.targets[target.name].mentions is None:
                    mentions[target.name] = tuple(span for span in target.mentions if not _overlaps(span, given))
        found = {one.name: replace(one, implied=not one.mentions) for one in mark(self.text, mentions, self.where)}
        return tuple(found.get(name, Target(UNNAMED, implied=True)) for name in self.targets)

    def _finder(self) -> TargetFinder:
        names = tuple((target.name, target.aliases) for target in self.targets.values() if target.name != UNNAMED)
        try:
            return _finder_of(names)
        except DataError as e:
            raise DataError(f"{self.where}: {e}") from e


class Drafts:
    """A file's examples: rows with the same id are one; where there are no ids, rows with the same text."""

    def __init__(self) -> None:
        self._by_key: dict[str, Draft] = {}
        self._has_ids: bool | None = None

    def add(self, record: Record, where: str) -> Draft:
        """The example that the row belongs to; a DataError where it does not go with the rows before it."""
        if self._has_ids is None:
            self._has_ids = bool(record.id)
        if bool(record.id) != self._has_ids:
            raise DataError(f"{where}: some rows have an id and some have not; give every row an id, or none")
        draft = self._by_key.setdefault(record.id or record.text, Draft(record.id, record.text, where))
        if draft.text != record.text:
            raise DataError(
                f"{where}: id {record.id!r} has another text than in {draft.where}; give each text its own id"
            )
        draft.add(record, where)
        return draft

    def finished(self) -> list[Draft]:
        """The examples, once all rows are in; those without an id are numbered from 1."""
        for number, draft in enumerate(self._by_key.values(), start=1):
            draft.id = draft.id or str(number)
        return list(self._by_key.values())


def _joined(first: Named, second: Named) -> Named:
    mentions = first.mentions
    if second.mentions is not None:
        mentions = tuple(sorted({*(first.mentions or ()), *second.mentions}))
    return Named(first.name, mentions, tuple(dict.fromkeys(first.aliases + second.aliases)))


def _overlaps(span: Span, others: Iterable[Span]) -> bool:
    return any(span.start < other.end and other.start < span.end for other in others)


@lru_cache(maxsize=256)
def _finder_of(names: tuple[tuple[str, tuple[str, ...]], ...]) -> TargetFinder:
    return TargetFinder(dict(names))
