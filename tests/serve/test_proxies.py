"""The proxies of docs/security.md before a real service, run as they stand there but for addresses and certificates."""

import json
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
BODY = {"text": "Camden is dear.", "targets": ["Camden"]}


def block(kind: str) -> str:
    (found,) = re.findall(rf"^```{kind}\n(.*?)^```", DOCS, re.MULTILINE | re.DOTALL)
    return found


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


@pytest.fixture
def service(serve: Any) -> int:
    """The port of a service that believes the proxy."""
    port: int = serve("--allow-host", "tabsa.example").place[1]
    return port


def ask(port: int, process: subprocess.Popen[bytes], host: str = "tabsa.example", size: int = 0) -> int:
    """Send a request through the proxy as soon as it listens; the status, or 0 where it does not read to the end."""
    content = json.dumps(BODY | ({"text": "a" * size} if size else {})).encode()
    head = {"Content-Type": "application/json", "Host": host}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/predict", content, head)
    while process.poll() is None:
        try:
            with urllib.request.urlopen(request) as answer:
                assert json.load(answer)["opinions"][0]["target"] == "Camden"
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return int(error.code)
        except OSError as error:
            if not isinstance(getattr(error, "reason", error), ConnectionRefusedError):
                return 0
            time.sleep(0.02)
    return pytest.fail("the proxy has ended")


@pytest.mark.skipif(shutil.which("nginx") is None, reason="needs nginx")
def test_nginx(service: int, tmp_path: Path) -> None:
    port = free_port()
    text = re.sub(r"^ +ssl_certificate.*\n", "", block("nginx"), flags=re.MULTILINE)
    text = text.replace("listen 443 ssl", f"listen 127.0.0.1:{port}").replace("127.0.0.1:8000", f"127.0.0.1:{service}")
    folders = "".join(f"{k}_temp_path {tmp_path / k};" for k in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    head = f"daemon off; master_process off; pid {tmp_path}/pid; error_log stderr;"
    (tmp_path / "nginx.conf").write_text(f"{head} events {{}} http {{ {folders} access_log off;\n{text}\n}}")
    with running("nginx", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")) as nginx:
        assert ask(port, nginx) == 200
        assert ask(port, nginx, host="evil.example") == 400  # the service sees the name that was asked for
        assert ask(port, nginx, size=110_000_000) in (0, 413)
        assert 503 in [ask(port, nginx) for _ in range(200)]  # more than twenty a second, and a burst of forty


@pytest.mark.skipif(shutil.which("caddy") is None, reason="needs Caddy")
def test_caddy(service: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    monkeypatch.setenv("HOME", str(tmp_path))
    text = block("caddyfile").replace("{\n", "{\n\tadmin off\n", 1)
    text = text.replace("tabsa.example {", f"http://127.0.0.1:{port}, http://tabsa.example:{port} {{")
    (tmp_path / "Caddyfile").write_text(text.replace("127.0.0.1:8000", f"127.0.0.1:{service}"))
    with running("caddy", "run", "--config", str(tmp_path / "Caddyfile"), "--adapter", "caddyfile") as caddy:
        assert ask(port, caddy) == 200
        assert ask(port, caddy, size=110_000_000) in (0, 413)
