"""Buying nodes: pending pods, DaemonSets, pools, tables of types, the bound, errors with paths."""

from __future__ import annotations

import msgspec
import pytest

import podwright as pw
from podwright.apimachinery.objects import InputError, decode
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.columns.tests.storage_objects import csi_node
from podwright.simulation.autoscaling.tests.test_devices import (
    CLASS,
    DRIVER,
    attached,
    resource,
    train,
)
from podwright.simulation.capacity import pool_types, read_node_types
from podwright.simulation.capacity.buying import least_price, purchase_in
from podwright.testing import make_node, make_pod

SMALL = pw.NodeType(name="small", price=1, allocatable={"cpu": "2", "memory": "4Gi"})


def test_pods_that_fit_need_no_nodes_and_impossible_ones_are_named():
    pods = [make_pod("fits", cpu="1"), make_pod("huge", cpu="64")]
    found = pw.buy_nodes([make_node("n1", cpu="4"), *pods], [SMALL])
    assert (found.nodes, found.price, found.scheduled) == ({}, 0.0, 1)
    assert [each.pod for each in found.unplaced] == ["default/huge"]


def test_a_load_that_no_node_takes_has_no_bound():
    found = pw.buy_nodes([make_pod("huge", cpu="64")], [SMALL])
    assert (found.nodes, found.price, found.bound, found.scheduled) == ({}, 0.0, 0.0, 0)


def test_new_nodes_get_the_pods_of_daemon_sets():
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": containers}}
    agents = decode(
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": "agent", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template},
        }
    )
    pods = [make_pod(f"p{i}", cpu="1") for i in range(3)]
    assert pw.buy_nodes(pods, [SMALL]).nodes == {"small": 2}
    assert pw.buy_nodes([agents, *pods], [SMALL]).nodes == {"small": 3}
    # A cluster that is read has the status of the set, and its pods.
    server = {"uid": "u", "resourceVersion": "5"}
    raw = agents.raw
    for count in (0, 5):
        known = {"metadata": raw["metadata"] | server, "status": {"currentNumberScheduled": count}}
        assert pw.buy_nodes([decode(raw | known), *pods], [SMALL]).nodes == {"small": 3}


def test_pools_are_types():
    nodes = [make_node("n1", cpu="4", labels={"pool": "a"}), make_node("n2", cpu="8")]
    (pool,) = pool_types(nodes)
    assert (pool.name, pool.price, pool.allocatable["cpu"]) == ("a", 1.0, "4")
    document = nodes[0].raw
    resources = {"cpu": 4, "example.com/x": 0.5}
    (pool,) = pool_types([decode({**document, "status": {"allocatable": resources}})])
    assert dict(pool.allocatable) == {"cpu": "4", "example.com/x": "0.5"}


def test_a_pool_is_a_type_for_each_instance_type_and_zone():
    kind, zone = "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone"

    def node(name, **labels):
        return make_node(name, labels=labels)

    nodes = [
        node("n1", **{"pool": "a", kind: "m5.large", zone: "z1"}),
        node("n2", **{"pool": "a", kind: "m5.large", zone: "z2"}),
        node("n3", **{"pool": "a", kind: "m5.xlarge", zone: "z2"}),
        node("n4", **{"pool": "a", kind: "m5.large", zone: "z1"}),
        node("n5", **{"pool": "b", kind: "m5.large", zone: "z1"}),
        node("n6", **{"pool": "b", kind: "m5.large"}),
    ]
    assert [each.name for each in pool_types(nodes)] == [
        "a-m5.large-z1", "a-m5.large-z2", "a-m5.xlarge-z2", "b-z1", "b",
    ]  # fmt: skip


def test_types_have_no_taints_of_a_moment():
    cordoned = "node.kubernetes.io/unschedulable:NoSchedule"
    node = make_node("n1", cpu="4", labels={"pool": "a"}, taints=[cordoned, "gpu:NoSchedule"])
    (pool,) = pool_types([node])
    assert [taint["key"] for taint in pool.taints] == ["gpu"]


CARDS = {"driver": DRIVER, "nodeSelector": {"pool": "a"}, "count": 2}
SLICE = {
    "driver": DRIVER,
    "nodeName": "n1",
    "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
    "devices": [{"name": "g0"}, {"name": "g1"}],
}


