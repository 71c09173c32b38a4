"""The image's commands, run where there is no Docker: in a root of their own, without a network at the end.

A stranger's base cannot be had without a registry, so this machine's own system and Python stand in for it, under an
overlay that is thrown away. It installs packages, so it runs only where it is asked for: `TABSA_TEST_IMAGE=1`, as root.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from image import ROOT, environment, instructions

pytestmark = pytest.mark.skipif(
    os.environ.get("TABSA_TEST_IMAGE") != "1" or not hasattr(os, "geteuid") or os.geteuid() != 0,
    reason="installs packages in a root of its own: TABSA_TEST_IMAGE=1, as root",
)
PREPARE = """
set -eu
mount -t tmpfs none "$T"
mkdir "$T/upper" "$T/work" "$T/tree"
mount -t overlay overlay -o "lowerdir=/,upperdir=$T/upper,workdir=$T/work" "$T/tree"
for place in proc dev; do mount --rbind "/$place" "$T/tree/$place"; done
mount -t tmpfs none "$T/tree/tmp"
chmod 1777 "$T/tree/tmp"
for place in $(python_parents); do chmod a+rx "$T/tree$place"; done
in_root() { chroot "$T/tree" env PATH=/base/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"; }
in_root "$PYTHON" -m venv /base
"""
RUN = """
up='import fcntl, socket, struct
s = socket.socket()
fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 1))'
cat > "$T/tree/start" <<'END'
cd "$WORK"
ENTRYPOINT &
service=$!
for second in $(seq 60); do sleep 1; if HEALTHCHECK; then echo healthy; break; fi; done 2>/dev/null
id -u
kill -TERM $service
wait $service || echo "ended with $?"
END
unshare -n sh -c '"$0" -c "$2" && shift 2 && exec "$@"' "$PYTHON" - "$up" \\
    chroot --userspec=10001:10001 "$T/tree" env -i PATH=/base/bin:/usr/bin:/bin ENVIRONMENT WORK=/srv sh /start
"""


def script(work: str) -> str:
    """The instructions as a shell would run them."""
    lines, where = [PREPARE], "/"
    found = instructions((ROOT / "Dockerfile").read_text(encoding="utf-8"))
    for word, _, rest in found:
        if word == "WORKDIR":
            where = rest
            lines.append(f'mkdir -p "$T/tree{where}"')
        elif word == "COPY":
            *sources, target = rest.split()
            for source in sources:
                to = f"{where}/{target}".replace("/./", "/")
                lines.append(f'cp -r "{ROOT}/{source}" "$T/tree{to}"')
        elif word == "RUN":
            lines.append(f'cp "{ROOT}/constraints.txt" "$T/tree/constraints.txt"')
            lines.append(f"in_root sh -euc {shlex.quote(f'cd {where}; {rest}')}")
        elif word == "FROM" and " AS " not in rest:
            lines.append('rm -rf "$T/tree/project"')
            where = "/"
    (entry,) = [one.command for one in found if one.word == "ENTRYPOINT"]
    (check,) = [one.command for one in found if one.word == "HEALTHCHECK"]
    given = shlex.join(f"{name}={value}" for name, value in environment(found).items())
    run = RUN.replace("ENTRYPOINT", shlex.join(entry)).replace("HEALTHCHECK", shlex.join(check))
    text = "\n".join([*lines, run.replace("ENVIRONMENT", given)])
    parents = [str(parent) for parent in reversed(Path(sys.executable).resolve().parents)]
    text = text.replace("$(python_parents)", shlex.join(parents[1:]))
    return f"T={shlex.quote(work)}\nPYTHON={shlex.quote(str(Path(sys.executable).resolve()))}\n{text}"


def test_the_image_builds_serves_is_healthy_and_stops(tmp_path: Path) -> None:
    ran = subprocess.run(
        ["unshare", "-m", "sh", "-c", script(str(tmp_path))], capture_output=True, text=True, timeout=540, check=False
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
    told = ran.stdout.splitlines()
    assert told[-3:-1] == ["healthy", "10001"] or told[-2:] == ["healthy", "10001"], ran.stdout[-2000:]
    assert "http://0.0.0.0:8000" in ran.stderr
    assert "Traceback" not in ran.stderr
