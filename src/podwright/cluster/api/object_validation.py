"""Validation of the objects of write requests, by the rules of the room `schema`.

A new object is validated as a whole. A changed one is validated with the stored one, and errors
that the stored object has already are not errors of the request: an object of a record can be
older than a rule.

Upstream: staging/src/k8s.io/apiserver/pkg/registry/rest/create.go, BeforeCreate; update.go,
BeforeUpdate
"""

from __future__ import annotations

from collections.abc import Iterable

from podwright.apimachinery.objects import (
    Document,
    FieldError,
    InvalidObject,
    KubernetesObject,
    encode,
)
from podwright.apimachinery.schema import (
    UNKNOWN_FIELD,
    Kind,
    Problem,
    built_in,
)
from podwright.cluster.api.object_edits import with_defaults, wrong_types
from podwright.cluster.api.rejections import Invalid


def check_new(obj: KubernetesObject) -> None:
    """Reject a new object with errors; its defaults are set, so that its types are right.

    Raises
    ------
    Invalid
        With all errors.
    """
    kind = built_in().find(obj.api_version, obj.kind)
    if kind is None:
        return
    if problems := kind.new_problems(encode(obj)):
        raise Invalid(obj, problems)


def check_update(new: KubernetesObject, old: KubernetesObject) -> None:
    """Reject a changed object with errors that the stored one does not have.

    Raises
    ------
    Invalid
        With all errors.
    """
    kind = built_in().find(new.api_version, new.kind)
    if kind is None:
        return
    document, stored = encode(new), encode(old)
    if _differs_in_metadata_only(document, stored):
        # The rest was validated when it was stored.
        document, stored = ({"metadata": each.get("metadata")} for each in (document, stored))
        added = _added(kind.metadata_update_problems(document, stored), kind, stored)
    elif wrong := wrong_types(kind, document):
        added = _added(wrong, kind, stored)
    else:
        added = kind.update_problems(document, stored) and update_problems(new, old)
    if added:
        raise Invalid(new, added)


def _added(problems: list[Problem], kind: Kind, stored: Document) -> list[Problem]:
    """Return the errors of a changed object that the stored one does not have."""
    if not problems:
        return []
    before = wrong_types(kind, stored) or kind.update_problems(stored, stored)
    known = {(path, message) for path, message, _ in before}
    return [each for each in problems if (each[0], each[1]) not in known]


def update_problems(new: KubernetesObject, old: KubernetesObject) -> list[Problem]:
    """Return why kube-apiserver would refuse a changed object; empty if it accepts the change.

    Defaults that an object lacks are not a change: an older server or a manifest has fewer.
    """
    kind = built_in().find(new.api_version, new.kind)
    if kind is None:
        return []
    changed, stored = (encode(with_defaults(obj)) for obj in (new, old))
    return _added(kind.update_problems(changed, stored), kind, stored)


def check_objects(
    objects: Iterable[KubernetesObject], *, allows_unknown_fields: bool = True
) -> None:
    """Reject invalid new objects, before any of them is written.

    Objects with a uid come from a server, which has validated them.

    Parameters
    ----------
    allows_unknown_fields : bool
        Whether objects may have fields that their kinds do not have, as without `--validate` of
        kubectl.

    Raises
    ------
    InvalidObject
        With all errors of all objects.
    """
    several = list(objects)
    errors = [] if allows_unknown_fields else unknown_fields(several)
    errors += [
        _error(obj, problem) for obj in several if not obj.uid for problem in object_problems(obj)
    ]
    if errors:
        raise InvalidObject(errors)


def unknown_fields(objects: Iterable[KubernetesObject]) -> list[FieldError]:
    """Return the fields of new objects that their kinds do not have.

    Objects with a uid and a resource version come from a server, which may be newer.
    """
    found: list[FieldError] = []
    for obj in objects:
        document = encode(obj)
        metadata = document.get("metadata") or {}
        is_stored = metadata.get("uid") and metadata.get("resourceVersion")
        kind = None if is_stored else built_in().find(obj.api_version, obj.kind)
        if kind is not None:
            problems = kind.decoding_problems(document)
            found += [_error(obj, each) for each in problems if each[1].startswith(UNKNOWN_FIELD)]
    return found


def _error(obj: KubernetesObject, problem: Problem) -> FieldError:
    path, message, value = problem
    return FieldError(source=f"{obj.kind} {obj.key}", path=path, message=message, value=value)


def object_problems(obj: KubernetesObject) -> list[Problem]:
    """Return the errors of a new object whose defaults may not be set yet."""
    kind = built_in().find(obj.api_version, obj.kind)
    if kind is None:
        return []
    document = kind.with_zero_items(encode(obj))
    if problems := wrong_types(kind, document):
        return problems
    document = kind.with_defaults(document)
    return kind.metadata_problems(document) + kind.validation_problems(document)


def _differs_in_metadata_only(new: Document, old: Document) -> bool:
    return _without_metadata(new) == _without_metadata(old)


def _without_metadata(document: Document) -> Document:
    return {name: part for name, part in document.items() if name not in ("metadata", "status")}
