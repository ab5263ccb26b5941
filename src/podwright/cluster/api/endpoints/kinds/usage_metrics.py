"""The metrics of pods and nodes (`metrics.k8s.io`), from the usage that pods declare.

They are computed for each request, and not stored. A pod without a declared usage has none, as one
that a metrics server has not measured yet; a node uses what its pods use.

Upstream: sigs.k8s.io/metrics-server, pkg/api/pod.go, pkg/api/node.go
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    Node,
    Pod,
    Quantity,
    format_quantity,
    timestamp_text,
)
from podwright.cluster.api.endpoints.calls import Backend, Call
from podwright.cluster.api.endpoints.options import list_options
from podwright.cluster.api.endpoints.read import stored_fields
from podwright.cluster.api.endpoints.replies.responses import list_reply, object_reply
from podwright.cluster.api.endpoints.request import HttpReply
from podwright.cluster.api.pods.declared_usage import DeclaredUsages, Usage, UsageError
from podwright.cluster.api.rejections import not_found
from podwright.cluster.store import POD, GroupKind

METRICS_GROUP: Final = "metrics.k8s.io"
METRICS_READER: Final[Document] = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {
        "name": "system:aggregated-metrics-reader",
        "labels": {
            f"rbac.authorization.k8s.io/aggregate-to-{role}": "true"
            for role in ("admin", "edit", "view")
        },
    },
    "rules": [
        {
            "apiGroups": [METRICS_GROUP],
            "resources": ["pods", "nodes"],
            "verbs": ["get", "list", "watch"],
        }
    ],
}
"""The role that a metrics server brings: who may view a namespace may read the metrics in it."""

_NODE: Final = ("", "Node")
_WINDOW: Final = "15s"
_NOTHING: Final = {"cpu": Quantity(0, 0), "memory": Quantity(0, 0, format="BinarySI")}


def get_metrics(backend: Backend, call: Call) -> HttpReply:
    """Return the metrics of the named node or pod."""
    kind = POD if call.resource.namespaced else _NODE
    found = backend.store.get(kind, call.key)
    for document in _metrics(backend, call, [] if found is None else [found]):
        return object_reply(call, document)
    raise not_found(METRICS_GROUP, call.resource.name.lower(), call.key)


def list_metrics(backend: Backend, call: Call) -> HttpReply:
    """Return the metrics of the selected nodes or pods, by name."""
    options = list_options(call.request, is_watch=False)
    page = backend.store.list(
        POD if call.resource.namespaced else _NODE,
        namespace=call.info.namespace or None,
        labels=options.labels,
        fields=stored_fields(call.resource, options.fields),
    )
    return list_reply(call, _metrics(backend, call, page.objects), {})


def _metrics(backend: Backend, call: Call, objects: Iterable[KubernetesObject]) -> list[Document]:
    def objects_of(kind: GroupKind, namespace: str) -> Iterable[KubernetesObject]:
        return backend.store.list(kind, namespace=namespace or None).objects

    usages = DeclaredUsages(backend.store.get, objects_of, call.now_ns)
    if call.resource.namespaced:
        measured = [(each, _usage(usages, each)) for each in objects if isinstance(each, Pod)]
        return [_of_pod(call, pod, usage) for pod, usage in measured if usage]
    used: defaultdict[str, dict[str, Quantity]] = defaultdict(lambda: dict(_NOTHING))
    for pod in objects_of(POD, ""):
        if isinstance(pod, Pod) and pod.spec.node_name:
            of_node = used[pod.spec.node_name]
            for of_container in _usage(usages, pod).values():
                for resource, amount in of_container.items():
                    of_node[resource] += amount
    return [
        _described(call, node) | {"usage": _texts(used[node.metadata.name])}
        for node in objects
        if isinstance(node, Node) and _is_measured(node)
    ]


def _is_measured(node: Node) -> bool:
    return all(each.status == "True" for each in node.status.conditions if each.type == "Ready")


def _usage(usages: DeclaredUsages, pod: Pod) -> Usage:
    """Return what the containers of a pod use; a usage that is no amount is unknown."""
    try:
        return usages.of(pod)
    except UsageError:
        return {}


def _of_pod(call: Call, pod: Pod, usage: Usage) -> Document:
    containers = [
        {"name": each.name, "usage": _texts(usage[each.name])}
        for each in pod.spec.containers
        if each.name in usage
    ]
    return _described(call, pod) | {"containers": containers}


def _texts(usage: dict[str, Quantity]) -> dict[str, str]:
    return {resource: format_quantity(amount) for resource, amount in usage.items()}


def _described(call: Call, obj: KubernetesObject) -> Document:
    """Return an object of metrics without the usage, with the name and the labels of another."""
    now = timestamp_text(call.now_ns)
    metadata: Document = {"name": obj.metadata.name, "creationTimestamp": now}
    if obj.metadata.namespace:
        metadata["namespace"] = obj.metadata.namespace
    if obj.metadata.labels:
        metadata["labels"] = dict(obj.metadata.labels)
    return {
        "kind": call.resource.name,
        "apiVersion": call.resource.kind.api_version,
        "metadata": metadata,
        "timestamp": now,
        "window": _WINDOW,
    }
