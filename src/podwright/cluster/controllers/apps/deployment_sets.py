"""The replica sets of deployments, as documents.

Upstream: pkg/controller/deployment/sync.go, getNewReplicaSet
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from podwright.apimachinery.objects import Document, KubernetesObject
from podwright.cluster.controllers.apps.rollout import DeploymentSpec
from podwright.cluster.controllers.pod_template import controller_reference_document
from podwright.cluster.controllers.workload_fields import spec_of

TEMPLATE_HASH: Final = "pod-template-hash"
"""The label that distinguishes the pods of different templates of a deployment."""


def replica_set_document(
    deployment: KubernetesObject,
    spec: DeploymentSpec,
    *,
    name: str,
    label: str,
    replicas: int,
    annotations: Mapping[str, str],
) -> Document:
    """Return the replica set for the current template of a deployment.

    Parameters
    ----------
    label : str
        The hash of the template, which is the value of `TEMPLATE_HASH`.
    """
    template = spec.template
    metadata: Document = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), TEMPLATE_HASH: label}
    selector: Document = spec_of(deployment).get("selector") or {}
    match_labels = {**(selector.get("matchLabels") or {}), TEMPLATE_HASH: label}
    parsed: Document = {
        "replicas": replicas,
        "selector": {**selector, "matchLabels": match_labels},
        "template": {**template, "metadata": {**metadata, "labels": labels}},
    }
    if spec.min_ready_seconds:
        parsed["minReadySeconds"] = spec.min_ready_seconds
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": name,
            "namespace": deployment.namespace,
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [controller_reference_document(deployment)],
        },
        "spec": parsed,
        "status": {"replicas": 0},
    }
