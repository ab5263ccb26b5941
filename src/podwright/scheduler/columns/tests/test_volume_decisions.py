"""The volumes of a pod's claims on every node: conflicts, bindings, provisioning, utilization."""

import pytest

from podwright.apimachinery.objects import with_fields
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster
from podwright.scheduler.columns.tests.storage_objects import (
    capacity,
    claim,
    csi_driver,
    csi_node,
    expression,
    storage_class,
    volume,
)
from podwright.scheduler.columns.volumes.volume_decisions import (
    BIND_CONFLICT,
    FAILED,
    NODE_CONFLICT,
    NOT_ENOUGH_SPACE,
    SELECTED_NODE,
    VOLUME_MISSING,
    PodClaims,
    decide,
)

HOST, ZONE, GCE_ZONE = "kubernetes.io/hostname", "zone", "topology.gke.io/zone"
NODES = ("n0", "n1", "n2")
ZONES = {"n0": "a", "n1": "a", "n2": "b"}
FREE, NEVER = 0, [BIND_CONFLICT] * 3


def cluster_of(*objects):
    """Return a cluster of three nodes: n0 and n1 in zone a, n2 in zone b."""
    cluster = Cluster()
    for name, zone in ZONES.items():
        # The driver's zones are not those of the nodes.
        labels = {HOST: name, ZONE: zone, "topology.kubernetes.io/zone": zone, GCE_ZONE: "b"}
        metadata = {"name": name, "labels": labels}
        cluster.put(decode({"apiVersion": "v1", "kind": "Node", "metadata": metadata}))
    for obj in objects:
        cluster.put(obj)
    return cluster


def decided(cluster, *, bound=(), waiting=()):
    """Return the decisions about the claims of a pod on the three nodes."""
    claims = PodClaims(tuple(bound), tuple(waiting))
    return decide(claims, cluster.storage, cluster.nodes, cluster.live_slots())


def in_zone(*zones, key=ZONE):
    """Return the node affinity of a volume, one term per zone."""
    terms = [{"matchExpressions": [expression(key, "In", zone)]} for zone in zones]
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}


def bound(name):
    """Return a claim that is bound to the volume of the same name."""
    return claim(name, bound_to=name)


GCE = {"gcePersistentDisk": {"pdName": "d"}, **in_zone("a", key="topology.kubernetes.io/zone")}
TWO_REGIONS = {"topology.kubernetes.io/zone": "us-a-1__eu-b-2"}


@pytest.mark.parametrize(
    ("objects", "claims", "conflicts"),
    [
        pytest.param([volume("v")], ["v"], [FREE] * 3, id="without affinity any node has access"),
        pytest.param(
            [volume("v", on=["n0"])],
            ["v"],
            [FREE, NODE_CONFLICT, NODE_CONFLICT],
            id="with affinity only its nodes have",
        ),
        pytest.param(
            [volume("v", on=["n0"]), volume("w", on=["n0", "n1"])],
            ["v", "w"],
            [FREE, NODE_CONFLICT, NODE_CONFLICT],
            id="every volume must be accessible",
        ),
        pytest.param([], ["v"], [VOLUME_MISSING] * 3, id="a volume that is gone is nowhere"),
        pytest.param(
            [volume("v", on=["n0"])],
            ["v", "w"],
            [VOLUME_MISSING, NODE_CONFLICT, NODE_CONFLICT],
            id="the first failure of a node hides the missing volume",
        ),
        pytest.param(
            [volume("w", on=["n0"])],
            ["v", "w"],
            [VOLUME_MISSING] * 3,
            id="after a missing volume no other is checked",
        ),
        pytest.param(
            [volume("v", **GCE)],
            ["v"],
            [FREE, FREE, NODE_CONFLICT],
            id="an in-tree volume without migration has its own zones",
        ),
        pytest.param(
            [volume("v", **GCE), csi_node("n1", migrated="kubernetes.io/gce-pd")],
            ["v"],
            [FREE, NODE_CONFLICT, NODE_CONFLICT],
            id="on a node with migration the label of the driver counts",
        ),
        pytest.param(
            [volume("v", **GCE), csi_node("n1", migrated="kubernetes.io/aws-ebs")],
            ["v"],
            [FREE, FREE, NODE_CONFLICT],
            id="the migration of another plugin is of no account",
        ),
        pytest.param(
            [
                volume("v", azureFile={"shareName": "s"}, **in_zone("a")),
                csi_node("n1", migrated="kubernetes.io/azure-file"),
            ],
            ["v"],
            [FREE, FREE, NODE_CONFLICT],
            id="a plugin that upstream does not list as migrated has its own zones",
        ),
        pytest.param(
            [
                volume("v", labels=TWO_REGIONS, **GCE),
                volume("w", on=["n0"]),
                csi_node("n1", migrated="kubernetes.io/gce-pd"),
            ],
            ["v", "w"],
            [FREE, FAILED, NODE_CONFLICT],
            id="an error in the translation is that node's only answer",
        ),
    ],
)
def test_bound_claims(objects, claims, conflicts):
    cluster = cluster_of(*objects)
    assert decided(cluster, bound=map(bound, claims)).conflicts.tolist() == conflicts


