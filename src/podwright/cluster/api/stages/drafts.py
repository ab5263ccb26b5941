"""The objects of components, which are typed: completed, validated and merged with the stored ones.

What was recorded is complete: its server has validated it, and its fields have their owners.
"""

from __future__ import annotations

from podwright._interludes import interlude
from podwright.apimachinery.objects import (
    KubernetesObject,
    Pod,
    encode,
    timestamp_text,
    with_fields,
)
from podwright.cluster.api.bootstrap_objects import namespace
from podwright.cluster.api.object_edits import edited, with_defaults, with_fields_of_others
from podwright.cluster.api.object_validation import check_new, check_update
from podwright.cluster.api.pods.binding import with_probe_times
from podwright.cluster.api.stages.draft_admission import ComponentParts, prepared_change
from podwright.cluster.api.stages.write import DraftWrite
from podwright.cluster.api.versions.resources import built_in_resources
from podwright.cluster.store import NAMESPACE, kind_of


def make_namespace(parts: ComponentParts, write: DraftWrite) -> None:
    """Create the namespace of an applied object; a rejected object leaves none behind."""
    obj, storage = write.sent, parts.storage
    if not obj.namespace or storage.store.get(NAMESPACE, obj.namespace) is not None:
        return
    is_recorded = write.form == "recorded"
    admit = parts.drafts.complete_recorded if is_recorded else parts.drafts.admit_new
    admitted = admit(with_defaults(obj))
    if not is_recorded:
        check_new(admitted)
    storage.create(namespace(obj.namespace), write.now_ns)


def complete_new(parts: ComponentParts, write: DraftWrite) -> None:
    """Set the defaults of a new object; what the plugins made of the spec of a pod is known."""
    parts.drafts.complete_new(write)


def prepare_draft(parts: ComponentParts, write: DraftWrite) -> None:
    """Name a new object, and prepare it as its kind does, but for what a record has."""
    parts.drafts.prepare(write)


def complete_change(parts: ComponentParts, write: DraftWrite) -> None:
    """Set the defaults of a changed object, and prepare it as its kind does."""
    parts.drafts.complete_change(write)


def check_before_allocation(parts: ComponentParts, write: DraftWrite) -> None:
    """Validate a changed object to which something is allocated."""
    obj: KubernetesObject = write.body
    if kind_of(obj) in parts.allocators:
        write.current = parts.storage.store.require(kind_of(obj), obj.key)
        _check_update(obj, write.current)


def complete_applied(parts: ComponentParts, write: DraftWrite) -> None:
    """Complete an object that replaces the stored one, whose other fields it keeps."""
    obj, current = write.sent, write.current
    if write.scope == "main":
        obj = with_fields_of_others(obj, current)
    obj = with_defaults(obj)
    obj = prepared_change(parts.drafts.complete_recorded(obj, write.now_ns), current, write.now_ns)
    write.body = with_fields(obj, "metadata", resource_version="", uid="")


def complete_recorded(parts: ComponentParts, write: DraftWrite) -> None:
    """Complete an object of another server: a file that none wrote lacks what only one sets."""
    obj = parts.drafts.complete_recorded(write.sent, write.now_ns)
    write.body = with_fields(obj, "metadata", resource_version="", uid="")


def check_draft(_parts: ComponentParts, write: DraftWrite) -> None:
    """Validate an object as a whole."""
    with interlude():
        check_new(write.body)


def own_draft(parts: ComponentParts, write: DraftWrite) -> None:
    """Give the component the fields of the new object that it has sent."""
    if parts.owners is not None:
        with interlude():
            write.owners = parts.owners.created(write.sent, write.user, write.now_ns)


def allocate_draft(parts: ComponentParts, write: DraftWrite) -> None:
    """Allocate to a valid object what it needs, such as the address of a Service."""
    obj = write.body
    if kind_of(obj) in parts.allocators:
        resource = built_in_resources()[obj.api_version, obj.kind]
        stored = None if write.current is None else encode(write.current)
        write.new = parts.allocated(resource, encode(obj), stored, is_dry_run=False)
        write.body = edited(obj, write.new)


def form_conditions(parts: ComponentParts, write: DraftWrite) -> None:
    """Write the conditions of a pod as an API server does, whoever set them."""
    del parts
    if isinstance(write.body, Pod):
        write.body = with_probe_times(write.body)


def merge(parts: ComponentParts, write: DraftWrite) -> None:
    """Store the parts of the object in the scope of the write, with the others as they are."""
    owners_of = None
    if parts.owners is not None and write.form != "recorded":
        owners_of = parts.owners.of_update(write.scope, write.user, write.now_ns)
    validate = _check_update if write.form == "draft" else None
    write.stored = parts.storage.update(
        write.body, scope=write.scope, validate=validate, owners_of=owners_of
    )


def _check_update(new: KubernetesObject, old: KubernetesObject) -> None:
    with interlude():
        check_update(new, old)


def restore(parts: ComponentParts, write: DraftWrite) -> None:
    """Store an object as its server has stored it, with its uid and its times."""
    obj = write.sent
    if obj.metadata.creation_timestamp is None:  # a file that no server wrote has no times
        obj = with_fields(obj, "metadata", creation_timestamp=timestamp_text(write.now_ns))
    write.stored = parts.storage.store.put(parts.drafts.complete_recorded(obj, write.now_ns))
