"""`tabsa serve`: what it says before it serves."""

import re
import signal
import socket
from dataclasses import fields
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel
from typer.testing import CliRunner

from tabsa.cli import serve as module
from tabsa.cli.commands import app
from tabsa.errors import ConfigError, ModelError, TabsaError
from tabsa.serve import schema
from tabsa.serve.settings import Settings

DOCS = Path(__file__).parents[2] / "docs" / "serving.md"


def failure(*options: str) -> TabsaError:
    result = CliRunner().invoke(app, ["serve", *options])
    assert isinstance(result.exception, TabsaError), result.output
    assert "\n" not in str(result.exception)
    return result.exception


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the service would be run with."""
    seen: dict[str, Any] = {}
    monkeypatch.setattr("tabsa.serve.app.run", lambda settings, **given: seen.update(given, settings=settings))
    return seen


def test_what_is_missing_is_named_with_the_command_that_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_NEEDED", ("json", "surely_not_there"))
    assert str(failure()) == "tabsa serve needs surely_not_there; install it with `pip install 'tabsa[serve]'`"


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    assert isinstance(failure("--model", "nowhere"), ModelError)
    (tmp_path / "config.json").write_text("{}")
    assert isinstance(failure("--model", str(tmp_path)), ModelError)


@pytest.mark.parametrize(
    ("setting", "word"),
    [
        ("max_conections=1", "did you mean 'max_connections'"),
        ("max_connections=0", "at least 1"),
        ("max_connections=few", "whole number"),
        ("precision=int4", "did you mean 'int8'"),
    ],
)
def test_settings_that_are_not_right(setting: str, word: str) -> None:
    error = failure("--set", setting)
    assert isinstance(error, ConfigError)
    assert word in str(error)


def test_a_port_that_is_taken(tiny_model: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        error = failure("--port", port, "--model", str(tiny_model))
    assert f"cannot listen on 127.0.0.1, port {port}" in str(error)
    assert "cannot listen on" in str(failure("--host", "no.such.host.invalid", "--model", str(tiny_model)))


def test_on_this_machine_it_is_unless_told_otherwise(started: dict[str, Any], tiny_model: Path) -> None:
    CliRunner().invoke(app, ["serve", "--model", str(tiny_model)], catch_exceptions=False)
    assert started["settings"].allowed_hosts == ("127.0.0.1",)
    assert (started["host"], started["port"], started["workers"]) == ("127.0.0.1", 8000, 1)
    assert started["settings"].precision == "auto"


def test_options_and_the_environment_become_settings(started: dict[str, Any], tiny_model: Path) -> None:
    command = ["serve", "--model", str(tiny_model), "--cors", "https://a.example", "--allow-host", "b.example"]
    command += ["--set", "threads=3", "--set", "precision=float32", "--set", "max_tables=7", "--host", "0.0.0.0"]
    result = CliRunner().invoke(app, command, env={"TABSA_API_KEY": "k"}, catch_exceptions=False)
    settings = started["settings"]
    assert (settings.cors_origins, settings.allowed_hosts) == (("https://a.example",), ("b.example", "0.0.0.0"))
    assert (settings.threads, settings.max_tables, settings.api_key) == (3, 7, "k")
    assert settings.precision == "float32"
    assert "anyone" not in result.output


def test_a_service_open_to_all_is_warned_of(started: dict[str, Any], tiny_model: Path) -> None:
    result = CliRunner().invoke(
        app, ["serve", "--host", "0.0.0.0", "--model", str(tiny_model)], env={"TABSA_API_KEY": ""}
    )
    assert "TABSA_API_KEY" in result.output
    assert started["settings"].allowed_hosts == ("0.0.0.0",)


def test_the_key_may_lie_in_a_file_but_not_on_the_command_line(
    started: dict[str, Any], tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "key"
    monkeypatch.delenv("TABSA_API_KEY", raising=False)
    monkeypatch.setenv("TABSA_API_KEY_FILE", str(file))
    assert "cannot read" in str(failure("--model", str(tiny_model)))
    file.write_text("\n")
    assert "is empty" in str(failure("--model", str(tiny_model)))
    file.write_text("s3cret\n")
    CliRunner().invoke(app, ["serve", "--model", str(tiny_model)], catch_exceptions=False)
    assert started["settings"].api_key == "s3cret"
    error = failure("--model", str(tiny_model), "--set", "api_key=s3cret")
    assert "TABSA_API_KEY" in str(error)
    assert "s3cret" not in str(error)


def test_it_serves_and_says_where(serve: Any) -> None:
    service = serve()
    assert httpx2.get(service.address + "/healthz").json() == {"status": "ok"}
    assert httpx2.get(service.address + "/").status_code == 200
    assert "server" not in httpx2.get(service.address + "/").headers
    assert sum(service.address in line for line in service.log) == 1


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_is_how_to_stop_it(serve: Any, workers: int) -> None:
    service = serve(workers=workers)
    service.process.send_signal(signal.SIGINT)
    assert service.process.wait(20) == 0
    assert "Traceback" not in "".join(service.log)


def test_every_setting_is_in_the_documentation_with_its_default() -> None:
    text = DOCS.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", text, re.MULTILINE))

    def shown(default: Any) -> str:
        if default in (None, ()):
            return "none"
        return default if isinstance(default, str) else f"{default:,}".removesuffix(".0")

    assert rows == {field.name: shown(field.default) for field in fields(Settings)}
    for field in fields(Settings):
        assert field.metadata["help"] in text


@pytest.mark.parametrize(
    "form", [schema.PredictRequest, schema.CorrectionRequest, schema.ColumnsForm, schema.ScoreForm, schema.ReportForm]
)
def test_the_page_names_every_field_of_a_request(form: type[BaseModel]) -> None:
    text = DOCS.read_text(encoding="utf-8")
    for name in (field.alias or name for name, field in form.model_fields.items()):
        assert re.search(rf"[`\"]{name}[`\"]", text), name


def test_the_page_has_every_limit_of_a_request() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for name, most in vars(schema).items():
        if name.startswith("MAX_"):
            assert f"{most:,}" in text, name
