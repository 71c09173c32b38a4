"""The command line: parse, call, print. One file a command; nothing here computes."""

import sys

import typer

from tabsa import __version__
from tabsa.cli import data, demo, evaluate, export, models, predict, report, reproduce, score, serve, suggest, train
from tabsa.cli.console import fail, show_warnings_as_lines
from tabsa.cli.hints import line_of
from tabsa.errors import TabsaError

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


def main() -> None:
    """Run the command line; a user's error is one line on stderr and exit code 1."""
    show_warnings_as_lines()
    try:
        app()
    except TabsaError as error:
        fail(line_of(error))
        sys.exit(1)
    except KeyboardInterrupt:
        fail("interrupted")
        sys.exit(130)
