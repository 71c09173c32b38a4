"""The one door to onnxruntime, which comes without its telemetry; and the cores that it may use.

As it comes, onnxruntime makes a device's id and a database in the user's cache when it is imported, and knows where to
send what it gathers. The environment is asked before the import: `disable_telemetry_events()` alone comes too late.
"""

import os
import sys
from types import ModuleType
from typing import Final

_SWITCH: Final = "ORT_DISABLE_TELEMETRY"


def load_onnxruntime() -> ModuleType:
    """onnxruntime, imported at first use; who wants its telemetry sets ORT_DISABLE_TELEMETRY=0."""
    chosen = "onnxruntime" in sys.modules  # by whoever imported it, or another thread is about to
    silent = not chosen and os.environ.setdefault(_SWITCH, "1") != "0"
    import onnxruntime  # waits for a thread that is importing it: half a module has no attributes

    if silent:
        onnxruntime.disable_telemetry_events()
    return onnxruntime  # type: ignore[no-any-return]


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
