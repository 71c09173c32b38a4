"""The pool: real texts with questions for the judge to answer, as soft labels for readers.

python -m judge.pool DATA pool.jsonl     # DATA: the data folder; docs/data.md says what lies there

Long reviews are cut into passages of whole sentences; what a review does not name is given a name in some; two texts
about two things become one in others. Aspects are people's own words: of the train parts of `everyday` and `real`, by
domain, of public sets, and nouns of the text itself; half of them share a word with the text. Texts near those of a dev
or test split are left out, and counted. A line is {"text", "source", "questions": [[target or null, aspect], ...]}.
"""

import argparse
import csv
import html
import json
import random
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tabsa.datasets.loading import load
from tabsa.schema import Dataset
from tabsa.text.sentences import split_sentences

CORPUS = Path(__file__).parents[1] / "everyday"
MOST_WORDS = 240
QUESTIONS = (5, 11)  # of a text, at least and at most
FACTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
DOMAINS: dict[str, list[str]] = FACTS["domains"]
_THIS = re.compile(rf"\b(this|the) ({'|'.join(FACTS['things'])})\b", re.I)
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][\w'&-]+(?: (?:of |the |de |&)?[A-Z][\w'&-]+){0,3}")
_NO_NAME = re.compile(
    r"^(I|I'\w+|The|A|An|And|But|It|This|That|My|He|She|They|We|You|OK|TV|DVD|CD|US|UK|USA|God|Oh|Mr|Mrs|Ms|English|American|British|French|"
    r"Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|January|February|March|April|May|June|July|August|September|October|"
    r"November|December|Christmas|NOT|VERY|ALL|NO|YES|SO|IS|AND|Im|Id|Ive)\b"
)
_STOP = frozenset(FACTS["stop"].split())


@dataclass
class Text:
    """A text of the pool before it is asked: its named targets, and what kind of aspects suit it."""

    text: str
    kind: str
    names: tuple[str, ...] = ()
    source: str = ""
    unnamed: bool = True  # about something beside its names


def content_words(words: str) -> set[str]:
    """Words that carry meaning, without a plain plural."""
    found = re.findall(r"[a-z']+", words.lower())
    return {
        word[:-1] if len(word) > 3 and word.endswith("s") else word
        for word in found
        if word not in _STOP and len(word) > 2
    }


class Aspects:
    """People's wordings of aspects: by domain, and by the words that occur in them."""

    def __init__(self, data: Path) -> None:
        self.by_domain: dict[str, Counter[str]] = defaultdict(Counter)
        rows = [json.loads(line) for line in (CORPUS / "train.jsonl").read_text("utf-8").splitlines()]
        real = [json.loads(line) for line in (CORPUS / "real.jsonl").read_text("utf-8").splitlines()]
        for row in rows + [row for row in real if row["split"] == "train"]:
            self.by_domain[row["domain"]].update(row["aspects"])
        public = {aspect for file in sorted((data / "open").glob("*-train.jsonl")) for aspect in _inventory(file)}
        public |= set(load("sentihood", "train", data_dir=data, aspects="all").aspects)
        self.every = [*dict.fromkeys([a for own in self.by_domain.values() for a in own] + sorted(public))]
        # Words that are the last of a wording name things: of a text they can be asked as they are.
        heads = Counter(
            a.lower().split()[-1] for a in self.every if not a.startswith(("how", "whether", "what", "who", "would"))
        )
        self.nouns = {word for word, count in heads.items() if count >= 3 and word not in _STOP and len(word) > 3}

    @cache  # noqa: B019
    def of_kind(self, kind: str) -> tuple[list[str], list[float], dict[str, list[str]]]:
        """Wordings that suit a kind of text, how often each is drawn, and those that hold each word."""
        uses = sum((self.by_domain[domain] for domain in DOMAINS.get(kind, (kind,))), Counter[str]())
        with_word: dict[str, list[str]] = defaultdict(list)
        for wording in uses:
            for word in content_words(wording):
                with_word[word].append(wording)
        return list(uses), [count**0.75 for count in uses.values()], with_word

    def draw(self, text: Text, rng: random.Random) -> str:
        """Draw an aspect to ask of a text: words of its own, wordings that share a word with it, or of its domain."""
        way = rng.random()
        words = re.findall(r"[a-z']+", text.text.lower())
        wordings, shares, with_word = self.of_kind(text.kind)
        if way < 0.22 and (nouns := [word for word in words if word in self.nouns]):
            return _wrapped(rng.choice(nouns), rng, 0.45)
        if way < 0.5 and (shared := [word for word in content_words(text.text) if word in with_word]):
            return rng.choice(with_word[rng.choice(sorted(shared))])
        if way < 0.82 and wordings:
            return rng.choices(wordings, shares)[0]
        return _wrapped(rng.choice(FACTS["general"]), rng, 0.15) if way < 0.94 else rng.choice(self.every)


