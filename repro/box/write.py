"""Writes repro/box/written.jsonl: sentences made from patterns, for what Sentihood has too little of.

    python repro/box/write.py

Sentihood has few negations and hardly a sentence that says different things of two places. The model in the box learns
from these sentences as well (data.more in places.toml). Whatever measures it is written by hand, elsewhere:
sentences.jsonl and held-out.jsonl share no sentence with these.
"""

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PLACES = [
    "Acton",
    "Archway",
    "Barking",
    "Battersea",
    "Bermondsey",
    "Bethnal Green",
    "Bow",
    "Brent Cross",
    "Bromley",
    "Catford",
    "Chelsea",
    "Chiswick",
    "Crouch End",
    "Deptford",
    "Ealing",
    "East Ham",
    "Edgware",
    "Eltham",
    "Enfield",
    "Euston",
    "Finchley",
    "Fulham",
    "Hammersmith",
    "Harrow",
    "Hendon",
    "Holborn",
    "Hoxton",
    "Kilburn",
    "Lambeth",
    "Limehouse",
    "Maida Vale",
    "Marylebone",
    "Mile End",
    "Morden",
    "Muswell Hill",
    "New Cross",
    "Norwood",
    "Paddington",
    "Pimlico",
    "Plaistow",
    "Poplar",
    "Rotherhithe",
    "Southwark",
    "Stepney",
    "Streatham",
    "Surbiton",
    "Sutton",
    "Sydenham",
    "Tottenham",
    "Uxbridge",
    "Wanstead",
    "Wapping",
    "Wembley",
    "Whitechapel",
    "Willesden",
    "Woolwich",
    "Bath",
    "Bristol",
    "Leeds",
    "York",
    "Oxford",
    "Austin",
    "Harlem",
    "Queens",
    "Oakland",
]

# What a place can be: after "is". (aspect, polarity of saying so, and whether "not" turns it round)
ADJECTIVES = {
    ("price", "positive"): [
        "cheap",
        "affordable",
        "good value",
        "reasonably priced",
        "inexpensive",
        "easy on the wallet",
    ],
    ("price", "negative"): ["expensive", "pricey", "overpriced", "dear", "costly", "out of my budget"],
    ("safety", "positive"): ["safe", "secure", "a safe place", "safe at night", "free of crime"],
    ("safety", "negative"): [
        "dangerous",
        "rough",
        "dodgy",
        "unsafe",
        "a bit sketchy",
        "full of crime",
        "risky after dark",
    ],
    ("transit-location", "positive"): [
        "close to the centre",
        "well connected",
        "central",
        "near everything",
        "handy for work",
        "easy to get to",
        "well served by buses",
    ],
    ("transit-location", "negative"): [
        "far",
        "too far",
        "a bit far",
        "too far out",
        "far away",
        "miles from anywhere",
        "badly connected",
        "hard to get to",
        "a long way out",
        "far from town",
        "remote",
    ],
    ("general", "positive"): ["lovely", "great", "nice", "beautiful", "wonderful", "brilliant", "charming", "a gem"],
    ("general", "negative"): ["horrible", "awful", "grim", "a dump", "terrible", "ugly", "run down", "depressing"],
    ("quiet", "positive"): ["quiet", "peaceful", "calm"],
    ("quiet", "negative"): ["noisy", "loud", "full of traffic noise"],
    ("live", "positive"): ["a great place to live", "a good place to raise a family", "somewhere I would love to live"],
    ("live", "negative"): ["a terrible place to live", "somewhere I would hate to live"],
    ("multicultural", "positive"): ["multicultural", "very diverse", "full of different cultures"],
    ("green-nature", "positive"): ["green and leafy", "full of parks", "surrounded by greenery"],
    ("shopping", "positive"): ["great for shopping", "full of good shops"],
    ("nightlife", "positive"): ["great for a night out", "full of good bars", "lively at night"],
    ("nightlife", "negative"): ["dead at night", "boring in the evening"],
    ("dining", "positive"): ["great for eating out", "full of good restaurants"],
    ("touristy", "negative"): ["far too touristy", "overrun with tourists"],
}
TURNED = ("price", "safety", "transit-location", "quiet", "general")  # "not cheap" is dear, "not far" is near
# What a place can have, for "has no" and "there are no".
THINGS = {
    "dining": "decent restaurants,places to eat,good cafes",
    "shopping": "shops,decent shops",
    "nightlife": "bars,clubs,decent pubs",
    "green-nature": "parks,green spaces",
    "transit-location": "train stations,buses,underground stops,transport links",
}
COMPARED = {
    ("price", "positive"): "cheaper,more affordable,better value",
    ("price", "negative"): "more expensive,dearer,pricier",
    ("safety", "positive"): "safer,much safer",
    ("safety", "negative"): "rougher,more dangerous,dodgier",
    ("quiet", "positive"): "quieter,more peaceful",
    ("quiet", "negative"): "noisier,louder",
    ("transit-location", "positive"): "closer to town,better connected,more central",
    ("transit-location", "negative"): "further out,harder to get to",
    ("general", "positive"): "nicer,better,prettier",
    ("general", "negative"): "worse,uglier",
}
OTHER = {"positive": "negative", "negative": "positive"}
HEDGES = (
    "",
    "",
    "",
    "I think ",
    "In my opinion ",
    "To be honest ",
    "I have heard that ",
    "Everyone says ",
    "As far as I know ",
)
VERY = ("", "", "very ", "really ", "quite ", "pretty ", "so ")
ENDS = (".", ".", "!", " these days.", " in my experience.", ", I would say.", " ...")
ASIDES = (
    "where I used to work",
    "which I know well",
    "where my brother has a flat",
    "as most people here will tell you",
    "in the ten years I have been around",
    "from what my friends say",
)

