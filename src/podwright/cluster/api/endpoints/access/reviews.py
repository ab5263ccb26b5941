"""What all requests share that are answered at once and store nothing.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/create.go
"""

from __future__ import annotations

from typing import Final

import msgspec

from podwright.apimachinery.objects import Document
from podwright.cluster.api.endpoints.calls import Backend, Call
from podwright.cluster.api.endpoints.decoding.sent_objects import body_of, in_namespace
from podwright.cluster.api.endpoints.options import WriteOptions, write_options
from podwright.cluster.api.endpoints.request import manager_of
from podwright.cluster.api.endpoints.writes.sent_writes import attributes_of
from podwright.cluster.api.versions.resources import Resource

_SYSTEM_METADATA: Final = frozenset(
    {"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "selfLink", "uid"}
)
"""What a client cannot set.

Upstream: staging/src/k8s.io/apiserver/pkg/registry/rest/meta.go, WipeObjectMetaSystemFields
"""


def read_review(
    backend: Backend, call: Call, *, resource: Resource | None = None, keeps_metadata: bool = False
) -> tuple[Document, WriteOptions]:
    """Return the object of a request after the mutating admission, and the options.

    Parameters
    ----------
    resource : Resource, optional
        That of the object, if it is not the one of the path.
    keeps_metadata : bool
        Whether the request keeps all metadata, such as which uid it expects.
    """
    resource = resource or call.resource
    options = write_options(call.request, "CreateOptions")
    body_call = msgspec.structs.replace(call, resource=resource)
    document = body_of(body_call, options.field_validation)
    metadata: Document = document.get("metadata") or {}
    if not keeps_metadata and not _SYSTEM_METADATA.isdisjoint(metadata):
        kept = {name: value for name, value in metadata.items() if name not in _SYSTEM_METADATA}
        document = document | {"metadata": kept}
    document = in_namespace(call, document)
    tracked = backend.field_management.updated(
        resource,
        None,
        _sent(resource, document),
        manager=manager_of(call.request, options.field_manager),
        subresource=call.info.subresource,
        now_ns=call.now_ns,
    )
    document = document | {"metadata": tracked.get("metadata") or {}}
    attributes = attributes_of(call, "CREATE", document, None, options)
    backend.admission.admit(attributes)
    assert attributes.object is not None, "admission keeps the object of a creation"
    return attributes.object, options


def _sent(resource: Resource, document: Document) -> Document:
    """Return a document without what an empty object has too, which has no owner."""
    empty = resource.kind.go_form({})
    sent = {name: part for name, part in document.items() if part != empty.get(name)}
    if spec := sent.get("spec"):
        sent["spec"] = {name: value for name, value in spec.items() if value is not None}
    return sent


def validate_review(
    backend: Backend, call: Call, document: Document, options: WriteOptions
) -> None:
    """Run the validating admission of a request."""
    attributes = attributes_of(call, "CREATE", document, None, options)
    backend.admission.validate(attributes)