def _wrapped(word: str, rng: random.Random, share: float) -> str:
    return rng.choice(FACTS["wrappers"]).format(word) if rng.random() < share else word


def _inventory(file: Path) -> set[str]:
    rows = (json.loads(line) for line in file.read_text("utf-8").splitlines())
    found = {opinion["aspect"] for row in rows for opinion in row["opinions"]}
    return found if len(found) > 1 else set()


def clean(text: str) -> str:
    """Text without markup, spaces made one."""
    return " ".join(html.unescape(re.sub(r"<br\s*/?>", " ", text)).replace("\\", " ").split())


def passages(text: str, rng: random.Random, *, sentences: tuple[int, int], most: int) -> Iterator[str]:
    """Cut a text into passages of whole sentences, numbers of which are drawn; `most` of them, in any place."""
    spans = list(split_sentences(text))
    found, start = [], 0
    while start < len(spans):
        count = rng.randint(*sentences)
        found.append(text[spans[start].start : spans[min(start + count, len(spans)) - 1].end])
        start += count
    rng.shuffle(found)
    yield from (one for one in found[:most] if 4 <= len(one.split()) <= MOST_WORDS)


def names_in(text: str) -> list[str]:
    """Names that stand inside sentences, the most frequent first."""
    found = Counter(name for name in _NAME.findall(text) if not _NO_NAME.match(name) and len(name) > 2)
    return [name for name, _ in found.most_common()]


