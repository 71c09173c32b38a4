"""What a measurement ran on."""

import os
import platform
from typing import Any


def machine() -> dict[str, Any]:
    """For the file of a result."""
    return {
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
