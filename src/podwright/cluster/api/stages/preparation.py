"""The object as the server and its kind make it: its metadata, its name, what strategies set.

Upstream: staging/src/k8s.io/apiserver/pkg/registry/rest/{create,update}.go
"""

from __future__ import annotations

from typing import Any, Final

from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    parse_uint64,
    timestamp_text,
    without_label_keys,
)
from podwright.apimachinery.schema import repeats, with_apparmor_profiles
from podwright.cluster.api.gated_fields import without_disabled
from podwright.cluster.api.identity import uid_at, with_generated_name
from podwright.cluster.api.preconditions import check_version
from podwright.cluster.api.rejections import forbidden, invalid, unclassified_error
from podwright.cluster.api.stages.kinds.certificate_requests import with_requestor
from podwright.cluster.api.stages.kinds.service_allocation import check_address_owner
from podwright.cluster.api.stages.write import SentWrite, ServedParts
from podwright.cluster.api.strategies import preparation as strategies
from podwright.cluster.api.strategies.kinds import JOB, without_default_labels
from podwright.cluster.api.strategies.parts import with_part
from podwright.cluster.api.versions.resources import Resource
from podwright.cluster.store import POD

_SYSTEM_METADATA: Final = ("creationTimestamp", "resourceVersion", "selfLink", "uid")
_DELETION_METADATA: Final = ("deletionGracePeriodSeconds", "deletionTimestamp")
"""Removed from the body of a create; an update or apply that creates stores them, as upstream."""


def set_metadata(parts: ServedParts, write: SentWrite) -> None:
    """Set the metadata that the server sets."""
    resource = write.attributes.resource
    write.new = _with_new_metadata(parts, write)
    keep_distinct_owners(parts, write)
    if resource.is_terminating:
        text = "create not allowed while custom resource definition is terminating"
        raise forbidden(resource.group, resource.plural, name_of(write.new), text)


def keep_distinct_owners(_parts: ServedParts, write: SentWrite) -> None:
    """Drop owner references that are there twice, with a warning.

    Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/create.go,
    dedupOwnerReferencesAndAddWarning
    """
    metadata: Document = write.new.get("metadata") or {}
    owners = metadata.get("ownerReferences") or ()
    kept: list[Document] = []
    repeated: dict[str, None] = {}
    for owner, is_repeated in zip(owners, repeats(owners), strict=True):
        if is_repeated:
            repeated[str(owner.get("uid", ""))] = None
        else:
            kept.append(owner)
    if not repeated:
        return
    write.warnings.append(
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references"
        " in 1.20+, and may reject such requests as early as 1.24; please fix your requests;"
        f" duplicate UID(s) observed: {', '.join(repeated)}"
    )
    write.new = write.new | {"metadata": metadata | {"ownerReferences": kept}}


def prepare_new(parts: ServedParts, write: SentWrite) -> None:
    """Name the object, and prepare it as its kind does."""
    facts, resource = write.attributes, write.attributes.resource
    named = _named(parts, resource, write.new)
    facts.name = facts.name or name_of(named)
    document = named
    if write.is_restored and resource.storage == POD:
        # The server where it was created has added to its selectors what is added again below.
        labels = (named.get("metadata") or {}).get("labels") or {}
        document = with_part(named, "spec", without_label_keys(named.get("spec") or {}, labels))
    if resource.storage == JOB:
        sent = write.sent.get("metadata") or {}
        document = without_default_labels(document, has_labels=bool(sent.get("labels")))
    if disabled := parts.disabled_fields.get(resource.storage):
        kept = without_disabled(disabled, document, None)
        if kept is not document:
            # Upstream's storage sets the defaults again when it reads what was stored.
            document = resource.storage_kind.with_defaults(kept)
    document = strategies.prepared_for_create(resource, document, write.now_ns)
    if write.is_restored and named.get("status"):
        document = with_part(document, "status", named["status"])
    if resource.storage == POD:
        document, warnings = with_apparmor_profiles(document)
        write.warnings += warnings
    document = with_requestor(resource, document, facts.user)
    if strategies.key_of(resource) == ("", "Service") and not write.is_dry_run:
        check_address_owner(document)
    write.new = document


def check_sent_version(_parts: ServedParts, write: SentWrite) -> None:
    """Reject a version in the body, which upstream's storage does not expect."""
    version = str((write.sent.get("metadata") or {}).get("resourceVersion") or "")
    if parse_uint64(version) and not write.is_dry_run and write.is_post:
        raise unclassified_error("resourceVersion should not be set on objects to be created")


