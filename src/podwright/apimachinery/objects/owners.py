"""The workload that a pod belongs to, read from its owner references and labels."""

from __future__ import annotations

from podwright.apimachinery.objects.meta import NamespacedName
from podwright.apimachinery.objects.pods.pod import Pod

_TEMPLATE_HASH = "pod-template-hash"


def workload_of(pod: Pod) -> tuple[str, NamespacedName] | None:
    """Return the kind and `namespace/name` of the workload that controls a pod.

    Returns
    -------
    tuple of str, optional
        The Deployment, if the controller is a ReplicaSet with the name that a Deployment gives to
        it; None for a pod without a controller.

    Notes
    -----
    A Deployment appends the hash of the pod template to its own name for the name of a ReplicaSet,
    and sets the hash as a label of the pods. Upstream: pkg/controller/deployment/sync.go,
    getNewReplicaSet
    """
    controller = pod.metadata.controller
    if controller is None:
        return None
    kind, name = controller.kind, controller.name
    template = pod.metadata.labels.get(_TEMPLATE_HASH)
    if kind == "ReplicaSet" and template and name.endswith(f"-{template}"):
        kind, name = "Deployment", name.removesuffix(f"-{template}")
    return kind, f"{pod.metadata.namespace}/{name}"
