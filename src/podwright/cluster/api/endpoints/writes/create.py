"""Create objects: the body of a request is decoded, and passes the stages of a creation.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/create.go
"""

from __future__ import annotations

import msgspec

from podwright.apimachinery.objects import Document
from podwright.cluster.api.endpoints.calls import Backend, Call
from podwright.cluster.api.endpoints.decoding.bodies import check_encoding
from podwright.cluster.api.endpoints.decoding.sent_objects import body_of, in_namespace
from podwright.cluster.api.endpoints.forms import Trial
from podwright.cluster.api.endpoints.options import WriteOptions, write_options
from podwright.cluster.api.endpoints.replies.responses import object_reply
from podwright.cluster.api.endpoints.request import HttpReply
from podwright.cluster.api.endpoints.writes.sent_writes import sent_write
from podwright.cluster.api.pipeline import executed
from podwright.cluster.api.rejections import Rejection, already_exists
from podwright.cluster.api.stages.preparation import name_of
from podwright.cluster.api.stages.write import SentWrite
from podwright.cluster.store import AlreadyExists


def create(backend: Backend, call: Call) -> HttpReply:
    """Create an object from the body of a request."""
    check_encoding(call.request)
    options = write_options(call.request, "CreateOptions")
    document = in_namespace(call, body_of(call, options.field_validation))
    made, write = create_document(backend, call, document, options)

    def attempt(body: bytes, now_ns: int) -> Trial | None:
        return _tried(backend, call, options, body, now_ns)

    backend.forms.learn(call.request, call.info, write.attributes, attempt)
    return object_reply(call, made, 201)


def _tried(
    backend: Backend, call: Call, options: WriteOptions, body: bytes, now_ns: int
) -> Trial | None:
    """Return what the creation of another object would lead to; None if it would be rejected."""
    replace = msgspec.structs.replace
    request = replace(call.request, body=body)
    tried = replace(call, request=request, now_ns=now_ns, warnings=list(call.resource.warnings))
    options = replace(options, is_dry_run=True)
    try:
        document = in_namespace(tried, body_of(tried, options.field_validation))
        write = create_document(backend, tried, document, options)[1]
    except Rejection:
        return None
    assert write.stored is not None, "the last stage writes"
    stored = write.stored
    served = call.resource.served(stored.object.raw)
    return Trial(stored.object, served, object_reply(tried, served, 201))


def create_document(
    backend: Backend,
    call: Call,
    document: Document,
    options: WriteOptions,
    *,
    tracks_fields: bool = True,
) -> tuple[Document, SentWrite]:
    """Create an object; return it in the version of the request, and its write.

    Parameters
    ----------
    tracks_fields : bool
        Whether the write owns its fields; an apply request has set their owners itself.

    Raises
    ------
    Rejection
        The object is not valid, exists, or admission rejects it.
    """
    resource = call.resource
    write = sent_write(call, document, None, options, tracks_fields=tracks_fields)
    try:
        stored = executed(backend, "create", write)
    except AlreadyExists as error:
        has_prefix = bool((write.new.get("metadata") or {}).get("generateName"))
        raise already_exists(
            resource.group,
            resource.plural,
            name_of(write.new),
            is_terminating=error.is_terminating,
            has_prefix=has_prefix,
        ) from None
    made = resource.served(stored.object.raw)
    return (_with_sent_version(call, made) if options.is_dry_run else made), write


def _with_sent_version(call: Call, document: Document) -> Document:
    """Return an object of a dry run, which has no version but the one that was sent."""
    metadata = {
        name: value for name, value in document["metadata"].items() if name != "resourceVersion"
    }
    sent = (call.sent.get("metadata") or {}).get("resourceVersion")
    if sent and isinstance(sent, str):
        metadata["resourceVersion"] = sent
    return document | {"metadata": metadata}