Opinion = tuple[int, str, str]  # target, aspect, polarity
Made = tuple[str, list[Opinion]]


class Writer:
    """Draws sentences; `{0}` and `{1}` are the targets."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, options: str | Iterable[Any]) -> Any:
        """One of them; a string lists them with commas."""
        return self.random.choice(options.split(",") if isinstance(options, str) else list(options))

    def adjective(self, *, without: tuple[str, ...] = (), turned: bool | None = None) -> tuple[str, str, str]:
        """Words, aspect and polarity: half of them, where "not" turns them round, with a negation."""
        pairs = [pair for pair in ADJECTIVES if pair[0] not in without]
        if turned:
            pairs = [pair for pair in pairs if pair[0] in TURNED]
        # Each aspect as often as the next, and within it each polarity.
        aspect = self.pick(sorted({pair[0] for pair in pairs}))
        aspect, polarity = self.pick([pair for pair in pairs if pair[0] == aspect])
        words = self.pick(ADJECTIVES[aspect, polarity])
        if turned or (turned is None and aspect in TURNED and self.random.random() < 0.3):
            words = self.pick(
                ("not {}", "not at all {}", "never {}", "hardly {}", "not exactly {}", "not that {}")
            ).format(words)
            polarity = OTHER[polarity]
        elif len(words.split()) == 1:
            words = self.pick(VERY) + words
        return words, aspect, polarity

    def plain(self) -> Made:
        """One target, one opinion."""
        words, aspect, polarity = self.adjective()
        pattern = self.pick(("{0} is ", "{0} seems ", "{0} was ", "I found {0} to be ", "{0} has always been "))
        return self.pick(HEDGES) + pattern + words + self.pick(ENDS), [(0, aspect, polarity)]

    def negated(self) -> Made:
        """An opinion that a negation turns round."""
        aspect, polarity = self.pick([pair for pair in ADJECTIVES if pair[0] in TURNED])
        words = self.pick(ADJECTIVES[aspect, polarity])
        pattern = self.pick(
            (
                "{0} is not %s",
                "{0} isn't %s",
                "{0} isn't %s at all",
                "{0} is not %s at all",
                "{0} wasn't %s",
                "I never found {0} %s",
                "I don't think {0} is %s",
                "I wouldn't call {0} %s",
                "{0} is no longer %s",
                "Nobody could say {0} is %s",
                "{0} is anything but %s",
                "{0} is far from %s",
                "I did not find {0} %s",
            )
        )
        return pattern % words + self.pick(ENDS), [(0, aspect, OTHER[polarity])]

    def lacking(self) -> Made:
        """What a place has, or has not."""
        aspect = self.pick(THINGS)
        thing = self.pick(THINGS[aspect])
        pattern = self.pick(
            (
                "There are no %s in {0}",
                "{0} has no %s",
                "There aren't any %s in {0}",
                "You won't find %s in {0}",
                "{0} doesn't have any %s",
                "There are hardly any %s around {0}",
                "{0} lacks %s",
            )
        )
        if self.random.random() < 0.35:
            pattern = self.pick(
                (
                    "There are plenty of %s in {0}",
                    "{0} has lots of %s",
                    "You will find %s all over {0}",
                    "{0} has the best %s",
                    "There is no shortage of %s in {0}",
                )
            )
            return pattern % thing + self.pick(ENDS), [(0, aspect, "positive")]
        return pattern % thing + self.pick(ENDS), [(0, aspect, "negative")]

    def contrast(self) -> Made:
        """Two opinions of one target."""
        one, aspect, polarity = self.adjective()
        two, aspect2, polarity2 = self.adjective(without=(aspect,))
        pattern = self.pick(
            (
                "{0} is %s but %s",
                "{0} is %s, but it is %s",
                "Although {0} is %s, it is %s",
                "{0} is %s although %s",
                "{0} is %s, even though it is %s",
                "{0} may be %s, but it is %s",
                "{0} is %s and %s",
                "While {0} is %s it is also %s",
                "{0} is %s. It is %s though",
                "{0} is %s yet %s",
                "It is %s and %s in {0}",
            )
        )
        return self.pick(HEDGES) * (not pattern.startswith(("Al", "Wh"))) + pattern % (one, two) + self.pick(ENDS), [
            (0, aspect, polarity),
            (0, aspect2, polarity2),
        ]

    def two_targets(self) -> Made:
        """One opinion of each of two targets."""
        one, aspect, polarity = self.adjective()
        two, aspect2, polarity2 = self.adjective(without=() if self.random.random() < 0.5 else (aspect,))
        pattern = self.pick(
            (
                "{0} is %s but {1} is %s",
                "{0} is %s while {1} is %s",
                "{0} is %s and {1} is %s",
                "{0} is %s, {1} is %s",
                "{0} is %s; {1} is %s",
                "Unlike {0}, which is %s, {1} is %s",
                "{0} is %s, whereas {1} is %s",
                "{0} is %s. {1} is %s",
                "Try {0}, it is %s. {1} is %s",
                "{0} is %s although {1} is %s",
            )
        )
        return pattern % (one, two) + self.pick(ENDS), [(0, aspect, polarity), (1, aspect2, polarity2)]

    def three_opinions(self) -> Made:
        """Two opinions of one target, one of another."""
        one, aspect, polarity = self.adjective()
        two, aspect2, polarity2 = self.adjective(without=(aspect,))
        three, aspect3, polarity3 = self.adjective()
        pattern = self.pick(
            (
                "{0} is %s although %s and {1} is %s",
                "{0} is %s but %s, and {1} is %s",
                "{0} is %s and %s but {1} is %s",
                "{0} is %s, if %s, while {1} is %s",
                "{0} is %s and also %s. {1} is %s",
            )
        )
        swap = self.random.random() < 0.4
        if swap:
            pattern, (one, two, three) = self.pick(
                (
                    ("{1} is %s and {0} is %s but %s", (three, one, two)),
                    ("{1} is %s. {0} is %s and %s", (three, one, two)),
                )
            )
        return pattern % (one, two, three) + self.pick(ENDS), [
            (0, aspect, polarity),
            (0, aspect2, polarity2),
            (1, aspect3, polarity3),
        ]

    def compared(self) -> Made:
        """One place by another."""
        aspect, polarity = self.pick(COMPARED)
        words = self.pick(COMPARED[aspect, polarity])
        pattern = self.pick(
            ("{0} is %s than {1}", "{0} is a lot %s than {1}", "I found {0} %s than {1}", "Compared to {1}, {0} is %s")
        )
        return pattern % words + self.pick(ENDS), [(0, aspect, polarity), (1, aspect, OTHER[polarity])]

    def beside(self) -> Made:
        """A second target of which nothing is said."""
        words, aspect, polarity = self.adjective()
        pattern = self.pick(
            (
                "I moved from {1} to {0}, which is %s",
                "{0} is %s, it is right next to {1}",
                "{0}, near {1}, is %s",
                "I work in {1} but live in {0}, which is %s",
                "You can walk from {1} to {0}, {0} is %s",
                "{1} is the next stop after {0}, and {0} is %s",
                "My sister is in {1} now. {0} is %s",
            )
        )
        return pattern % words + self.pick(ENDS), [(0, aspect, polarity)]

    def far(self) -> Made:
        """Words between the target and its opinion."""
        words, aspect, polarity = self.adjective()
        if polarity == "positive" and self.random.random() < 0.4 and "never" not in words:
            pattern = self.pick(
                (
                    f"If you want somewhere %s, {self.pick(ASIDES)}, go for {{0}}",
                    "It is %s, which is why I chose {0}",
                    "We were looking for something %s and ended up in {0}",
                )
            )
            return pattern % words + self.pick(ENDS), [(0, aspect, polarity)]
        return f"{{0}}, {self.pick(ASIDES)}, is {words}" + self.pick(ENDS), [(0, aspect, polarity)]

    def nothing(self) -> Made:
        """No opinion at all."""
        return self.pick(
            (
                "Does anybody know {0}?",
                "I work in {0}.",
                "How do I get from {0} to {1}?",
                "My friend is from {0}.",
                "I am going to {0} next week with my parents.",
                "What is {0} like?",
                "We drove through {0} on the way to {1}.",
                "{0} is in the north.",
                "Is {0} near {1}?",
                "I was born in {0} and studied in {1}.",
                "Is {0} safe or dangerous?",
                "Which is cheaper, {0} or {1}?",
                "The office is moving from {0} to {1}.",
                "{0} has its own council.",
            )
        ), []


SHARES = {
    "plain": 250,
    "negated": 350,
    "lacking": 200,
    "contrast": 350,
    "two_targets": 350,
    "three_opinions": 250,
    "compared": 200,
    "beside": 150,
    "far": 150,
    "nothing": 100,
}


def main() -> None:
    """Write them all; the same in every run."""
    writer = Writer(seed=1)
    lines, seen = [], set()
    for kind, count in SHARES.items():
        made = 0
        while made < count:
            text, opinions = getattr(writer, kind)()
            names = writer.random.sample(PLACES, 2)
            text = text.format(*names)
            text = text[0].upper() + text[1:]
            if text in seen:
                continue
            seen.add(text)
            made += 1
            targets = [name for name in names if name in text]
            records = [{"target": names[t], "aspect": aspect, "polarity": polarity} for t, aspect, polarity in opinions]
            lines.append({"id": f"{len(lines) + 1:04d} {kind}", "text": text, "targets": targets, "opinions": records})
    measured = {
        json.loads(line)["text"]
        for name in ("sentences.jsonl", "held-out.jsonl")
        for line in (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()
    }
    assert not measured & seen, "a sentence that measures was written"
    path = Path(__file__).parent / "written.jsonl"
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    print(f"{len(lines)} sentences in {path.name}")


if __name__ == "__main__":
    main()
