"""What is logged, and what is not: addresses without what is asked of them."""

import copy
import logging
from typing import Any, Final

from uvicorn.config import LOGGING_CONFIG
from uvicorn.logging import AccessFormatter


class AddressFormatter(AccessFormatter):
    """A line for a request, without its query, which may hold a name or words of a text."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # logging's name
        """See logging."""
        shown = copy.copy(record)
        if isinstance(record.args, tuple):
            client, method, path, *rest = record.args
            shown.args = (client, method, str(path).partition("?")[0], *rest)
        return super().formatMessage(shown)


LOGGING: Final[dict[str, Any]] = copy.deepcopy(LOGGING_CONFIG)
LOGGING["formatters"]["access"]["()"] = f"{__name__}.{AddressFormatter.__name__}"
