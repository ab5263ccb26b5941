"""Nodes and pods from one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from podwright.apimachinery.objects import (
    DEFAULT_SCHEDULER_NAME,
    ArgumentError,
    Duration,
    Node,
    Pod,
    decode_as,
    quantity_value,
    read_duration,
)
from podwright.cluster.kubelets import RUN_DELAY
from podwright.scheduler.config import format_duration

GPU = "nvidia.com/gpu"
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
_BYTES = frozenset({"memory", "ephemeral-storage"})


def make_node(  # noqa: PLR0913 - one keyword per property of a node
    name: str,
    *,
    cpu: str | int = "4",
    memory: str = "16Gi",
    pods: int = 110,
    gpu: int = 0,
    resources: Mapping[str, str | int] | None = None,
    zone: str = "",
    labels: Mapping[str, str] | None = None,
    taints: Iterable[str] = (),
    unschedulable: bool = False,
    images: Mapping[str, str] | None = None,
) -> Node:
    """Make a node.

    Parameters
    ----------
    name : str
        The name of the node.
    cpu, memory, pods : str or int
        Allocatable: a number of CPUs or ``500m``, a size such as ``16Gi``, a number of pods.
    gpu : int
        Allocatable ``nvidia.com/gpu``.
    resources : mapping
        Further allocatable resources.
    zone : str
        Value of the label ``topology.kubernetes.io/zone``.
    labels : mapping
        Further labels; ``kubernetes.io/hostname`` is the name unless given here.
    taints : iterable of str
        As kubectl writes them: ``key=value:NoSchedule`` or ``key:NoExecute``.
    unschedulable : bool
        Cordoned.
    images : mapping of str to str
        Images on the node and their sizes, such as ``300Mi``.

    Examples
    --------
    >>> from podwright.testing import make_node
    >>> node = make_node("n1", cpu="2", zone="a", taints=["gpu=yes:NoSchedule"])
    >>> node.spec.taints[0].key, node.metadata.labels["kubernetes.io/hostname"]
    ('gpu', 'n1')
    """
    given = {"cpu": cpu, "memory": memory, "pods": pods} | ({GPU: gpu} if gpu else {})
    allocatable = _amounts({**given, **(resources or {})})
    all_labels = {HOSTNAME: name} | ({ZONE: zone} if zone else {}) | dict(labels or {})
    spec: dict[str, Any] = {"taints": [_taint(text) for text in taints]}
    if unschedulable:
        spec["unschedulable"] = True
    status: dict[str, Any] = {"allocatable": allocatable, "capacity": allocatable}
    if images:
        status["images"] = [
            {"names": [image], "sizeBytes": _size_bytes(f"images[{image!r}]", size)}
            for image, size in images.items()
        ]
    document = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": all_labels},
        "spec": spec,
        "status": status,
    }
    return decode_as(document, Node, source=f"make_node({name!r})")


def make_pod(  # noqa: PLR0913 - one keyword per property of a pod
    name: str,
    *,
    namespace: str = "default",
    cpu: str | int | None = None,
    memory: str | None = None,
    gpu: int = 0,
    resources: Mapping[str, str | int] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    duration: Duration | None = None,
    node: str = "",
    node_selector: Mapping[str, str] | None = None,
    tolerations: Iterable[str] = (),
    priority: int | None = None,
    image: str = "pause",
    host_port: int = 0,
    scheduler: str = DEFAULT_SCHEDULER_NAME,
    gates: Iterable[str] = (),
    spec: Mapping[str, Any] | None = None,
) -> Pod:
    """Make a pod with one container.

    Parameters
    ----------
    name, namespace : str
        The name of the pod, and its namespace.
    cpu, memory, gpu, resources
        Requests, and limits of extended resources; None: no request. A number of CPUs or of
        devices, or a quantity such as ``500m`` or ``4Gi``.
    labels, annotations : mapping
        Those of the pod; none if left out.
    duration : Duration, optional
        How long the pod runs before it succeeds, such as ``10m``; without it, it does not end.
    node : str
        The node on which the pod is placed.
    node_selector : mapping of str to str
        The labels that its node must have.
    tolerations : iterable of str
        ``key=value:Effect``, ``key:Effect``, ``key=value`` or ``key``: without a value any
        value is tolerated, without an effect any effect.
    priority : int, optional
        The number; priority classes need a PriorityClass object and `spec`.
    image : str
        The image of the container, for ImageLocality.
    host_port : int
        A port of the node that the container uses; 0 for none.
    scheduler : str
        The scheduler of the pod. A machine schedules only pods with the name of one of its
        profiles.
    gates : iterable of str
        Scheduling gates.
    spec : mapping
        Further fields of the pod's spec as a manifest has them (affinity, volumes, ...).

    Examples
    --------
    >>> from podwright.testing import make_pod
    >>> pod = make_pod("web", cpu="500m", tolerations=["gpu:NoSchedule"], node="n1")
    >>> pod.key, pod.spec.node_name, pod.spec.tolerations[0].operator
    ('default/web', 'n1', 'Exists')
    """
    asked = {"cpu": cpu, "memory": memory, GPU: gpu or None}
    requests = _amounts({**(resources or {}), **{k: v for k, v in asked.items() if v is not None}})
    # The API server requires that the limit of an extended resource is its request.
    limits = {name: text for name, text in requests.items() if "/" in name}
    written_resources = {"requests": requests} | ({"limits": limits} if limits else {})
    container: dict[str, Any] = {"name": "main", "image": image, "resources": written_resources}
    if host_port:
        container["ports"] = [{"containerPort": host_port, "hostPort": host_port}]
    fields: dict[str, Any] = {
        "containers": [container],
        "tolerations": [_toleration(text) for text in tolerations],
        "nodeSelector": dict(node_selector or {}),
        "schedulingGates": [{"name": gate} for gate in gates],
        "nodeName": node,
        "schedulerName": scheduler,
        "priority": priority,
    }
    all_annotations = dict(annotations or {})
    if duration is not None:
        all_annotations[RUN_DELAY] = format_duration(read_duration(duration, "duration"))
        # The pod runs once; its containers would be restarted otherwise.
        fields["restartPolicy"] = "Never"
    written = {key: value for key, value in fields.items() if value not in ("", None, [], {})}
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"{namespace}/{name}",
            "labels": dict(labels or {}),
        }
        | ({"annotations": all_annotations} if all_annotations else {}),
        "spec": written | dict(spec or {}),
    }
    return decode_as(document, Pod, source=f"make_pod({name!r})")


def _amounts(given: Mapping[str, str | int]) -> dict[str, str]:
    """Return amounts as quantities.

    Raises
    ------
    ArgumentError
        If a number of bytes has no unit.
    """
    for name, amount in given.items():
        if name in _BYTES or name.startswith("hugepages-"):
            _require_unit(name, amount, "4Gi")
    return {name: str(amount) for name, amount in given.items()}


def _size_bytes(what: str, size: object) -> int:
    return quantity_value(_require_unit(what, size, "300Mi"))


def _require_unit(what: str, size: object, example: str) -> str:
    """Return a size in bytes, which is a text with a unit or 0."""
    text = str(size)
    if not isinstance(size, str) or (text.strip("0123456789.") == "" and text.strip("0.")):
        raise ArgumentError(f"{what}: {size} has no unit: must be a text such as {example}")
    return text


def _taint(text: str) -> dict[str, str]:
    head, _, effect = text.rpartition(":")
    key, _, value = head.partition("=")
    return {"key": key, "effect": effect} | ({"value": value} if value else {})


def _toleration(text: str) -> dict[str, str]:
    head, _, effect = text.partition(":")
    key, equals, value = head.partition("=")
    toleration = {"key": key, "operator": "Equal" if equals else "Exists"}
    if equals:
        toleration["value"] = value
    if effect:
        toleration["effect"] = effect
    return {name: part for name, part in toleration.items() if part or name == "value"}
