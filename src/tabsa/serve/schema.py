"""Requests and answers, typed, with their limits; the OpenAPI document is made of it.

Offsets count Unicode code points, from 0: `text[start:end]` in Python, not in JavaScript.
"""

from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

MAX_BODY_BYTES: Final = 1_048_576  # of JSON, or of a form beside its file
MAX_TEXT: Final = 10_000  # characters
MAX_TEXTS: Final = 256
MAX_TARGETS: Final = 100
MAX_ALIASES: Final = 20
MAX_NAME: Final = 200  # characters of a target
MAX_ASPECTS: Final = 100
MAX_ASPECT: Final = 100  # characters
MAX_OPINIONS: Final = 50_000  # texts x targets x aspects
MAX_COLUMN: Final = 1_000  # characters of a column's name
_EXAMPLE_TEXT: Final = "Camden is lovely but far too dear; Brixton is cheaper."


def _readable(text: str) -> str:
    if "\0" in text:
        raise ValueError("a null character is in it; take it out")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as e:
            raise ValueError("half a character (a lone surrogate) is in it; write it as UTF-8") from e
    return text


def _time(text: str) -> str:
    try:
        datetime.fromisoformat(text)
    except ValueError as e:
        raise ValueError("there is no such time; expected one such as 2026-01-31T12:00:00Z") from e
    return text


Text = Annotated[str, Field(max_length=MAX_TEXT), AfterValidator(_readable)]
Name = Annotated[str, Field(max_length=MAX_NAME), AfterValidator(_readable)]
Aspect = Annotated[str, Field(max_length=MAX_ASPECT), AfterValidator(_readable)]
Column = Annotated[str, Field(max_length=MAX_COLUMN), AfterValidator(_readable)]
Time = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?Z$"), AfterValidator(_time)]
Span = tuple[int, int]
_IMPLIED: Final = "Take a text that does not name a target to be about it; null: as the model was trained."


class _Strict(BaseModel):
    """Refuses unknown fields, and turns nothing into something else."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, data: Any) -> Any:
        """Refuse unknown fields in one error, however many there are: pydantic would build one for each."""
        unknown = [str(key) for key in data if key not in cls.model_fields] if isinstance(data, dict) else []
        if len(unknown) > 1:
            raise ValueError(f"{len(unknown):,} unknown fields, the first: {', '.join(unknown[:10])}")
        return data


class TargetWithAliases(_Strict):
    """A target and the other names that texts may have for it."""

    name: Name
    aliases: list[Name] = Field([], max_length=MAX_ALIASES)


class PredictRequest(_Strict):
    """A question about one `text`, or the same about many `texts`."""

    text: Text | None = Field(None, description="One text.")
    texts: list[Text] | None = Field(None, description="Instead, many texts.", min_length=1, max_length=MAX_TEXTS)
    targets: list[Name | TargetWithAliases] = Field(
        [],
        description="Who may be judged: names to look for in the text, or names with aliases. Empty with `implied`: "
        "what the text is about and does not name, whose opinions have the target null.",
        max_length=MAX_TARGETS,
    )
    aspects: list[Aspect] | None = Field(
        None,
        description="On what: any words if the model is open, else some of its aspects; null means the model's own.",
        min_length=1,
        max_length=MAX_ASPECTS,
    )
    aspect_list: Name | None = Field(
        None, description="Instead, the name of a list of aspects, such as `places`; `/v1/models` has them."
    )
    implied: bool | None = Field(None, description=_IMPLIED)
    explain: bool = Field(False, description="Show how the memory's gates opened; for one text only.")

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"text": _EXAMPLE_TEXT, "targets": ["Camden", {"name": "Brixton", "aliases": ["SW9"]}]},
                {"texts": [_EXAMPLE_TEXT, "I feel safe in Camden."], "targets": ["Camden"], "aspects": ["safety"]},
                {"text": "Very safe, but too dear.", "targets": ["the neighbourhood"], "implied": True},
            ]
        }
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.text is None) == (self.texts is None):
            raise ValueError("give either 'text', one text, or 'texts', a list")
        if self.explain and self.texts is not None:
            raise ValueError("'explain' goes with 'text' only; send one text at a time")
        return self


class Cell(_Strict):
    """One of the questions: a target's aspect."""

    target: Name | None = Field(description="Who; null: what the text is about and does not name.")
    aspect: Aspect


