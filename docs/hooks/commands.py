"""The reference of the command line, made of what `--help` prints, where a page says `<!-- site: commands -->`."""

import re
from collections.abc import Iterator
from typing import Any

import typer

MARK = "<!-- site: commands -->"
_EXAMPLES = ("Example:", "Examples:")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the commands in their place."""
    return markdown.replace(MARK, "\n".join(commands())) if MARK in markdown else markdown


def commands() -> Iterator[str]:
    """Every command as Markdown, those of a group behind it."""
    from tabsa.cli.commands import app

    yield from _group(typer.main.get_command(app), "tabsa")


def _group(group: Any, path: str) -> Iterator[str]:
    for name, command in group.commands.items():
        if not command.hidden:
            yield from _command(command, f"{path} {name}")
            if hasattr(command, "commands"):
                yield from _group(command, f"{path} {name}")


def _command(command: Any, path: str) -> Iterator[str]:
    """What it does, how it is called, examples, and what it takes as a definition list."""
    context = command.context_class(command, info_name=path)
    paragraphs = re.split(r"\n\s*\n", (command.help or "").strip())
    yield f"\n## {path}\n"
    yield from (f"{_plain(paragraph)}\n" for paragraph in paragraphs if not paragraph.startswith(_EXAMPLES))
    yield f"```text\n{' '.join([path, *command.collect_usage_pieces(context)])}\n```\n"
    for paragraph in paragraphs:
        if paragraph.startswith(_EXAMPLES):
            lines = (" ".join(line.split()) for line in re.findall(r"`([^`]+)`", paragraph))
            yield "```sh\n" + "\n".join(lines) + "\n```\n"
    for parameter in command.params:
        names, told = parameter.get_help_record(context) or ("", "")
        if names:
            names = re.sub(r" <(?:str|path|int|float)>$", "", names)
            yield f"`{names}`\n:   {_plain(told)}\n"


def _plain(text: str) -> str:
    """Help as Markdown: what stands outside code is no markup."""
    pieces = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(piece if piece.startswith("`") else re.sub(r"([*_<>\[\]])", r"\\\1", piece) for piece in pieces)
