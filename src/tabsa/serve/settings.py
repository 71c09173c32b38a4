"""Every limit and choice of the service."""

from dataclasses import dataclass

from tabsa.checkpoint.model_folder import AskedPrecision
from tabsa.config import option
from tabsa.errors import ConfigError
from tabsa.text.aspects import LONGEST_ASPECT


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the service allows and how it works; each field is an option of `tabsa serve --set NAME=VALUE`."""

    model: str | None = option(None, "the model: a name or a folder; none means the one in the box")
    threads: int = option(0, "cores that one model call may use; 0: all, shared among the workers", low=0)
    precision: AskedPrecision = option("auto", "of the model's products; auto: what it was trained for")

    api_key: str | None = option(None, "asked of every client of the API; better set as TABSA_API_KEY")
    cors_origins: tuple[str, ...] = option((), "web pages of these origins may use the API; '*' means all")
    allowed_hosts: tuple[str, ...] = option(
        (), "names that requests may address beside localhost and addresses; '*' means any"
    )

    max_body_bytes: int = option(1_048_576, "a JSON body, or a form beside its file", low=1)
    max_text_characters: int = option(10_000, "a text", low=1)
    max_texts: int = option(256, "texts of one request", low=1)
    max_targets: int = option(100, "targets of one request", low=1)
    max_aliases: int = option(20, "other names of one target", low=0)
    max_name_characters: int = option(200, "the name of a target", low=1)
    max_aspects: int = option(100, "aspects of one request", low=1)
    max_aspect_characters: int = option(100, "the words of an aspect", low=1, high=LONGEST_ASPECT)
    max_opinions: int = option(50_000, "answers of one request: texts x targets x aspects", low=1)
    max_work: int = option(200_000, "of one request: word pieces to read and questions to answer", low=1)

    batch_texts: int = option(32, "texts of one model call; 1: no batching", low=1)
    batch_ms: float = option(
        20.0, "milliseconds after which a call for small requests is long, and reads half of what waits", low=0
    )
    batch_work: int = option(512, "word pieces and questions of one model call, after which others are next", low=1)
    small_characters: int = option(1_000, "of all texts of a request that is read before large ones", low=0)
    small_opinions: int = option(200, "answers of a request that is read before large ones", low=0)
    batch_window_ms: float = option(
        2.0, "how long a call waits for more texts while many clients ask", low=0, high=1000
    )
    max_waiting: int = option(512, "texts that may wait for an answer; more are refused with 503", low=1)
    max_connections: int = option(512, "connections of one worker; those that wait give way, else 503", low=1)
    max_client_connections: int = option(256, "those of one client; as above", low=1)
    max_head_bytes: int = option(32_768, "the head of a request; more is 431", low=1024)
    max_head_fields: int = option(100, "fields of a head; more are 431", low=1)

    read_timeout: float = option(
        30.0, "seconds for the head of a request, and that its body may pause; then 408", low=0.1, high=86_400
    )
    write_timeout: float = option(60.0, "seconds that a client may take nothing of an answer", low=0.1, high=86_400)

    max_upload_bytes: int = option(104_857_600, "a file to score, unpacked", low=1)
    max_rows: int = option(1_000_000, "lines of a file to score", low=1)
    max_row_characters: int = option(100_000, "the text of a row; one with more is rejected", low=1)
    max_column_characters: int = option(1_000, "the name of a column, in a form", low=1)
    max_result_cells: int = option(50_000_000, "new cells of the results of one file", low=1)
    max_result_bytes: int = option(524_288_000, "the results of one file", low=1)
    max_uploads: int = option(16, "files that one worker receives at a time, of one client a quarter", low=1)
    max_scoring: int = option(4, "files that one worker scores at a time, of one client half as many", low=1)
    max_jobs: int = option(16, "jobs that run or wait to; more are refused with 429", low=1)
    max_kept_jobs: int = option(64, "finished jobs that are kept; of more, the oldest are removed", low=1)
    max_jobs_bytes: int = option(
        4_294_967_296, "all jobs' files; finished jobs are removed for it, the oldest first", low=1
    )
    job_minutes: float = option(60.0, "how long the results of a job are kept, where there is room", low=0)
    folder: str | None = option(None, "where jobs lie, the same for all workers; none means a temporary folder")

    corrections: str | None = option(
        None, "a .jsonl that what people correct on the page is added to; none: nothing is"
    )
    max_corrections_bytes: int = option(104_857_600, "of that file; more are refused with 503", low=1)

    shutdown_seconds: int = option(30, "what has been accepted may take this long to finish after a stop", low=0)

    def __post_init__(self) -> None:
        if self.max_waiting < self.max_texts:
            raise ConfigError(
                f"'max_waiting' is {self.max_waiting}; expected at least 'max_texts', {self.max_texts}, "
                "because a full request would never be taken"
            )
        if self.api_key is not None and not (self.api_key.isascii() and self.api_key.isprintable() and self.api_key):
            raise ConfigError("'api_key' is empty or has characters that a header cannot hold; use letters and digits")
