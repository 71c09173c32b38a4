"""Long answers are written in pieces, so that no thread waits for one; nothing changes by that."""

import json
import random

import pytest

from tabsa.serve import answers


def made(opinions: int, seed: int) -> dict[str, object]:
    chance = random.Random(seed)
    return {
        "text": 'Ärger "über" Käse\n\u2028',
        "opinions": [
            {"target": f"\u3042{n}", "aspect": "price", "probabilities": {"none": chance.random(), "mixed": 0.0}}
            for n in range(opinions)
        ],
        "mentions": [{"target": "a", "spans": [[0, 1]]}],
        "explanation": None,
    }


@pytest.mark.parametrize("opinions", [0, 1, 63, 64, 65, 1000])
def test_pieces_are_the_whole(opinions: int) -> None:
    one = made(opinions, opinions)
    whole = json.dumps(one, ensure_ascii=False, separators=(",", ":"))
    assert bytes(answers.result_to_json(one).body).decode() == whole
    several = json.dumps({"results": [one, one]}, ensure_ascii=False, separators=(",", ":"))
    assert bytes(answers.results_to_json([one, one]).body).decode() == several


def test_a_number_that_json_has_no_word_for_is_never_sent() -> None:
    one = made(100, 1)
    one["opinions"][70]["probabilities"]["none"] = float("nan")  # type: ignore[index]
    with pytest.raises(ValueError, match="JSON"):
        answers.result_to_json(one)
