"""A cluster that is read once: which objects, in which order, and what may be absent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from podwright.online.client.cluster import ReadConnection, RejectedRequest
from podwright.online.sync.cluster_import import ImportedCluster, ImportOptions, read_cluster
from podwright.online.sync.tests.served_cluster import ServedCluster, document, node

DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "podgroups.scheduling.x-k8s.io"},
    "spec": {
        "group": "scheduling.x-k8s.io",
        "names": {"kind": "PodGroup", "plural": "podgroups"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


def pod(name: str, namespace: str = "default", **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "a"}]
    return document("Pod", name, namespace, spec={"containers": containers, **spec})


def cluster(*versions: str) -> ServedCluster:
    found = ServedCluster(versions=versions)
    found.create(document("Namespace", "team"), node("n1"))
    found.create(pod("a"), pod("b", "team"), pod("bound", nodeName="n1"))
    return found


def imported(
    served: ServedCluster, progress: Any = None, **options: Any
) -> tuple[ImportedCluster, list[str]]:
    """Read a cluster; also return its objects as `resource/name`."""

    async def run() -> ImportedCluster:
        async with served.serve() as address, ReadConnection(address) as connection:
            return await read_cluster(connection, ImportOptions(**options), progress)

    found = asyncio.run(run())
    return found, [f"{kind.resource}/{obj['metadata']['name']}" for kind, obj in found.objects]


def test_all_objects_that_decisions_depend_on_are_read():
    pages: list[tuple[str, int, int]] = []
    found, names = imported(cluster(), lambda *page: pages.append(page))
    assert {"namespaces/team", "nodes/n1", "pods/a", "pods/b", "pods/bound"} <= set(names)
    assert names.index("nodes/n1") < names.index("pods/a"), "pods are created last"
    assert ("nodes", 1, 0) in pages
    assert pages[-1] == ("pods", 3, 0)
    assert all("uid" not in obj or obj["metadata"]["name"] for _, obj in found.objects)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"kinds": ["pods"]}, {"pods/a", "pods/b", "pods/bound"}),
        ({"kinds": ["nodes"]}, {"nodes/n1"}),
        ({"kinds": ["pods"], "namespaces": ["team"]}, {"pods/b"}),
        ({"kinds": ["namespaces"], "namespaces": ["team"]}, {"namespaces/team"}),
        ({"kinds": ["pods"], "excludes_running": True}, {"pods/a", "pods/b"}),
        ({"kinds": ["pods", "nodes"], "selector": "x=y"}, set()),
    ],
)
def test_kinds_namespaces_and_waiting_pods_can_be_chosen(options, expected):
    assert set(imported(cluster(), **options)[1]) == expected


def test_the_devices_of_a_node_are_read_without_the_pods_that_run_there():
    served = cluster()
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d", "nodeName": "n1", "pool": pool, "devices": []}
    of_node = document("ResourceSlice", "s", spec=spec) | {"apiVersion": "resource.k8s.io/v1"}
    served.send("POST", "/apis/resource.k8s.io/v1/resourceslices", of_node)
    names = imported(served, kinds=["pods", "resourceslices"], excludes_running=True)[1]
    assert set(names) == {"pods/a", "pods/b", "resourceslices/s"}


def test_the_claim_of_a_pod_that_is_left_out_is_left_out_too():
    served = cluster()
    pods = {
        name: served.send("GET", f"/api/v1/namespaces/default/pods/{name}")
        for name in ("a", "bound")
    }
    for name, obj in pods.items():
        owner = {"apiVersion": "v1", "kind": "Pod", "controller": True, "name": name}
        claim = document(
            "ResourceClaim", f"of-{name}", "default",
            spec={"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}},
        ) | {"apiVersion": "resource.k8s.io/v1"}  # fmt: skip
        claim["metadata"] |= {
            "annotations": {"resource.kubernetes.io/pod-claim-name": "r"},
            "ownerReferences": [owner | {"uid": obj["metadata"]["uid"]}],
        }
        served.send("POST", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", claim)
    names = imported(served, kinds=["pods", "resourceclaims"], excludes_running=True)[1]
    assert set(names) == {"pods/a", "pods/b", "resourceclaims/of-a"}


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2", "v1"])
def test_claims_of_devices_are_read_in_the_version_that_a_server_has(version):
    served = cluster(f"resource.k8s.io/{version}")
    request = {"name": "r", "exactly": {"deviceClassName": "c"}}
    claim = document("ResourceClaim", "c", "default", spec={"devices": {"requests": [request]}})
    claim["apiVersion"] = "resource.k8s.io/v1"
    served.send("POST", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", claim)
    if version != "v1":
        served.fail("/apis/resource.k8s.io/v1/", 404)
    found, names = imported(served, kinds=["pods", "resourceclaims"])
    assert names == ["resourceclaims/c", "pods/a", "pods/bound", "pods/b"]
    assert not found.warnings
    (copy, *_) = [obj for _, obj in found.objects]
    assert copy["apiVersion"] == f"resource.k8s.io/{version}"
    (read,) = copy["spec"]["devices"]["requests"]
    assert ("exactly" in read) == (version != "v1beta1")


def test_a_kind_that_may_not_be_read_is_not_read_in_another_version():
    served = cluster("resource.k8s.io/v1beta1")
    served.fail("/apis/resource.k8s.io/v1/resourceclaims", 403)
    found, _ = imported(served)
    assert any(line.startswith("no resourceclaims are read: ") for line in found.warnings)
    assert not any("v1beta" in line for line in served.requests)


@pytest.mark.parametrize("status", [403, 404])
def test_a_kind_that_the_server_does_not_have_is_left_out(status):
    served = cluster()
    served.fail("volumeattachments", status)
    found, names = imported(served)
    assert "pods/a" in names
    (about,) = [line for line in found.warnings if "volumeattachments" in line]
    assert about.startswith("no volumeattachments are read: ")


def test_the_kinds_that_may_not_be_read_are_in_one_text():
    served = cluster()
    for resource in ("csinodes", "poddisruptionbudgets", "volumeattachments"):
        served.fail(resource, 403)
    found, _ = imported(served)
    (about,) = (line for line in found.warnings if "csinodes" in line)
    assert about.startswith("no csinodes, poddisruptionbudgets and volumeattachments are read: ")


def test_no_namespace_of_a_kind_is_read_if_one_may_not_be():
    served = cluster()
    budget = document("PodDisruptionBudget", "b", "default") | {"apiVersion": "policy/v1"}
    served.send("POST", "/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget)
    assert "poddisruptionbudgets/b" in imported(served, namespaces=["default", "team"])[1]
    served.fail("namespaces/team/poddisruptionbudgets", 403)
    found, names = imported(served, namespaces=["default", "team"])
    assert "poddisruptionbudgets/b" not in names
    assert {"pods/a", "pods/b"} <= {*names}
    (about,) = [line for line in found.warnings if "poddisruptionbudgets" in line]
    assert about.startswith("no poddisruptionbudgets are read: ")


@pytest.mark.parametrize(
    ("options", "absent"),
    [
        pytest.param({"namespaces": ["team", "taem"]}, ["taem"], id="a misspelled name"),
        pytest.param({"namespaces": ["taem"], "kinds": ["pods"]}, [], id="they are not read"),
        pytest.param({"namespaces": ["team"], "selector": "a=b"}, [], id="it may lack the label"),
    ],
)
def test_a_namespace_that_does_not_exist_is_reported(options, absent):
    found, _ = imported(cluster(), **options)
    about = [line for line in found.warnings if "namespace" in line]
    assert about == [f'there is no namespace "{name}"' for name in absent]


def test_a_kind_that_is_needed_ends_the_import():
    served = cluster()
    served.fail("/nodes", 403)
    with pytest.raises(RejectedRequest) as error:
        imported(served)
    assert error.value.status == 403


def test_the_definition_of_a_group_is_created_before_the_group():
    served = cluster()
    served.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)
    assert not any(name.startswith("customresource") for name in imported(served)[1]), "no group"
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "default"},
        "spec": {"minMember": 2},
    }
    served.send("POST", "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups", group)
    _, names = imported(served)
    assert names[0] == "customresourcedefinitions/podgroups.scheduling.x-k8s.io"
    assert "podgroups/g" in names
