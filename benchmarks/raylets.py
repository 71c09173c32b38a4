"""A Ray cluster of several nodes on this machine: separate raylets, each with an object store and CPUs of its own."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

OBJECT_STORE = 150_000_000  # bytes a node
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
ENVIRONMENT = os.environ | QUIET | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


class Raylets:
    """Nodes by their numbers, of which 0 is the head; each is a group of processes that can be killed as one."""

    def __init__(self, nodes: int, *, cpus: int = 1, cores: set[int] | None = None) -> None:
        import ray

        self.address = f"{ray.util.get_node_ip_address()}:{_free_port()}"
        self._cpus, self._cores = cpus, cores
        self._folder = tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True)
        self.groups: list[subprocess.Popen[bytes]] = []
        for _ in range(nodes):
            self.add()
        self._await(nodes)

    def add(self) -> None:
        """Start another node; the first is the head."""
        where = ["--address", self.address]
        if not self.groups:
            port = self.address.partition(":")[2]
            where = ["--head", "--port", port, "--include-dashboard", "false", "--temp-dir", self._folder.name]
        command = [str(Path(sys.executable).with_name("ray")), "start", "--block"]
        command += [*where, "--num-cpus", str(self._cpus), "--object-store-memory", str(OBJECT_STORE)]
        self.groups.append(
            subprocess.Popen(
                command,
                env=ENVIRONMENT,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=self.pin,
            )
        )
        if len(self.groups) == 1:
            self._await_port()
        self._await_raylet(self.groups[-1].pid)  # nodes that start at once look for ports at once

    def pin(self) -> None:
        """Keep a child process to the cores."""
        if self._cores:
            os.sched_setaffinity(0, self._cores)

    def _await_port(self) -> None:
        host, _, port = self.address.partition(":")
        for _ in range(600):
            try:
                return socket.create_connection((host, int(port)), timeout=1).close()
            except OSError:
                time.sleep(0.1)
        sys.exit("the head did not start")

    def _await_raylet(self, leader: int) -> None:
        import psutil

        for _ in range(300):
            with suppress(psutil.Error):
                if any(child.name() == "raylet" for child in psutil.Process(leader).children(recursive=True)):
                    return time.sleep(2)
            time.sleep(0.2)
        return None

    def _await(self, nodes: int) -> None:
        code = f"import ray; ray.init('{self.address}', logging_level='ERROR'); print(len(ray.nodes()))"
        for _ in range(30):
            run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT)
            if run.stdout.strip() == str(nodes):
                return
            time.sleep(1)
        self.stop()
        sys.exit(f"the cluster did not come to {nodes} nodes: {run.stdout} {run.stderr[-500:]}")

    def kill(self, number: int) -> None:
        """Kill a node with all its processes, at once and without a word."""
        for pid in _group(self.groups[number].pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.groups[number].wait()

    def processes(self) -> list[int]:
        """All processes of all nodes that are there."""
        return [pid for group in self.groups if group.poll() is None for pid in _group(group.pid)]

    def stop(self) -> None:
        """Kill all nodes."""
        for number, group in enumerate(self.groups):
            if group.poll() is None:
                self.kill(number)
        self._folder.cleanup()


def _group(leader: int) -> list[int]:
    """A process and all below it; raylets put their workers into sessions of their own."""
    import psutil

    try:
        process = psutil.Process(leader)
        return [leader, *(child.pid for child in process.children(recursive=True))]
    except psutil.NoSuchProcess:
        return []


def _free_port() -> int:
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return int(some.getsockname()[1])
