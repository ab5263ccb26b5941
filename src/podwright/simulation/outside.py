"""What somebody does from outside, done to a store as the API server would.

What no object shows is not done here: nodes that fail or are drained.
"""

from __future__ import annotations

from podwright.api import bootstrap_objects as first_objects
from podwright.api.admission import Admission
from podwright.objects import (
    Document,
    KubernetesObject,
    NamespacedName,
    decode,
    encode,
    with_fields,
)
from podwright.simulation.operations import (
    Apply,
    Cordon,
    Delete,
    Put,
    Scale,
    Update,
    is_placed,
    may_update,
)
from podwright.store import GroupKind, ObjectStore, kind_of
from podwright.store.lifecycle import Scope


def write(
    store: ObjectStore,
    admission: Admission,
    operation: Apply | Put | Update | Delete | Cordon | Scale,
    now_ns: int,
) -> None:
    """Do something to the objects of a store.

    Raises
    ------
    Forbidden
        An object that admission does not let in.
    """
    match operation:
        case Apply(obj):
            _apply(store, admission, obj, "main", now_ns)
        case Put(obj):
            _apply(store, admission, obj, "whole", now_ns)
        case Update(obj):
            if may_update(store.get(kind_of(obj), obj.key)):
                _apply(store, admission, obj, "main", now_ns)
        case Delete(kind, key, grace_seconds, only_pending):
            there = store.get(kind, key)
            if there is not None and not (only_pending and is_placed(there)):
                store.delete(kind, key, now_ns, grace_seconds=grace_seconds)
        case Cordon(node, is_cordoned):
            _change(store, ("", "Node"), node, {"unschedulable": is_cordoned or None})
        case Scale(kind, key, replicas):
            _change(store, kind, key, {"replicas": replicas})


def _apply(
    store: ObjectStore, admission: Admission, obj: KubernetesObject, scope: Scope, now_ns: int
) -> None:
    namespace = obj.namespace
    if namespace and store.get(("", "Namespace"), namespace) is None:
        store.create(first_objects.namespace(namespace), now_ns)
    if store.get(kind_of(obj), obj.key) is not None:
        admitted = admission.admit(obj)
        theirs = with_fields(admitted, "metadata", resource_version="", uid="")
        store.update(theirs, scope=scope)
    elif scope == "whole" and obj.uid:
        store.put(admission.admit(obj))
    else:
        store.create(admission.admit_new(obj), now_ns)


def _change(store: ObjectStore, kind: GroupKind, key: NamespacedName, spec: Document) -> None:
    obj = store.get(kind, key)
    if obj is None:
        return
    document = encode(obj)
    changed = {**(document.get("spec") or {}), **spec}
    kept = {name: value for name, value in changed.items() if value is not None}
    store.update(decode(document | {"spec": kept}))
