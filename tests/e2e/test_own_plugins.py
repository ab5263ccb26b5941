"""Plugins of users on the command line: state, the handle, the order of the queue, names."""

from __future__ import annotations

import json
import shlex

import pytest
from tests.e2e.command_line import run

NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "64", memory: 64Gi, pods: "110"}}
"""
POD = """
---
apiVersion: v1
kind: Pod
metadata: {name: NAME, labels: {app: web}}
spec: {containers: [{name: main, image: web:1}]}
"""
SERVICE = """
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
"""
QUOTA = """
import podwright as pw


class Quota(pw.Plugin):
    name = "Quota"

    def __init__(self):
        self.used = set()

    def remembers(self):
        return bool(self.used)

    def pre_filter(self, cycle):
        return pw.Status.unresolvable("quota") if len(self.used) >= 2 else pw.Status()

    def reserve(self, cycle, node_name):
        self.used.add(cycle.pod.metadata.uid)
        return pw.Status()

    def unreserve(self, cycle, node_name):
        self.used.discard(cycle.pod.metadata.uid)

    def pod_ended(self, pod):
        self.used.discard(pod.metadata.uid)
"""
NEEDS_SERVICE = """
import podwright as pw
from podwright.apimachinery.objects import Service


class NeedsService(pw.Plugin):
    name = "NeedsService"

    def pre_filter(self, cycle):
        app = cycle.pod.metadata.labels["app"]
        if self.handle.find(Service, f"default/{app}") is None:
            return pw.Status.unresolvable(f"no service {app}")
        return pw.Status()
"""
BY_NAME = """
import podwright as pw


class ByName(pw.Plugin):
    name = "ByName"

    def queue_sort_key(self, pod, timestamp_ns):
        return pod.metadata.name
"""
BACKWARDS = """

class Backwards(ByName):
    name = "Backwards"
"""


def pods(*names: str) -> str:
    """Return a manifest of one node and some pods."""
    return NODE + "".join(POD.replace("NAME", name) for name in names)


def placed(stdout: str) -> list[tuple[str, str]]:
    """Return pod and node of each line, in order."""
    rows = [line.split()[1:3] for line in stdout.splitlines() if line.startswith("default")]
    return [(pod, node) for pod, node in rows]


@pytest.fixture
def files(write):
    """Write a cluster and a plugin; return them as arguments."""

    def files(cluster: str, plugin: str) -> str:
        paths = write("cluster.yaml", cluster), write("mine.py", plugin)
        return f"{shlex.quote(paths[0])} --plugin {shlex.quote(paths[1])}"

    return files


def test_a_quota_tells_pods_without_uid_apart(files):
    result = run(f"schedule {files(pods('a', 'b', 'c'), QUOTA)}", status=1)
    assert placed(result.stdout) == [("a", "n1"), ("b", "n1"), ("c", "<none>")]
    assert "0/1 nodes are available: quota." in result.stdout


def test_a_quota_is_released_when_a_pod_is_deleted(files, write):
    arguments = files(pods("a", "b", "c"), QUOTA)
    summary = run(f"simulate {arguments}", status=1).stdout
    assert "2 placed" in summary
    assert "1     quota" in summary
    line = {"at": "30s", "delete": "pod/a", "gracePeriodSeconds": 0}
    events = write("events.jsonl", json.dumps(line) + "\n")
    assert "3 placed" in run(f"simulate {arguments} --events {events}").stdout


@pytest.mark.parametrize(
    ("cluster", "node", "status"), [(pods("web"), "<none>", 1), (pods("web") + SERVICE, "n1", 0)]
)
def test_the_handle_finds_objects(files, cluster, node, status):
    arguments = files(cluster, NEEDS_SERVICE)
    result = run(f"schedule {arguments}", status=status)
    assert placed(result.stdout) == [("web", node)]
    explained = run(f"explain web {arguments}", status=status).stdout
    assert ("no service web" in explained) is (status == 1)


def test_a_plugin_may_sort_the_queue(files):
    names = ["c", "a", "b"]
    result = run(f"schedule {files(pods(*names), BY_NAME)}")
    assert placed(result.stdout) == [("a", "n1"), ("b", "n1"), ("c", "n1")]


def test_two_plugins_that_sort_the_queue_are_refused_with_what_to_do(files):
    result = run(f"schedule {files(pods('a'), BY_NAME + BACKWARDS)}", status=2)
    assert result.stderr == (
        "error: configuration: profiles[0].plugins.queueSort: a profile has one QueueSort plugin,"
        ' and "ByName" and "Backwards" are enabled: enable one of them at queueSort, and'
        ' disable the others there with {name: "*"}\n'
    )


@pytest.mark.parametrize("command", ["schedule", "simulate", "explain a"])
def test_a_misspelt_method_is_refused(files, command):
    plugin = NEEDS_SERVICE.replace("pre_filter", "prefilter")
    result = run(f"{command} {files(pods('a'), plugin)}", status=2)
    assert result.stderr.endswith(
        "mine.py: NeedsService: prefilter is not a method that plugins have; did you mean"
        ' "pre_filter"? (a method of your own can be named _prefilter)\n'
    )
