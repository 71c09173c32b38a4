"""A kind that is everything a kind should not be, to see that each is noticed."""

import os
import time
from pathlib import Path

from fuzz.cases import ANSWERED, Case
from tabsa.errors import DataError


class Bad:
    """Does what a case says."""

    def __init__(self, models: Path, scratch: Path) -> None: ...

    def run(self, case: Case) -> str:
        """Answer, refuse, or worse."""
        match case["do"]:
            case "raise":
                raise KeyError("x")
            case "refuse":
                raise DataError("no such file")
            case "insides":
                raise DataError("<class 'int'> is no name")
            case "die":
                os._exit(9)
            case "wait":
                time.sleep(60)
            case "spin":
                end = time.process_time() + 2.2
                while time.process_time() < end:
                    pass
        return ANSWERED
