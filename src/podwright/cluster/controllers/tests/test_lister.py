"""A lister finds what a search through all objects finds, whatever was put and deleted before."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.properties.effort import effort

from podwright.apimachinery.objects import KubernetesObject, Pod
from podwright.apimachinery.schema import decode
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.store import EVENT, POD, kind_of

SERVICE = ("", "Service")
KINDS = ("Pod", "Service", "Event")
NAMESPACES, NAMES, OWNERS, NODES = ("a", "b"), ("x", "y"), ("", "1", "2"), ("", "n", "m")


def made(kind: str, namespace: str, name: str, owner: str, node: str) -> KubernetesObject:
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    if owner:
        metadata["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "O", "name": "o", "uid": owner, "controller": True}
        ]
    document: dict[str, Any] = {"apiVersion": "v1", "kind": kind, "metadata": metadata}
    if kind == "Pod":
        document["spec"] = {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}
    return decode(document, source="test")


_objects = st.builds(made, *map(st.sampled_from, (KINDS, NAMESPACES, NAMES, OWNERS, NODES)))


def check(lister: Lister, stored: dict[Any, KubernetesObject]) -> None:
    for kind in (POD, SERVICE):
        own = {key: obj for (of, key), obj in stored.items() if of == kind}
        assert dict(lister.all(kind)) == own
        assert all(lister.get(kind, key) is obj for key, obj in own.items())
        found = {obj.metadata.namespace for obj in own.values()}
        assert set(lister.namespaces_of(kind)) == found
        for namespace in NAMESPACES:
            there = {key: obj for key, obj in own.items() if obj.metadata.namespace == namespace}
            assert lister.in_namespace(kind, namespace) == there
            assert lister.count_in_namespace(kind, namespace) == len(there)
            orphans = {key: obj for key, obj in there.items() if obj.metadata.controller is None}
            assert lister.orphans(kind, namespace) == orphans
        for uid in OWNERS[1:]:
            assert lister.controlled_by(uid, kind) == {
                key: obj
                for key, obj in own.items()
                if obj.metadata.controller is not None and obj.metadata.controller.uid == uid
            }
    assert not lister.pods_on("")
    for node in NODES[1:]:
        assert lister.pods_on(node) == {
            obj.key: obj
            for obj in stored.values()
            if isinstance(obj, Pod) and obj.spec.node_name == node
        }
    events = [key for of, key in stored if of == EVENT]
    assert sorted(lister.all(EVENT)) == sorted(events)
    assert len(lister.all(EVENT)) == len(events)
    for namespace in NAMESPACES:
        names = {key for key in events if key.startswith(f"{namespace}/")}
        assert lister.in_namespace(EVENT, namespace).keys() == names
        assert lister.count_in_namespace(EVENT, namespace) == len(names)


@effort(50)
@given(
    st.booleans(),
    st.lists(st.tuples(_objects, st.sampled_from(["put", "put", "delete", "check"])), max_size=25),
)
def test_a_lister_finds_what_a_search_finds(has_namespaces, changes):
    lister = Lister(has_namespaces=has_namespaces)
    stored: dict[Any, KubernetesObject] = {}
    for obj, change in changes:
        place = (kind_of(obj), obj.key)
        if change == "put":
            old = lister.put(obj)
            assert (old is None) == (place not in stored)
            assert old is None or place[0] == EVENT or old is stored[place]
            stored[place] = obj
        elif change == "delete":
            old = lister.delete(obj)
            assert (old is None) == (place not in stored)
            stored.pop(place, None)
        else:
            check(lister, stored)
    check(lister, stored)
    assert set(lister.kinds()) >= {kind for kind, _ in stored}
    assert lister.kinds() == sorted(lister.kinds())


def test_only_the_name_of_an_event_is_kept():
    lister = Lister()
    lister.put(made("Event", "a", "x", "1", ""))
    event = lister.get(EVENT, "a/x")
    assert event is not None
    assert (event.key, event.kind, event.api_version) == ("a/x", "Event", "v1")
    assert event.metadata.controller is None
    with pytest.raises(KeyError):
        lister.all(EVENT)["a/y"]
    assert lister.kinds() == [EVENT]
    lister.delete(event)
    assert lister.kinds() == []
