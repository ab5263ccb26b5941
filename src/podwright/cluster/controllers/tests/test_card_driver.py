"""Simulated drivers: when the cards of nodes are published, published again, and withdrawn."""

from __future__ import annotations

from typing import Any

import pytest

import podwright as pw
from podwright.apimachinery.objects import Object, ResourceSlice
from podwright.apimachinery.schema import decode
from podwright.cluster.api import CreateObject, RecordEvent, UpdateObject
from podwright.cluster.controllers import Lister
from podwright.cluster.controllers.devices import CardDriver
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.store import ObjectStore

_DRIVER = "gpu.example.com"


def _cards(name: str = "cards", **spec: Any) -> Object:
    fields = {"driver": _DRIVER, "count": 2, "nodeSelector": {"gpu": "yes"}} | spec
    return decode(
        {
            "apiVersion": "podwright.dev/v1",
            "kind": "DeviceCards",
            "metadata": {"name": name},
            "spec": fields,
        }
    )


def _node(name: str, *, gpu: str = "yes", **annotations: str) -> Object:
    labels = {"gpu": gpu}
    document = pw.testing.make_node(name, cpu="4").raw
    metadata = {"name": name, "labels": labels, "annotations": annotations}
    return decode({"apiVersion": "v1", "kind": "Node"} | document | {"metadata": metadata})


def _world(*objects: Object) -> pw.World:
    world = pw.World(seed=0)
    world.add(*objects)
    world.run_until("1s")
    return world


def _published(store: ObjectStore) -> list[tuple[str, int, int]]:
    """Return the node, the generation and the number of devices of each slice."""
    return [
        (each.spec.node_name or "", each.spec.pool.generation, len(each.spec.devices))
        for each in store.list(ResourceSlice).objects
        if isinstance(each, ResourceSlice)
    ]


def test_a_node_that_is_added_later_gets_its_cards_and_loses_them_with_its_labels() -> None:
    world = _world(_cards(), _node("a"), _node("b", gpu="no"))
    assert _published(world.store) == [("a", 1, 2)]
    world.add(_node("c"), at="10s")
    world.add(_node("b"), at="20s")
    world.run_until("15s")
    assert _published(world.store) == [("a", 1, 2), ("c", 1, 2)]
    world.run_until("25s")
    assert _published(world.store) == [("a", 1, 2), ("b", 1, 2), ("c", 1, 2)]
    world.add(_node("b", gpu="no"))
    world.remove(_node("a"))
    world.run_until("30s")
    assert _published(world.store) == [("c", 1, 2)]


def test_changed_cards_are_published_again_and_go_with_their_description() -> None:
    world = _world(_node("a"), _cards(count=130))
    assert _published(world.store) == [("a", 1, 128), ("a", 1, 2)]
    world.add(_cards(count=3))
    world.run_until("10s")
    assert _published(world.store) == [("a", 2, 3)]
    world.remove(_cards())
    world.run_until("20s")
    assert _published(world.store) == []


def test_a_pod_waits_until_its_card_is_added() -> None:
    request = {"name": "r", "exactly": {"deviceClassName": "any", "count": 3}}
    head = {"apiVersion": "resource.k8s.io/v1"}
    claim = decode(
        head
        | {
            "kind": "ResourceClaim",
            "metadata": {"name": "c", "namespace": "default"},
            "spec": {"devices": {"requests": [request]}},
        }
    )
    spec = {
        "containers": [{"name": "main", "image": "app"}],
        "resourceClaims": [{"name": "r", "resourceClaimName": "c"}],
    }
    pod = decode({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    any_device = decode(head | {"kind": "DeviceClass", "metadata": {"name": "any"}, "spec": {}})
    world = _world(_cards(), _node("a"), any_device, claim, pod)
    assert world.run("5s").node_of == {}
    world.add(_cards(count=3))
    assert world.run("20s").node_of == {"default/p": "a"}


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param(
            [_node("a", **{"podwright.dev/source-uid": "u"}), _cards()], id="a mirrored node"
        ),
        pytest.param(
            [
                _node("a"),
                decode(
                    {
                        "apiVersion": "resource.k8s.io/v1",
                        "kind": "ResourceSlice",
                        "metadata": {"name": "own"},
                        "spec": {
                            "driver": _DRIVER,
                            "nodeName": "a",
                            "pool": {"name": "a", "generation": 1, "resourceSliceCount": 1},
                            "devices": [{"name": "own"}],
                        },
                    }
                ),
                _cards(),
            ],
            id="another driver",
        ),
        pytest.param([_node("a"), _cards(count=0)], id="cards that are not valid"),
    ],
)
def test_other_nodes_are_left_alone(objects: list[Object]) -> None:
    world = _world(*objects)
    before = _published(world.store)
    assert all(count == 1 for _, _, count in before)
    world.add(_cards(count=0))
    world.run_until("10s")
    assert _published(world.store) == before