@pytest.mark.parametrize(
    "devices",
    [
        pytest.param(resource("ResourceSlice", "s", SLICE), id="like those of its pool"),
        pytest.param(resource("DeviceCards", "c", CARDS), id="as described"),
    ],
)
@pytest.mark.parametrize(("label", "pool_label"), [("pool", ""), ("team", "team")])
def test_new_nodes_have_devices(devices, label, pool_label):
    nodes = [
        make_node("n1", cpu="8", memory="16Gi", labels={"pool": "a", label: "a"}),
        make_node("n2", cpu="8", memory="16Gi", labels={label: "b"}),
    ]
    objects = [*nodes, devices, *train(5)]
    found = pw.buy_nodes(objects, pool_types(objects, pool_label), pool_label=pool_label)
    used = 2 if devices.kind == "ResourceSlice" else 0  # without its driver, n1 has none
    assert (found.nodes, found.scheduled) == ({"a": (6 - used) // 2}, 5)


def test_volumes_that_may_be_attached_count_on_new_nodes():
    node = make_node("n1", labels={"pool": "a"})
    found = pw.buy_nodes([node, csi_node("n1", csi_x=2), *attached(7)], pool_types([node]))
    assert (found.nodes, found.scheduled, found.is_cheapest) == ({"a": 3}, 7, True)


def test_each_mistake_has_its_path():
    text = b"""types:
- {name: a, price: -1, allocatable: {cpu: "4"}}
- {name: b, price: 1}
- {name: c, cost: 1, max: -2, allocatable: {cpu: four}}
"""
    with pytest.raises(InputError) as caught:
        read_node_types(text, "types.yaml")
    paths = [error.path for error in caught.value.errors]
    for path in ("[0].price", "[1].allocatable", "[2].cost", "[2].max", "[2].allocatable"):
        assert any(each.startswith(f"types{path}") for each in paths), (path, paths)
    with pytest.raises(InputError, match="no pod is pending"):
        pw.buy_nodes([make_node("n1")], [SMALL])
    text = b"types: [{allocatable: {cpu: 4}}, {allocatable: {cpu: 4}}, {name: a}, {name: a}]"
    with pytest.raises(InputError) as caught:
        read_node_types(text, "types.yaml")
    names = [(each.path, each.message) for each in caught.value.errors if "name" in each.path]
    assert names == [
        ("types[0].name", "Required value"),
        ("types[1].name", "Required value"),
        ("types[3].name", 'Duplicate value: "a"'),
    ]


def test_a_table_has_the_types_of_a_document():
    table = "name,price,max,cpu,memory,labels.pool\nsmall,1,,2,4Gi,\nlarge,1.8,2,4,8Gi,big\n"
    document = """types:
- {name: small, price: 1, allocatable: {cpu: "2", memory: 4Gi}}
- {name: large, price: 1.8, max: 2, allocatable: {cpu: "4", memory: 8Gi}, labels: {pool: big}}
"""
    assert read_node_types(table, "types.csv") == read_node_types(document, "types.yaml")


@pytest.mark.parametrize(
    ("table", "path"),
    [
        ("name,price,cpu\na,cheap,2\n", "types[0].price"),
        ("name,price,cpu\na,1,2\nb,-1,2\n", "types[1].price"),
        ("name,max,cpu\na,1.5,2\n", "types[0].max"),
        ("name,cpu\na,many\n", "types[0].allocatable"),
        ("name,cpu\na\n", "types[0]: does not have as many columns as the first row"),
        ("name,cpu\na,1,2\n", "types[0]: does not have as many columns as the first row"),
        ("name,cpu\na,1\nb\n", "types[1]: does not have as many columns as the first row"),
        ("name,cpu\n", "types"),
        (
            "name,cpu,memry\na,1,2Gi\n",
            'types[0].allocatable[memry]: Invalid value: "memry": must be '
            'a standard resource type or fully qualified; did you mean "memory"?',
        ),
        ('name,cpu\n"a', "unexpected end of data"),
        ('name,cpu\na,"2"x\n', "',' expected after"),
    ],
)
def test_each_mistake_in_a_table_has_its_path(table, path):
    with pytest.raises(InputError) as caught:
        read_node_types(table, "types.csv")
    (error,) = caught.value.errors
    assert path in str(error)


def test_a_table_may_have_spaces_empty_cells_and_a_byte_order_mark():
    table = "\ufeff name , price,max ,cpu, labels.a,labels.b.c/d\n x , 2 ,, 4 ,v,\ny,,3,1,,w\n"
    first, second = read_node_types(table.encode(), "types.csv")
    assert (first.name, first.price, first.max, first.allocatable, first.labels) == (
        "x", 2.0, None, {"cpu": "4"}, {"a": "v"},
    )  # fmt: skip
    assert (second.name, second.price, second.max, second.allocatable, second.labels) == (
        "y", 1.0, 3, {"cpu": "1"}, {"b.c/d": "w"},
    )  # fmt: skip


def test_a_quoted_cell_of_a_table_may_have_line_ends():
    (found,) = read_node_types('name,cpu\n"a\nb",1\n', "types.csv")
    assert found.name == "a\nb"


@pytest.mark.parametrize(
    ("node", "bound"),
    [
        # Three pods fit a node of five CPUs, so six need two.
        ({}, 2),
        ({"taints": ["a:NoSchedule"]}, 2),
        ({"unschedulable": True}, 2),
        # It takes three of them, and has a quarter of a CPU more.
        ({"cpu": "4750m"}, 1),
    ],
)
def test_the_bound_has_what_whole_pods_can_use_of_nodes_that_take_them(node, bound):
    old = make_node("old", **{"cpu": "1" if not node else "100", "memory": "99Gi"} | node)
    types = [pw.NodeType(name="new", price=1, allocatable={"cpu": "5", "memory": "99Gi"})]
    pods = [make_pod(f"p{number}", cpu="1500m") for number in range(6)]
    found = pw.buy_nodes([old, *pods], types)
    assert [found.price, found.bound] == pytest.approx([bound, bound])


def test_nodes_that_take_pods_after_others_were_placed_count_for_the_bound():
    old = make_node("old", cpu="100", memory="99Gi", labels={"zone": "z"})
    new = pw.NodeType(
        name="new", price=1, allocatable={"cpu": "2", "memory": "99Gi"},
        labels={"zone": "z", "disk": "ssd"},
    )  # fmt: skip
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "db"}}}
    near = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    pods = [
        make_pod("db", cpu="1", labels={"app": "db"}, node_selector={"disk": "ssd"}),
        *(make_pod(f"web{number}", cpu="1", spec=near) for number in range(20)),
    ]
    found = pw.buy_nodes([old, *pods], [new])
    # The first pod takes half of a node; the node that exists has room for the others.
    assert [found.price, found.bound] == pytest.approx([1, 0.5])