def test_the_first_error_of_a_translation_is_reported():
    two = [
        volume("v", labels=TWO_REGIONS, **GCE),
        volume("w", awsElasticBlockStore={"volumeID": "aws://z/disk-1"}),
    ]
    nodes = [csi_node("n0", migrated="kubernetes.io/gce-pd,kubernetes.io/aws-ebs")]
    found = decided(cluster_of(*two, *nodes), bound=[bound("v"), bound("w")])
    assert found.error == (
        "could not translate pv: failed to get region from zones: multiple or no regions gotten "
        "from zones, got: map[eu-b:{} us-a:{}]"
    )
    assert found.conflicts.tolist() == [FAILED, FREE, NODE_CONFLICT]


def chosen(found):
    """Return per node the volumes of the claims, by their names, and `new` for a new volume."""
    rows = range(len(NODES))
    existing = [{theirs.name: name.name for theirs, name in found.bindings(row)} for row in rows]
    return [
        of_row | {ours.name: "new" for ours in found.provisions(row)}
        for row, of_row in zip(rows, existing, strict=True)
    ]


def of_fields(*fields):
    """Return the node affinity of a volume of two nodes, by their label, and of fields."""
    term = {"matchExpressions": [expression(HOST, "In", "n0", "n1")], "matchFields": [*fields]}
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}


def on_nodes(*terms):
    """Return the node affinity of a volume, each term a list of expressions."""
    written = [{"matchExpressions": term} for term in terms]
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": written}}}


SSD = {"selector": {"matchLabels": {"media": "ssd"}}}
MANY = ["ReadWriteOnce", "ReadWriteMany"]
ON_HOSTS = [volume("v0", "6Gi", on=["n0"]), volume("v1", "7Gi", on=["n0", "n1"])]


