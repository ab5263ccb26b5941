"""The volumes that claims get on each node, against choosing node by node as upstream does.

Upstream: pkg/scheduler/framework/plugins/volumebinding/binder.go, findMatchingVolumes;
staging/src/k8s.io/component-helpers/storage/volume/pv_helpers.go, FindMatchingVolume
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from podwright.apimachinery.objects import (
    PersistentVolume,
    PersistentVolumeClaim,
    label_selector,
    quantity_value,
    with_fields,
)
from podwright.scheduler.columns import Cluster
from podwright.scheduler.columns.tests.storage_objects import (
    claim,
    expression,
    storage_class,
    volume,
)
from podwright.scheduler.columns.volumes.volume_decisions import PodClaims, decide
from podwright.testing import make_node

HOST, ZONE = "kubernetes.io/hostname", "zone"
NODES = {"n0": {ZONE: "a"}, "n1": {ZONE: "a"}, "n2": {ZONE: "b"}, "n3": {}}
BOTH = ["ReadWriteOnce", "ReadWriteMany"]

AFFINITIES: tuple[tuple[list[list[dict[str, Any]]] | None, str], ...] = (
    (None, "0123"),
    ([[expression(HOST, "In", "n0")]], "0"),
    ([[expression(HOST, "In", "n1", "n3", "n1")]], "13"),
    ([[expression(ZONE, "In", "a")]], "01"),
    ([[expression(ZONE, "In", "a"), expression(HOST, "In", "n1", "n2")]], "1"),
    ([[expression(ZONE, "In", "b")], [expression(HOST, "In", "n0")]], "02"),
    ([[expression(ZONE, "NotIn", "a")]], "23"),
    ([[expression(ZONE, "Exists")]], "012"),
    ([[expression(ZONE, "In", "unseen")]], ""),
    ([[]], ""),
)
"""Terms of a volume, and the numbers of the nodes that can access it."""


def made_volume(random: Random, name: str) -> tuple[PersistentVolume, str]:
    terms, nodes = random.choice(AFFINITIES)
    spec: dict[str, Any] = {}
    if terms is not None:
        written = [{"matchExpressions": term} for term in terms]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": written}}
    if random.random() < 0.3:
        spec["claimRef"] = {"namespace": "default", "name": random.choice("cde")}
    if random.random() < 0.2:
        spec["volumeMode"] = "Block"
    if random.random() < 0.4:
        spec["accessModes"] = BOTH
    labels = {"media": "ssd"} if random.random() < 0.5 else {}
    of_class = random.choice(("local", "local", "other"))
    size = f"{random.randrange(3, 7)}Gi"
    made: PersistentVolume = volume(name, size, of_class=of_class, labels=labels, **spec)
    if random.random() < 0.1:
        made = with_fields(made, "status", phase="Released")
    return made, nodes


def made_claim(random: Random, name: str) -> PersistentVolumeClaim:
    spec: dict[str, Any] = {}
    if random.random() < 0.3:
        spec["selector"] = {"matchLabels": {"media": "ssd"}}
    if random.random() < 0.2:
        spec["volumeMode"] = "Block"
    if random.random() < 0.3:
        spec["accessModes"] = BOTH
    of_class = random.choice(("local", "local", "other"))
    made: PersistentVolumeClaim = claim(
        name, f"{random.randrange(2, 7)}Gi", of_class=of_class, **spec
    )
    return made


def size_of(given: PersistentVolume) -> tuple[int, str]:
    return quantity_value(given.spec.capacity["storage"]), given.name


def request_of(given: PersistentVolumeClaim) -> int:
    return quantity_value(given.spec.resources.requests["storage"])


def satisfies(one: PersistentVolume, given: PersistentVolumeClaim) -> bool:
    mode = one.spec.volume_mode or "Filesystem"
    return (
        one.spec.storage_class_name == given.spec.storage_class_name
        and mode == (given.spec.volume_mode or "Filesystem")
        and size_of(one)[0] >= request_of(given)
    )


def matches(one: PersistentVolume, given: PersistentVolumeClaim) -> bool:
    selector = given.spec.selector
    return (
        one.spec.claim_ref is None
        and one.status.phase == "Available"
        and satisfies(one, given)
        and set(given.spec.access_modes) <= set(one.spec.access_modes)
        and (selector is None or label_selector(selector).matches(one.metadata.labels))
    )


def chosen_on(
    node: str, volumes: dict[str, tuple[PersistentVolume, str]], claims: list[PersistentVolumeClaim]
) -> dict[str, str]:
    """Return the volume that each claim gets on a node, the smallest claim first."""
    found: dict[str, str] = {}
    for given in sorted(claims, key=request_of):
        left = [each for name, each in sorted(volumes.items()) if name not in found.values()]
        reserved = [
            (one, nodes)
            for one, nodes in left
            if one.spec.claim_ref is not None
            and one.spec.claim_ref.name == given.name
            and satisfies(one, given)
        ]
        if reserved:
            one, nodes = reserved[0]
            if node in nodes:
                found[given.name] = one.name
            continue
        free = [one for one, nodes in left if node in nodes and matches(one, given)]
        if free:
            found[given.name] = min(free, key=size_of).name
    return found


@pytest.mark.parametrize("seed", range(4))
def test_claims_get_the_volumes_that_each_node_would_give_alone(seed: int) -> None:
    random, cluster = Random(seed), Cluster()
    for name, labels in NODES.items():
        cluster.put(make_node(name, labels={HOST: name} | labels))
    for name in ("local", "other"):
        cluster.put(storage_class(name))
    volumes: dict[str, tuple[PersistentVolume, str]] = {}
    for _ in range(60):
        name = f"v{random.randrange(8)}"
        if name in volumes and random.random() < 0.4:
            cluster.delete(volumes.pop(name)[0])
        else:
            volumes[name] = made_volume(random, name)
            cluster.put(volumes[name][0])
        claims = [made_claim(random, each) for each in "cde"[: random.randrange(1, 4)]]
        rows = cluster.live_slots()
        found = decide(PodClaims((), tuple(claims)), cluster.storage, cluster.nodes, rows)
        for row in range(len(rows)):
            given = {ours.name: theirs.name for ours, theirs in found.bindings(row)}
            assert given == chosen_on(str(row), volumes, claims), (seed, row)


@pytest.mark.parametrize(
    ("requested", "capacity", "is_enough"),
    [
        pytest.param({}, {}, True, id="both without an amount"),
        pytest.param({}, {"storage": "0"}, True, id="a claim of no amount, and a volume of 0"),
        pytest.param({"storage": "0"}, {}, True, id="a claim of 0, and a volume of no amount"),
        pytest.param({"storage": "1n"}, {}, False, id="the least amount, and a volume of none"),
        pytest.param({"storage": "1Gi"}, {"cpu": "2"}, False, id="a volume of something else"),
        pytest.param({"cpu": "2"}, {"storage": "0"}, True, id="a claim of something else"),
    ],
)
@pytest.mark.parametrize("is_reserved", [False, True])
def test_an_amount_that_is_missing_is_0(
    requested: dict[str, str], capacity: dict[str, str], is_enough: bool, is_reserved: bool
) -> None:
    cluster = Cluster()
    cluster.put(make_node("n0"))
    cluster.put(storage_class("local"))
    cluster.put(volume("v", capacity=capacity, claim="c" if is_reserved else None))
    given = PodClaims((), (claim("c", resources={"requests": requested}),))
    found = decide(given, cluster.storage, cluster.nodes, cluster.live_slots())
    assert [theirs.name for _, theirs in found.bindings(0)] == (["v"] if is_enough else [])


def test_the_fields_of_a_volumes_terms_are_not_compared() -> None:
    """Upstream: volume/helpers.go, CheckNodeAffinity, and nodeaffinity.go, match."""
    cluster = Cluster()
    cluster.put(make_node("n0", labels={HOST: "n0"}))
    cluster.put(storage_class("local"))
    fields = [{"key": "metadata.name", "operator": "In", "values": ["n9"]}]
    affinity = {"required": {"nodeSelectorTerms": [{"matchFields": fields}]}}
    cluster.put(volume("v", "5Gi", of_class="local", nodeAffinity=affinity))
    given = PodClaims((), (claim("c", "5Gi", of_class="local"),))
    found = decide(given, cluster.storage, cluster.nodes, cluster.live_slots())
    assert [theirs.name for _, theirs in found.bindings(0)] == ["v"]
