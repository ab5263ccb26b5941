"""After any changes the storage index equals a new one."""

from typing import Any

from hypothesis import given, strategies as st
from tests.properties.effort import effort

from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster
from podwright.scheduler.columns.tests.storage_objects import (
    attachment,
    claim,
    csi_node,
    storage_class,
    using,
    volume,
)
from podwright.scheduler.columns.volumes.csi_migration import CSIVolume
from podwright.scheduler.columns.volumes.volume_decisions import PodClaims, decide
from podwright.scheduler.columns.volumes.volume_use import DiskUse

NODES, CLAIMS, VOLUMES, PODS = ["n0", "n1"], ["c0", "c1"], ["v0", "v1"], ["p0", "p1", "p2"]
DRIVERS = ["csi.x", "ebs.csi.aws.com"]


def node(name, zone):
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, "zone": zone}}
    return decode({"apiVersion": "v1", "kind": "Node", "metadata": metadata})


def pod(name, node_name, claims, disk, ephemeral):
    volumes = using(*claims)
    if disk:
        volumes.append({"name": "d", "awsElasticBlockStore": {"volumeID": disk}})
    if ephemeral:
        volumes.append({"name": "s", "ephemeral": {}})
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {"containers": [], "volumes": volumes, "nodeName": node_name},
        }
    )


sources = st.sampled_from(
    [
        {"csi": {"driver": "csi.x", "volumeHandle": "h0"}},
        {"csi": {"driver": "csi.x", "volumeHandle": "h1"}},
        {"awsElasticBlockStore": {"volumeID": "vol-0"}},
        {"hostPath": {"path": "/"}},
    ]
)
objects = st.one_of(
    st.builds(node, st.sampled_from(NODES), st.sampled_from("ab")),
    st.builds(
        pod,
        st.sampled_from(PODS),
        st.sampled_from(NODES),
        st.lists(st.sampled_from(CLAIMS), max_size=2),
        st.sampled_from(["", "", "vol-0"]),
        st.booleans(),
    ),
    st.builds(claim, st.sampled_from([*CLAIMS, "p0-s"]), bound_to=st.sampled_from(["", *VOLUMES])),
    st.builds(
        lambda name, source, on, owner: volume(name, on=on, claim=owner, **source),
        st.sampled_from(VOLUMES),
        sources,
        st.sampled_from([None, ["n0"], ["n0", "n1"]]),
        st.sampled_from([None, None, "c0"]),
    ),
    st.builds(storage_class, st.just("local"), st.sampled_from(["csi.x", "kubernetes.io/aws-ebs"])),
    st.builds(
        lambda name, limit: csi_node(name, csi_x=limit), st.sampled_from(NODES), st.integers(1, 2)
    ),
    st.builds(
        attachment,
        st.sampled_from(["a0", "a1"]),
        st.just("csi.x"),
        st.just("n0"),
        st.just("v0"),
    ),
)


START = [
    *(node(name, "a") for name in NODES),
    *(csi_node(name, csi_x=2) for name in NODES),
    storage_class("local", "csi.x"),
    *(claim(f"c{i}", bound_to=f"v{i}") for i in range(2)),
    *(volume(f"v{i}", csi={"driver": "csi.x", "volumeHandle": f"h{i}"}) for i in range(2)),
    pod("p0", "n0", CLAIMS, "", ephemeral=False),
    pod("p1", "n1", ["c0"], "vol-0", ephemeral=False),
]


def state(cluster):
    """Return everything that plugins read, by node name."""
    nodes, storage, rows = cluster.nodes, cluster.storage, cluster.live_slots()
    requested = PodClaims((), (claim("c0"), claim("c1", "2Gi")))
    found = decide(requested, storage, nodes, rows)
    disks = storage.use.disk_conflicts([DiskUse(("ebs", "vol-0"), read_only=False)])
    handles = [CSIVolume("csi.x", "h0"), CSIVolume("ebs.csi.aws.com", "vol-0")]
    answers = {}
    for row, slot in enumerate(rows.tolist()):
        limits = storage.csi_nodes.limits("csi.x")
        answers[nodes.names[slot]] = {
            "attached": [int(storage.use.attached(driver)[slot]) for driver in DRIVERS],
            "limit": -1 if limits is None else int(limits[slot]),
            "has_limits": storage.csi_nodes.has_limits(slot),
            "error": storage.use.errors().get(slot),
            "holders": [slot in storage.use.holders(handle) for handle in handles],
            "disk": slot in disks,
            "conflicts": int(found.conflicts[row]),
            "bindings": [(c.name, v.name) for c, v in found.bindings(row)],
        }
    return answers, +storage.use.claim_users


@effort(300)
@given(st.lists(st.tuples(objects, st.integers(0, 3)), max_size=12), st.data())
def test_the_index_equals_a_new_one_after_any_history(changes, data):
    cluster = Cluster()
    there: dict[Any, Any] = {}
    for obj, what in [*((obj, 2) for obj in START), *changes]:
        key = (type(obj), obj.key)
        if what == 0:
            there.pop(key, None)
            cluster.delete(obj)
        else:
            there[key] = obj
            cluster.put(obj)
        if what <= 1:
            # Reads in between make the index catch up step by step.
            state(cluster)
    if data.draw(st.booleans()):
        cluster._renumber()
    fresh = Cluster()
    for obj in data.draw(st.permutations(list(there.values()))):
        fresh.put(obj)
    assert state(cluster) == state(fresh)
