"""The comparison of whole objects of two control planes: what differs, and what does not count."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from tests.e2e_real.normalizations import KUBELET, NORMALIZATIONS, differences, plain, pointless

Document = dict[str, Any]


def thing(kind: str = "Pod", status: Document | None = None, **metadata: Any) -> Document:
    return {
        "kind": kind,
        "metadata": {"name": "web", **metadata},
        "spec": {"nodeName": "node-1"},
        "status": status or {},
    }


def manager(name: str, **fields: Any) -> Document:
    return {"manager": name, "operation": "Update", "fieldsV1": fields}


def running(**status: Any) -> Document:
    return thing(status={"phase": "Running", **status}, managedFields=[manager("x")])


def container(**fields: Any) -> list[Document]:
    return [{"state": {"running": {}}, "ready": True, "restartCount": 0, **fields}]


def endpoints(*names: str) -> Document:
    return thing("Endpoints") | {"subsets": [{"addresses": [{"hostname": name} for name in names]}]}


UID = "12345678-1234-1234-1234-12345678901{}"


@pytest.mark.parametrize(
    ("own", "upstream", "name"),
    [
        (thing(uid=UID.format(1)), thing(uid=UID.format(2)), "uid"),
        (
            thing(creationTimestamp="2026-01-01T00:00:00Z"),
            thing(creationTimestamp="2026-01-01T00:00:00.123456Z"),
            "time",
        ),
        (thing(resourceVersion="1"), thing(resourceVersion="22"), "version"),
        (thing(status={"podIP": "10.1.2.3"}), thing(status={"podIP": "10.244.0.9"}), "address"),
        (thing(name="web-7d9f6c5b8x"), thing(name="web-bbbbb77777"), "hash"),
        (thing(generateName="once-", name="once-bcdfg"), thing(generateName="once-",
         name="once-7x8z9"), "drawn name"),
        (thing(), thing() | {"spec": {"nodeName": "node-2"}}, "node"),
        (
            thing(managedFields=[manager("a"), manager("b")]),
            thing(managedFields=[manager("b"), manager("a")]),
            "order of managers",
        ),
        (
            thing("EndpointSlice", generation=1, managedFields=[manager("a", x={})]),
            thing("EndpointSlice", generation=2, managedFields=[manager("a", y={})]),
            "racing writes",
        ),
        (
            endpoints("a", "b"),
            endpoints("b", "a"),
            "order of endpoints",
        ),
        (
            thing("ConfigMap") | {"data": {"ca.crt": "# none"}},
            thing("ConfigMap") | {"data": {"ca.crt": ""}},
            "certificate",
        ),
        (
            thing("Endpoints") | {"ports": [{"name": "https", "port": 1}]},
            thing("Endpoints") | {"ports": [{"name": "https", "port": 2}]},
            "port of the server",
        ),
        (
            thing(status={"containerID": f"containerd://{'0' * 64}"}),
            thing(status={"containerID": f"containerd://{'f' * 64}"}),
            "container",
        ),
    ],
)  # fmt: skip
def test_a_normalization_hides_what_it_names_and_is_counted(own, upstream, name):
    counts: Counter[str] = Counter()
    assert differences([own], [upstream], counts, without={KUBELET}) == []
    assert {each for each, count in counts.items() if count} == {name}
    assert counts[name] == 2, "both objects would differ"


@pytest.mark.parametrize(
    ("own", "upstream"),
    [
        pytest.param(thing(generation=1), thing(generation=2), id="the generation of a pod"),
        pytest.param(
            thing(managedFields=[manager("a", x={})]), thing(managedFields=[manager("a", y={})]),
            id="the fields of a manager of a pod",
        ),
        pytest.param(
            thing("EndpointSlice", managedFields=[manager("a")]),
            thing("EndpointSlice", managedFields=[manager("b")]),
            id="who writes a slice",
        ),
        pytest.param(
            thing(status={"conditions": [{"type": "A"}, {"type": "B"}]}),
            thing(status={"conditions": [{"type": "B"}, {"type": "A"}]}),
            id="the order of conditions",
        ),
        pytest.param(thing(name="web-0"), thing(name="web-1"), id="an ordinal"),
        pytest.param(thing(status={"replicas": 2}), thing(status={}), id="a count"),
        pytest.param(thing(), thing() | {"spec": {}, "data": {}}, id="a field that one has"),
    ],
)  # fmt: skip
def test_everything_else_differs(own, upstream):
    here, there = differences([own], [upstream], without={KUBELET})
    assert here == f"here: {plain(own, {KUBELET})}"
    assert there == f"upstream: {plain(upstream, {KUBELET})}"


READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("kubelet", "kwok"),
    [
        (running(conditions=[READY | {"observedGeneration": 1}]), running(conditions=[READY])),
        (running(conditions=[{"type": "PodReadyToStartContainers", "status": "True"}]), running()),
        (
            running(containerStatuses=container(containerID="x", started=True)),
            running(containerStatuses=container()),
        ),
        (running(hostIP="10.0.0.1"), running()),
        (
            running() | {"metadata": {"name": "web", "managedFields": [manager("kubelet")]}},
            running() | {"metadata": {"name": "web", "managedFields": [manager("kwok")]}},
        ),
        (
            running(conditions=[READY]) | {"status": {"phase": "Succeeded", "conditions": [READY]}},
            running() | {"status": {"phase": "Succeeded"}},
        ),
    ],
)
def test_what_kubelets_write_and_kwok_does_not(kubelet, kwok):
    counts: Counter[str] = Counter()
    assert differences([kubelet], [kwok], counts) == []
    assert counts[KUBELET] == 2


@pytest.mark.parametrize(
    ("kubelet", "kwok"),
    [
        (running(conditions=[READY]), running(conditions=[READY | {"status": "False"}])),
        (running(conditions=[READY]), running(conditions=[READY | {"reason": "x"}])),
        (running(conditions=[READY]), running(conditions=[READY | {"message": "x"}])),
        (running(conditions=[READY]), running()),
        (running(qosClass="Burstable"), running(qosClass="BestEffort")),
        (running(), running(phase="Succeeded")),
        (
            running(containerStatuses=container()),
            running(containerStatuses=container(restartCount=1)),
        ),
        (
            running(containerStatuses=container()),
            running(containerStatuses=container(state={"waiting": {}})),
        ),
        (running(containerStatuses=container()), running(containerStatuses=container(ready=False))),
        (running(), running() | {"spec": {}} | {"spec": {"nodeName": "n", "priority": 1}}),
        (
            running(),
            running() | {"metadata": {"name": "web", "managedFields": [manager("y")]}},
        ),
    ],
)
def test_what_kubelets_and_kwok_write_is_compared(kubelet, kwok):
    assert len(differences([kubelet], [kwok])) == 2


def test_objects_are_counted_and_not_only_found():
    one = thing("Job")
    assert differences([one, one], [one]) == [f"here: {plain(one)}"]
    assert differences([one], [one, one]) == [f"upstream: {plain(one)}"]
    assert differences([one], [one]) == []


def test_the_compared_object_is_not_changed():
    given = thing(managedFields=[manager("b"), manager("a")])
    before = json.dumps(given)
    plain(given | {"status": {"phase": "Running"}})
    assert json.dumps(given) == before


def test_a_normalization_that_every_run_needs_and_this_one_did_not_is_pointless():
    always = [name for name, each in NORMALIZATIONS.items() if each.always_matters]
    assert pointless(Counter()) == always
    assert pointless(Counter(dict.fromkeys(always, 1))) == []
    assert pointless(Counter(), without=always[1:]) == always[:1]
    assert "racing writes" not in always
    assert all(each.reason for each in NORMALIZATIONS.values())
