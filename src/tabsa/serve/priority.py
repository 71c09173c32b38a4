"""Threads that run behind the others, so that large work takes only what small work leaves."""

import contextlib
import os
import sys
import threading
from typing import Final

_NICE: Final = 19  # they get what others leave: 1 part in 69 of a core that both want


def step_back() -> None:
    """Let the calling thread, and those it starts, run behind the others; only Linux knows threads of several ranks."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
