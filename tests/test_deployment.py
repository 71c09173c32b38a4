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
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from tabsa.cli.commands import app
from tabsa.serve.settings import Settings


class Instruction(NamedTuple):
    """A word, its flags (`--mount=...`) and the rest."""

    word: str
    flags: tuple[str, ...]
    rest: str

    @property
    def command(self) -> list[str]:
        """The command of an `exec` form."""
        command: list[str] = json.loads(self.rest.removeprefix("CMD").strip())
        return command


def instructions(text: str) -> list[Instruction]:
    """The instructions of a Dockerfile, in order, with its arguments filled in."""
    lines = re.sub(r"^\s*#.*\n", "", text, flags=re.M).replace("\\\n", " ").splitlines()
    found, values = [], {}
    for word, _, rest in (line.strip().partition(" ") for line in lines if line.strip()):
        flags = re.match(r"(\s*--\S+)*", rest)[0]
        filled = rest[len(flags) :].strip()
        if word == "ARG":
            name, _, values[name] = filled.partition("=")
        for name, value in values.items():
            filled = filled.replace(f"${{{name}}}", value)
        found.append(Instruction(word, tuple(flags.split()), filled))
    return found


def environment(found: list[Instruction]) -> dict[str, str]:
    """The variables that ENV sets."""
    pairs = [pair for one in found if one.word == "ENV" for pair in shlex.split(one.rest)]
    return dict(pair.split("=", 1) for pair in pairs)


ROOT = Path(__file__).parents[1]
DOCS = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
IMAGE = instructions((ROOT / "Dockerfile").read_text(encoding="utf-8"))
DOCKER_STOP_SECONDS = 10
LAST_SECONDS = 4  # that a stop may take beyond `shutdown_seconds`


def only(word: str) -> Instruction:
    (found,) = [one for one in IMAGE if one.word == word]
    return found


def unit() -> configparser.RawConfigParser:
    (text,) = re.findall(r"^```ini\n(.*?)^```", DOCS, re.MULTILINE | re.DOTALL)
    parser = configparser.RawConfigParser(strict=True)  # nothing is said twice
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(text)
    return parser


def test_the_base_is_a_release_and_not_whatever_is_newest() -> None:
    for one in IMAGE:
        if one.word == "FROM":
            assert re.match(r"python:\d+\.\d+\.\d+-slim-[a-z]+(@sha256:[0-9a-f]{64})?( AS \w+)?$", one.rest)
    first = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()[0]
    assert re.fullmatch(r"# syntax=docker/dockerfile:\d+\.\d+", first)


def test_everything_copied_is_there_and_not_ignored() -> None:
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    sources = [name for one in IMAGE if one.word == "COPY" for name in one.rest.split()[:-1]]
    sources += re.findall(r"type=bind,source=([^,\s]+)", " ".join(flag for one in IMAGE for flag in one.flags))
    assert "constraints.txt" in sources
    for name in sources:
        assert (ROOT / name).exists()
        assert f"!{name}" in allowed


def test_it_runs_as_somebody_and_keeps_no_secret() -> None:
    words = [one.word for one in IMAGE]
    assert int(only("USER").rest) > 999
    assert words.index("USER") < words.index("ENTRYPOINT")
    assert "ADD" not in words
    assert not re.search("KEY|SECRET|TOKEN|PASSWORD", " ".join(one.rest for one in IMAGE if one.word in ("ENV", "ARG")))
    assert only("STOPSIGNAL").rest == "SIGTERM"


def test_no_command_has_the_key_in_it() -> None:
    blocks = re.findall(r"^```(?:sh|ini)\n(.*?)^```", DOCS, re.MULTILINE | re.DOTALL)
    assert blocks
    assert not re.search(r"TABSA_API_KEY=\S|api_key=", "".join(blocks))


def test_a_stop_of_the_image_ends_before_docker_loses_its_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Settings, int]] = []
    monkeypatch.setattr("tabsa.serve.app.run", lambda settings, **given: seen.append((settings, given["port"])))
    tabsa, *command = only("ENTRYPOINT").command
    assert tabsa == "tabsa"
    result = CliRunner().invoke(app, [*command, "--model", "places"], env=environment(IMAGE), catch_exceptions=False)
    assert result.exit_code == 0
    ((settings, port),) = seen
    assert settings.shutdown_seconds + LAST_SECONDS <= DOCKER_STOP_SECONDS
    assert port == int(only("EXPOSE").rest)


def test_the_health_check_asks_where_the_service_listens() -> None:
    """Both on another port than the image's own, with a name allowed as the documentation advises."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    given = os.environ | environment(IMAGE) | {"TABSA_PORT": port, "PYTHONPATH": str(ROOT / "src")}
    given |= {"http_proxy": "http://127.0.0.1:9", "TABSA_API_KEY": "secret"}
    python, *program = only("HEALTHCHECK").command
    assert python == "python"
    tabsa, *service = only("ENTRYPOINT").command
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
