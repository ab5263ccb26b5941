"""Rejections, and the base of plugins that do only one of the two steps.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/errors.go
"""

from __future__ import annotations

from podwright.api.endpoints.admission_chain import Attributes
from podwright.api.endpoints.status_errors import ApiError, forbidden
from podwright.objects import Document


class Plugin:
    """A plugin that neither completes nor rejects anything; others override a step."""

    name = ""

    def admit(self, attributes: Attributes) -> None:
        """Complete the object."""

    def validate(self, attributes: Attributes) -> None:
        """Reject the write."""


def rejected(attributes: Attributes, reason: str) -> ApiError:
    """Return the error of a plugin that does not allow a write."""
    resource = attributes.resource
    return forbidden(resource.group, resource.plural, _name(attributes), reason)


def _name(attributes: Attributes) -> str:
    document = attributes.object or attributes.old or {}
    metadata = document.get("metadata") or {}
    return attributes.name or str(metadata.get("generateName") or "")


def spec_of(attributes: Attributes) -> Document:
    """Return the spec of the object of a write, or an empty one."""
    spec: Document = (attributes.object or {}).get("spec") or {}
    return spec


def set_spec(attributes: Attributes, **fields: object) -> None:
    """Set fields of the spec of the object of a write."""
    assert attributes.object is not None, "there is no object to complete"
    attributes.object = attributes.object | {"spec": spec_of(attributes) | fields}