def unnamed(data: Path, rng: random.Random, share: float) -> Iterator[Text]:
    """Reviews and news, most of which name nothing as their target."""
    with (data / "real" / "rented.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if rng.random() < 0.27 * share:
                for text in passages(clean(row["review_text"]), rng, sentences=(1, 7), most=1):
                    yield Text(text, "clothes", source="rented")
    with (data / "real" / "a1_IMDB_Dataset.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            sizes = rng.choice([(1, 3), (2, 6), (5, 12)])
            if rng.random() < share:
                for text in passages(clean(row["review"]), rng, sentences=sizes, most=rng.choice((1, 2, 2))):
                    yield Text(text, "films", source="imdb")
    for name, kind in (("amazon", "products"), ("films", "films"), ("news", "news")):
        for line in (data / "open" / f"pool-{name}.jsonl").read_text("utf-8").splitlines():
            for text in passages(
                clean(json.loads(line)["text"]), rng, sentences=(1, 9), most=3 if name == "amazon" else 1
            ):
                yield Text(text, kind, source=f"pool-{name}")
    for prefix, kind in FACTS["open"].items():
        for line in (data / "open" / f"{prefix}-train.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            names = tuple(target["name"] for target in row["targets"][:3] if rng.random() < 0.8)
            if 4 <= len(row["text"].split()) <= MOST_WORDS:
                yield Text(
                    clean(row["text"]), kind, names if all(name in clean(row["text"]) for name in names) else (), prefix
                )


def labelled(data: Path) -> Iterator[Text]:
    """Training texts of labelled corpora, asked anew; Sentihood's places have names of places."""
    places = (
        "Camden",
        "Brixton",
        "Hackney",
        "Ealing",
        "Croydon",
        "Peckham",
        "Richmond",
        "Stratford",
        "Clapham",
        "Angel",
        "Hull",
        "Leeds",
    )
    for name in ("everyday", "real"):
        for example in load(name, "train", data_dir=data).examples:
            names = tuple(target.name for target in example.targets if target.name)
            yield Text(example.text, example.tags.get("domain", ""), names, name)
    for number, example in enumerate(load("sentihood", "train", data_dir=data).examples):
        text, names = example.text, []
        for slot, target in enumerate(example.targets):
            names.append(places[(number * 5 + 3 * slot) % len(places)])
            text = re.sub(target.name, names[-1], text, flags=re.I)
        yield Text(text, "places", tuple(names), "sentihood")
    for example in load("semeval2014", "train", data_dir=data).examples:
        yield Text(example.text, "restaurants", (), "semeval2014")


def benchmark(data: Path, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Sentihood's training sentences with words left out, and two of them as one, asked all its aspects."""
    dataset = load("sentihood", "train", data_dir=data, aspects="all")
    single = [example.text for example in dataset.examples if len(example.targets) == 1]
    texts = [(example.text, [target.name for target in example.targets]) for example in dataset.examples]
    for one in rng.sample(single, len(single)):
        other = re.sub("location1", "LOCATION2", rng.choice(single), flags=re.I)
        texts.append((f"{one} {other}" if rng.random() < 0.5 else f"{other} {one}", ["LOCATION1", "LOCATION2"]))
    for _ in range(2):
        for example in dataset.examples:
            words = [word for word in example.text.split() if "location" in word.lower() or rng.random() > 0.12]
            texts.append((" ".join(words), [target.name for target in example.targets]))
    for text, names in texts:
        asked = [[name, aspect] for name in names for aspect in dataset.aspects]
        yield {"text": text, "source": "sentihood, its own aspects", "style": "About London", "questions": asked}


class Composer:
    """Puts names into texts and joins two texts about two things."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        rows = [json.loads(line) for line in (CORPUS / "train.jsonl").read_text("utf-8").splitlines()]
        self.names: dict[str, list[str]] = defaultdict(list)
        for row in rows:
            listed = [target["name"] if isinstance(target, dict) else target for target in row["targets"]]
            self.names[row["domain"]] += [name for name in listed if name]

    def name(self, kind: str) -> str:
        """Draw a name of a thing of some kind."""
        domains = [domain for domain in DOMAINS.get(kind, (kind,)) if self.names.get(domain)] or list(self.names)
        return self.rng.choice(self.names[self.rng.choice(domains)])

    def named(self, text: Text) -> Text:
        """Give the thing that a text is about a name."""
        name = self.name(text.kind)
        if (found := _THIS.search(text.text)) and self.rng.random() < 0.6:
            shown = name if self.rng.random() < 0.7 else f"{found[1]} {name}"
            content = text.text[: found.start()] + shown + text.text[found.end() :]
        else:
            content = self.rng.choice(FACTS["named"]).format(name=name, text=text.text)
        return Text(content, text.kind, (name,), text.source, unnamed=False)

    def joined(self, one: Text, other: Text) -> Text:
        """Make one text of two about two things."""
        a, b = self.name(one.kind), self.name(other.kind)
        if a == b:
            return self.named(one)
        content = self.rng.choice(FACTS["joined"]).format(a=a, b=b, one=one.text, other=other.text)
        return Text(content, one.kind, (a, b), f"{one.source}+", unnamed=False)


def composed(texts: Sequence[Text], rng: random.Random) -> Iterator[Text]:
    """Yield texts, some with names put in, some joined with another of their kind."""
    composer = Composer(rng)
    by_kind: dict[str, list[Text]] = defaultdict(list)
    for text in texts:
        by_kind[text.kind].append(text)
    for text in texts:
        way, short = rng.random(), len(text.text.split()) <= 70
        if text.names:
            other = rng.choice(by_kind[text.kind])
            if (
                way < 0.12
                and short
                and other.names
                and not set(other.names) & set(text.names)
                and len(other.text.split()) <= 70
            ):
                yield Text(f"{text.text} {other.text}", text.kind, (*text.names, *other.names)[:3], f"{text.source}+")
            else:
                yield text
        elif way < 0.3:
            yield text
        elif way < 0.52 and (found := names_in(text.text)):
            yield Text(text.text, text.kind, tuple(found[: rng.randint(1, 2)]), text.source)
        elif way < 0.78 or not short:
            yield composer.named(text)
        else:
            other = rng.choice(by_kind[text.kind])
            yield (
                composer.joined(text, other)
                if len(other.text.split()) <= 70 and not other.names
                else composer.named(text)
            )


def grams(text: str) -> set[tuple[str, ...]]:
    """Runs of five words."""
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[i : i + 5]) for i in range(len(words) - 4)}


class HeldOut:
    """Texts that are judged by: what shares half of the runs of one of them is left out."""

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.having: dict[tuple[str, ...], list[int]] = defaultdict(list)
        self.counts: list[int] = []
        for dataset in datasets:
            for example in dataset.examples:
                own = grams(example.text)
                for gram in own:
                    self.having[gram].append(len(self.counts))
                self.counts.append(len(own))

    def near(self, text: str) -> bool:
        """Whether a text is nearly one of them, or holds half of one."""
        own = grams(text)
        shared = Counter(number for gram in own for number in self.having.get(gram, ()))
        return any(count > 0.5 * min(len(own), self.counts[number]) for number, count in shared.items())


def questions(text: Text, aspects: Aspects, rng: random.Random) -> list[tuple[str | None, str]]:
    """Draw the questions of a text: aspects of each target, some of what it does not name."""
    targets: list[str | None] = [*text.names] or [None]
    if text.names and text.unnamed and rng.random() < 0.4:
        targets.append(None)
    count = rng.randint(*QUESTIONS)
    found: dict[tuple[str | None, str], None] = {}
    while len(found) < count:
        aspect = aspects.draw(text, rng)
        # An aspect is mostly asked of every target: what is judged of one only is what is hard.
        for target in targets if rng.random() < 0.6 else [rng.choice(targets)]:
            found[target, aspect] = None
    return list(found)[: QUESTIONS[1] + 1]


def main() -> None:
    """Build the pool."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--share", type=float, default=1.0, help="of the two largest sources")
    parser.add_argument("--again", type=int, default=3, help="how often labelled texts are asked anew")
    options = parser.parse_args()
    rng = random.Random(1)
    aspects = Aspects(options.data)
    held = HeldOut(load(name, split, data_dir=options.data) for name, split in FACTS["held_out"])
    own = list(labelled(options.data))
    texts = [*unnamed(options.data, rng, options.share), *(text for _ in range(options.again) for text in own)]
    near, counts, asked = 0, Counter[str](), 0
    with options.out.open("w", encoding="utf-8") as stream:
        for text in composed(texts, rng):
            if held.near(text.text):
                near += 1
                continue
            drawn = questions(text, aspects, rng)
            counts[text.source] += 1
            asked += len(drawn)
            row = {"text": text.text, "source": text.source, "questions": drawn}
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
        for row in benchmark(options.data, rng):
            counts[row["source"]] += 1
            asked += len(row["questions"])
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(f"{sum(counts.values())} texts, {asked} questions; {near} near a held-out text were left out")
    print(dict(counts.most_common()))


if __name__ == "__main__":
    main()
