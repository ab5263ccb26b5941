"""New nodes are not ready until a controller says otherwise.

Upstream: plugin/pkg/admission/nodetaint/admission.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.plugin import Plugin, Resources, set_spec, spec_of

NOT_READY: Final = "node.kubernetes.io/not-ready"


class TaintNodesByCondition(Plugin):
    """Adds the taint `node.kubernetes.io/not-ready` to new nodes."""

    name = "TaintNodesByCondition"
    resources: Resources = frozenset({("", "nodes")})

    def admit(self, attributes: Attributes) -> None:
        """Add the taint to a new node."""
        if attributes.operation != "CREATE" or not attributes.is_for("", "nodes"):
            return
        taints: list[Document] = spec_of(attributes).get("taints") or []
        if any(
            (each.get("key"), each.get("effect")) == (NOT_READY, "NoSchedule") for each in taints
        ):
            return
        set_spec(attributes, taints=[*taints, {"key": NOT_READY, "effect": "NoSchedule"}])
