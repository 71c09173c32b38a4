"""Requests and answers, typed, with their limits; the OpenAPI document is made of it.

Offsets count Unicode code points, from 0: `text[start:end]` in Python, not in JavaScript.
"""

from typing import Annotated, Any, Final, Literal, Self

from fastapi import UploadFile
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

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
_EXAMPLE: Final = "Camden is lovely but far too dear; Brixton is cheaper."
_IMPLIED: Final = "Take a text that does not name a target to be about it; null: as the model was trained."
_TIME: Final = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?Z$"


def _readable(text: str) -> str:
    if "\0" in text:
        raise ValueError("a null character is in it; take it out")
    try:
        text.encode()
    except UnicodeEncodeError as e:
        raise ValueError("half a character (a lone surrogate) is in it; write it as UTF-8") from e
    return text


Text = Annotated[str, Field(max_length=MAX_TEXT), AfterValidator(_readable)]
Name = Annotated[str, Field(max_length=MAX_NAME), AfterValidator(_readable)]
Aspect = Annotated[str, Field(max_length=MAX_ASPECT), AfterValidator(_readable)]
Column = Annotated[str, Field(max_length=MAX_COLUMN), AfterValidator(_readable)]


def _examples(*examples: dict[str, Any]) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": list(examples)})


class _Strict(BaseModel):
    """Refuses unknown fields, and turns nothing into something else."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, data: Any) -> Any:
        """Refuse unknown fields in one error, however many there are: pydantic would build one for each."""
        known = {field.alias or name for name, field in cls.model_fields.items()}
        unknown = [str(key) for key in data if key not in known] if isinstance(data, dict) else []
        if len(unknown) > 1:
            raise ValueError(f"{len(unknown):,} unknown fields, the first: {', '.join(unknown[:10])}")
        return data


class SuggestRequest(_Strict):
    """A text to look for names in."""

    text: Text
    model_config = _examples({"text": _EXAMPLE})


class TargetWithAliases(_Strict):
    """A target and the other names that texts may have for it."""

    name: Name
    aliases: list[Name] = Field([], max_length=MAX_ALIASES)


def _with_aliases(given: Any) -> Any:
    if not isinstance(given, str | dict):
        raise ValueError("expected a name, or an object with a name and aliases")
    return {"name": given} if isinstance(given, str) else given


Target = Annotated[TargetWithAliases, BeforeValidator(_with_aliases, json_schema_input_type=Name | TargetWithAliases)]


class PredictRequest(_Strict):
    """A question about one `text`, or the same about many `texts`."""

    text: Text | None = None
    texts: list[Text] | None = Field(None, min_length=1, max_length=MAX_TEXTS)
    targets: list[Target] = Field(
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
    implied: bool | None = Field(None, description=_IMPLIED)
    explain: bool = Field(False, description="Show how the memory's gates opened; for one text only.")
    model_config = _examples(
        {"text": _EXAMPLE, "targets": ["Camden", {"name": "Brixton", "aliases": ["SW9"]}]},
        {"texts": [_EXAMPLE, "I feel safe in Camden."], "targets": ["Camden"], "aspects": ["safety"]},
        {"text": "Very safe, but too dear.", "targets": ["the neighbourhood"], "implied": True},
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.text is None) == (self.texts is None):
            raise ValueError("give either 'text', one text, or 'texts', a list")
        if self.explain and self.texts is not None:
            raise ValueError("'explain' goes with 'text' only; send one text at a time")
        return self


class Cell(_Strict):
    """One of the questions: a target's aspect; without a target, what the text is about and does not name."""

    target: Name | None
    aspect: Aspect


class EvidenceRequest(PredictRequest):
    """A question as to `/v1/predict`, about one `text`, and the cell whose answer is looked into."""

    of: Cell
    model_config = _examples(
        {"text": _EXAMPLE, "targets": ["Camden", "Brixton"], "of": {"target": "Camden", "aspect": "price"}}
    )

    @model_validator(mode="after")
    def _of_one_text(self) -> Self:
        if self.text is None:
            raise ValueError("evidence is of one 'text'; send one at a time")
        return self


class CorrectionRequest(_Strict):
    """The right answer, by a person's judgement, for one text, target and aspect."""

    text: Text
    target: Name | None = Field(description="Who is judged, as the text names it; null: what it does not name.")
    aliases: list[Name] = Field([], max_length=MAX_ALIASES)
    aspect: Aspect
    polarity: Name | None = Field(
        description="What is right: one of the model's labels, `none` where the text is silent; null takes it back."
    )
    predicted: Name | None = Field(None, alias="said", description="The model's answer.")
    probability: float | None = Field(None, ge=0, le=1, allow_inf_nan=False, description="How sure it was of that.")
    model: Name | None = None
    time: str | None = Field(None, pattern=_TIME)
    model_config = _examples({"text": _EXAMPLE, "target": "Camden", "aspect": "price", "polarity": "negative"})


class FileForm(BaseModel):
    """A table with a header: .csv, .tsv or .jsonl, as its name tells, or .xlsx."""

    model_config = ConfigDict(extra="forbid")
    file: UploadFile


class ColumnsForm(FileForm):
    """A table to look at."""

    text_column: Column | None = Field(None, description="Suggest names from this column instead of the guessed one.")
    cut: bool = Field(False, description="The file is only the first part of a table; its last line may be broken.")


class ScoreForm(FileForm):
    """Questions on every row of a file: on `targets`, on a `target_column`, or with `implied` on what it is about."""

    targets: list[Text] = Field(
        [], description="A target, as `NAME` or `NAME=ALIAS,ALIAS`; repeatable.", max_length=MAX_TARGETS
    )
    target_column: Column | None = Field(None, description="Instead, the column that names each row's own targets.")
    implied: bool | None = Field(None, description=_IMPLIED)
    text_column: Column | None = Field(None, description="The texts; `text` by default, or the only column of text.")
    id_column: Column | None = Field(None, description="What tells rows apart in the long layout; `id` by default.")
    aspect: list[Aspect] = Field([], description="An aspect; repeatable.", max_length=MAX_ASPECTS)
    layout: Literal["wide", "long"] = Field("wide", description="wide: a column a pair; long: a row an opinion.")
    format: Literal["csv", "jsonl"] = Field("csv", description="The format of the results.")
    probabilities: bool = Field(False, description="Add each label's probability to the wide layout, too.")
    evidence: bool = Field(False, description="Add the sentence that carries each opinion; slower on texts of several.")
    escape_formulas: bool = Field(False, description="Put an apostrophe before text that a spreadsheet would compute.")
    events: bool = Field(False, description="Answer with JSON Lines that tell the progress and the rejected rows, too.")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        given = bool(self.targets) + (self.target_column is not None)
        if given > 1 or (not given and self.implied is False):
            raise ValueError("give either 'targets', names to look for in every row, or 'target_column'")
        return self


class ReportForm(FileForm):
    """A scored table, and what its columns are where that cannot be seen."""

    title: Name = ""
    date_column: Column | None = None
    text_column: Column | None = None
    id_column: Column | None = None
    target_column: Column | None = Field(None, description="Of the wide layout with a row's own targets.")
