"""The base of plugins, and what they do with an object.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/errors.go
"""

from __future__ import annotations

from collections.abc import Iterable

from podwright.api.admission.attributes import Attributes
from podwright.api.admission.rejections import Forbidden
from podwright.objects import Document


class Plugin:
    """A plugin that neither completes nor rejects anything; others override a step."""

    name = ""

    def admit(self, attributes: Attributes) -> None:
        """Complete the object."""

    def validate(self, attributes: Attributes) -> None:
        """Reject the write."""


def rejected(attributes: Attributes, reason: str) -> Forbidden:
    """Return the error of a plugin that does not allow a write."""
    resource = attributes.resource
    return Forbidden(resource.group, resource.plural, name_of(attributes), reason)


def name_of(attributes: Attributes) -> str:
    """Return the name of the object of a write, or the prefix from which it is made."""
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


def aggregated(problems: Iterable[str]) -> str:
    """Return the text of several problems, each once.

    Upstream: staging/src/k8s.io/apimachinery/pkg/util/errors/errors.go, aggregate
    """
    texts = list(dict.fromkeys(problems))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
