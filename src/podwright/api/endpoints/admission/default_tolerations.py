"""Tolerations of pods for nodes that are not ready or not reachable.

Upstream: plugin/pkg/admission/defaulttolerationseconds/admission.go
"""

from __future__ import annotations

from podwright.api.admission import default_tolerations
from podwright.api.endpoints.admission.mutation import Plugin, set_spec, spec_of
from podwright.api.endpoints.admission_chain import Attributes


class DefaultTolerationSeconds(Plugin):
    """Adds the tolerations that a pod does not have."""

    name = "DefaultTolerationSeconds"

    def admit(self, attributes: Attributes) -> None:
        """Add the default tolerations to a pod."""
        if not attributes.is_for("", "pods") or attributes.operation not in ("CREATE", "UPDATE"):
            return
        present = spec_of(attributes).get("tolerations") or []
        tolerations = default_tolerations(present)
        if len(tolerations) != len(present):
            set_spec(attributes, tolerations=tolerations)
