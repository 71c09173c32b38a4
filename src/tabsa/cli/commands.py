"""The commands by name, how each of them ends, and what options can do about an error."""

import errno
import os
import sys
from typing import Final, NoReturn

import typer

from tabsa import __version__
from tabsa.cli import data, demo, evaluate, models, predict, report, score, serve, suggest, train
from tabsa.cli.console import fail, show_warnings_as_lines
from tabsa.errors import TabsaError
from tabsa.files import reason
from tabsa_repro import reproduce

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # what writing to standard output may end with
_INTERRUPTED: Final = 130  # the exit code after Ctrl-C
# What the options of a command can do about an error, by the error's code.
HINTS: Final = {
    "another_run": "choose another --out",
    "cannot_listen": "choose others with --host and --port",
    "column_taken": "rename it, or take --layout long",
    "id_unknown": "check --data and --split",
    "job_differs": "ask for the same again, or start again with --overwrite",
    "job_exists": "go on with --resume, or start again with --overwrite",
    "job_unusable": "start again with --overwrite",
    "no_column": "name columns with --text-column and others like it, or in a configuration under data.columns",
    "no_aspect_list": "a single aspect is given with -a",
    "no_resume": "start again in another --out",
    "no_target": "with -t, --targets or --target-column; or give --implied, if texts do not name what they are about",
    "no_target_named": "give other names with -t 'NAME=ALIAS', or --implied if texts do not name what they are about",
    "no_tagger": "a model trained with --set model.pos_ngrams=0 reads words only and needs none",
    "no_text_column": "say with --text-column which it is",
    "output_exists": "replace it with --overwrite, or choose another name",
    "parts_failed": "mend them and go on with --resume",
    "ray_missing": "or leave out --engine ray",
    "run_exists": "continue it with --resume, or choose another --out",
    "whose_answers": "say with --target-column which does",
}

app = typer.Typer(
    name="tabsa",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Who is judged, on what, and how: targeted aspect-based sentiment analysis.",
)
for module in (predict, score, report, suggest, serve, train, evaluate, reproduce):
    app.command(module.__name__.rpartition(".")[2])(module.command)
app.command("export")(models.export_command)
app.command("models")(models.command)
app.add_typer(data.app, name="data")
app.command("demo")(demo.command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tabsa {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None: ...


def run() -> None:
    """Run the command of the arguments; a user's error is one line on stderr and exit code 1."""
    show_warnings_as_lines()
    try:
        try:
            app()
        except SystemExit as end:
            sys.stdout.flush()  # here, where a full disk is still one line
            if end.code == _INTERRUPTED:
                fail("interrupted")
            raise
    except Exception as error:
        if isinstance(error, TabsaError):
            _end(line_of(error))
        if isinstance(error, OSError) and error.filename is None and error.errno in _FULL:
            _end(f"cannot write to standard output: {reason(error)}")
        raise


def line_of(error: TabsaError) -> str:
    """Return the error as one line, with what options can do about it."""
    hint = HINTS.get(error.code, "").format_map(error.fields)
    return f"{error}; {hint}" if hint else str(error)


def _end(line: str) -> NoReturn:
    """Print what was wrong and exit; what standard output could not take would be tried again at the exit."""
    fail(line)
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)
