"""What goes in and out, typed; the OpenAPI document is made of it. Offsets count Unicode code points, from 0."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

_EXAMPLE_TEXT = "Camden is lovely but far too dear; Brixton is cheaper."


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


Text = Annotated[str, AfterValidator(_readable)]
Time = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?Z$"), AfterValidator(_time)]
Span = Annotated[
    tuple[int, int],
    Field(description="Start and end in Unicode code points: `text[start:end]` in Python, not in JavaScript."),
]


class _Strict(BaseModel):
    """Refuses what it does not know, and turns nothing into something else."""

    model_config = ConfigDict(extra="forbid", strict=True)


class TargetWithAliases(_Strict):
    """A target and the other names that texts may have for it."""

    name: Text
    aliases: list[Text] = []


class PredictRequest(_Strict):
    """What to ask: of one `text`, or the same of many `texts`."""

    text: Text | None = Field(None, description="One text.")
    texts: list[Text] | None = Field(None, description="Many texts, instead of `text`.", min_length=1)
    targets: list[Text | TargetWithAliases] = Field(
        [],
        description="Who may be judged: names to look for in the text, or names with aliases. Empty with `implied`: "
        "what the text is about and does not name, whose opinions have the target null.",
    )
    aspects: list[Text] | None = Field(
        None,
        description="On what: any words if the model is open, else some of its aspects; null means the model's own.",
        min_length=1,
    )
    aspect_list: Text | None = Field(
        None, description="Instead, the name of a list of aspects, such as `places`; `/v1/models` has them."
    )
    implied: bool | None = Field(
        None,
        description="Take a text that does not name a target to be about it; null: as the model was taught "
        "(`implied` of `/v1/models`).",
    )
    explain: bool = Field(False, description="Tell how the memory's gates opened; for one text only.")

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
            raise ValueError("'explain' goes with 'text' only; ask for one text at a time")
        return self


class AskedCell(_Strict):
    """One of the questions: a target's aspect."""

    target: Text | None = Field(description="Who; null: what the text is about and does not name.")
    aspect: Text


class EvidenceRequest(PredictRequest):
    """A question as to `/v1/predict`, of one `text`, and the cell whose answer is looked into."""

    of: AskedCell

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
            raise ValueError("evidence is of one 'text'; ask for one at a time")
        return self


class SuggestRequest(_Strict):
    """A text to look for names in, or many."""

    text: Text | None = Field(None, description="One text.")
    texts: list[Text] | None = Field(None, description="Many texts, instead of `text`.", min_length=1)
    model_config = ConfigDict(json_schema_extra={"examples": [{"text": _EXAMPLE_TEXT}]})

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.text is None) == (self.texts is None):
            raise ValueError("give either 'text' or 'texts'")
        return self


class ScoreForm(BaseModel):
    """What to ask of every row of a file: of `targets`, of a `target_column`, or with `implied` of what it is about."""

    targets: list[Text] = Field(
        [], description="A target to look for in every row, as `NAME` or `NAME=ALIAS,ALIAS`; repeatable."
    )
    target_column: Text | None = Field(None, description="Instead, the column that names each row's own targets.")
    implied: bool | None = Field(
        None,
        description="Take a text that does not name a target to be about it; null: as the model was taught "
        "(`implied` of `/v1/models`).",
    )
    text_column: Text | None = Field(None, description="The texts; `text` by default, or the only column of text.")
    id_column: Text | None = Field(None, description="What tells rows apart in the long layout; `id` by default.")
    aspect: list[Text] = Field(
        [], description="An aspect to ask for, any words if the model is open; repeatable. The model's own by default."
    )
    aspect_list: Text | None = Field(None, description="Instead, the name of a list of aspects, such as `places`.")
    layout: Literal["wide", "long"] = Field("wide", description="wide: a column a pair; long: a row an opinion.")
    format: Literal["csv", "jsonl"] = Field("csv", description="The format of the results.")
    date_column: Text | None = Field(None, description="For the summary of a job; the column called so by default.")
    prefix: Text = Field("", description="Goes before the name of each new column.")
    probabilities: bool = Field(False, description="Add each label's probability to the wide layout, too.")
    evidence: bool = Field(False, description="Add the sentence that carries each opinion; slower on texts of several.")
    escape_formulas: bool = Field(
        False, description="In CSV, put an apostrophe before text that a spreadsheet would take for a formula."
    )

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        given = bool(self.targets) + (self.target_column is not None)
        if given > 1 or (not given and self.implied is False):
            raise ValueError("give either 'targets', names to look for in every row, or 'target_column'")
        return self


