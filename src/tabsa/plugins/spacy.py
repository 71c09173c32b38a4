"""The component `tabsa` for spaCy's pipelines.

nlp.add_pipe("tabsa", config={"names": ["Camden"], "aspects": ["price"]})

spaCy finds it by itself where tabsa is installed (an entry point), and after this module was imported.
"""

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, cast

from spacy.language import Language
from spacy.tokens import Doc
from spacy.tokens import Span as DocSpan

from tabsa.checkpoint.model_folder import open_folder, shipped_models
from tabsa.inference.predictor import Predictor, load
from tabsa.inference.results import PredictedOpinion, Prediction
from tabsa.schema import UNNAMED, Span, Target
from tabsa.text.targets import TargetFinder

# What may be judged, of the labels of spaCy's English pipelines and of those of other languages: not dates and numbers.
JUDGED: Final = (
    *("PERSON", "NORP", "FAC", "ORG", "GPE", "LOC", "PRODUCT", "EVENT", "WORK_OF_ART"),
    *("PER", "MISC"),
)
_MODEL: Final = "model"  # where a saved pipeline has a model that is not in the package
_DEFAULTS: Final[dict[str, Any]] = {
    **dict.fromkeys(("model", "names", "aspects", "implied")),
    **dict.fromkeys(("every", "evidence"), False),
    "ent_labels": list(JUDGED),
    "spans_key": "tabsa",
}


@Language.factory("tabsa", assigns=["doc._.opinions", "doc.spans"], default_config=_DEFAULTS)
class OpinionComponent:
    """Writes `doc._.opinions`, and a span for each mention of who is judged.

    `doc._.opinions` is a list of dictionaries: target (None where the text does not name it), aspect, polarity,
    confidence, probabilities, and mentions as [start, end] in characters. `doc.spans["tabsa"]` has a span for each
    mention and opinion on it: its label is the polarity, its `kb_id_` the aspect, its `id_` the target.

    Without `names`, the entities that components before this one found (`doc.ents`) are judged, under the id of the
    pattern that found them, if it has one. Each parameter is one of the component's config: docs/integrations.md.
    """

    def __init__(
        self,
        nlp: Language,  # noqa: ARG002
        name: str,
        model: str | None,
        names: list[str] | dict[str, list[str]] | None,
        ent_labels: list[str],
        aspects: list[str] | None,
        implied: bool | None,
        every: bool,
        evidence: bool,
        spans_key: str,
    ) -> None:
        self.name, self.model, self.aspects, self.implied = name, model, aspects, implied
        self.ent_labels, self.every, self.evidence, self.spans_key = frozenset(ent_labels), every, evidence, spans_key
        self.finder = None if names is None else TargetFinder(names)
        self._loaded: tuple[int, Predictor] | None = None
        if not Doc.has_extension("opinions"):
            Doc.set_extension("opinions", default=None)

    @property
    def predictor(self) -> Predictor:
        """Return the model; it is loaded at first use, and anew in another process, which cannot share its threads."""
        if self._loaded is None or self._loaded[0] != os.getpid():
            self._loaded = os.getpid(), load(self.model)
        return self._loaded[1]

    def __call__(self, doc: Doc) -> Doc:
        """Judge one Doc."""
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Judge Docs as they come; those of a batch are read together."""
        docs = iter(stream)
        while batch := list(islice(docs, batch_size)):
            predictor = self.predictor
            implied = predictor.implied if self.implied is None else self.implied
            targets = [self._targets(doc, predictor, implied=implied) for doc in batch]
            predictions = predictor.predict_many(
                [doc.text for doc in batch],
                aspects=self.aspects,
                targets_of_each=targets,
                implied=implied,
                explain=self.evidence,
            )
            for doc, own, prediction in zip(batch, targets, predictions, strict=True):
                self._write(doc, {target.name: target.mentions for target in own}, prediction)
                yield doc

    def _targets(self, doc: Doc, predictor: Predictor, *, implied: bool) -> Sequence[Target]:
        """Return the targets of a Doc."""
        if self.finder is not None:
            found: Sequence[Target] = tuple(self.finder.find(doc.text))
            return predictor.implied_targets(self.finder.names, found) if implied else found
        spans: dict[str, list[Span]] = {}
        for ent in doc.ents:
            if ent.label_ in self.ent_labels:
                spans.setdefault(ent.ent_id_ or ent.text, []).append(Span(ent.start_char, ent.end_char))
        found = tuple(Target(name, tuple(mentions)) for name, mentions in spans.items())
        return found or ((Target(UNNAMED, implied=True),) if implied else ())

    def _write(self, doc: Doc, mentions: dict[str, tuple[Span, ...]], prediction: Prediction) -> None:
        found = prediction.found()
        doc._.opinions = [
            {
                "target": opinion.target or None,
                **{name: getattr(opinion, name) for name in ("aspect", "polarity", "confidence")},
                "probabilities": dict(opinion.probabilities),
                "mentions": [list(span) for span in mentions[opinion.target]],
            }
            for opinion in (prediction.opinions if self.every else found)
        ]
        judged = [(opinion, span) for opinion in found for span in mentions[opinion.target]]
        doc.spans[self.spans_key] = [_span(doc, span, opinion) for opinion, span in judged]
        if self.evidence:
            carrying = [(one, prediction.evidence(one.target, one.aspect).phrases()) for one in found]
            spans = [_span(doc, phrase.span, one) for one, phrases in carrying for phrase in phrases]
            doc.spans[f"{self.spans_key}_evidence"] = spans

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:  # noqa: ARG002
        """Save what the pipeline's config does not hold: a model that is not in the package."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        model = open_folder(self.model).path
        if model not in shipped_models().values():
            shutil.copytree(model, folder / _MODEL, ignore=shutil.ignore_patterns("run"), dirs_exist_ok=True)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "OpinionComponent":  # noqa: ARG002
        """Take the model that was saved with the pipeline, if there is one."""
        folder = Path(path) / _MODEL
        if folder.is_dir():
            self.model, self._loaded = str(folder), None
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for another process, which loads the model by itself."""
        return {**self.__dict__, "_loaded": None}


def _span(doc: Doc, span: Span, opinion: PredictedOpinion) -> DocSpan:
    """Return the tokens that a part of the text is in."""
    names: dict[str, Any] = {"label": opinion.polarity, "kb_id": opinion.aspect, "span_id": opinion.target}
    return cast("DocSpan", doc.char_span(span.start, span.end, alignment_mode="expand", **names))
