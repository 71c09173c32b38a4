"""Every choice of the service; limits of a request are in `schema`, because they are part of the API."""

from dataclasses import dataclass

from tabsa.checkpoint.model_folder import PrecisionChoice
from tabsa.config import option
from tabsa.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the service allows and how it works; each field is an option of `tabsa serve --set NAME=VALUE`."""

    model: str | None = option(None, "the model: a name or a folder; none means the one in the box")
    threads: int = option(0, "cores that one model call may use; 0: all, shared among the workers", low=0)
    precision: PrecisionChoice = option("auto", "of the model's products; auto: what it was trained for")

    api_key: str | None = option(None, "required of every client of the API; better set as TABSA_API_KEY")
    cors_origins: tuple[str, ...] = option((), "web pages of these origins may use the API; '*' means all")
    allowed_hosts: tuple[str, ...] = option(
        (), "names that requests may address beside localhost and addresses; '*' means any"
    )

    batch_work: int = option(512, "word pieces and questions of one model call; 1: no batching", low=1)
    max_waiting: int = option(512, "texts that may wait for an answer; more are refused with 503", low=256)
    max_connections: int = option(1000, "connections of one worker; more are refused with 503", low=1)

    max_upload_bytes: int = option(104_857_600, "a file to score, unpacked", low=1)
    max_tables: int = option(4, "files that one worker works on at a time; more are refused with 503", low=1)

    corrections: str | None = option(
        None, "a .jsonl that what people correct on the page is added to; none: nothing is"
    )
    shutdown_seconds: int = option(5, "what has been accepted may take this long to finish after a stop", low=0)

    def __post_init__(self) -> None:
        if self.api_key is not None and not (self.api_key.isascii() and self.api_key.isprintable() and self.api_key):
            raise ConfigError("'api_key' is empty or has characters that a header cannot hold; use letters and digits")