@pytest.mark.parametrize(
    ("volumes", "claims", "expected"),
    [
        pytest.param([], [claim("c")], [{}, {}, {}], id="no volume"),
        pytest.param(
            ON_HOSTS, [claim("c")], [{"c": "v0"}, {"c": "v1"}, {}], id="the smallest on each node"
        ),
        pytest.param(
            ON_HOSTS[::-1],
            [claim("c")],
            [{"c": "v0"}, {"c": "v1"}, {}],
            id="in whichever order they came",
        ),
        pytest.param(
            ON_HOSTS,
            [claim("c", "6Gi")],
            [{"c": "v0"}, {"c": "v1"}, {}],
            id="exactly large enough",
        ),
        pytest.param(
            [
                volume(
                    "v",
                    nodeAffinity={
                        "required": {
                            "nodeSelectorTerms": [
                                {
                                    "matchExpressions": [
                                        expression(HOST, "In", "n0"),
                                        expression("size", "Gt", "large"),
                                    ]
                                }
                            ]
                        }
                    },
                )
            ],
            [claim("c")],
            [{}, {}, {}],
            id="a term with a mistake matches no node",
        ),
        pytest.param(
            [
                volume("v0", "5Gi", **of_fields(expression("metadata.name", "Exists"))),
                volume("v1", "6Gi", **of_fields(expression("metadata.name", "In", "n0"))),
            ],
            [claim("c")],
            [{"c": "v1"}, {"c": "v1"}, {}],
            # Upstream: component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go, `match`;
            # CheckNodeAffinity passes labels only.
            id="also with one in fields, which are not compared",
        ),
        *[
            pytest.param(
                [volume("v0", "6Gi", **on_nodes(*required)), volume("v1", "7Gi", on=["n1"])],
                [claim("c")],
                [
                    {"c": "v0"} if name in names else {"c": "v1"} if name == "n1" else {}
                    for name in NODES
                ],
                id=f"a volume {title}",
            )
            for title, names, required in (
                ("of all other nodes", ("n1", "n2"), [[expression(HOST, "NotIn", "n0")]]),
                ("of nodes with a label", NODES, [[expression(ZONE, "Exists")]]),
                ("of nodes without it", (), [[expression(ZONE, "DoesNotExist")]]),
                (
                    "of two labels",
                    ("n1",),
                    [[expression(ZONE, "In", "a"), expression(HOST, "In", "n1", "n2")]],
                ),
                (
                    "of either of two terms",
                    ("n0", "n2"),
                    [[expression(HOST, "In", "n0")], [expression(ZONE, "In", "b")]],
                ),
                ("of an empty term", (), [[]]),
                ("of a label that no node has", (), [[expression("rack", "In", "r")]]),
                ("of nodes without such a label", NODES, [[expression("rack", "NotIn", "r")]]),
            )
        ],
        pytest.param(
            ON_HOSTS, [claim("c", "6145Mi")], [{"c": "v1"}, {"c": "v1"}, {}], id="too small"
        ),
        pytest.param(
            ON_HOSTS,
            [claim("c"), claim("d")],
            [{"c": "v0", "d": "v1"}, {"c": "v1"}, {}],
            id="a volume is chosen once",
        ),
        pytest.param(
            ON_HOSTS,
            [claim("c", "6Gi"), claim("d", "5Gi")],
            [{"d": "v0", "c": "v1"}, {"d": "v1"}, {}],
            id="the smallest claim chooses first",
        ),
        pytest.param(
            [*ON_HOSTS, volume("v2", "8Gi", **in_zone("a", "b"))],
            [claim("c"), claim("d"), claim("e")],
            [{"c": "v0", "d": "v1", "e": "v2"}, {"c": "v1", "d": "v2"}, {"c": "v2"}],
            id="volumes of hosts and of zones are in one order",
        ),
        pytest.param(
            [volume("v0", "8Gi", on=["n0"]), volume("v1", "6Gi", **in_zone("a"))],
            [claim("c")],
            [{"c": "v1"}, {"c": "v1"}, {}],
            id="the smallest of several labels",
        ),
        pytest.param(
            [volume("v0", "6Gi"), volume("v1", "7Gi"), volume("v2", "8Gi")],
            [claim("c"), claim("d")],
            [{"c": "v0", "d": "v1"}] * 3,
            id="volumes without affinity",
        ),
        pytest.param(
            [volume("v0", "6Gi"), volume("v1", "5Gi", on=["n2"]), volume("v2", "7Gi", on=["n1"])],
            [claim("c"), claim("d")],
            [{"c": "v0"}, {"c": "v0", "d": "v2"}, {"c": "v1", "d": "v0"}],
            id="volumes with and without affinity",
        ),
        pytest.param(
            [volume("w0", "6Gi", of_class="other"), *ON_HOSTS],
            [claim("c"), claim("d", of_class="other"), claim("e", of_class="none")],
            [{"c": "v0", "d": "w0"}, {"c": "v1", "d": "w0"}, {"d": "w0"}],
            id="each claim of its class",
        ),
        pytest.param(
            [volume("v0", accessModes=["ReadWriteOnce"]), volume("v1", "20Gi", accessModes=MANY)],
            [claim("c", accessModes=MANY), claim("d")],
            [{"c": "v1", "d": "v0"}] * 3,
            id="all access modes",
        ),
        pytest.param(
            [volume("v0", volumeMode="Filesystem"), volume("v1", "20Gi", volumeMode="Block")],
            [claim("c", volumeMode="Block"), claim("d")],
            [{"c": "v1", "d": "v0"}] * 3,
            id="the volume mode; the default is a file system",
        ),
        pytest.param(
            [volume("v0"), volume("v1", "20Gi", volumeAttributesClassName="gold")],
            [
                claim("c", volumeAttributesClassName="gold"),
                claim("d", volumeAttributesClassName=""),
            ],
            [{"c": "v1", "d": "v0"}] * 3,
            id="the attributes class; an empty one is none",
        ),
        pytest.param(
            [
                volume("v0", "6Gi", on=["n0"]),
                volume("v1", "7Gi", on=["n0"], labels={"media": "ssd"}),
                volume("v2", "8Gi", on=["n1"], labels={"media": "ssd"}),
                volume("v3", "9Gi", labels={"media": "tape"}),
                volume("v4", "10Gi", labels={"media": "ssd"}),
            ],
            [claim("c", **SSD)],
            [{"c": "v1"}, {"c": "v2"}, {"c": "v4"}],
            id="the labels that a claim selects",
        ),
        pytest.param(
            [volume("v0", "6Gi"), volume("v1", "20Gi", claim="c")],
            [claim("c"), claim("d")],
            [{"c": "v1", "d": "v0"}] * 3,
            id="the volume that is reserved for a claim, before all others",
        ),
        pytest.param(
            [volume("v0", "6Gi"), volume("v1", "20Gi", claim="c", on=["n0"])],
            [claim("c")],
            [{"c": "v1"}, {}, {}],
            id="none where the reserved one is not accessible",
        ),
        pytest.param(
            [volume("v0", "6Gi", claim="c", on=["n0"]), volume("v1", "7Gi", claim="c", on=["n1"])],
            [claim("c")],
            [{"c": "v0"}, {}, {}],
            id="of two reserved ones the first decides",
        ),
        pytest.param(
            [
                volume("v0", "6Gi", claim="c", on=["n0"]),
                volume("v1", "7Gi", claim="c", on=["n1"]),
                volume("v2", "5Gi"),
            ],
            [claim("c")],
            [{"c": "v0"}, {}, {}],
            id="beside reserved ones no free one is looked for",
        ),
        pytest.param(
            [
                volume("v0", "6Gi", claim="c", on=["n0"]),
                volume("v1", "7Gi", claim="c"),
                volume("v2", "8Gi", claim="c"),
                volume("v3", "5Gi"),
            ],
            [claim("c"), claim("c")],
            [{"c": "v1"}, {}, {}],
            id="the next reserved one only where the first is taken",
        ),
        pytest.param(
            [volume("v0", "6Gi", on=["n0", "n0"]), volume("v1", "7Gi", on=["n0"])],
            [claim("c"), claim("d")],
            [{"c": "v0", "d": "v1"}, {}, {}],
            id="a node that a volume names twice has it once",
        ),
        pytest.param(
            [*(volume(f"v{number}", f"{6 + number}Gi", claim="c") for number in range(3))],
            [claim("c"), claim("c"), claim("c")],
            [{"c": "v2"}] * 3,
            id="three reserved ones in turn",
        ),
        pytest.param(
            [volume("v0", "6Gi", claim="c"), volume("v1", "7Gi", claim="c")],
            [claim("c", "6Gi"), claim("c", "7Gi")],
            [{"c": "v1"}] * 3,
            id="a reserved one that is taken leaves the second",
        ),
        pytest.param(
            [volume("v0", "6Gi", claim="c"), volume("v1", "7Gi", on=["n1"])],
            [claim("c"), claim("c")],
            [{"c": "v0"}, {"c": "v1"}, {"c": "v0"}],
            id="a reserved one that is taken leaves free ones",
        ),
        pytest.param(
            [volume("v0", "4Gi", claim="c"), volume("v1", "6Gi")],
            [claim("c")],
            [{"c": "v1"}] * 3,
            id="a reserved one that is too small is passed over",
        ),
        pytest.param(
            [volume("v0", "5Gi", claim="c"), volume("v1", "6Gi")],
            [claim("c")],
            [{"c": "v0"}] * 3,
            id="a reserved one of exactly the size",
        ),
        pytest.param(
            [volume("v0", claim="c", volumeMode="Block"), volume("v1")],
            [claim("c")],
            [{"c": "v1"}] * 3,
            id="a reserved one of another mode is passed over",
        ),
        pytest.param(
            [volume("v0", claim="c", volumeAttributesClassName="gold"), volume("v1")],
            [claim("c")],
            [{"c": "v1"}] * 3,
            id="a reserved one of another attributes class is passed over",
        ),
        pytest.param(
            [
                volume(
                    "v0",
                    claimRef={"namespace": "default", "name": "c", "uid": "before"},
                ),
                volume("v1", "20Gi"),
            ],
            [claim("c")],
            [{"c": "v1"}] * 3,
            id="a volume of an earlier claim of this name is passed over",
        ),
        pytest.param(
            [
                volume("v0", "20Gi", claimRef={"namespace": "default", "name": "c", "uid": "c"}),
                volume("v1"),
            ],
            [claim("c")],
            [{"c": "v0"}] * 3,
            id="a volume that is bound to the claim",
        ),
        pytest.param(
            [volume("v0", claimRef={"namespace": "other", "name": "c"})],
            [claim("c")],
            [{}] * 3,
            id="a volume of a claim in another namespace",
        ),
        pytest.param(
            [
                with_fields(volume("v0", "6Gi"), "status", phase="Released"),
                with_fields(
                    volume("v1", "7Gi"), "metadata", deletion_timestamp="2026-01-01T00:00:00Z"
                ),
                with_fields(
                    volume("v2", claim="c"), "metadata", deletion_timestamp="2026-01-01T00:00:00Z"
                ),
                volume("v3", "8Gi"),
            ],
            [claim("c")],
            [{"c": "v3"}] * 3,
            id="no volume that is not available or being deleted",
        ),
    ],
)
def test_the_volumes_that_claims_get(volumes, claims, expected):
    classes = [storage_class(name) for name in ("local", "other", "none")]
    found = decided(cluster_of(*classes, *volumes), waiting=claims)
    assert chosen(found) == expected
    is_complete = [len(found.bindings(row)) == len(claims) for row in range(len(NODES))]
    assert found.conflicts.tolist() == [FREE if x else BIND_CONFLICT for x in is_complete]


