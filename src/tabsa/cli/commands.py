"""The commands by name, and how each of them ends."""

import errno
import os
import sys
from typing import Final, NoReturn

import typer

from tabsa import __version__
from tabsa.cli import data, demo, evaluate, export, models, predict, report, reproduce, score, serve, suggest, train
from tabsa.cli.console import fail, show_warnings_as_lines
from tabsa.cli.hints import line_of
from tabsa.errors import TabsaError
from tabsa.files import reason

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # what writing to standard output may end with
_INTERRUPTED: Final = 130  # the exit code after Ctrl-C

app = typer.Typer(
    name="tabsa",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Who is judged, on what, and how: targeted aspect-based sentiment analysis.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tabsa {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None: ...


app.command("predict")(predict.command)
app.command("score")(score.command)
app.command("report")(report.command)
app.command("suggest")(suggest.command)
app.command("serve")(serve.command)
app.command("train")(train.command)
app.command("evaluate")(evaluate.command)
app.command("reproduce")(reproduce.command)
app.command("export")(export.command)
app.command("models")(models.command)
app.add_typer(data.app, name="data")
app.command("demo")(demo.command)


def run() -> None:
    """Run the command that was asked for; a user's error is one line on stderr and exit code 1."""
    show_warnings_as_lines()
    try:
        try:
            app()
        except SystemExit as end:
            sys.stdout.flush()  # here, where a full disk is still told of in one line
            if end.code == _INTERRUPTED:
                fail("interrupted")
            raise
    except Exception as error:
        if _is_interruption(error):
            raise KeyboardInterrupt from error
        if isinstance(error, TabsaError):
            _end(line_of(error))
        if isinstance(error, OSError) and error.filename is None and error.errno in _FULL:
            _end(f"cannot write to standard output: {reason(error)}")
        raise


def _is_interruption(error: BaseException) -> bool:
    """Whether it began with Ctrl-C: an extension that is being imported then makes an ImportError of it."""
    seen: BaseException | None = error
    while seen is not None and not isinstance(seen, KeyboardInterrupt):
        seen = seen.__cause__ or seen.__context__
    return seen is not None


def _end(line: str) -> NoReturn:
    """Say what was wrong and go; what standard output could not take would be tried again at the exit, and is lost."""
    fail(line)
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)