def request(count=1, name="r", **fields):
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}
    return {"name": name, "exactly": exactly | fields}


SHARED = [
    resource(
        "ResourceSlice",
        "fabric",
        {
            "driver": DRIVER,
            "allNodes": True,
            "pool": {"name": "fabric", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"f{index}"} for index in range(3)],
        },
    )
]
FIRST = {
    "name": "r",
    "firstAvailable": [
        {"name": f"{n}", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": n}
        for n in (2, 1)
    ],
}
OTHER = {"selectors": [{"cel": {"expression": 'device.driver == "other.x"'}}]}


def of_claim(*requests, name="c"):
    return resource("ResourceClaim", name, {"devices": {"requests": list(requests)}})


def using(pod, claim):
    made = make_pod(pod, cpu="100m").raw
    claims = {"resourceClaims": [{"name": "d", "resourceClaimName": claim}]}
    return decode(made | {"spec": made["spec"] | claims})


def pairs(*numbers, **fields):
    claims = [of_claim(request(n, **fields), name=f"c{i}") for i, n in enumerate(numbers)]
    return [*claims, *(using(f"p{i}", f"c{i}") for i, _ in enumerate(numbers))]


TWO = request(), request(name="s")
USERS = using("p", "c"), using("q", "c")


@pytest.mark.parametrize(
    ("objects", "price", "bound"),
    [
        pytest.param(train(5), 3, 2.5, id="a device each of two on a node"),
        pytest.param(pairs(2, 2, 1), 3, 2.5, id="as many as a claim requests"),
        pytest.param(
            [of_claim(request()), using("p", "c"), using("q", "c")], 1, 0.5, id="one claim"
        ),
        pytest.param([of_claim(FIRST), using("p", "c")], 1, 0.1, id="not one of alternatives"),
        pytest.param(
            [of_claim(request(), request(name="s")), using("p", "c")], 1, 1, id="of two requests"
        ),
        pytest.param(pairs(1, deviceClassName="other"), 0, 0, id="of a class without devices"),
        pytest.param([*SHARED, *pairs(1, 1, 1, 1)], 1, 0.5, id="less those of no node alone"),
    ],
)
def test_the_bound_counts_the_devices_of_each_class(objects, price, bound):
    node = pw.NodeType(name="g", allocatable={"cpu": "1", "memory": "4Gi"}, labels={"pool": "a"})
    other = resource("DeviceClass", "other", OTHER)
    found = pw.buy_nodes([resource("DeviceCards", "c", CARDS), CLASS, other, *objects], [node])
    assert [found.price, found.bound] == pytest.approx([price, bound])
    assert found.is_cheapest


def test_free_devices_of_existing_nodes_count_for_the_bound():
    node = make_node("n1", cpu="8", memory="16Gi", labels={"pool": "a"})
    objects = [node, resource("ResourceSlice", "s", SLICE), *train(5)]
    found = pw.buy_nodes(objects, pool_types(objects))
    assert [found.price, found.bound] == pytest.approx([2, 1.5])


def test_the_bound_has_all_resources_together():
    types = [
        pw.NodeType(name="cpu", price=1, allocatable={"cpu": "8", "memory": "1Gi"}),
        pw.NodeType(name="memory", price=1, allocatable={"cpu": "1", "memory": "8Gi"}),
    ]
    # Each resource alone is enough with one node; both take 8/9 of each type.
    assert least_price(types, [((8, 1), 8), ((1, 8), 8)]) == pytest.approx(16 / 9)
    limited = [msgspec.structs.replace(types[0], max=0), types[1]]
    assert least_price(limited, [((8, 1), 8)]) == pytest.approx(8)
    assert least_price(types, []) == 0
    assert least_price(types[:1], [((8,), 2)]) == pytest.approx(0.25)
    # Two nodes of the second type alone have what is needed, though the first is cheaper per CPU.
    types = [msgspec.structs.replace(types[0], price=2), msgspec.structs.replace(types[1], price=5)]
    assert least_price(types, [((1, 2), 1), ((0, 1), 2)]) == pytest.approx(10)


@pytest.mark.parametrize(
    ("most", "bound"),
    [
        pytest.param(0, 9, id="none of the cheap ones"),
        pytest.param(1, 7, id="one, and two others"),
        pytest.param(3, 3, id="all"),
        pytest.param(None, 3, id="without a limit"),
    ],
)
def test_the_bound_has_no_more_nodes_of_a_type_than_its_limit(most, bound):
    cheap = pw.NodeType(name="cheap", price=1, allocatable={"cpu": "8"}, max=most)
    other = pw.NodeType(name="other", price=3, allocatable={"cpu": "8"})
    assert least_price([cheap, other], [((8, 8), 24)]) == pytest.approx(bound)
    pods = [make_pod(f"p{number}", cpu="8") for number in range(3)]
    found = pw.buy_nodes(pods, [cheap, other])
    assert (found.price, found.bound) == pytest.approx((bound, bound))


def test_the_gap_is_a_share_of_the_price_and_none_where_nothing_is_bought():
    node = pw.NodeType(name="n", price=2, allocatable={"cpu": "4"})
    assert pw.buy_nodes([make_node("old", cpu="4"), make_pod("p", cpu="1")], [node]).gap == 0
    free = pw.NodeType(name="free", price=0, allocatable={"cpu": "4"})
    found = pw.buy_nodes([make_pod("p", cpu="1")], [free])
    assert (found.nodes, found.gap) == ({"free": 1}, 0)
    part = msgspec.structs.replace(found, price=4.0, bound=3.0)
    assert part.gap == 0.25


def test_the_progress_is_how_many_mixes_were_tried_of_an_unknown_number():
    scheduler = Scheduler()
    objects = [make_pod(f"p{number}", cpu="1") for number in range(3)]
    scheduler.add(*objects)
    seen: list[tuple[int, int]] = []
    found = purchase_in(
        scheduler, objects, [SMALL], advance=lambda done, total: seen.append((done, total))
    )
    assert found.mixes > 1
    assert seen == [(number, 0) for number in range(1, found.mixes + 1)]


@pytest.mark.parametrize(
    ("cpus", "sizes", "price"),
    [
        ([3, 4, 2, 2], [(3, 3), (5, 4)], 11),
        ([3, 2, 2, 4, 5, 3], [(8, 1), (5, 1), (12, 3)], 3),
        ([1, 2, 3, 4, 1, 3], [(6, 7), (3, 2)], 18),
    ],
)
def test_a_cheaper_mix_is_taken_only_if_all_pods_find_nodes(cpus, sizes, price):
    """The first: 3 | 4 | 2 and 2. The third has a pod of 4 cores, so nodes of 3 are not enough."""
    pods = [make_pod(f"p{i}", cpu=str(cpu)) for i, cpu in enumerate(cpus)]
    types = [
        pw.NodeType(name=f"t{i}", price=cost, allocatable={"cpu": str(cpu)})
        for i, (cpu, cost) in enumerate(sizes)
    ]
    found = pw.buy_nodes(pods, types)
    assert (found.unplaced, found.scheduled, found.price) == ((), len(pods), price)
