"""Changes whose objects are at rest."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.store import objects_store
from podwright.cluster.store.history import RestingChange
from podwright.cluster.store.objects_store import TIMES_KEPT_NS, ObjectStore
from podwright.testing import make_pod

KIND, KEY = ("", "Pod"), "default/a"


class AtRest:
    """Objects by version, and which were read."""

    def __init__(self) -> None:
        self.read_versions: list[int] = []

    def read(self, version: int) -> Any:
        self.read_versions.append(version)
        return make_pod("a", labels={"version": str(version)})


@pytest.mark.parametrize(
    ("previous", "is_removal", "read"),
    [
        pytest.param(0, False, 7, id="a creation"),
        pytest.param(5, False, 7, id="an update, without the version before"),
        pytest.param(5, True, 5, id="a deletion, whose last state it is"),
    ],
)
def test_the_object_of_a_resting_change_is_read_once(previous, is_removal, read):
    at_rest: Any = AtRest()
    found = RestingChange(7, KIND, KEY, at_rest, previous, is_removal).object
    assert at_rest.read_versions == [read]
    assert found.metadata.labels == {"version": str(read)}
    assert (found.metadata.resource_version == "7") is is_removal


def an_event(note: str, version: str = "") -> Any:
    metadata = {"name": "e", "namespace": "default"}
    metadata |= {"resourceVersion": version} if version else {}
    involved = {"kind": "Pod", "name": "p", "namespace": "default"}
    return decode({
        "apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": involved,
        "message": note,
    })  # fmt: skip


@pytest.mark.parametrize("is_removed", [False, True], ids=["updated", "removed"])
@pytest.mark.parametrize("kept", [0, 1, 4])
def test_the_state_before_a_resting_change_can_be_read(monkeypatch, kept, is_removed) -> None:
    """Also that of an object which was there before the first change of the history."""
    monkeypatch.setattr(objects_store, "AWAKE_MAX", kept)
    event = ("", "Event")
    store = ObjectStore()
    store.restore([an_event("before", version="5")], oldest=5)
    if is_removed:
        store.drop(event, "default/e")
    else:
        store.put(an_event("after"))
    for number in range(8):
        store.put(make_pod(f"p{number}"))
    store.validate()
    (old,) = store.list(event, at=5).objects
    assert old.raw["message"] == "before"
    assert [each.raw["message"] for each in store.list(event).objects] == (
        [] if is_removed else ["after"]
    )
    (seen,) = store.watch(event, since=5).poll()
    assert seen.type == ("DELETED" if is_removed else "MODIFIED")
    assert seen.object is not None
    assert seen.object.raw["message"] == ("before" if is_removed else "after")
    assert seen.object.raw["metadata"]["resourceVersion"] == "6"


@pytest.mark.parametrize("kept", [0, 1, 4])
def test_every_state_of_an_object_that_is_updated_again_and_again_can_be_read(monkeypatch, kept):
    """Its last state rests with the next one."""
    monkeypatch.setattr(objects_store, "AWAKE_MAX", kept)
    event, store = ("", "Event"), ObjectStore()
    for number in range(6):
        store.put(an_event(str(number)))
        store.put(make_pod(f"p{number}"))
    store.validate()
    last = store.resource_version
    found = [store.list(event, at=version).objects for version in range(last - 11, last + 1)]
    assert [[each.raw["message"] for each in states] for states in found] == [
        [str(number // 2)] for number in range(12)
    ]
    seen = [(each.type, each.object) for each in store.watch(event, since=last - 12).poll()]
    assert [kind for kind, _ in seen] == ["ADDED", *["MODIFIED"] * 5]
    assert [obj.raw["message"] for _, obj in seen if obj is not None] == list("012345")


def test_times_of_versions_are_known_for_two_hours() -> None:
    assert TIMES_KEPT_NS / 10**9 == 7_200
