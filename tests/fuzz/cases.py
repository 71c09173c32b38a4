"""What a case is, and how it ends."""

import hashlib
import json
import random
import traceback
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

from tabsa.errors import TabsaError

Case: TypeAlias = dict[str, Any]  # JSON, whatever a kind needs to run it

CORPUS = Path(__file__).parent / "corpus"
ANSWERED, REFUSED = "answered", "refused"
SLOW_SECONDS = 2.0  # of the processor: what others do on the machine does not count
_FOREIGN_WORDS = ("Traceback", "pydantic", "site-packages", "<class '", " object at 0x")


class Broken(AssertionError):
    """An answer, or a refusal, is not what ours are."""


class Kind(Protocol):
    """Runs the cases of a kind."""

    def __init__(self, models: Path, scratch: Path) -> None:
        """Get ready, with the small model folders and a folder to write in."""

    def run(self, case: Case) -> str:
        """ANSWERED or REFUSED; a TabsaError counts as the second, anything else that is raised is a finding."""


class Maker(Protocol):
    """Makes a case by chance."""

    def __call__(self, chance: random.Random) -> Case: ...


class Ended(NamedTuple):
    """How a case ended: `finding` is empty where it was well."""

    outcome: str
    seconds: float
    finding: str = ""
    signature: str = ""  # the same for findings of one cause


def chance_of(kind: str, seed: int, number: int) -> random.Random:
    """Where a case comes from; each can be made again without the others."""
    digest = hashlib.sha256(f"{kind} {seed} {number}".encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))


def check_refusal(error: TabsaError) -> None:
    """A refusal is one line in plain words."""
    check_line(str(error))


def check_line(message: str) -> None:
    """One line, and nothing of the insides."""
    if not message.strip() or "\n" in message:
        raise Broken(f"a refusal is not one line: {message[:300]!r}")
    for word in _FOREIGN_WORDS:
        if word in message:
            raise Broken(f"a refusal shows our insides: {message[:300]!r}")


def told(error: BaseException) -> tuple[str, str]:
    """A finding in full, and its signature: the exception and the last lines of our own that it came through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/tabsa/" in frame.filename] or frames[-1:]
    where = " < ".join(f"{Path(frame.filename).name}:{frame.name}" for frame in ours[-2:][::-1])
    about = f" {str(error)[:60]}" if isinstance(error, Broken) else ""
    lines = "".join(traceback.format_exception(error, limit=-12))[-4000:]
    return lines, f"{type(error).__name__}{about} in {where}"


def read_case(path: Path) -> tuple[str, Case]:
    """A kept case, and its kind."""
    kept = json.loads(path.read_text("utf-8"))
    return kept["kind"], kept["case"]


def write_case(path: Path, kind: str, about: str, case: Case) -> None:
    """Keep a case, with what it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"kind": kind, "about": about, "case": case}, indent=1) + "\n", "utf-8")
