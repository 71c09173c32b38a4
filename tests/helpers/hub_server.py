"""A hub on this machine: as much of the Hugging Face hub's HTTP interface as downloading and pushing a model need.

`files` of each repository are there at once; a commit is a copy of all of them under a new name.
"""

import base64
import hashlib
import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

from tabsa.inference.predictor import Predictor

NAME, TOKEN = "hub:someone/tiny", "hf_test"
TEXT, TARGETS = "Camden is cheap but not safe.", ["Camden"]
_LARGE = (".safetensors", ".onnx")  # what the hub keeps as large files


@dataclass
class Repo:
    """One model on the hub."""

    private: bool = False
    gated: bool = False
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)

    def commit(self, files: dict[str, bytes], branch: str = "main") -> str:
        """All files of a new commit; gives its name."""
        content = b"".join(name.encode() + data for name, data in sorted(files.items()))
        oid = hashlib.sha1(content + str(len(self.commits)).encode(), usedforsecurity=False).hexdigest()
        self.commits[oid] = dict(files)
        self.refs[branch] = oid
        return oid


class HubServer(ThreadingHTTPServer):
    """The hub; `asked` is every request, and `cut` the names of files that break off half way."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repos: dict[str, Repo] = {}
        self.large: dict[str, bytes] = {}
        self.asked: list[tuple[str, str]] = []
        self.cut: set[str] = set()
        self.down = False
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def resolved(self) -> list[str]:
        """The files that were downloaded, without those that were only looked at."""
        return [path.rpartition("/")[2] for method, path in self.asked if method == "GET" and "/resolve/" in path]

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        self.thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: HubServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        path = [unquote(part) for part in parts.path.strip("/").split("/")]
        self.server.asked.append((self.command, parts.path))
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.server.down:
            self._error(503, "", "down")
        elif path[:2] == ["api", "validate-yaml"]:
            self._json({"errors": [], "warnings": []})
        elif path[:3] == ["api", "repos", "create"]:
            self._create()
        elif path[0] == "large":
            self.server.large[path[1]] = self.body
            self._json({})
        elif path[:2] == ["api", "models"]:
            self._of_repo("/".join(path[2:4]), path[4:])
        elif path[2:5] == ["info", "lfs", "objects"]:
            self._large()
        elif len(path) > 4 and path[2] == "resolve":
            self._file("/".join(path[:2]), path[3], "/".join(path[4:]))
        else:
            self._error(404, "", "no such address")

    do_HEAD = do_POST = do_PUT = do_GET

    # ---- what is asked of a repository

    def _repo(self, name: str) -> Repo | None:
        """The repository; where it is not to be seen, it is as if it were not there."""
        repo = self.server.repos.get(name)
        if repo is None or (repo.private and not self._known()):
            self._error(404 if self._known() else 401, "RepoNotFound", "Repository not found")
            return None
        return repo

    def _known(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def _of_repo(self, name: str, rest: list[str]) -> None:
        repo = self._repo(name)
        if repo is None:
            return
        what = rest[0] if rest else ""
        revision = rest[1] if len(rest) > 1 else "main"
        oid = repo.refs.get(revision, revision)
        if what == "commit":
            self._commit(name, repo, revision)
        elif what == "preupload":
            names = [file["path"] for file in json.loads(self.body)["files"]]
            modes = [{"path": n, "uploadMode": "lfs" if n.endswith(_LARGE) else "regular"} for n in names]
            self._json({"files": [mode | {"shouldIgnore": False} for mode in modes]})
        elif oid not in repo.commits:
            self._error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        elif what == "tree":
            self._json([_entry(n, data) for n, data in repo.commits[oid].items()])
        else:
            siblings = [{"rfilename": n} for n in repo.commits[oid]]
            self._json({"id": name, "modelId": name, "sha": oid, "private": repo.private, "siblings": siblings})

    def _file(self, name: str, revision: str, file: str) -> None:
        repo = self._repo(name)
        if repo is None:
            return
        oid = repo.refs.get(revision, revision)
        if repo.gated and not self._known():
            self._error(403, "GatedRepo", "Access to this model is restricted")
        elif oid not in repo.commits:
            self._error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        elif file not in repo.commits[oid]:
            self._error(404, "EntryNotFound", "Entry not found")
        else:
            data = repo.commits[oid][file]
            self._send(data, "application/octet-stream", {"ETag": f'"{_etag(file, data)}"', "X-Repo-Commit": oid}, file)

    # ---- what is pushed

    def _create(self) -> None:
        asked = json.loads(self.body)
        name = f"{asked.get('organization') or 'me'}/{asked['name']}"
        if not self._known():
            self._error(401, "", "Invalid username or password.")
        elif name in self.server.repos:
            self._json({"url": f"{self.server.url}/{name}", "error": "You already created this model repo"}, 409)
        else:
            private = asked.get("visibility") == "private" or bool(asked.get("private"))
            repo = self.server.repos[name] = Repo(private=private)
            repo.commit({".gitattributes": b"*.onnx filter=lfs\n"})
            self._json({"url": f"{self.server.url}/{name}"})

    def _large(self) -> None:
        objects = []
        for asked in json.loads(self.body)["objects"]:
            href = f"{self.server.url}/large/{asked['oid']}"
            actions = {} if asked["oid"] in self.server.large else {"actions": {"upload": {"href": href}}}
            objects.append(asked | actions)
        self._json({"transfer": "basic", "objects": objects})

    def _commit(self, name: str, repo: Repo, branch: str) -> None:
        files = dict(repo.commits[repo.refs[branch]])
        for line in map(json.loads, self.body.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.server.large[value["oid"]]
            elif line["key"] == "deletedFile":
                del files[value["path"]]
        oid = repo.commit(files, branch)
        address = f"{self.server.url}/{name}/commit/{oid}"
        self._json({"commitUrl": address, "commitOid": oid, "hookOutput": ""})

    # ---- answers

    def _json(self, value: object, status: int = 200) -> None:
        self._send(json.dumps(value).encode(), "application/json", {}, "", status)

    def _error(self, status: int, code: str, message: str) -> None:
        headers = {"X-Error-Code": code, "X-Error-Message": message} if code else {}
        self._send(json.dumps({"error": message}).encode(), "application/json", headers, "", status)

    def _send(self, data: bytes, kind: str, headers: dict[str, str], file: str, status: int = 200) -> None:
        start = 0
        if (asked := self.headers.get("Range")) and status == 200 and file:
            start = int(asked.removeprefix("bytes=").partition("-")[0])
            status = 206
            headers = headers | {"Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"}
        self.send_response(status)
        for name, value in (headers | {"Content-Type": kind, "Content-Length": str(len(data) - start)}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if file in self.server.cut:
            self.wfile.write(data[start : max(start, len(data) // 2)])
            self.close_connection = True
            return
        self.wfile.write(data[start:])


def _etag(name: str, data: bytes) -> str:
    """What the hub calls a file's content: of a large file its SHA-256, of others git's name for it."""
    if name.endswith(_LARGE):
        return hashlib.sha256(data).hexdigest()
    return hashlib.sha1(f"blob {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest()


def _entry(name: str, data: bytes) -> dict[str, object]:
    entry: dict[str, object] = {"type": "file", "path": name, "size": len(data), "oid": _etag(name, data)[:40]}
    if name.endswith(_LARGE):
        entry["lfs"] = {"oid": _etag(name, data), "size": len(data), "pointerSize": 130}
    return entry


def answers(model: Predictor) -> dict[str, object]:
    """What a model says of one text."""
    return model.predict(TEXT, TARGETS).to_dict()