class EvidenceRequest(PredictRequest):
    """A question as to `/v1/predict`, about one `text`, and the cell whose answer is looked into."""

    of: Cell

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"text": _EXAMPLE_TEXT, "targets": ["Camden", "Brixton"], "of": {"target": "Camden", "aspect": "price"}}
            ]
        }
    )

    @model_validator(mode="after")
    def _of_one_text(self) -> Self:
        if self.text is None:
            raise ValueError("evidence is of one 'text'; send one at a time")
        return self


class SuggestRequest(_Strict):
    """A text to look for names in, or many."""

    text: Text | None = Field(None, description="One text.")
    texts: list[Text] | None = Field(None, description="Instead, many texts.", min_length=1, max_length=MAX_TEXTS)
    model_config = ConfigDict(json_schema_extra={"examples": [{"text": _EXAMPLE_TEXT}]})

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.text is None) == (self.texts is None):
            raise ValueError("give either 'text' or 'texts'")
        return self


class CorrectionRequest(_Strict):
    """The right answer, by a person's judgement, for one text, target and aspect."""

    text: Text
    target: Name | None = Field(description="Who is judged, as the text names it; null: what it does not name.")
    aliases: list[Name] = Field([], description="Other names that the text may have for it.", max_length=MAX_ALIASES)
    aspect: Aspect
    polarity: Name | None = Field(
        description="What is right: one of the model's labels, `none` where the text is silent; null takes it back."
    )
    said: Name | None = Field(None, description="The model's answer.")
    probability: float | None = Field(None, ge=0, le=1, allow_inf_nan=False, description="How sure it was of that.")
    model: Name | None = Field(None, description="Which model it was.")
    time: Time | None = Field(None, description="When it was corrected, in UTC: `2026-01-31T12:00:00Z`.")

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"text": _EXAMPLE_TEXT, "target": "Camden", "aspect": "price", "polarity": "negative", "said": "none"}
            ]
        }
    )


class _Form(BaseModel):
    """The fields of a form beside its file; they come as text."""

    model_config = ConfigDict(extra="forbid")


class ColumnsForm(_Form):
    """A table to look at."""

    text_column: Column | None = Field(None, description="Suggest names from this column instead of the guessed one.")
    cut: bool = Field(False, description="The file is only the first part of a table; its last line may be broken.")


class ScoreForm(_Form):
    """Questions on every row of a file: on `targets`, on a `target_column`, or with `implied` on what it is about."""

    targets: list[Text] = Field(
        [],
        description="A target to look for in every row, as `NAME` or `NAME=ALIAS,ALIAS`; repeatable.",
        max_length=MAX_TARGETS,
    )
    target_column: Column | None = Field(None, description="Instead, the column that names each row's own targets.")
    implied: bool | None = Field(None, description=_IMPLIED)
    text_column: Column | None = Field(None, description="The texts; `text` by default, or the only column of text.")
    id_column: Column | None = Field(None, description="What tells rows apart in the long layout; `id` by default.")
    aspect: list[Aspect] = Field(
        [], description="An aspect, any words if the model is open; repeatable.", max_length=MAX_ASPECTS
    )
    aspect_list: Name | None = Field(None, description="Instead, the name of a list of aspects, such as `places`.")
    layout: Literal["wide", "long"] = Field("wide", description="wide: a column a pair; long: a row an opinion.")
    format: Literal["csv", "jsonl"] = Field("csv", description="The format of the results.")
    prefix: Name = Field("", description="Goes before the name of each new column.")
    probabilities: bool = Field(False, description="Add each label's probability to the wide layout, too.")
    evidence: bool = Field(False, description="Add the sentence that carries each opinion; slower on texts of several.")
    escape_formulas: bool = Field(
        False, description="In CSV, put an apostrophe before text that a spreadsheet would take for a formula."
    )
    events: bool = Field(False, description="Answer with JSON Lines that tell the progress and the rejected rows, too.")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        given = bool(self.targets) + (self.target_column is not None)
        if given > 1 or (not given and self.implied is False):
            raise ValueError("give either 'targets', names to look for in every row, or 'target_column'")
        return self


class ReportForm(_Form):
    """A scored table, and what its columns are where that cannot be seen."""

    title: Name = ""
    date_column: Column | None = None
    text_column: Column | None = None
    id_column: Column | None = None
    target_column: Column | None = Field(None, description="Of the wide layout with a row's own targets.")
    prefix: Name | None = None


class OpinionOut(BaseModel):
    """The likeliest polarity of a target-aspect pair; `none` means that the text is silent on it."""

    target: str | None = Field(description="Null: what the text is about and does not name.")
    aspect: str
    polarity: str
    probabilities: dict[str, float]


class MentionsOut(BaseModel):
    """Where the text mentions a target."""

    target: str
    spans: list[Span]