@pytest.mark.parametrize(
    "removed",
    [
        pytest.param(volume("v0", "6Gi", on=["n0", "n1"]), id="of hosts"),
        pytest.param(volume("v0", "6Gi", **in_zone("a", "b")), id="of a selector"),
        pytest.param(volume("v0", "6Gi"), id="of all nodes"),
        pytest.param(volume("v0", "6Gi", claim="c"), id="reserved"),
        pytest.param(volume("v0", "6Gi", claim="d"), id="reserved for another claim"),
    ],
)
@pytest.mark.parametrize(
    "others",
    [
        pytest.param([], id="alone"),
        pytest.param(ON_HOSTS[1:], id="beside one of hosts"),
        pytest.param([volume("v2", "5Gi"), volume("v3", "8Gi")], id="between two of all nodes"),
        pytest.param(
            [volume("v2", "5Gi", on=["n0"]), volume("v3", "8Gi", on=["n0", "n2"])],
            id="between two of hosts",
        ),
        pytest.param([volume("v2", "7Gi", claim="c")], id="beside a reserved one"),
    ],
)
def test_a_deleted_volume_leaves_the_choice_among_the_others(removed, others):
    claims = [claim("c"), claim("e")]
    before = cluster_of(storage_class("local"), *others)
    after = cluster_of(storage_class("local"), *others[:1], removed, *others[1:])
    after.delete(removed)
    assert chosen(decided(after, waiting=claims)) == chosen(decided(before, waiting=claims))
    after.put(removed)
    after.delete(removed)
    assert chosen(decided(after, waiting=claims)) == chosen(decided(before, waiting=claims))


