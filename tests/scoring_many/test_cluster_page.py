"""What docs/cluster.md shows for clusters is at least well-formed, and names options and versions that there are."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "cluster.md").read_text("utf-8")
MANIFESTS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def test_the_cluster_launchers_file():
    yaml = pytest.importorskip("yaml")
    launcher = yaml.safe_load(MANIFESTS[0])
    assert launcher["head_node_type"] in launcher["available_node_types"]
    assert launcher["max_workers"] == launcher["available_node_types"]["worker"]["max_workers"]
    assert launcher["setup_commands"] == ["pip install 'tabsa[scale]'"]
    schema = pytest.importorskip("ray.autoscaler")
    jsonschema = pytest.importorskip("jsonschema")
    import json

    known = json.loads((Path(schema.__file__).parent / "ray-schema.json").read_text())
    jsonschema.validate(launcher, known)


def test_the_job_of_kubernetes():
    yaml = pytest.importorskip("yaml")
    job = yaml.safe_load(MANIFESTS[1])
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    cluster = job["spec"]["rayClusterSpec"]
    pinned = re.search(r"^ray==(.*)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert pinned is not None
    assert cluster["rayVersion"] == pinned[1]
    (group,) = cluster["workerGroupSpecs"]
    cpus = int(group["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"]) * group["maxReplicas"]
    assert f"--workers {cpus} " in job["spec"]["entrypoint"]


def test_commands_have_options_that_there_are(command_line):
    known = command_line("score", "--help")[1]
    commands = re.findall(r"tabsa score [^;`\n]*(?:\n +[^;`\n]*--[^;`\n]*)*", PAGE)
    assert len(commands) >= 6
    for option in {option for command in commands for option in re.findall(r"--[a-z-]+", command)}:
        assert option in known, option
