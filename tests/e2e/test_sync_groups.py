"""Groups of pods, and other custom resources, are mirrored after their definitions."""

from __future__ import annotations

from pathlib import Path

import yaml
from tests.e2e.command_line import NODES, run
from tests.e2e.test_sync import OFF, new_pod, node_of, send, server_of, syncing
from tests.e2e_real.cluster_processes import embedded
from tests.waiting import until

EXAMPLES = Path(__file__).parents[2] / "examples" / "sync"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


def member(name: str):
    pod = new_pod(name)
    pod["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": "training"}
    return pod


def is_unschedulable(server: str, name: str) -> bool:
    status, found = send(server, "GET", f"{PODS}/{name}")
    return status == 200 and "PodGroup not found" in str(found["status"].get("conditions"))


def test_a_gang_of_the_source_is_scheduled_with_its_group(tmp_path):
    nodes = tmp_path / "nodes.yaml"
    nodes.write_text(NODES)
    gang = ("--config", str(EXAMPLES / "gang.yaml"), "--no-controllers")
    with (
        embedded(tmp_path / "source", *OFF, str(nodes)) as first,
        embedded(tmp_path / "target", *gang) as second,
    ):
        source, target = server_of(first), server_of(second)
        for number in range(3):
            assert send(source, "POST", PODS, member(f"worker-{number}"))[0] == 201
        with syncing(tmp_path, "--server", source, "--to", target):
            # The source gets the kind of groups while it is followed.
            until(lambda: is_unschedulable(target, "worker-2"))
            definition, group = yaml.safe_load_all((EXAMPLES / "group.yaml").read_text())
            assert send(source, "POST", DEFINITIONS, definition)[0] == 201
            until(lambda: send(source, "POST", GROUPS, group)[0] == 201)
            until(lambda: all(node_of(target, f"worker-{number}") for number in range(3)))
            patch = {"spec": {"minMember": 2}}
            send(source, "PATCH", f"{GROUPS}/training", patch, "application/merge-patch+json")
            until(lambda: send(target, "GET", f"{GROUPS}/training")[1]["spec"]["minMember"] == 2)
        checked = run(f"sync --server {source} --to {target} --check")
        assert "0 not explained" in checked.stderr

        # An import has the definition too, first: a cluster that starts with it serves the group.
        names = run(f"import --server {source} -o name").stdout.splitlines()
        assert names[0] == "customresourcedefinition/podgroups.scheduling.x-k8s.io"
        assert "podgroup/default/training" in names

        # Each kind that the source serves can be named; the copy of another kind is not touched.
        settings = {"metadata": {"name": "settings"}, "data": {"a": "b"}}
        assert send(source, "POST", CONFIG_MAPS, settings)[0] == 201
        named = f"--server {source} --to {target} --kinds configmaps,podgroups"
        assert "configmaps/default/settings" in run(f"sync {named} --check", status=1).stdout
        with syncing(tmp_path, *named.split()):
            until(lambda: send(target, "GET", f"{CONFIG_MAPS}/settings")[0] == 200)
        assert send(target, "GET", f"{GROUPS}/training")[0] == 200
        assert "none of the kinds" in run(f"sync {named},podz", status=2).stderr
