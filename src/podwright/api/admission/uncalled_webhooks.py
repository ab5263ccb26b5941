"""Webhooks, which are stored and never called; whoever configures one gets a warning.

Upstream calls them: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook
"""

from __future__ import annotations

from typing import Final

from podwright.api.admission.attributes import Attributes
from podwright.api.admission.plugin import Plugin, Resources, spec_of

_DEFINITIONS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")
_CONFIGURATIONS: Final = (
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
)

NOT_CALLED: Final = (
    "webhooks: the configuration is stored, but this server calls no webhooks: they neither change"
    " nor reject objects"
)
NOT_CONVERTED: Final = (
    "spec.conversion.strategy: this server calls no webhooks: an object can be used only in the"
    " version in which it is stored"
)


class ValidatingAdmissionWebhook(Plugin):
    """Warns that webhooks are not called."""

    name = "ValidatingAdmissionWebhook"
    resources: Resources = frozenset((_DEFINITIONS, *_CONFIGURATIONS))

    def validate(self, attributes: Attributes) -> None:
        """Add the warning about a new or changed configuration."""
        if attributes.operation not in ("CREATE", "UPDATE") or attributes.subresource:
            return
        resource = attributes.resource
        if (resource.group, resource.plural) == _DEFINITIONS:
            conversion = spec_of(attributes).get("conversion") or {}
            if conversion.get("strategy") == "Webhook":
                attributes.warnings.append(NOT_CONVERTED)
        elif (attributes.object or {}).get("webhooks"):
            attributes.warnings.append(NOT_CALLED)
