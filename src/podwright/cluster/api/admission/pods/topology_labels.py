"""The zone and the region of a node as labels of the pods that are bound to it.

Upstream: plugin/pkg/admission/podtopologylabels/admission.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import Document
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.plugin import PODS, Plugin, Resources, spec_of
from podwright.cluster.api.pods.binding import topology_labels


class PodTopologyLabels(Plugin):
    """Copies labels of nodes to pods that are created on them or bound to them."""

    name = "PodTopologyLabels"
    resources: Resources = PODS

    def admit(self, attributes: Attributes) -> None:
        """Set the labels of the pod, or of the binding, from which the pod gets them."""
        if attributes.operation != "CREATE" or attributes.object is None:
            return
        if attributes.is_for("", "pods"):
            node = spec_of(attributes).get("nodeName")
        elif attributes.is_for("", "pods", "binding"):
            target: Document = attributes.object.get("target") or {}
            node = target.get("name") if target.get("kind") == "Node" else None
        else:
            return
        labels = topology_labels(self._store, node) if node else None
        if labels:
            metadata: Document = attributes.object.get("metadata") or {}
            merged = {**(metadata.get("labels") or {}), **labels}
            attributes.object = attributes.object | {"metadata": metadata | {"labels": merged}}

    def decides_by_template(self, attributes: Attributes) -> bool:
        """Return whether the pod has no node, whose labels can change."""
        return not spec_of(attributes).get("nodeName")
