"""The image's file, read as Docker reads it, as far as tests need."""

import json
import re
import shlex
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Instruction(NamedTuple):
    """A word, its flags (`--mount=...`) and the rest."""

    word: str
    flags: tuple[str, ...]
    rest: str

    @property
    def command(self) -> list[str]:
        """What an `exec` form runs."""
        command: list[str] = json.loads(self.rest.removeprefix("CMD").strip())
        return command


def instructions(text: str) -> list[Instruction]:
    """The instructions of a Dockerfile, in order, with its arguments filled in."""
    joined, found, values = "", [], {}
    for line in text.splitlines():
        if line.lstrip().startswith("#") or not (joined or line.strip()):
            continue
        joined += line
        if joined.endswith("\\"):
            joined = joined[:-1]
            continue
        word, _, rest = joined.strip().partition(" ")
        flags = []
        while flag := re.match(r"--\S+\s+", rest.lstrip()):
            flags.append(flag[0].strip())
            rest = rest.lstrip()[flag.end() :]
        if word == "ARG":
            name, _, value = rest.partition("=")
            values[name] = value
        for name, value in values.items():
            rest = rest.replace(f"${{{name}}}", value)
        found.append(Instruction(word, tuple(flags), rest.strip()))
        joined = ""
    return found


def environment(found: list[Instruction]) -> dict[str, str]:
    """What ENV sets."""
    pairs = [pair for one in found if one.word == "ENV" for pair in shlex.split(one.rest)]
    return dict(pair.split("=", 1) for pair in pairs)