class TokenOut(BaseModel):
    """A word as the model reads it; `target` is the place in the passage's `targets` of the one it mentions."""

    text: str
    start: int
    end: int
    target: int | None


class PassageOut(BaseModel):
    """A part of the text that was read at once, for at most `targets_at_once` targets."""

    start: int
    end: int
    targets: list[str | None]
    tokens: list[TokenOut]
    gates: list[list[list[float]]] | None = Field(description="By direction, token and chain, rounded; 0 shut, 1 open.")


class UnreadOut(BaseModel):
    """The sentences that were not read for a target: it is neither named there nor meant."""

    target: str | None
    spans: list[Span]


class ExplanationOut(BaseModel):
    """How the memory was updated while reading, and which chains each question attends to."""

    passages: list[PassageOut]
    directions: list[Literal["forward", "backward"]]
    attention: list[list[list[float]]] | None = Field(description="By place in `targets`, aspect and chain.")
    aspects: list[str]
    tied: int = Field(description="How many chains belong to a target: the first ones, in the order of `targets`.")
    unread: list[UnreadOut] = Field(description="Sentences that were not read, by target; nothing is known of them.")


class PredictOne(BaseModel):
    """The answer for one text: every requested target-aspect pair, `none` included."""

    text: str
    opinions: list[OpinionOut]
    mentions: list[MentionsOut] = Field(description="The targets that the text mentions.")
    explanation: ExplanationOut | None = None


class PredictMany(BaseModel):
    """The answers for many texts, in their order."""

    results: list[PredictOne]


class WeightOut(BaseModel):
    """Words, and how many points of the answer's probability they carry; less than 0: they speak against it."""

    start: int
    end: int
    weight: float


class SentenceOut(WeightOut):
    """A sentence that carries the answer, and its own answer."""

    polarity: str
    probabilities: dict[str, float]


class EvidenceOut(BaseModel):
    """The parts of a text that carry the answer on one target-aspect pair."""

    target: str | None
    aspect: str
    polarity: str
    probability: float
    words: list[WeightOut] = Field(description="Those of the passage that gave the answer, in the order of the text.")
    phrases: list[WeightOut] = Field(description="The at most three that carry it, the heaviest first.")
    sentences: list[SentenceOut] = Field(description="Those that carry it, the heaviest first.")
    unread: list[Span] = Field(description="Sentences that were not read for this target.")


class SuggestedName(BaseModel):
    """A name that may be a target, in how many texts it is, and where, if there is one text."""

    name: str
    texts: int = 1
    spans: list[Span] = []


class SuggestResponse(BaseModel):
    """Capitalised phrases that are not merely the starts of sentences; of many texts, the most frequent first."""

    targets: list[SuggestedName]


class ColumnsResponse(BaseModel):
    """A table's columns, what they seem to be for, its first rows, and names that its texts have."""

    format: str
    note: str | None = Field(description="How the file is read, where its name does not tell.")
    columns: list[str]
    text: str
    id: str | None
    target: str | None
    date: str | None
    rows: list[dict[str, str]]
    targets: list[SuggestedName]


class ModelOut(BaseModel):
    """A model that can be queried."""

    name: str
    kind: str
    open_aspects: bool = Field(description="Whether an aspect may be any words; where not, it is one of `aspects`.")
    aspects: list[str] = Field(description="The aspects of a request that names none.")
    aspect_lists: dict[str, list[str]] = Field(description="Lists that can be given by name, as `aspect_list`.")
    labels: list[str]
    chains: int | None = Field(description="Chains of its memory; null where it has none.")
    tied: int
    targets_at_once: int
    implied: bool = Field(description="Whether it was trained on texts that do not name what they are about.")
    metrics: dict[str, Any] | None = Field(description="How well it did in training, as fractions, if known.")


class ModelsResponse(BaseModel):
    """The models there are, and the name of the file that `POST /v1/corrections` adds to, if there is one."""

    models: list[ModelOut]
    default: str
    corrections: str | None


class StatusResponse(BaseModel):
    """That all is well."""

    status: str


class ErrorItem(BaseModel):
    """One of several errors."""

    field: str | None
    message: str


class ErrorDetail(BaseModel):
    """A code for programs, one line for people, the wrong part of the request, and how many errors it has."""

    code: str
    message: str
    field: str | None
    count: int = Field(1, description="Left out where there is one.")
    errors: list[ErrorItem] = Field([], description="The first ten, where there are several.")


class ErrorResponse(BaseModel):
    """Why there is no answer."""

    error: ErrorDetail