def _with_new_metadata(parts: ServedParts, write: SentWrite) -> Document:
    document, resource = write.new, write.attributes.resource
    metadata = dict(document.get("metadata") or {})
    for name in (*_SYSTEM_METADATA, *_DELETION_METADATA) if write.is_post else _SYSTEM_METADATA:
        metadata.pop(name, None)
    if not metadata.get("generation"):
        metadata.pop("generation", None)
    store = parts.store
    version = store.resource_version + 1
    metadata["uid"] = uid_at(store.seed, version)
    created = timestamp_text(write.now_ns)
    generation = 1
    if write.is_restored:
        sent: Document = document.get("metadata") or {}
        created = sent.get("creationTimestamp") or created
        generation = max(sent.get("generation") or 0, 1)
    metadata["creationTimestamp"] = created
    if resource.kind.row.has_generation:
        metadata["generation"] = generation
    return document | {"metadata": metadata}


def _named(parts: ServedParts, resource: Resource, document: Document) -> Document:
    """Return a new object with a name; one from `generateName` is drawn after admission."""
    metadata: Document = document.get("metadata") or {}
    has_no_name = not metadata.get("name") and not metadata.get("generateName")
    if has_no_name and strategies.key_of(resource) == ("", "LimitRange"):
        # Upstream: pkg/registry/core/limitrange/strategy.go, PrepareForCreate
        name = metadata.get("uid", "")
        return document | {"metadata": {"name": name} | metadata | {"name": name}}
    store = parts.store
    return with_generated_name(
        document,
        taken=store.keys(resource.storage),
        seed=store.seed,
        version=store.resource_version + 1,
    )


def prepare_change(parts: ServedParts, write: SentWrite) -> None:
    """Check the version, and prepare the object as its kind does."""
    facts = write.attributes
    resource, old = facts.resource, facts.old
    assert old is not None, "an update has a stored object"
    new = _checked_version(resource, write.new, write.current)
    new = with_stored_metadata(new, old)
    key = strategies.key_of(resource)
    if key not in strategies.COUNTED_FIRST:
        new = without_disabled_fields(parts, resource, new, old)
    if part := strategies.COMPARED_EXACTLY.get(key):
        exact = with_empty_parts(new.get(part), write.sent.get(part))
        new = with_part(new, part, exact)
    new = strategies.prepared_for_update(resource, new, old, write.now_ns, facts.subresource)
    if key in strategies.COUNTED_FIRST:
        new = without_disabled_fields(parts, resource, new, old)
    write.new = new


def without_disabled_fields(
    parts: ServedParts, resource: Resource, new: Document, old: Document
) -> Document:
    """Return a changed object without the new fields of feature gates that are off."""
    disabled = parts.disabled_fields.get(resource.storage)
    return new if disabled is None else without_disabled(disabled, new, old)


def _checked_version(resource: Resource, new: Document, current: KubernetesObject) -> Document:
    metadata: Document = new.get("metadata") or {}
    sent, stored = metadata.get("resourceVersion") or "", current.metadata.resource_version
    if sent == stored:
        return new
    check_version(resource.group, resource.plural, current.name, sent, stored)
    needs_version = resource.is_custom or resource.kind.row.needs_resource_version
    if needs_version and not int(sent or 0):
        text = "Invalid value: 0: must be specified for an update"
        problem = ("metadata.resourceVersion", text, 0)
        # Upstream names the resource here instead of the kind.
        raise invalid(resource.group, resource.plural, current.name, [problem])
    return new | {"metadata": metadata | {"resourceVersion": stored}}


def with_stored_metadata(new: Document, old: Document) -> Document:
    """Return a changed object with the metadata that no update changes."""
    metadata = dict(new.get("metadata") or {})
    stored: Document = old.get("metadata") or {}
    metadata.pop("selfLink", None)
    if not metadata.get("uid"):
        metadata["uid"] = stored.get("uid")
    for name in ("generation", "creationTimestamp"):
        if name in stored:
            metadata[name] = stored[name]
        else:
            metadata.pop(name, None)
    if "deletionTimestamp" in stored:
        metadata["deletionTimestamp"] = stored["deletionTimestamp"]
    if metadata.get("deletionGracePeriodSeconds") is None:
        metadata.pop("deletionGracePeriodSeconds", None)
        if "deletionGracePeriodSeconds" in stored:
            metadata["deletionGracePeriodSeconds"] = stored["deletionGracePeriodSeconds"]
    return new | {"metadata": metadata}


def with_empty_parts(document: Any, sent: Any) -> Any:
    """Return a document in Go's form with the empty maps and lists that were sent.

    Go keeps them until the object is stored: they are not null in messages.
    """
    if isinstance(document, dict) and isinstance(sent, dict):
        found = {name: with_empty_parts(value, sent.get(name)) for name, value in document.items()}
        return found | {
            name: value
            for name, value in sent.items()
            if value in ({}, []) and document.get(name) is None
        }
    if isinstance(document, list) and isinstance(sent, list) and len(document) == len(sent):
        return [with_empty_parts(each, one) for each, one in zip(document, sent, strict=True)]
    return document


def name_of(document: Document) -> str:
    """Return the name of an object, "" for none."""
    return str((document.get("metadata") or {}).get("name") or "")