def selected_for(name, node_name, **fields):
    """Return a claim whose volume is to be made for a node."""
    return claim(name, meta={"annotations": {SELECTED_NODE: node_name}}, **fields)


def in_topologies(*terms):
    """Return a dynamic class whose terms are lists of (key, values)."""
    written = [
        {"matchLabelExpressions": [{"key": key, "values": values} for key, values in term]}
        for term in terms
    ]
    return storage_class("local", "csi.x", allowedTopologies=written)


DYNAMIC, REPORTS = storage_class("local", "csi.x"), csi_driver("csi.x")
NO_SPACE = NOT_ENOUGH_SPACE


@pytest.mark.parametrize(
    ("objects", "claims", "conflicts"),
    [
        pytest.param([DYNAMIC], [claim("c")], [FREE] * 3, id="a dynamic class"),
        pytest.param([storage_class("local")], [claim("c")], NEVER, id="no provisioner"),
        pytest.param([storage_class("local", "")], [claim("c")], NEVER, id="an empty provisioner"),
        pytest.param([], [claim("c")], [FAILED] * 3, id="no class"),
        pytest.param(
            [in_topologies([(ZONE, ["a"])])],
            [claim("c")],
            [FREE, FREE, BIND_CONFLICT],
            id="in the topologies of the class",
        ),
        pytest.param(
            [in_topologies([(ZONE, ["a", "b"]), (HOST, ["n0", "n2"])])],
            [claim("c")],
            [FREE, BIND_CONFLICT, FREE],
            id="each label of a term",
        ),
        pytest.param(
            [in_topologies([(HOST, ["n0"])], [(HOST, ["n2"])])],
            [claim("c")],
            [FREE, BIND_CONFLICT, FREE],
            id="one of the terms",
        ),
        pytest.param([in_topologies([])], [claim("c")], NEVER, id="an empty term allows none"),
        pytest.param(
            [DYNAMIC, REPORTS, capacity("k", "local", {HOST: "n0"}, capacity="5Gi")],
            [claim("c")],
            [FREE, NO_SPACE, NO_SPACE],
            id="exactly enough capacity",
        ),
        pytest.param(
            [DYNAMIC, REPORTS, capacity("k", "local", {HOST: "n0"}, capacity="5Gi")],
            [claim("c", "5121Mi")],
            [NO_SPACE] * 3,
            id="too little capacity",
        ),
        pytest.param(
            [
                DYNAMIC,
                REPORTS,
                capacity("j", "local", {HOST: "n0"}, capacity="4Gi"),
                capacity("k", "local", {HOST: "n1"}, capacity="5Gi"),
                capacity("l", "local", {HOST: "n2", ZONE: "b"}, capacity="5Gi"),
                capacity("m", "local", {HOST: "n0", ZONE: "b"}, capacity="5Gi"),
            ],
            [claim("c")],
            [NO_SPACE, FREE, FREE],
            id="pools of one and of several labels",
        ),
        pytest.param(
            [DYNAMIC, csi_driver("csi.x", storage_capacity=False)],
            [claim("c")],
            [FREE] * 3,
            id="a driver that does not report its capacity",
        ),
        pytest.param(
            [
                DYNAMIC,
                REPORTS,
                capacity("k", "local", {HOST: "n0"}, capacity="9Gi", maximumVolumeSize="4Gi"),
            ],
            [claim("c")],
            [NO_SPACE] * 3,
            id="a volume may be smaller than the capacity",
        ),
        pytest.param(
            [
                DYNAMIC,
                REPORTS,
                capacity("k", "local", {HOST: "n0"}, capacity="4Gi", maximumVolumeSize="5Gi"),
            ],
            [claim("c")],
            [FREE, NO_SPACE, NO_SPACE],
            id="the maximum size of a volume takes precedence",
        ),
        pytest.param(
            [DYNAMIC, REPORTS, capacity("k", "local", {HOST: "n0"}, maximumVolumeSize="5Gi")],
            [claim("c")],
            [FREE, NO_SPACE, NO_SPACE],
            id="a maximum size without a capacity",
        ),
        pytest.param(
            [DYNAMIC, REPORTS, capacity("k", "local", {HOST: "n0"})],
            [claim("c")],
            [NO_SPACE] * 3,
            id="a pool without an amount",
        ),
        pytest.param(
            [DYNAMIC, REPORTS, capacity("k", "local", {}, capacity="5Gi")],
            [claim("c")],
            [FREE] * 3,
            id="a pool of all nodes",
        ),
        pytest.param(
            [DYNAMIC, REPORTS, capacity("k", "local", {}, capacity="5Gi", nodeTopology=None)],
            [claim("c")],
            [NO_SPACE] * 3,
            id="a pool of no nodes",
        ),
        pytest.param(
            [DYNAMIC, REPORTS, capacity("k", "local", {"-": "n0"}, capacity="5Gi")],
            [claim("c")],
            [NO_SPACE] * 3,
            id="a pool of nodes with an invalid label",
        ),
        pytest.param(
            [DYNAMIC, REPORTS],
            [claim("c", resources={})],
            [FREE] * 3,
            id="a claim without a size",
        ),
        pytest.param(
            [
                in_topologies([(ZONE, ["a"])]),
                REPORTS,
                capacity("k", "local", {HOST: "n1"}, capacity="5Gi"),
            ],
            [claim("c")],
            [NO_SPACE, FREE, BIND_CONFLICT],
            id="capacity is checked within the topologies",
        ),
        pytest.param(
            [DYNAMIC],
            [selected_for("c", "n1")],
            [BIND_CONFLICT, FREE, BIND_CONFLICT],
            id="only the node for which a claim is provisioned already",
        ),
        pytest.param([DYNAMIC], [selected_for("c", "gone")], NEVER, id="a selected node is gone"),
        pytest.param(
            [DYNAMIC],
            [selected_for("c", "n1"), selected_for("d", "n2")],
            NEVER,
            id="two selected nodes",
        ),
        pytest.param(
            [storage_class("local"), volume("v", on=["n1"])],
            [selected_for("c", "n1")],
            NEVER,
            id="a claim with a selected node gets no existing volume",
        ),
    ],
)
def test_where_claims_are_provisioned(objects, claims, conflicts):
    found = decided(cluster_of(*objects), waiting=claims)
    assert found.conflicts.tolist() == conflicts
    made = [[ours.name for ours in found.provisions(row)] for row in range(len(NODES))]
    names = [ours.name for ours in claims]
    assert made == [names if conflict == FREE else [] for conflict in conflicts]


