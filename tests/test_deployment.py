"""The image's file and the unit for systemd: read, checked, and what they run is run."""

import configparser
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tabsa.cli.commands import app
from tabsa.serve.settings import Settings

ROOT = Path(__file__).parents[1]
DOCS = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
DOCKER_STOP_SECONDS = 10
LAST_SECONDS = 4  # that a stop may take beyond `shutdown_seconds`


def instructions() -> list[tuple[str, str]]:
    """The words of the Dockerfile's instructions, in order, each with what follows it, its arguments filled in."""
    text = re.sub(r"^\s*#.*\n", "", DOCKERFILE, flags=re.M).replace("\\\n", " ")
    for name, value in re.findall(r"^ARG (\w+)=(\S+)", text, re.M):
        text = text.replace(f"${{{name}}}", value)
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in text.splitlines() if line)]


IMAGE = instructions()
ENVIRONMENT = dict(pair.split("=", 1) for word, rest in IMAGE if word == "ENV" for pair in shlex.split(rest))


def only(word: str) -> str:
    (found,) = [rest for name, rest in IMAGE if name == word]
    return found


def command_of(word: str) -> list[str]:
    """The command of an `exec` form."""
    command: list[str] = json.loads(only(word)[only(word).index("[") :])
    return command


def unit() -> configparser.RawConfigParser:
    (text,) = re.findall(r"^```ini\n(.*?)^```", DOCS, re.MULTILINE | re.DOTALL)
    parser = configparser.RawConfigParser(strict=True)  # nothing is said twice
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(text)
    return parser


def test_the_base_is_a_release_and_not_whatever_is_newest() -> None:
    for word, rest in IMAGE:
        if word == "FROM":
            assert re.match(r"python:\d+\.\d+\.\d+-slim-[a-z]+(@sha256:[0-9a-f]{64})?( AS \w+)?$", rest)
    assert re.fullmatch(r"# syntax=docker/dockerfile:\d+\.\d+", DOCKERFILE.splitlines()[0])


def test_everything_copied_is_there_and_not_ignored() -> None:
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    sources = [name for word, rest in IMAGE if word == "COPY" for name in rest.split()[:-1]]
    sources += re.findall(r"type=bind,source=([^,\s]+)", " ".join(rest for _, rest in IMAGE))
    assert "constraints.txt" in sources
    for name in sources:
        assert (ROOT / name).exists()
        assert f"!{name}" in allowed


def test_it_runs_as_somebody_and_keeps_no_secret() -> None:
    words = [word for word, _ in IMAGE]
    assert int(only("USER")) > 999
    assert words.index("USER") < words.index("ENTRYPOINT")
    assert "ADD" not in words
    assert not re.search("KEY|SECRET|TOKEN|PASSWORD", " ".join(rest for word, rest in IMAGE if word in ("ENV", "ARG")))
    assert only("STOPSIGNAL") == "SIGTERM"


def test_no_command_has_the_key_in_it() -> None:
    blocks = re.findall(r"^```(?:sh|ini)\n(.*?)^```", DOCS, re.MULTILINE | re.DOTALL)
    assert blocks
    assert not re.search(r"TABSA_API_KEY=\S|api_key=", "".join(blocks))


def test_a_stop_of_the_image_ends_before_docker_loses_its_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Settings, int]] = []
    monkeypatch.setattr("tabsa.serve.app.run", lambda settings, **given: seen.append((settings, given["port"])))
    tabsa, *command = command_of("ENTRYPOINT")
    assert tabsa == "tabsa"
    result = CliRunner().invoke(app, [*command, "--model", "places"], env=ENVIRONMENT, catch_exceptions=False)
    assert result.exit_code == 0
    ((settings, port),) = seen
    assert settings.shutdown_seconds + LAST_SECONDS <= DOCKER_STOP_SECONDS
    assert port == int(only("EXPOSE"))


def test_the_health_check_asks_where_the_service_listens() -> None:
    """Both on another port than the image's own, with a name allowed as the documentation advises."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    given = os.environ | ENVIRONMENT | {"TABSA_PORT": port, "PYTHONPATH": str(ROOT / "src")}
    given |= {"http_proxy": "http://127.0.0.1:9", "TABSA_API_KEY": "secret"}
    python, *program = command_of("HEALTHCHECK")
    assert python == "python"
    tabsa, *service = command_of("ENTRYPOINT")
    assert tabsa == "tabsa"

    def healthy() -> bool:
        check = subprocess.run([sys.executable, *program], env=given, capture_output=True, timeout=20, check=False)
        return check.returncode == 0

    assert not healthy()
    command = [sys.executable, "-m", "tabsa", *service, "--model", "places", "--allow-host", "tabsa.example"]
    with subprocess.Popen(command, env=given, stderr=subprocess.DEVNULL) as process:
        try:
            assert any(healthy() or process.poll() is not None for _ in range(200))
            assert process.poll() is None
        finally:
            process.send_signal(signal.SIGTERM)
    assert process.returncode in (0, -signal.SIGTERM)


def test_the_unit_says_what_it_should() -> None:
    service = dict(unit()["Service"])
    assert int(service["TimeoutStopSec"]) > Settings().shutdown_seconds + LAST_SECONDS
    assert service["UMask"] == "0077"
    assert int(service["TasksMax"]) <= 512
    assert (service["IPAddressDeny"], service["IPAddressAllow"]) == ("any", "localhost")
    assert service["LoadCredential"].startswith("api-key:/")  # where there is none, the unit does not start
    assert service["Environment"] == "TABSA_API_KEY_FILE=%d/api-key"
    assert "EnvironmentFile" not in service
    command = service["ExecStart"].split()[1:]
    assert "KEY" not in service["ExecStart"]
    assert CliRunner().invoke(app, [command[0], "--help"]).exit_code == 0


def test_every_test_that_a_promise_names_is_there() -> None:
    promises = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(?:[\w/]+/)?(test_\w+)(?:\.py)?`", promises))
    files = list((ROOT / "tests").rglob("test_*.py"))
    known = {file.stem for file in files}
    known |= {name for file in files for name in re.findall(r"def (test_\w+)", file.read_text(encoding="utf-8"))}
    assert len(named) > 40
    assert named <= known, sorted(named - known)
