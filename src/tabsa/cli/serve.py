"""`tabsa serve`: the page and the API."""

import os
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from tabsa.cli.console import note, warn
from tabsa.cli.options import ModelName, Precision, optional
from tabsa.errors import ConfigError
from tabsa.files import read_text

_KEY = "TABSA_API_KEY"
_KEY_FILE = "TABSA_API_KEY_FILE"
_NEEDED = ("fastapi", "httptools", "uvicorn", "python_multipart")
_LOCAL = ("127.0.0.1", "localhost", "::1")


def command(
    host: Annotated[str, typer.Option(metavar="NAME", help="Where to listen; 0.0.0.0 is every network.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", envvar="TABSA_PORT", help="0 takes any free one.")
    ] = 8000,
    model: ModelName = None,
    workers: Annotated[int, typer.Option(min=1, metavar="N", help="Processes, each with the model.")] = 1,
    threads: Annotated[int | None, optional("N", "Cores of one model call; 0 is all.", min=0)] = None,
    precision: Precision = "auto",
    cors: Annotated[
        list[str] | None, typer.Option("--cors", metavar="ORIGIN", help="Let web pages of this origin in; repeatable.")
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="Answer to this name too; repeatable."),
    ] = None,
    read_timeout: Annotated[float | None, optional("SECONDS", "Patience with slow clients. [default: 30]")] = None,
    corrections: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A .jsonl that corrections made on the page are added to, as training data."),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any other setting; see docs/serving.md.")
    ] = None,
    access_log: Annotated[bool, typer.Option("--access-log", help="Print a line for each request.")] = False,
) -> None:
    """Start the page and the API.

    It listens on this machine only unless told otherwise. With TABSA_API_KEY in the environment, or a file that
    TABSA_API_KEY_FILE names, clients must send that key. Stop it with Ctrl-C or SIGTERM: it answers what it has taken
    first.

    Examples: `tabsa serve`, `tabsa serve --corrections corrections.jsonl`,
    `tabsa serve --port 9000 --workers 2 --set max_waiting=2000`,
    `TABSA_API_KEY=secret tabsa serve --host 0.0.0.0`
    """
    values = _values(
        settings or [],
        model=model,
        threads=threads,
        precision=precision,
        cors_origins=cors,
        allowed_hosts=[*(allow_host or ()), host],  # the name that it listens by is one of its own
        read_timeout=read_timeout,
        corrections=corrections,
    )
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise ConfigError(f"tabsa serve needs {missing[0]}; install it with `pip install 'tabsa[serve]'`")
    from tabsa.config import build
    from tabsa.inference.predictor import load
    from tabsa.serve.corrections import CorrectionsFile
    from tabsa.serve.run import run
    from tabsa.serve.settings import Settings

    checked = build(Settings, values)
    if (checked.model or "").startswith("hub:"):  # one version for all workers, also of those to come
        from tabsa.checkpoint.model_folder import open_folder

        checked = replace(checked, model=str(open_folder(checked.model).path))
    # Tell of a file that cannot be written, or a model that is not there, before anything starts.
    if checked.corrections:
        CorrectionsFile(Path(checked.corrections).expanduser())
    load(checked.model, precision=checked.precision).predict("Camden", ["Camden"])
    if host not in _LOCAL and checked.api_key is None:
        warn(f"anyone who reaches this machine can use the service; set {_KEY}, or put a proxy before it")

    def listening(address: str) -> None:
        note(f"tabsa: {address} (Ctrl-C stops it)")

    run(checked, host=host, port=port, workers=workers, access_log=access_log, on_listening=listening)


def _values(settings: Sequence[str], **options: Any) -> dict[str, Any]:
    """Return the settings by name; options go before the environment, and `--set` before both."""
    from tabsa.config import override

    if any(setting.partition("=")[0].strip() == "api_key" for setting in settings):
        raise ConfigError(f"a key on the command line can be read by everyone on this machine; set {_KEY} instead")
    values = {name: value for name, value in options.items() if value is not None}
    key = os.environ.get(_KEY)
    if not key and (file := os.environ.get(_KEY_FILE)):
        key = read_text(Path(file), ConfigError).strip()
        if not key:
            raise ConfigError(f"{file} of {_KEY_FILE} is empty; expected the key that clients must send")
    return override(values | ({"api_key": key} if key else {}), settings)
