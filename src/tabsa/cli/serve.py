"""`tabsa serve`: the page and the API."""

import os
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from tabsa.cli import options
from tabsa.cli.console import note, warn
from tabsa.cli.options import option, optional
from tabsa.errors import ConfigError
from tabsa.files import read_text

_KEY = "TABSA_API_KEY"
_KEY_FILE = "TABSA_API_KEY_FILE"
_NEEDED = ("fastapi", "uvicorn", "python_multipart")
_LOCAL = ("127.0.0.1", "localhost", "::1")


def command(
    host: Annotated[str, typer.Option(metavar="NAME", help="Where to listen; 0.0.0.0 is every network.")] = "127.0.0.1",
    port: Annotated[int, option("N", "0 takes any free one.", min=0, max=65535, envvar="TABSA_PORT")] = 8000,
    model: options.ModelName = None,
    workers: Annotated[int, typer.Option(min=1, metavar="N", help="Processes, each with the model.")] = 1,
    cors: Annotated[list[str] | None, optional("ORIGIN", "Let web pages of this origin in; repeatable.")] = None,
    allow_host: Annotated[list[str] | None, optional("NAME", "Answer to this name too; repeatable.")] = None,
    corrections: Annotated[str | None, optional("FILE", "A .jsonl that corrections on the page are added to.")] = None,
    settings: Annotated[list[str] | None, optional("KEY=VALUE", "Another setting: docs/serving.md.", "--set")] = None,
) -> None:
    """Start the page and the API.

    It listens on this machine only unless told otherwise. With TABSA_API_KEY in the environment, or a file that
    TABSA_API_KEY_FILE names, clients must send that key. Stop it with Ctrl-C or SIGTERM: it answers what it has taken
    first.

    Examples:
    - `tabsa serve`
    - `tabsa serve --corrections corrections.jsonl`
    - `tabsa serve --port 9000 --workers 2 --set max_waiting=2000`
    - `TABSA_API_KEY=secret tabsa serve --host 0.0.0.0`
    """
    from tabsa.config import build, override

    if any(setting.partition("=")[0].strip() == "api_key" for setting in settings or ()):
        raise ConfigError(f"a key on the command line can be read by everyone on this machine; set {_KEY} instead")
    hosts = [*(allow_host or ()), host]  # the name that it listens by is one of its own
    given = {"model": model, "cors_origins": cors, "allowed_hosts": hosts, "corrections": corrections, **_key()}
    values: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise ConfigError(f"tabsa serve needs {missing[0]}; install it with `pip install 'tabsa[serve]'`")
    from tabsa.inference.predictor import load
    from tabsa.serve.app import run
    from tabsa.serve.corrections import CorrectionsFile
    from tabsa.serve.settings import Settings

    checked = build(Settings, override(values, settings or ()))
    checked = replace(checked, model=options.pinned_model(checked.model))
    # Fail on a file that cannot be written, or a model that is not there, before anything starts.
    if checked.corrections:
        CorrectionsFile(Path(checked.corrections).expanduser())
    load(checked.model, precision=checked.precision).predict("Camden", ["Camden"])
    if host not in _LOCAL and checked.api_key is None:
        warn(f"anyone who reaches this machine can use the service; set {_KEY}, or put a proxy before it")

    listening = {"on_listening": lambda address: note(f"tabsa: {address} (Ctrl-C stops it)")}
    run(checked, host=host, port=port, workers=workers, **listening)


def _key() -> dict[str, str]:
    """Return the key of the environment, or of the file that it names, as a setting."""
    key = os.environ.get(_KEY)
    if not key and (file := os.environ.get(_KEY_FILE)):
        key = read_text(Path(file), ConfigError).strip()
        if not key:
            raise ConfigError(f"{file} of {_KEY_FILE} is empty; expected the key that clients must send")
    return {"api_key": key} if key else {}
