"""What a job's summary and the rows behind it are, typed."""

from typing import Literal

from pydantic import BaseModel, Field

from tabsa.serve.schema import Span


class TallyOut(BaseModel):
    """How many texts say what, and what that tells."""

    counts: dict[str, int] = Field(description="By polarity; `none` where the results hold it.")
    n: int = Field(description="Opinions: all but `none`.")
    judged: int = Field(description="Those that take a side, positive or negative.")
    share_positive: float | None = Field(description="Of those that take a side.")
    interval: tuple[float, float] | None = Field(description="The 95% interval of that share (Wilson's).")
    net: float | None = Field(description="Positive less negative, among all opinions.")
    verdict: Literal["positive", "negative", "unclear", "none"]


class CellOut(TallyOut):
    """What is said of a target on an aspect."""

    target: str | None
    aspect: str


class TargetTotal(TallyOut):
    """What is said of a target."""

    target: str | None


class AspectTotal(TallyOut):
    """What is said on an aspect."""

    aspect: str


class TimePoint(TallyOut):
    """What is said in a span of time."""

    start: str
    name: str


class TimeOut(BaseModel):
    """Counts over time, where the table has a column of dates."""

    column: str
    bucket: str
    undated: int
    total: list[TimePoint]


class SilentOut(BaseModel):
    """What nobody speaks of; `texts` is null where the results do not hold those that are silent."""

    texts: int | None
    targets: list[str | None]
    aspects: list[str]


class RejectedOut(BaseModel):
    """Rows that were not scored, and why."""

    rows: int
    reasons: dict[str, int]
    unreadable: int


class LeftOut(BaseModel):
    """How many targets and aspects there was no room for; the numbers as CSV have all."""

    targets: int
    aspects: int


class SummaryOut(BaseModel):
    """What a scored table says."""

    title: str
    sentences: list[str] = Field(description="What it says in words.")
    columns: dict[str, str | None] = Field(description="What was read as text, id and date.")
    rows: int
    texts: int
    texts_with_opinion: int
    opinions: int
    targets: list[str | None] = Field(description="The most spoken-of first; null: what a text does not name.")
    aspects: list[str]
    polarities: list[str]
    total: TallyOut
    target_totals: list[TargetTotal]
    aspect_totals: list[AspectTotal]
    cells: list[CellOut]
    time: TimeOut | None
    silent: SilentOut
    rejected: RejectedOut
    left_out: LeftOut


class RowOut(BaseModel):
    """An opinion and its text, of which at most 5,000 characters."""

    id: str
    date: str | None
    text: str
    target: str | None
    aspect: str
    polarity: str
    probability: float | None
    evidence: str | None = Field(description="The sentence that carries it, where the results say so.")
    mentions: list[Span] = Field(description="Where the text names the target.")


class RowsOut(BaseModel):
    """Some of the opinions behind a number."""

    total: int
    offset: int
    rows: list[RowOut]