def test_a_class_that_is_gone_is_named():
    found = decided(cluster_of(), waiting=[claim("c", of_class="fast")])
    assert found.error == 'failed to find storage class "fast"'


def test_a_claim_that_is_checked_on_no_node_is_of_no_account():
    objects = [storage_class("local"), storage_class("other", "csi.x")]
    claims = [claim("c"), claim("d", of_class="gone"), claim("e", of_class="other")]
    cluster = cluster_of(*objects)
    found = decided(cluster, waiting=claims)
    assert (found.conflicts.tolist(), found.error) == (NEVER, "")
    assert [ours.name for ours, _ in found.to_provision()] == ["c"]
    assert [ours.name for ours, _, _ in found.matched()] == ["c", "d", "e"]
    elsewhere = decided(cluster, waiting=[selected_for("x", "gone", of_class="gone")])
    assert (elsewhere.conflicts.tolist(), elsewhere.error) == (NEVER, "")


def test_the_first_claim_that_cannot_be_provisioned_decides():
    objects = [
        in_topologies([(ZONE, ["a"])]),
        storage_class("other", "csi.x"),
        REPORTS,
        capacity("k", "other", {HOST: "n0"}, capacity="5Gi"),
        capacity("l", "local", {ZONE: "a"}, capacity="5Gi"),
    ]
    found = decided(cluster_of(*objects), waiting=[claim("c"), claim("d", of_class="other")])
    assert found.conflicts.tolist() == [FREE, NO_SPACE, BIND_CONFLICT]
    assert [[c.name for c in found.provisions(row)] for row in range(3)] == [["c", "d"], ["c"], []]


def test_claims_are_provisioned_where_no_volume_matches():
    objects = [DYNAMIC, volume("v", on=["n1"])]
    found = decided(cluster_of(*objects), waiting=[claim("c"), selected_for("d", "n1")])
    assert chosen(found)[1] == {"c": "v", "d": "new"}
    assert found.conflicts.tolist() == [BIND_CONFLICT, FREE, BIND_CONFLICT]


def test_conflicts_of_bound_and_of_waiting_claims_are_reported_together():
    translated = [
        volume("w", labels=TWO_REGIONS, **GCE),
        csi_node("n0", migrated="kubernetes.io/gce-pd"),
    ]
    cluster = cluster_of(storage_class("local"), *translated)
    found = decided(cluster, bound=[bound("w")], waiting=[claim("c"), selected_for("d", "n1")])
    assert found.conflicts.tolist() == [FAILED, BIND_CONFLICT, NODE_CONFLICT | BIND_CONFLICT]


def test_conflicts_are_separate_bits():
    bits = [NODE_CONFLICT, BIND_CONFLICT, NOT_ENOUGH_SPACE, VOLUME_MISSING, FAILED]
    assert bits == [1 << place for place in range(len(bits))]
