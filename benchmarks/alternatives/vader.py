"""VADER (PyPI `vaderSentiment`): a lexicon, on the sentences that may answer a question.

    python benchmarks/alternatives/vader.py

Of a target that is named, the sentences that name it; of the unnamed one, all. `none` where no word of the aspect is in
the text (unless it asks for the whole: "overall", "general"), or |compound| is below a threshold. Whether the word must
be there, whether in those sentences, and the threshold are chosen on `everyday`'s and `real`'s dev split.
"""

import re
from collections.abc import Iterator

from common import WHOLE, Probabilities, System, figures, load, measure, parser, rows, sentences_on, wording
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from tabsa.schema import Dataset

SMALL = {
    "a",
    "an",
    "and",
    "at",
    "for",
    "how",
    "in",
    "it",
    "of",
    "on",
    "or",
    "the",
    "their",
    "to",
    "with",
    "you",
    "your",
}
JUDGE = SentimentIntensityAnalyzer()


def words(text: str) -> set[str]:
    """Words without a plain plural's s."""
    return {re.sub(r"(?<=\w\w\w)s$", "", word) for word in re.findall(r"[a-z']+", text.lower())} - SMALL


def answers(data: Dataset, threshold: float, where: str) -> Iterator[dict[str, float]]:
    """Scores of each question's labels."""
    judged: dict[str, float] = {}
    for example, target, aspect, _ in data.questions():
        read = sentences_on(example, target)
        asked = words(wording(aspect))
        if where == "sentence":
            read = [one for one in read if asked & words(one)] or read
        text = " ".join(read)
        if text not in judged:
            judged[text] = JUDGE.polarity_scores(text)["compound"]
        score = judged[text]
        there = where == "anywhere" or aspect in WHOLE or bool(asked & words(example.text))
        silent = abs(score) < threshold or not there
        yield {"none": 1.5 if silent else 0, "positive": max(score, 0), "negative": max(-score, 0)}


def main() -> None:
    """Choose on dev, measure."""
    args = parser(__doc__).parse_args()
    threshold, where = 0.05, "text"
    if not args.one:
        dev = [load("everyday", "dev-unseen", args.data_dir), load("real", "dev", args.data_dir)]
        tried = {
            (border, place): sum(figures(data, rows(data, answers(data, border, place)))["opinion_f1"] for data in dev)
            for border in (0.05, 0.2, 0.4, 0.6)
            for place in ("text", "sentence", "anywhere")
        }
        threshold, where = max(tried, key=lambda choice: tried[choice])

    def answer(data: Dataset) -> Probabilities:
        return rows(data, answers(data, threshold, where))

    about = "a lexicon with rules, on the sentences that name the target"
    measure(System("vader", about, answer, ["vaderSentiment"]), args, threshold=threshold, aspect_word=where)


if __name__ == "__main__":
    main()
