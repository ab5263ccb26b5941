"""Plugins that read classes and nodes: runtime, storage and ingress classes, topology, resize."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.new_objects import PodGroupWorkloadExists
from podwright.cluster.api.admission.plugins import OPTIONAL, PLUGINS, default_plugins
from podwright.cluster.api.admission.tests.contexts import a_context
from podwright.cluster.api.endpoints.tests.conftest import pod
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.api.tests.writable import WritableStore
from podwright.cluster.api.users import User

DEFAULT = "/api/v1/namespaces/default"
PODS = f"{DEFAULT}/pods"
STRATEGIC = "strategic-merge-patch+json"
IS_DEFAULT = "ingressclass.kubernetes.io/is-default-class"


def runtime_class(server: Any, **fields: Any) -> None:
    body = {"metadata": {"name": "gvisor"}, "handler": "runsc", **fields}
    assert server.reply("POST", "/apis/node.k8s.io/v1/runtimeclasses", body)[0] == 201


def test_a_runtime_class_sets_overhead_and_scheduling(server):
    runtime_class(
        server,
        overhead={"podFixed": {"cpu": "250m"}},
        scheduling={
            "nodeSelector": {"runtime": "gvisor"},
            "tolerations": [{"key": "gvisor", "operator": "Exists"}],
        },
    )
    own = [{"key": "gvisor", "operator": "Exists", "effect": "NoSchedule"}]
    spec = {"nodeSelector": {"zone": "a"}, "tolerations": own, "runtimeClassName": "gvisor"}
    _, made = server.reply("POST", PODS, pod("web", **spec))
    assert made["spec"]["overhead"] == {"cpu": "250m"}
    assert made["spec"]["nodeSelector"] == {"zone": "a", "runtime": "gvisor"}
    # The toleration of the class includes the pod's own.
    keys = [(each["key"], each.get("effect")) for each in made["spec"]["tolerations"]]
    assert keys[-1] == ("gvisor", None)
    assert ("gvisor", "NoSchedule") not in keys


@pytest.mark.parametrize(
    ("fields", "spec", "message"),
    [
        pytest.param(
            {"overhead": {"podFixed": {"cpu": "1"}}},
            {"overhead": {"cpu": "2"}},
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
            id="another overhead",
        ),
        pytest.param(
            {},
            {"overhead": {"cpu": "2"}},
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
            id="an overhead without one of the class",
        ),
        pytest.param(
            {"scheduling": {"nodeSelector": {"a": "b"}}},
            {"nodeSelector": {"a": "c"}},
            "conflict: runtimeClass.scheduling.nodeSelector[a] = b; pod.spec.nodeSelector[a] = c",
            id="another node selector",
        ),
    ],
)
def test_a_pod_that_contradicts_its_runtime_class_is_forbidden(server, fields, spec, message):
    runtime_class(server, **fields)
    status, error = server.reply("POST", PODS, pod("web", runtimeClassName="gvisor", **spec))
    assert (status, error["message"]) == (403, f'pods "web" is forbidden: {message}')


def test_a_runtime_class_without_a_name_is_an_error_of_the_server(server):
    status, error = server.reply("POST", PODS, pod("web", runtimeClassName=""))
    assert (status, error["message"]) == (500, "resource name may not be empty")
    assert "details" not in error


def test_an_unknown_runtime_class_is_forbidden(server):
    given = pod("web", runtimeClassName="nosuch")
    given["metadata"] = {"generateName": "web-"}
    _, error = server.reply("POST", PODS, given)
    # The name is drawn after admission.
    assert error["message"] == (
        'pods "web-" is forbidden: pod rejected: RuntimeClass "nosuch" not found'
    )


@pytest.mark.parametrize(
    ("allows", "message"),
    [
        pytest.param(
            False,
            "only dynamically provisioned pvc can be resized and the storageclass that provisions"
            " the pvc must support resize",
            id="not allowed",
        ),
        pytest.param(True, "", id="allowed"),
    ],
)
def test_which_claims_can_be_expanded(server, allows, message):
    storage_class = {
        "metadata": {"name": "gold"},
        "provisioner": "x",
        "allowVolumeExpansion": allows,
    }
    server.reply("POST", "/apis/storage.k8s.io/v1/storageclasses", storage_class)
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "gold",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    path = f"{DEFAULT}/persistentvolumeclaims"
    server.reply("POST", path, {"metadata": {"name": "c"}, "spec": spec})
    server.patch(f"{path}/c/status", {"status": {"phase": "Bound"}})
    larger = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    status, reply = server.patch(f"{path}/c", larger)
    if message:
        text = f'persistentvolumeclaims "c" is forbidden: {message}'
        assert (status, reply["message"]) == (403, text)
    else:
        assert status == 200, reply


def test_an_ingress_without_a_class_gets_the_newest_default(server):
    for name, default in (("old", "true"), ("new", "true"), ("other", "false")):
        body = {
            "metadata": {"name": name, "annotations": {IS_DEFAULT: default}},
            "spec": {"controller": "example.com/x"},
        }
        server.reply("POST", "/apis/networking.k8s.io/v1/ingressclasses", body)
    path = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    body = {"metadata": {"name": "i"}, "spec": {"defaultBackend": backend}}
    assert server.reply("POST", path, body)[1]["spec"]["ingressClassName"] == "new"


def test_a_pod_has_the_topology_labels_of_its_node(server):
    labels = {"topology.kubernetes.io/zone": "a", "other": "x"}
    server.reply("POST", "/api/v1/nodes", {"metadata": {"name": "n", "labels": labels}})
    _, made = server.reply("POST", PODS, pod("here", nodeName="n"))
    assert made["metadata"]["labels"] == {"topology.kubernetes.io/zone": "a"}
    server.reply("POST", PODS, pod("bound"))
    target = {"kind": "Node", "name": "n"}
    server.reply("POST", f"{PODS}/bound/binding", {"metadata": {"name": "bound"}, "target": target})
    found = server.reply("GET", f"{PODS}/bound")[1]
    assert found["metadata"]["labels"] == {"topology.kubernetes.io/zone": "a"}


@pytest.mark.parametrize(
    ("node", "message", "reason"),
    [
        pytest.param(None, 'node "n" not found', None, id="no node"),
        pytest.param(
            {"labels": {"kubernetes.io/os": "windows"}},
            'pod resize is only supported on linux nodes, node "n" is "windows"',
            "UnsupportedPlatform",
            id="another system",
        ),
        pytest.param(
            {},
            "node didn't have enough allocatable resources: cpu, requested: 2000, allocatable:"
            " 1000",
            "NodeCapacity",
            id="too small",
        ),
    ],
)
def test_a_resize_that_the_node_cannot_grant_is_forbidden(server, node, message, reason):
    if node is not None:
        status = {"capacity": {"cpu": "1", "memory": "1Gi"}}
        server.reply("POST", "/api/v1/nodes", {"metadata": {"name": "n", **node}, "status": status})
    containers = [{"name": "c", "image": "a:1", "resources": {"requests": {"cpu": "1"}}}]
    server.reply("POST", PODS, pod("web", nodeName="n", containers=containers))
    body = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}}
    status, error = server.patch(f"{PODS}/web/resize", body, STRATEGIC)
    assert (status, error["message"]) == (403, f'pods "web" is forbidden: {message}')
    assert error["details"].get("causes") == (reason and [{"reason": reason}])


def test_plugins_can_be_switched_off():
    names = [plugin.name for plugin in default_plugins(a_context(), disabled=["Priority"])]
    assert names == [name for name in PLUGINS if name not in {"Priority", *OPTIONAL}]
    with pytest.raises(ValueError, match="admission plugins Nosuch do not exist; known are"):
        default_plugins(a_context(), disabled=["Nosuch"])


# ------------------------------------------------------------------------------- pod groups


GROUPS = SimpleNamespace(group="scheduling.k8s.io", plural="podgroups", kind="PodGroup")


def a_group(namespace: str, workload: str, template: str) -> Attributes:
    reference = {"workload": {"workloadName": workload, "podGroupTemplateName": template}}
    return Attributes(
        operation="CREATE",
        resource=cast(Any, GROUPS),
        subresource="",
        namespace=namespace,
        name="g",
        object={"kind": "PodGroup", "spec": {"podGroupTemplateRef": reference}},
        old=None,
        user=User("admin"),
        options={},
        is_dry_run=False,
        now_ns=0,
    )


@pytest.mark.parametrize(
    ("namespace", "workload", "template", "message"),
    [
        ("a", "w", "workers", None),
        ("b", "w", "workers", 'Workload "w" not found'),
        ("a", "v", "workers", 'Workload "v" not found'),
        ("a", "w", "drivers", 'PodGroupTemplate "drivers" not found in Workload "w"'),
        ("a", "old", "workers", 'Workload "old" is being deleted'),
    ],
)
def test_a_group_belongs_to_a_workload_of_its_namespace(namespace, workload, template, message):
    store = WritableStore()
    for name, fields in (("w", {}), ("old", {"deletionTimestamp": "2026-01-01T00:00:00Z"})):
        store.put(
            decode(
                {
                    "apiVersion": "scheduling.k8s.io/v1alpha2",
                    "kind": "Workload",
                    "metadata": {"name": name, "namespace": "a", **fields},
                    "spec": {"podGroupTemplates": [{"name": "workers"}]},
                }
            )
        )
    plugin = PodGroupWorkloadExists(a_context(store))
    given = a_group(namespace, workload, template)
    if message is None:
        plugin.validate(given)
        return
    with pytest.raises(Rejection, match=f"PodGroup rejected: {message}"):
        plugin.validate(given)