class CorrectionRequest(_Strict):
    """What a person says is right of one text, target and aspect."""

    text: Text
    target: Text | None = Field(description="Who is judged, as the text names it; null: what it does not name.")
    aliases: list[Text] = Field([], description="Other names that the text may have for it.")
    aspect: Text
    polarity: Text | None = Field(
        description="What is right: one of the model's labels, `none` where the text is silent; null takes it back."
    )
    said: Text | None = Field(None, description="What the model said.")
    probability: float | None = Field(None, ge=0, le=1, allow_inf_nan=False, description="How sure it was of that.")
    model: Text | None = Field(None, description="Which model it was.", max_length=200)
    time: Time | None = Field(None, description="When it was corrected, in UTC: `2026-01-31T12:00:00Z`.")

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"text": _EXAMPLE_TEXT, "target": "Camden", "aspect": "price", "polarity": "negative", "said": "none"}
            ]
        }
    )


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
    """How the memory was updated while reading, and which chains each question listens to."""

    passages: list[PassageOut]
    directions: list[Literal["forward", "backward"]]
    attention: list[list[list[float]]] | None = Field(description="By place in `targets`, aspect and chain.")
    aspects: list[str]
    tied: int = Field(description="How many chains belong to a target: the first ones, in the order of `targets`.")
    unread: list[UnreadOut] = Field(description="What was not read, for whom; nothing is known of it.")


class PredictOne(BaseModel):
    """The answer for one text: every target-aspect pair asked, `none` included."""

    text: str
    opinions: list[OpinionOut]
    mentions: list[MentionsOut] = Field(description="The targets that the text mentions.")
    explanation: ExplanationOut | None = None


class WeightOut(BaseModel):
    """Words, and how many points of the answer's probability they carry; less than 0: they speak against it."""

    start: int
    end: int
    weight: float


class SentenceOut(WeightOut):
    """A sentence that carries the answer, and what it says by itself."""

    polarity: str
    probabilities: dict[str, float]


class EvidenceOut(BaseModel):
    """What carries the answer of one target-aspect pair."""

    target: str | None
    aspect: str
    polarity: str
    probability: float
    words: list[WeightOut] = Field(description="Those of the passage that gave the answer, in the order of the text.")
    phrases: list[WeightOut] = Field(description="The at most three that carry it, the heaviest first.")
    sentences: list[SentenceOut] = Field(description="Those that carry it, the heaviest first.")
    unread: list[Span] = Field(description="Sentences that were not read for this target.")


class PredictMany(BaseModel):
    """The answers for many texts, in their order."""

    results: list[PredictOne]


class SuggestedName(BaseModel):
    """A name in a text that may be a target."""

    name: str
    texts: int = Field(default=1, description="How many texts name it.")
    spans: list[Span] = Field(description="Where, if there is one text.")


class SuggestResponse(BaseModel):
    """Capitalised phrases that are not merely the starts of sentences; of many texts, the most frequent first."""

    targets: list[SuggestedName]


class ModelOut(BaseModel):
    """A model that can be asked."""

    name: str
    kind: str
    open_aspects: bool = Field(description="Whether an aspect may be any words; where not, it is one of `aspects`.")
    aspects: list[str] = Field(description="What is asked where a request names nothing.")
    aspect_lists: dict[str, list[str]] = Field(description="Lists that can be asked for by name, as `aspect_list`.")
    labels: list[str]
    chains: int | None = Field(description="Chains of its memory; null where it has none.")
    tied: int
    targets_at_once: int
    implied: bool = Field(description="Whether it was trained on texts that do not name what they are about.")
    metrics: dict[str, Any] | None = Field(description="How well it did in training, as fractions; null if untold.")


class ModelsResponse(BaseModel):
    """The models there are."""

    models: list[ModelOut]
    default: str
    corrections: str | None = Field(
        description="The name of the file that `POST /v1/corrections` adds to; null where there is none."
    )


class JobAccepted(BaseModel):
    """A job that has begun."""

    id: str
    rows: int | None = None
    state: Literal["running"] = "running"


class JobStatus(BaseModel):
    """How far a job is."""

    id: str
    state: Literal["running", "done", "failed"]
    scored: int = 0
    rejected: int = 0
    share: float = Field(default=0.0, ge=0, le=1, description="Of the file that was read.")
    note: str | None = Field(default=None, description="How the file was read, where its name does not tell.")
    summary: bool = Field(default=False, description="Whether there is a summary.")
    no_summary: str | None = Field(default=None, description="Why a finished job has none.")
    error: str | None = None


class ErrorDetail(BaseModel):
    """A code for programs, one line for people, and the part of the request that is wrong, if it is one."""

    code: str
    message: str
    field: str | None


class ErrorResponse(BaseModel):
    """Why there is no answer."""

    error: ErrorDetail


class StatusResponse(BaseModel):
    """That the service is there."""

    status: str