def test_what_is_wrong_with_cards_is_an_event_and_their_slices_stay() -> None:
    world = _world(_node("a"), _cards())
    world.add(_cards(counts=3))
    world.run_until("10s")
    assert _published(world.store) == [("a", 1, 2)]
    lister = Lister()
    driver = CardDriver(lister)
    lister.put(_cards(counts=3))
    (key,) = driver.observe(None, _cards(counts=3))
    (event,) = driver.sync(key, 0)
    assert isinstance(event, RecordEvent)
    assert (event.reason, event.note) == (
        "InvalidDeviceCards",
        'spec.counts: unknown field; did you mean "count"?',
    )


def test_slices_that_were_changed_by_hand_stay_until_the_cards_change() -> None:
    world = _world(_node("a"), _cards())
    (published,) = world.store.list(ResourceSlice).objects
    spec = published.raw["spec"]
    world.add(decode(published.raw | {"spec": spec | {"devices": spec["devices"][:1]}}))
    world.add(_node("b"))
    world.run_until("10s")
    assert _published(world.store) == [("a", 1, 1), ("b", 1, 2)]
    world.add(_cards(name="cards", attributes={"model": {"string": "new"}}))
    world.run_until("20s")
    assert _published(world.store) == [("a", 2, 2), ("b", 2, 2)]


def test_annotations_of_slices_stay_in_their_documents() -> None:
    world = _world(_node("a"), _cards())
    (published,) = world.store.list(ResourceSlice).objects
    metadata = published.raw["metadata"]
    annotations = (metadata.get("annotations") or {}) | {"note": "kept"}
    noted = published.raw | {"metadata": metadata | {"annotations": annotations}}
    world.add(decode(noted))
    world.add(_cards(name="cards", attributes={"model": {"string": "new"}}), at="10s")
    world.run_until("20s")
    (changed,) = world.store.list(ResourceSlice).objects
    assert _published(world.store) == [("a", 2, 2)]
    assert changed.raw["metadata"]["annotations"]["note"] == "kept"
    assert changed.metadata.annotations == changed.raw["metadata"]["annotations"]


def _read(*objects: Any, key: str = "a") -> list[str]:
    return [each.partition(" ")[0] for each in SingleSync(CardDriver, *objects).sync(key)]


def test_cards_are_published_once_and_not_while_they_are_wrong() -> None:
    bench = SingleSync(CardDriver, _node("a"), _cards())
    (created,) = bench.controller.sync("a", 0)
    assert isinstance(created, CreateObject)
    bench.put(created.obj)
    assert bench.sync("a") == []
    assert bench.put(_cards()) == [], "they are as they were"
    assert bench.put(_cards(count=3)) == ["cards:cards", "a"]
    assert bench.sync("a")[0].startswith("update ResourceSlice ")
    wrong = {"nodeCards": "many"}
    assert _read(_node("a"), _cards(**wrong)) == []


def test_changed_cards_have_a_generation_above_that_of_every_slice() -> None:
    bench = SingleSync(CardDriver, _node("a"), _cards(count=130))
    for generation, action in zip((4, 7), bench.controller.sync("a", 0), strict=True):
        assert isinstance(action, CreateObject)
        spec = action.obj.raw["spec"]
        pool = spec["pool"] | {"generation": generation}
        bench.put(decode(action.obj.raw | {"spec": spec | {"pool": pool}}))
    bench.put(_cards(count=3))
    update, _ = bench.controller.sync("a", 0)
    assert isinstance(update, UpdateObject)
    assert update.obj.raw["spec"]["pool"]["generation"] == 8


def test_only_cards_nodes_and_slices_of_nodes_concern_the_driver() -> None:
    bench = SingleSync(CardDriver)
    other = {"apiVersion": "example.com/v1", "kind": "DeviceCards", "metadata": {"name": "x"}}
    assert bench.put(decode(other)) == []
    pool = {"name": "a", "generation": 1, "resourceSliceCount": 1}
    loose = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "loose"},
        "spec": {"driver": _DRIVER, "allNodes": True, "pool": pool, "devices": [{"name": "d"}]},
    }
    assert bench.put(decode(loose)) == []
    assert bench.put(_node("a")) == []
    assert bench.put(_cards()) == ["cards:cards", "a"]
    assert bench.remove(_cards()) == ["a"]
    assert bench.sync("cards:cards") == []
