"""Attempts of a served cluster as tests that run offline."""

from typing import Any

import pytest

from podwright.online.apiserver import Cluster, ClusterOptions, new_cluster
from podwright.online.apiserver.control.scheduling.explanation import _saved
from podwright.online.apiserver.generated_nodes import generated_nodes
from podwright.online.apiserver.tests.conftest import SERVER, START_NS, pod
from podwright.scheduler.assembly import plugins_from
from podwright.scheduler.framework import Plugin
from podwright.scheduler.machine import SchedulerOptions
from podwright.testing import make_pod

V1 = "/podwright/v1"
PODS = "/api/v1/namespaces/default/pods"
TEXT = """
import podwright as pw

class NeverB(pw.Plugin):
    '''Rejects pods named b.'''
    name = "NeverB"

    def filter(self, cycle, node):
        if cycle.pod.metadata.name == "b":
            return pw.Status.unschedulable("no\\tb")
        return pw.Status()
"""


def cluster_with(*plugins: type[Plugin]) -> Cluster:
    cluster = new_cluster(
        SchedulerOptions(plugins=plugins),
        now_ns=START_NS,
        options=ClusterOptions(),
        server_options=SERVER,
    )
    cluster.world.add(*generated_nodes(2))
    return cluster


def case_of(served, name, query=""):
    assert served.send("POST", PODS, pod(name))[0] == 201
    served.eventually(f"{PODS}/{name}", lambda found: found["status"].get("conditions"))
    return served.send("GET", f"{V1}/pods/default/{name}/case{query}")


def check(text):
    namespace: dict[str, Any] = {}
    exec(compile(text, "test_case.py", "exec"), namespace)
    namespace["test_the_recorded_outcome"]()
    return namespace


def test_a_case_has_the_plugins_of_the_log_that_has_the_attempt():
    cluster = cluster_with(*plugins_from(TEXT, source="folder/never_b.py"))
    cluster.world.add(make_pod("b"))
    cluster.world.run_until_ns(START_NS + 10**9, progress=False)
    found = _saved(cluster, "default/b", 1)
    assert (found.pod, found.attempt) == ("default/b", 1)
    assert check(found.text)["PLUGINS"] == {"never_b.py": TEXT}


def test_the_case_has_the_source_of_the_plugin_and_passes(serve):
    served = serve(cluster_with(*plugins_from(TEXT, source="folder/never_b.py")))
    status, found = case_of(served, "b", "?attempt=1")
    assert (status, found["pod"], found["attempt"]) == (200, "default/b", 1), found
    namespace = check(found["text"])
    assert namespace["PLUGINS"] == {"never_b.py": TEXT}
    assert "no\tb" in namespace["EXPECTED"]
    with pytest.raises(AssertionError, match="was recorded"):
        check(found["text"].replace('== "b"', '== "c"'))


def test_the_case_of_another_scheduler_has_its_plugins(serve):
    served = serve(cluster_with(*plugins_from(TEXT, source="never_b.py")))
    first = case_of(served, "b")[1]["text"]
    changed = TEXT.replace("no\\tb", "not b")
    served.cluster.change_scheduler(
        SchedulerOptions(plugins=tuple(plugins_from(changed, source="never_b.py")))
    )
    text = case_of(served, "a")[1]["text"]
    assert check(text)["PLUGINS"] == {"never_b.py": changed}
    assert check(first)["PLUGINS"] == {"never_b.py": TEXT}


class WithoutFile(Plugin):
    name = "WithoutFile"


def test_wrong_requests_are_problems(serve):
    served = serve(cluster_with(WithoutFile))
    status, found = case_of(served, "a")
    assert (status, found["detail"]) == (
        409,
        "plugin WithoutFile is of an installed package, not of a file",
    )
    served = serve(cluster_with())
    assert case_of(served, "a", "?attempt=7")[0] == 404
    assert case_of(served, "c", "?attempt=0")[0] == 422
