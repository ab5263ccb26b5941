"""Tolerations of pods for nodes that are not ready or not reachable.

Upstream: plugin/pkg/admission/defaulttolerationseconds/admission.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.plugin import PODS, Plugin, Resources, set_spec, spec_of

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
TOLERATION_SECONDS: Final = 300
"""The default toleration time of pods for nodes that are not ready or not reachable."""


class DefaultTolerationSeconds(Plugin):
    """Adds the tolerations that a pod does not have."""

    name = "DefaultTolerationSeconds"
    decides_alike = True
    resources: Resources = PODS

    def admit(self, attributes: Attributes) -> None:
        """Add the default tolerations to a pod."""
        if not attributes.is_for("", "pods") or attributes.operation not in ("CREATE", "UPDATE"):
            return
        present = spec_of(attributes).get("tolerations") or []
        tolerations = default_tolerations(present)
        if tolerations != present:
            set_spec(attributes, tolerations=tolerations)


def default_tolerations(written: list[Document]) -> list[Document]:
    """Add the tolerations for not-ready and unreachable nodes, unless the pod has its own."""
    added = [
        {
            "key": key,
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": TOLERATION_SECONDS,
        }
        for key in (NOT_READY, UNREACHABLE)
        if not any(_covers(toleration, key) for toleration in written)
    ]
    return [*written, *added]


def _covers(toleration: Document, key: str) -> bool:
    return toleration.get("key") in (None, "", key) and toleration.get("effect") in (
        None,
        "",
        "NoExecute",
    )
