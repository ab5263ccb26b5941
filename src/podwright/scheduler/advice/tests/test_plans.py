"""The plans for each reason as a whole, and the edits of pods, claims and devices one by one."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import decode, encode, with_fields
from podwright.scheduler.advice import pod_edits
from podwright.scheduler.advice.claim_fixes import ClaimFixes, VolumeFixes
from podwright.scheduler.advice.device_fixes import DeviceFixes, DeviceNames, corrected
from podwright.scheduler.advice.device_refusals import DeviceRefusals
from podwright.scheduler.advice.fixes import Fixes
from podwright.scheduler.advice.tests.test_device_advice import (
    _ANEW,
    _DRIVER,
    _MATCH,
    _NEW,
    _TAINTS,
    _claim,
    _devices,
    _holder,
    _object,
    _pod_with_claim,
    _request,
    _rule,
    _selecting,
)
from podwright.scheduler.advice.tests.test_remedies import (
    DRIVER,
    HOST_PORT,
    ZONE,
    attachment,
    bound_claim,
    claim,
    claims_of,
    limited,
    node_affinity,
    pending,
    placed,
    spread,
    volumes,
)
from podwright.scheduler.advice.trial_cluster import edited
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.config import DEFAULT_GATES, parse_gates
from podwright.scheduler.machine import SchedulerOptions
from podwright.testing import make_node, make_pod

HOSTNAME = "kubernetes.io/hostname"
SPREAD = [
    *spread(minDomains=1)["topologySpreadConstraints"],
    *spread(topologyKey=ZONE, minDomains=2, nodeTaintsPolicy="Honor")["topologySpreadConstraints"],
]
PORTS = [{"containerPort": port, "hostPort": port} for port in (80, 81, 90)]


def fixes(pod, *objects, **options):
    scheduler = Scheduler()
    scheduler.add(*objects, pod)
    return Fixes(scheduler.explain(pod.key), scheduler.cluster, DEFAULT_GATES, **options)


def shown(plans):
    return [[(edit.text, round(edit.effort, 3)) for edit in plan] for plan in plans]


def affinity_to(*apps):
    terms = [
        {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": HOSTNAME} for app in apps
    ]
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def softly(*indexes):
    where = "topologySpreadConstraints"
    return [
        (f"set whenUnsatisfiable: ScheduleAnyway in {where}[{index}]", 3.0) for index in indexes
    ]


def honor(index):
    return [(f"set nodeTaintsPolicy: Honor in topologySpreadConstraints[{index}]", 1.9)]


def skew(index, to, effort):
    return [(f"raise maxSkew from 1 to {to} in topologySpreadConstraints[{index}]", effort)]


@pytest.mark.parametrize(
    ("pod", "objects", "plans"),
    [
        pytest.param(
            pending(nodeSelector={"disk": "ssd", "a": "b"}),
            [make_node("n", labels={"disk": "hdd"})],
            [
                [("change disk in nodeSelector from ssd to hdd", 2.0),
                 ("remove a=b from nodeSelector", 2.5)],
                [("set label disk=ssd on node n", 2.7), ("set label a=b on node n", 2.7)],
            ],
            id="labels",
        ),
        pytest.param(
            pending(nodeSelector={"disk": "ssd", "a": "b"}),
            [make_node("n", labels={"disk": "hdd", "a": "b"})],
            [
                [("change disk in nodeSelector from ssd to hdd", 2.0)],
                [("set label disk=ssd on node n", 2.7)],
            ],
            id="a label that differs beside one that does not",
        ),
        pytest.param(
            pending(nodeSelector={"kubernetes.io/os": "linux", "a": "b"}), [make_node("n")],
            [[("remove kubernetes.io/os=linux from nodeSelector", 2.5),
              ("remove a=b from nodeSelector", 2.5)]],
            id="a label that describes the node is not set",
        ),
        pytest.param(
            pending(nodeSelector={"x": "y"}, affinity=node_affinity("In", "ssd")),
            [make_node("n", labels={"disk": "hdd"})],
            [
                [("remove x=y from nodeSelector", 2.5),
                 ("add hdd to the values of disk in nodeSelectorTerms[0] of the required node"
                  " affinity", 2.1)],
                [("remove x=y from nodeSelector", 2.5),
                 ("make the required node affinity preferred", 3.0)],
            ],
            id="a selector beside an affinity",
        ),
        pytest.param(
            pending(), [make_node("n", taints=[
                "a=b:NoSchedule", "node.kubernetes.io/unschedulable:NoSchedule",
                "node-role.kubernetes.io/control-plane:NoSchedule"])],
            [
                [("add a toleration for taint a=b:NoSchedule", 1.0), ("uncordon node n", 1.1),
                 ("add a toleration for taint node-role.kubernetes.io/control-plane:NoSchedule",
                  4.5)],
                [("remove taint a=b:NoSchedule from node n", 3.2), ("uncordon node n", 1.1),
                 ("remove taint node-role.kubernetes.io/control-plane:NoSchedule from node n",
                  3.2)],
            ],
            id="taints",
        ),
        pytest.param(
            pending(topologySpreadConstraints=SPREAD),
            [make_node("n", labels={ZONE: "a", HOSTNAME: "n"}), placed("o", "n"),
             make_node("m", cpu="0", labels={ZONE: "b", HOSTNAME: "m"})],
            [
                honor(0), [("remove minDomains in topologySpreadConstraints[1]", 2.2)],
                *(skew(index, 1 + step, 2 + step / 100)
                  for step in (1, 2, 3) for index in (0, 1)),
                skew(0, 5, 2.04),
                softly(0), softly(1), softly(0, 1),
            ],
            id="constraints alone, and both softly",
        ),
        pytest.param(
            pending(**spread()),
            [make_node("n"), make_node("m", cpu="0"), placed("o", "n")],
            [honor(0), *(skew(0, 1 + step, 2 + step / 100) for step in (1, 2, 3, 4, 6, 10, 20, 50)),
             softly(0)],
            id="one constraint",
        ),
        pytest.param(
            pending(topologySpreadConstraints=[
                *SPREAD, *spread(whenUnsatisfiable="ScheduleAnyway")["topologySpreadConstraints"]
            ]),
            [make_node("n"), make_node("m", cpu="0", labels={ZONE: "b"}), placed("o", "n"),
             make_node("k", cpu="0", labels={ZONE: "c"})],
            [[(f"set label {ZONE}=b on node n", 2.7)], softly(0), softly(1), softly(0, 1)],
            id="a node without the label of a domain",
        ),
        pytest.param(
            pending(containers=[{"name": "main", "ports": PORTS}]),
            [make_node("n"), placed("o", "n", containers=[{"name": "main", "ports": PORTS[:2]}])],
            [
                [("use hostPort 82 instead of 80", 2.0), ("use hostPort 83 instead of 81", 2.0)],
                [("remove hostPort 80", 2.5), ("remove hostPort 81", 2.5)],
            ],
            id="two host ports of three",
        ),
        pytest.param(
            pending(containers=HOST_PORT, hostNetwork=True),
            [make_node("n"), placed("o", "n", containers=HOST_PORT)],
            [[("use hostPort 81 instead of 80", 2.0)]],
            id="a port of the host network is not dropped",
        ),
        pytest.param(
            pending(containers=[{"name": "main", "resources": {
                "requests": {"cpu": "1", "memory": "2Gi"}}}]),
            [make_node("n", cpu="500m", memory="1Gi")],
            [[("reduce the cpu request from 1 to 500m", 2.5),
              ("reduce the memory request from 2Gi to 1Gi", 2.5)]],
            id="two requests",
        ),
        pytest.param(
            pending(), [make_node("n", cpu="99m")], [], id="less than a tenth of a request",
        ),
        pytest.param(
            pending(), [make_node("n", cpu="100m")],
            [[("reduce the cpu request from 1 to 100m", 2.9)]], id="a tenth of a request",
        ),
        pytest.param(
            pending(affinity=affinity_to("x", "y")), [make_node("n")],
            [[("make the required podAffinity term [0] preferred", 3.0)],
             [("make the required podAffinity term [1] preferred", 3.0)],
             [("make the required podAffinity terms [0] and [1] preferred", 4.0)]],
            id="affinity to pods",
        ),
        pytest.param(pending(), [make_node("m")], [], id="no such node"),
    ],
)  # fmt: skip
def test_plans_of_a_node(pod, objects, plans):
    assert shown(fixes(pod, *objects).of_node("n")) == plans


def test_nodes_are_added_with_what_the_pod_lacks_on_them():
    tainted = ("a=b:NoSchedule", "node.kubernetes.io/not-ready:NoSchedule")
    found = fixes(
        pending(nodeSelector={"disk": "ssd"}),
        make_node("n", cpu="500m", labels={"disk": "hdd"}, taints=tainted),
        make_node("m", cpu="100m", labels={"disk": "ssd"}),
    )
    pod = [
        ("add a toleration for taint a=b:NoSchedule", 1.0),
        ("change disk in nodeSelector from ssd to hdd", 2.0),
    ]
    add = "add a node like"
    assert shown(found.new_nodes(["n", "none", "m"])) == [
        [*pod, (f"{add} n but with 1 cpu", 5.5)], [(f"{add} m but with 1 cpu", 5.5)],
    ]  # fmt: skip
    assert shown(found.new_nodes(["m"], factor=2)) == [[(f"{add} m but with 2 cpu", 5.5)]]
    assert shown(found.new_nodes("m", counts=[2])) == [[("add 2 nodes like m but with 1 cpu", 6.5)]]
    full = fixes(pending(), make_node("n", cpu="1"), placed("o", "n"), make_node("m", cpu="999m"))
    assert [full.fits_empty(name) for name in ("n", "m", "none")] == [True, False, False]
    # Another node has the size that m lacks; with a factor only larger nodes are meant.
    assert shown(full.new_nodes(["n", "m"])) == [[(f"{add} n", 5.0)]]
    assert shown(full.new_nodes(["n", "m"], factor=2)) == []


def test_shapes_differ_by_the_limits_of_the_drivers_of_the_pod():
    nodes = [make_node(name) for name in ("n", "m", "k")]
    found = fixes(
        pending(volumes=claims_of("a")), *nodes, limited("n", 1), limited("m", 2), *volumes("a")
    )
    shapes = [found.shape_of(node) for node in nodes]
    assert [shape[1] for shape in shapes] == [((DRIVER, 1),), ((DRIVER, 2),), ((DRIVER, -1),)]
    without = fixes(pending(), *nodes, limited("n", 1), limited("m", 2))
    assert len({without.shape_of(node) for node in nodes}) == 1


# ------------------------------------------------------------------------------------- claims


def storage_class(name, mode="WaitForFirstConsumer", **annotations):
    return decode({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": name, "annotations": annotations}, "provisioner": "p",
        "volumeBindingMode": mode,
    })  # fmt: skip


DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}
IMMEDIATE = storage_class("i", "Immediate")
CREATED = ("create StorageClass gone with volumeBindingMode: WaitForFirstConsumer", 2.5)


def creation(name, of):
    return (f"create PersistentVolumeClaim {name} with storageClassName {of}", 2.0)


def use(of, name):
    return (f"use storageClassName {of} in PersistentVolumeClaim default/{name}", 2.3)


@pytest.mark.parametrize(
    ("names", "objects", "plans"),
    [
        pytest.param(
            ("a", "b", "c"),
            [claim("b", "gone"), storage_class("s"), storage_class("z", **DEFAULT), IMMEDIATE],
            [[creation("a", of), creation("c", of), CREATED] for of in ("z", "i", "s")],
            id="missing claims and a missing class",
        ),
        pytest.param(
            ("a", "b"), [claim("a", "gone"), claim("b", "i"), storage_class("s"), IMMEDIATE],
            [[CREATED], [use("s", "a"), use("s", "b")]],
            id="claims that wait",
        ),
        pytest.param(
            ("a",), [claim("a", "gone"), IMMEDIATE], [[CREATED]],
            id="a class is created, and no other one",
        ),
        pytest.param(
            ("a",), [claim("a", "i"), storage_class("standard", "Immediate"), IMMEDIATE],
            [[("create StorageClass standard-delayed with volumeBindingMode: WaitForFirstConsumer",
               2.5), use("standard-delayed", "a")]],
            id="only immediate classes",
        ),
        pytest.param(("a",), [*bound_claim("a"), storage_class("s")], [], id="a bound claim"),
        pytest.param(("a",), [], [], id="a missing claim without classes"),
    ],
)  # fmt: skip
def test_plans_for_claims(names, objects, plans):
    scheduler = Scheduler()
    pod = pending(volumes=claims_of(*names))
    scheduler.add(make_node("n"), *objects, pod)
    assert shown(ClaimFixes(pod, scheduler.cluster).plans()) == plans


def test_claims_and_classes_are_created_whole():
    scheduler = Scheduler()
    pod = pending(volumes=claims_of("a", "b"))
    scheduler.add(make_node("n"), claim("b", "gone"), storage_class("s"), pod)
    ((made, new_class),) = ClaimFixes(pod, scheduler.cluster).plans()
    assert (made.key, new_class.key) == (("claim", "a"), ("class", "gone"))
    documents = [encode(obj) for edit in (made, new_class) for obj in edit.put]
    assert [each | {"status": None} for each in documents] == [
        {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": None,
            "metadata": {"name": "a", "namespace": "default"},
            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "s",
                     "resources": {"requests": {"storage": "1Gi"}}},
        },
        {
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "status": None,
            "metadata": {"name": "gone"}, "provisioner": "csi.example.com",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
    ]  # fmt: skip
    scheduler = Scheduler()
    scheduler.add(make_node("n"), claim("a", "x"), storage_class("x", "Immediate"),
                  storage_class("s"))  # fmt: skip
    ((changed,),) = ClaimFixes(pending(volumes=claims_of("a")), scheduler.cluster).plans()
    assert [encode(obj)["spec"]["storageClassName"] for obj in changed.put] == ["s"]


def expression(key, operator, *values):
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("labels", "expressions", "expected"),
    [
        ({ZONE: "b__c", "region": "x", "r/region": "r1"}, [], {ZONE: "b", "r/region": "r1"}),
        ({ZONE: "a"}, [], {}),
        ({}, [expression("rack", "In", "2", "3")], {"rack": "2"}),
        ({}, [expression("rack", "In", "1")], {}),
        ({}, [expression("rack", "NotIn", "1")], {}),
        ({}, [expression("disk", "Exists")], {}),
        ({}, [expression(HOSTNAME, "In", "m"), expression("disk", "In", "d")], {"disk": "d"}),
    ],
)
def test_labels_of_a_new_node_are_those_of_the_volumes(labels, expressions, expected):
    bound, volume = bound_claim("a")
    terms = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    spec = volume.raw["spec"] | ({"nodeAffinity": {"required": terms}} if expressions else {})
    metadata = volume.raw["metadata"] | {"labels": labels}
    scheduler = Scheduler()
    scheduler.add(bound, decode(volume.raw | {"spec": spec, "metadata": metadata}))
    found = ClaimFixes(pending(volumes=claims_of("a", "none")), scheduler.cluster)
    assert found.volume_labels(make_node("n", labels={ZONE: "a", "rack": "1"})) == expected


def test_attach_limits_in_words_and_as_edits():
    scheduler = Scheduler()
    node = make_node("n")
    uses = [
        *claims_of("a", "b", "d"),
        {"name": "again", "persistentVolumeClaim": {"claimName": "b"}},
    ]
    pod = pending(volumes=uses)
    scheduler.add(
        node, make_node("free"), limited("n", 2), *volumes("a", "b", "c", "d", "x", "y"),
        placed("o", "n", volumes=claims_of("c", "d")), attachment("old-x", "n", "pv-x"),
        attachment("old-y", "n", "pv-y"), pod,
    )  # fmt: skip
    found = VolumeFixes(pod, scheduler.cluster)
    # d is attached for the other pod already; x and y are attached for none.
    assert list(found.refusals(node)) == [
        f"CSI driver {DRIVER} attaches at most 2 volumes to the node and has attached 4;"
        " the pod adds claim default/a, claim default/b"
    ]
    assert list(found.refusals(make_node("free"))) == []
    assert (found.limits("n"), found.limits("free")) == (((DRIVER, 2),), ((DRIVER, -1),))
    plans = found.of_node(node)
    assert [[edit.key for edit in plan] for plan in plans] == [
        [("volume", "v-a"), ("volume", "v-b"), ("volume", "again")]
    ]
    assert found.of_node(make_node("free")) == []
    assert [one.key for one in found.csi_node("n", "new")] == ["new"]
    assert list(found.csi_node("free", "new")) == []


def test_only_stale_volumes_of_the_driver_are_detached_and_only_as_many_as_needed():
    node, pod = make_node("n"), pending(volumes=claims_of("a", "b", "q"))
    csi = {"driver": "other.example.com"}

    def of_other_driver(name):
        bound, volume = bound_claim(name)
        spec = volume.raw["spec"] | {"csi": csi | {"volumeHandle": name}}
        return bound, decode(volume.raw | {"spec": spec})

    of_other = attachment("old-z", "n", "pv-z")
    of_other = decode(of_other.raw | {"spec": of_other.raw["spec"] | {"attacher": csi["driver"]}})
    scheduler = Scheduler()
    scheduler.add(
        node, make_node("wide"), limited("n", 4), limited("wide", 2),
        *of_other_driver("z"), *of_other_driver("q"),
        *volumes("a", "b", "c", "x", "y"), placed("o", "n", volumes=claims_of("c")), of_other,
        attachment("used-c", "n", "pv-c"), attachment("old-x", "n", "pv-x"),
        attachment("old-y", "n", "pv-y"), pod,
    )  # fmt: skip
    found = VolumeFixes(pod, scheduler.cluster)
    plans = found.of_node(node)
    assert [[(edit.key, edit.effort) for edit in plan] for plan in plans] == [
        [(("detach", "old-x"), 3.4)],
        [(("volume", "v-b"), plans[1][0].effort)],
    ]
    assert found.of_node(make_node("wide")) == []
    assert list(found.refusals(make_node("wide"))) == []


# ---------------------------------------------------------------------------- edits of the pod


def affinity_of(*terms):
    required = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


@pytest.mark.parametrize(
    ("terms", "texts", "left"),
    [
        pytest.param(
            [{"matchFields": [expression("metadata.name", "In", "m")]},
             {"matchExpressions": [expression("disk", "In", "ssd"), expression("a", "In", "b"),
                                   expression("zone", "NotIn", "x", "y")]}],
            ["add hdd to the values of disk", "remove x from the excluded values of zone"],
            [[], [("disk", ("ssd", "hdd")), ("a", ("b",)), ("zone", ("y",))]],
            id="the first term that can be extended",
        ),
        pytest.param(
            [{"matchExpressions": [expression("zone", "NotIn", "x"), expression("a", "Exists")]}],
            ["remove x from the excluded values of zone"], [[("a", ())]],
            id="an expression without values is removed",
        ),
        pytest.param(
            [{"matchExpressions": [expression("zone", "NotIn", "x")]}], [], [],
            id="a term without expressions would select nothing",
        ),
        pytest.param(
            [{"matchExpressions": [expression("none", "In", "x")]}], [], [], id="no such label",
        ),
        pytest.param(
            [{"matchExpressions": [expression("a", "DoesNotExist")]}], [], [], id="operator",
        ),
    ],
)  # fmt: skip
def test_a_required_term_is_extended_by_the_labels_of_a_node(terms, texts, left):
    pod = pending(affinity=affinity_of(*terms))
    node = make_node("n", labels={"disk": "hdd", "a": "b", "zone": "x"})
    found = pod_edits.accept_label(pod, node)
    if not texts:
        assert found == []
        return
    edit: Any = found[0]
    assert len(found) == 1
    where = f"nodeSelectorTerms[{len(terms) - 1}] of the required node affinity"
    assert edit.text == f"{' and '.join(texts)} in {where}"
    assert edit.effort == pytest.approx(2 + len(texts) / 10)
    changed = edit.on_pod(pod).spec.node_affinity.required.node_selector_terms
    assert [[(one.key, one.values) for one in term.match_expressions] for term in changed] == left


def test_tolerations_match_the_taint_exactly():
    for text, operator in (("a=b:NoSchedule", "Equal"), ("a:NoExecute", "Exists")):
        (taint,) = make_node("n", taints=[text]).spec.taints
        edit: Any = pod_edits.tolerate(taint)
        assert edit.key == ("tolerate", taint.key, taint.value, taint.effect)
        (added,) = edit.on_pod(make_pod("p")).spec.tolerations
        assert (added.key, added.operator, added.value, added.effect) == (
            "a", operator, taint.value, taint.effect,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("actual", "selector"), [("hdd", {"disk": "hdd", "a": "b"}), (None, {"a": "b"})]
)
def test_a_node_selector_gets_the_label_of_the_node_or_loses_it(actual, selector):
    edit: Any = pod_edits.select_label("disk", "ssd", actual)
    changed = edit.on_pod(pending(nodeSelector={"disk": "ssd", "a": "b"}))
    assert changed.spec.node_selector == selector


def test_a_preferred_affinity_keeps_what_was_preferred():
    term = {"matchExpressions": [expression("a", "In", "b")]}
    affinity = affinity_of(term)
    affinity["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = [
        {"weight": 5, "preference": term}
    ]
    affinity["podAntiAffinity"] = {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {}, "topologyKey": HOSTNAME}
        ]
    }
    edit: Any = pod_edits.prefer_nodes()
    before = pending(affinity=affinity)
    changed = edit.on_pod(before)
    assert changed.spec.affinity.pod_anti_affinity == before.spec.affinity.pod_anti_affinity
    nodes = changed.spec.node_affinity
    assert (nodes.required, [one.weight for one in nodes.preferred]) == (None, [5, 100])
    assert edit.on_pod(pending()) == pending()


def test_requests_are_reduced_only_where_there_are_some():
    assert pod_edits.shrink(pending(), "memory", 5) is None
    assert pod_edits.shrink(pending(), "cpu", 0) is None
    pod = pending(
        containers=[{"name": "main", "resources": {
            "requests": {"cpu": "1", "x.com/gpu": "1"}, "limits": {"cpu": "2", "x.com/gpu": "1"}}}],
        resources={"requests": {"cpu": "2"}, "limits": {"cpu": "3", "memory": "1Gi"}},
    )  # fmt: skip
    edit: Any = pod_edits.remove_request(pod, "cpu", "because")
    assert (edit.text, edit.effort) == ("remove the cpu request of 2, because", 3.0)
    spec = edit.on_pod(pod).spec
    (main,) = spec.containers
    assert (main.resources.requests, main.resources.limits) == (
        {"x.com/gpu": "1"}, {"x.com/gpu": "1"},
    )  # fmt: skip
    assert (spec.resources.requests, spec.resources.limits) == ({}, {"memory": "1Gi"})
    shrunk: Any = pod_edits.shrink(pod, "cpu", 5_000)
    assert shrunk.text == "reduce the cpu request from 2 to 1999m", "less than it is"


# ------------------------------------------------------------------------------------- devices


def device_fixes(*objects, gates="DRADeviceTaintRules=true", **devices):
    scheduler = Scheduler(SchedulerOptions(gates=parse_gates(gates)))
    pod = _pod_with_claim()
    scheduler.add(make_node("n", cpu="4"), _object("DeviceClass", "gpu", devices), *objects, pod)
    refusals = DeviceRefusals(pod, scheduler.cluster, parse_gates(gates))
    return DeviceFixes(pod, scheduler.cluster, refusals), refusals


def all_of(plans):
    return [(edit.key, edit.text, edit.effort, edit.command) for (edit,) in plans]


OLD = f'device.attributes["{_DRIVER}"].modle == "new"'
CLASS = {"selectors": [{"cel": {"expression": _NEW}}]}
OF_REQUEST = ("device request", "default/c", "gpu")


def test_each_refusal_of_a_device_has_its_edit():
    found, _ = device_fixes(
        _devices("new", "old", taints=_TAINTS), _rule(device="d1"),
        _claim(_request(count=3), constraints=_MATCH), **CLASS,
    )  # fmt: skip
    assert all_of(found.of_node(make_node("n"))) == [
        (("class selector", "gpu", _NEW), f"drop the selector {_NEW} from DeviceClass gpu", 3.0,
         ""),
        ((*OF_REQUEST, "toleration", "bad", "yes", "NoSchedule"),
         f"tolerate bad=yes:NoSchedule in request gpu {_ANEW}", 1.2, ""),
    ]  # fmt: skip
    found, _ = device_fixes(
        _devices("new", "old"), _rule(device="d1"), _claim(_request(count=2), constraints=_MATCH),
    )  # fmt: skip
    assert all_of(found.of_node(make_node("n"))) == [
        (("taint rule", "broken-cards"),
         "delete DeviceTaintRule broken-cards, which taints devices", 2.5,
         "kubectl delete devicetaintrule broken-cards"),
        ((*OF_REQUEST, "toleration", "bad", "", "NoSchedule"),
         f"tolerate bad:NoSchedule in request gpu {_ANEW}", 1.2, ""),
        ((*OF_REQUEST, "count", 1),
         f"request 1 instead of 2 devices in request gpu {_ANEW}", 2.0, ""),
    ]  # fmt: skip
    found, _ = device_fixes(_devices("new", "old"), _claim(_request(count=2), constraints=_MATCH))
    attribute = f"matchAttribute {_DRIVER}/model"
    plans = found.of_node(make_node("n"))
    assert all_of(plans) == [
        (("device constraint", "default/c", attribute), f"drop the constraint {attribute} {_ANEW}",
         1.5, ""),
        ((*OF_REQUEST, "count", 1),
         f"request 1 instead of 2 devices in request gpu {_ANEW}", 2.0, ""),
    ]  # fmt: skip
    claim_of: Any = _claim(_request(count=2), constraints=_MATCH)
    dropped, reduced = (edit.on_claim(claim_of).spec.devices for (edit,) in plans)
    assert (dropped.constraints, len(reduced.constraints)) == ((), 1)
    exactly = reduced.requests[0].exactly
    assert (exactly.allocation_mode, exactly.count) == ("ExactCount", 1)
    assert found.of_node(make_node("unknown")) == []


def test_what_ends_the_search_of_a_node_is_a_problem_in_words():
    wrong = {"selectors": [{"cel": {"expression": OLD}}]}
    _, refusals = device_fixes(_devices("new"), _claim(_request()), **wrong)
    found = refusals.of_node("n")
    (problem,) = found.problems
    assert isinstance(problem, str)
    assert "no such key: modle" in problem
    assert refusals.summary(found)[-1] == problem
    assert refusals.of_node("unknown").problems == ()
    fits, refusals = device_fixes(_devices("new"), _claim(_request()))
    assert (refusals.of_node("n").requests, fits.of_node(make_node("n"))) == ((), [])


def test_a_request_of_nothing_needs_no_devices():
    backing = _object("DeviceClass", "gpu", {"extendedResourceName": "example.com/gpu"})
    for amount, classes in (("0", []), ("1", ["gpu"])):
        amounts = {"example.com/gpu": amount}
        resources = {"requests": amounts, "limits": amounts}
        pod = pending(containers=[{"name": "main", "resources": resources}])
        scheduler = Scheduler()
        scheduler.add(make_node("n"), backing, pod)
        gates = parse_gates("DRAExtendedResource=true")
        assert DeviceRefusals(pod, scheduler.cluster, gates).backing_classes() == classes


def test_the_second_of_several_constraints_is_the_one_that_is_dropped():
    constraints = [{"matchAttribute": f"{_DRIVER}/maker"}, *_MATCH]
    slice_of = _devices("new", "old")
    devices: Any = slice_of.raw["spec"]["devices"]
    for device in devices:
        device["attributes"]["maker"] = {"string": "one"}
    found, _ = device_fixes(
        decode(slice_of.raw), _claim(_request(count=2), constraints=constraints)
    )
    assert [key for key, *_ in all_of(found.of_node(make_node("n")))] == [
        ("device constraint", "default/c", f"matchAttribute {_DRIVER}/model"),
        (*OF_REQUEST, "count", 1),
    ]


def test_the_second_of_several_selectors_is_the_one_that_is_dropped():
    first = f'device.driver == "{_DRIVER}"'
    request = _request(selectors=[{"cel": {"expression": text}} for text in (first, _NEW)])
    found, _ = device_fixes(_devices("old"), _claim(request))
    assert [text for _, text, *_ in all_of(found.of_node(make_node("n")))] == [
        f"drop the selector {_NEW} of request gpu {_ANEW}"
    ]
    selectors = [{"cel": {"expression": text}} for text in (first, _NEW)]
    found, _ = device_fixes(_devices("old"), _claim(_request()), selectors=selectors)
    assert [text for _, text, *_ in all_of(found.of_node(make_node("n")))] == [
        f"drop the selector {_NEW} from DeviceClass gpu"
    ]


def test_selectors_are_corrected_and_after_an_error_dropped():
    broken = {"selectors": [{"cel": {"expression": OLD}}]}
    found, _ = device_fixes(_devices("new"), _claim(_selecting(OLD)), **broken)
    of_claim = (f"model for modle in the selector {OLD} of request gpu {_ANEW}", 1.0)
    of_class = (f"model for modle in the selector {OLD} of DeviceClass gpu", 2.5)
    corrections = [(f"write {text}", effort) for text, effort in (of_claim, of_class)]
    keys = [(*OF_REQUEST, "corrected selector", OLD), ("corrected class selector", "gpu", OLD)]
    plans = [*found.of_selectors(has_failed=False)]
    assert [each[:3] for each in all_of(plans)] == [
        (key, *text) for key, text in zip(keys, corrections, strict=True)
    ]
    failed = all_of(found.of_selectors(has_failed=True))
    assert [each[1:3] for each in failed] == [
        corrections[0], (f"drop the selector {OLD} of request gpu {_ANEW}", 1.5),
        corrections[1], (f"drop the selector {OLD} from DeviceClass gpu", 3.0),
    ]  # fmt: skip
    right, _ = device_fixes(_devices("new"), _claim(_selecting(_NEW)), **CLASS)
    assert [*right.of_selectors(has_failed=False)] == []


def test_classes_are_replaced_only_if_all_have_a_similar_one():
    for names, texts in (
        (("gqu", "gpo"), [["gqu", "gpo"]]), (("gqu", "zzz"), []), (("gpu",), []),
    ):  # fmt: skip
        requests = [_request(f"r{i}", deviceClassName=name) for i, name in enumerate(names)]
        found, _ = device_fixes(_devices("new"), _claim(*requests))
        plans = [*found.of_classes()]
        assert [[edit.text.split()[5] for edit in plan] for plan in plans] == [
            [f"{name}" for name in names] for names in texts
        ]
        assert {edit.effort for plan in plans for edit in plan} <= {1.0}


def test_names_of_devices_are_those_of_all_slices():
    slices: Any = [_devices("new", capacity={"example.com/memory": {"value": "1Gi"}})]
    names = DeviceNames.of(slices)
    assert names.domains == {_DRIVER, "example.com"}
    assert names.members == {"model", "memory"}
    assert names.values == {"new": "new"}
    assert names.corrections(_NEW) == {}
    assert names.corrections(f'device.attributes["{_DRIVER}"].colour == "new"') == {}
    assert corrected(OLD, names.corrections(OLD)) == _NEW
    capital: Any = [_devices("A100")]
    assert DeviceNames.of(capital).values == {"a100": "A100"}
    assert DeviceNames.of(capital).corrections('model == "a100"') == {'"a100"': '"A100"'}


# --------------------------------------------------------------------------- other pods


def owned(name, kind="", owner="", node="n", **metadata):
    controllers = [{"apiVersion": "v1", "kind": kind, "name": owner, "uid": owner,
                    "controller": True}] if kind else []  # fmt: skip
    raw = placed(name, node).raw
    return decode(raw | {"metadata": raw["metadata"] | metadata | {
        "name": name, "uid": name, "ownerReferences": controllers}})  # fmt: skip


def test_pods_that_may_make_room_are_those_of_the_workloads_on_the_nodes():
    pod = owned("mine", "ReplicaSet", "own", node="")
    found = fixes(
        pod, make_node("n"), make_node("m"), make_node("o"),
        owned("a", "StatefulSet", "set"), owned("b", "StatefulSet", "set", node="m"),
        owned("alone"), owned("elsewhere", node="m"), owned("other", "Job", "j", node="o"),
        owned("agent", "DaemonSet", "agents"), owned("static", "Node", "n"),
        owned("sibling", "ReplicaSet", "own"),
        owned("going", "Job", "k", deletionTimestamp="2026-01-01T00:00:00Z"),
    ).owners(["n", "gone"])  # fmt: skip
    names = {owner: [one.pod.metadata.name for one in pods] for owner, pods in found.items()}
    assert names == {
        ("StatefulSet", "default/set"): ["a", "b"],
        ("Pod", "default/alone"): ["alone"],
    }


@pytest.mark.parametrize(
    ("node", "claims", "texts"),
    [
        pytest.param("n", ["n"], [], id="devices of the node"),
        pytest.param("n", [None], [], id="devices that all nodes can use"),
        pytest.param("n", [], [], id="no devices yet"),
        pytest.param("gone", ["n"], ["c0 has devices of node n"], id="a node that is gone"),
        pytest.param("n", ["n", "m", None], ["c1 has devices of node m"], id="one of several"),
    ],
)
def test_only_devices_of_other_nodes_are_unavailable(node, claims, texts):
    scheduler = Scheduler()
    entries = [{"name": f"c{i}", "resourceClaimName": f"c{i}"} for i, _ in enumerate(claims)]
    pod = pending(resourceClaims=entries)
    scheduler.add(make_node("n"), make_node("m"), pod)
    for number, name in enumerate(claims):
        chosen = {"key": "metadata.name", "operator": "In", "values": [name]}
        selector = {"nodeSelectorTerms": [{"matchFields": [chosen]}]}
        allocation: dict[str, Any] = {"devices": {"results": []}}
        allocation |= {"nodeSelector": selector} if name else {}
        scheduler.add(_object(
            "ResourceClaim", f"c{number}", {"devices": {"requests": [_request()]}},
            status={"allocation": allocation},
        ))  # fmt: skip
    found = DeviceRefusals(pod, scheduler.cluster, DEFAULT_GATES).unavailable(node)
    assert found == [f"claim default/{text}" for text in texts]


# --------------------------------------------------------------------------- temporary changes


def reserved(cluster):
    claim_of: Any = cluster.devices.claim("default/held")
    return [user.uid for user in claim_of.status.reserved_for], claim_of.status.allocation


def test_a_device_is_free_when_its_last_user_is_removed():
    scheduler = Scheduler()
    scheduler.add(
        make_node("n", cpu="4"), _object("DeviceClass", "gpu", {}), _devices("new"),
        *_holder("a", "b"), make_pod("plain", node="n"),
    )  # fmt: skip
    cluster = scheduler.cluster
    pods = {name: cluster.pods[f"default/{name}"].pod for name in ("a", "b", "plain")}
    before = reserved(cluster)
    assert before[0] == ["a", "b"]
    with edited(cluster, delete=(pods["a"], pods["plain"])):
        assert (reserved(cluster)[0], reserved(cluster)[1] is None) == (["b"], False)
        with edited(cluster, delete=(pods["b"],)):
            assert reserved(cluster) == ([], None)
        assert reserved(cluster)[0] == ["b"], "it was assumed before, and is again"
        assert len(cluster.devices.assumptions()) == 1
    assert (reserved(cluster), list(cluster.devices.assumptions())) == (before, [])


def test_objects_that_are_put_or_dropped_are_as_before_at_the_end():
    scheduler = Scheduler()
    old = (claim("a", "x"), storage_class("s"), *bound_claim("b"))
    scheduler.add(make_node("n"), *old)
    cluster = scheduler.cluster

    def content():
        storage = cluster.storage
        return [dict(each) for each in (storage.claims, storage.classes, storage.volumes)]

    before = content()
    changed = (claim("a", "s"), storage_class("s", "Immediate"), claim("new", "s"))
    twice = with_fields(claim("a", "s"), "metadata", labels={"x": "y"})
    with edited(cluster, put=(*changed, twice), drop=(old[3],)):
        assert content() != before
        assert set(cluster.storage.claims) == {"default/a", "default/b", "default/new"}
        assert cluster.storage.claims["default/a"] == twice
        assert dict(cluster.storage.volumes) == {}
    assert content() == before
