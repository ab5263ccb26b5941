"""What a remedy changes, as requests that a client can send to the Kubernetes API."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import msgspec

from podwright.advice import Remedy
from podwright.objects import Document, KubernetesObject, Node, Pod, encode
from podwright.patching import merge_difference
from podwright.store import POD, GroupKind, kind_of

_OF_THE_SERVER = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")


class RemedyChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One request of a remedy.

    Attributes
    ----------
    action : str
        `patch` an object with a JSON merge patch, `create` or `delete` it, or `replace` it: delete
        and create it, because its fields cannot be changed.
    api_version, kind, namespace, name : str
        The object; its namespace is empty if the kind has none.
    body : dict, optional
        The patch, or the manifest to create; None for a deletion.
    """

    action: Literal["patch", "create", "delete", "replace"]
    api_version: str
    kind: str
    namespace: str
    name: str
    body: dict[str, Any] | None = None


def remedy_changes(
    remedy: Remedy, present: Callable[[GroupKind, str], KubernetesObject | None]
) -> list[RemedyChange] | None:
    """Return the requests that make the changes of a remedy.

    Parameters
    ----------
    remedy : Remedy
    present : callable
        Returns an object of the cluster as it is, by kind and "namespace/name".

    Returns
    -------
    list of RemedyChange or None
        None if the pod has to change and belongs to a workload, whose template has to change; or
        if it has to change and does not exist.
    """
    before = present(kind_of(remedy.pod), remedy.pod.key)
    if before is None:
        return None
    of_pod = list(_changes_of_pod(before, remedy.pod))
    if of_pod and before.metadata.owner_references:
        return None
    changes = []
    for obj in remedy.put:
        there = present(kind_of(obj), obj.key)
        if there is None:
            changes.append(_change("create", obj, _manifest(obj)))
        elif patch := _difference(there, obj):
            changes.append(_change("patch", obj, patch))
    victims = [present(POD, key) for key in remedy.delete]
    gone = [victim for victim in victims if victim is not None]
    changes += [_change("delete", obj, None) for obj in (*gone, *remedy.drop)]
    # The pod may need the others, such as a new priority class.
    return changes + of_pod


def _changes_of_pod(before: KubernetesObject, pod: Pod) -> Iterator[RemedyChange]:
    """Yield the change of the pod itself, if it changes."""
    patch = _difference(before, pod)
    if not patch:
        return
    if set(patch) == {"metadata"}:
        yield _change("patch", pod, patch)
    else:
        yield _change("replace", pod, _manifest(pod))


def _change(
    action: Literal["patch", "create", "delete", "replace"],
    obj: KubernetesObject,
    body: Document | None,
) -> RemedyChange:
    return RemedyChange(
        action=action,
        api_version=obj.api_version,
        kind=obj.kind,
        namespace=obj.metadata.namespace,
        name=obj.metadata.name,
        body=body,
    )


def _difference(before: KubernetesObject, after: KubernetesObject) -> Document:
    """Return the merge patch between two states of an object, without what the server writes."""
    documents = [
        {name: value for name, value in encode(obj).items() if name != "status"}
        for obj in (before, after)
    ]
    for document in documents:
        document["metadata"] = _metadata(document)
    return merge_difference(*documents)


def _manifest(obj: KubernetesObject) -> Document:
    """Return an object as it can be created; a node has its resources in its status."""
    has_status = isinstance(obj, Node)
    document = {name: one for name, one in encode(obj).items() if name != "status" or has_status}
    return {**document, "metadata": _metadata(document)}


def _metadata(document: Document) -> Document:
    metadata = document.get("metadata") or {}
    return {name: value for name, value in metadata.items() if name not in _OF_THE_SERVER}
