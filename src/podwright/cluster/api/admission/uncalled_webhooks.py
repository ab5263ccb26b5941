"""Servers that are configured and never called; whoever configures one gets a warning.

They are webhooks, and the servers of further APIs, to which APIServices refer.

Upstream calls them: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook;
staging/src/k8s.io/kube-aggregator/pkg/apiserver/handler_proxy.go
"""

from __future__ import annotations

from typing import Final

from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.plugin import Plugin, Resources, spec_of

_API_SERVICES: Final = ("apiregistration.k8s.io", "apiservices")
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
NOT_FORWARDED: Final = (
    "spec.service: this server forwards no requests to other servers: the API is not served"
)


class ValidatingAdmissionWebhook(Plugin):
    """Warns that webhooks and the servers of further APIs are not called."""

    name = "ValidatingAdmissionWebhook"
    resources: Resources = frozenset((_API_SERVICES, _DEFINITIONS, *_CONFIGURATIONS))

    def validate(self, attributes: Attributes) -> None:
        """Add the warning about a new or changed configuration."""
        if attributes.operation not in ("CREATE", "UPDATE") or attributes.subresource:
            return
        resource = attributes.resource
        if (resource.group, resource.plural) == _DEFINITIONS:
            conversion = spec_of(attributes).get("conversion") or {}
            if conversion.get("strategy") == "Webhook":
                attributes.warnings.append(NOT_CONVERTED)
        elif (resource.group, resource.plural) == _API_SERVICES:
            if spec_of(attributes).get("service") is not None:
                attributes.warnings.append(NOT_FORWARDED)
        elif (attributes.object or {}).get("webhooks"):
            attributes.warnings.append(NOT_CALLED)
