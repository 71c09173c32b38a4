"""What pages say that commands print, compared with what they print."""

import re

NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-\d+)?")


def alike(one: str, other: str) -> bool:
    """Whether texts are the same but for the last digits of numbers, which depend on the processor.

    In int8 a last digit can become a step, so probabilities may differ by 0.03, percents by 3, and bars in length.
    """
    shown = [re.sub(r"━[━ ]*", "━ ", text) for text in (one, other)]
    numbers = [[float(number) for number in NUMBER.findall(text)] for text in shown]
    same = NUMBER.sub("#", shown[0]) == NUMBER.sub("#", shown[1])
    return same and all(abs(a - b) <= (0.03 if max(a, b) <= 1 else 3) for a, b in zip(*numbers, strict=True))


def same_words(one: str, other: str) -> float:
    """The share of the first's lines whose words, without numbers, are a line of the second's."""
    lines = [[" ".join(re.findall(r"[^\W\d_]+", line)) for line in text.splitlines()] for text in (one, other)]
    retained = [line for line in lines[0] if line]
    return sum(line in lines[1] for line in retained) / max(1, len(retained))
