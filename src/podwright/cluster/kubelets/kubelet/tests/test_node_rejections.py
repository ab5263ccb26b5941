"""Which pods a kubelet rejects; upstream: pkg/kubelet/lifecycle/predicate.go and its tests."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import SOURCE_UID, Pod, decode
from podwright.cluster.api import RecordEvent
from podwright.cluster.kubelets.addresses import Addresses
from podwright.cluster.kubelets.kubelet.image_behaviors import ImageBehaviors
from podwright.cluster.kubelets.kubelet.kubelet_node import (
    IMAGES_MAX,
    KubeletNode,
    rejection_of,
    use_of,
)
from podwright.testing import make_node, make_pod


def pod(name="p", ports=(), **spec):
    given = make_pod(name, cpu="1", memory="1Gi").raw
    containers = [{**given["spec"]["containers"][0], "ports": list(ports)}]
    found = decode({**given, "spec": {**given["spec"], "containers": containers, **spec}})
    assert isinstance(found, Pod)
    return found


def node(allocatable=None, labels=None, taints=()):
    made = make_node("n", cpu="2", memory="4Gi", labels=labels or {})
    status = made.raw["status"] if allocatable is None else {"allocatable": allocatable}
    found: Any = decode({**made.raw, "status": status, "spec": {"taints": list(taints)}})
    return found


def reason(given, of=None, *others):
    found = rejection_of(given, use_of(given), of or node(), [use_of(each) for each in others])
    return "" if found is None else found.reason


def port(number, address="", protocol=""):
    fields = {"hostIP": address, "protocol": protocol}
    return {
        "containerPort": 80, "hostPort": number,
        **{key: value for key, value in fields.items() if value},
    }  # fmt: skip


def needs(**requests):
    names = {
        key.replace("__", "/").replace("kubernetes_io", "kubernetes.io").replace("_", "-"): value
        for key, value in requests.items()
    }
    container: dict[str, Any] = {"name": "c", "image": "i", "resources": {"requests": names}}
    if any("/" in name for name in names):
        container["resources"]["limits"] = names
    return pod(containers=[container])


def with_devices(given, *names):
    """Return a pod whose requests of these resources are met by devices."""
    mappings = [
        {"containerName": "c", "resourceName": name, "requestName": f"container-0-request-{index}"}
        for index, name in enumerate(names)
    ]
    claim = {"resourceClaimName": "p-devices", "requestMappings": mappings}
    found = decode({**given.raw, "status": {"extendedResourceClaimStatus": claim}})
    assert isinstance(found, Pod)
    return found


OF_CLASS = {"deviceclass.resource.kubernetes.io/gpu": "1"}


@pytest.mark.parametrize(
    ("given", "allocatable", "found"),
    [
        (needs(**OF_CLASS), {"pods": "1"}, f"OutOf{next(iter(OF_CLASS))}"),
        (with_devices(needs(**OF_CLASS), *OF_CLASS), {"pods": "1"}, ""),
        (with_devices(needs(a_b__gpu="2"), "a-b/gpu"), {"a-b/gpu": "1", "pods": "1"}, ""),
        (with_devices(needs(a_b__gpu="2"), "c-d/gpu"), {"a-b/gpu": "1", "pods": "1"},
         "OutOfa-b/gpu"),
        (needs(cpu="2"), {"cpu": "2", "pods": "1"}, ""),
        (needs(cpu="2001m"), {"cpu": "2", "pods": "1"}, "OutOfcpu"),
        (needs(memory="4Gi"), {"memory": "4Gi", "pods": "1"}, ""),
        (needs(memory="4097Mi"), {"memory": "4Gi", "pods": "1"}, "OutOfmemory"),
        (needs(ephemeral_storage="2"), {"ephemeral-storage": "1", "pods": "1"},
         "OutOfephemeral-storage"),
        (needs(cpu="1"), {"pods": "1"}, "OutOfcpu"),
        (needs(cpu="1"), {}, ""),
        (needs(cpu="1"), {"cpu": "1"}, ""),
        (needs(cpu="1"), {"cpu": "1", "pods": "0"}, "OutOfpods"),
        (needs(a_b__gpu="2"), {"a-b/gpu": "1", "pods": "1"}, "OutOfa-b/gpu"),
        (needs(a_b__gpu="2"), {"a-b/gpu": "2", "pods": "1"}, ""),
        (needs(a_b__gpu="2"), {"pods": "1"}, ""),
        (needs(a_b__gpu="2", c_d__gpu="2"), {"c-d/gpu": "1", "pods": "1"}, "OutOfc-d/gpu"),
        (needs(cpu="2"), {"cpu": "1"}, "OutOfcpu"),
        (needs(cpu="1", hugepages_2Mi="2Mi"), {"cpu": "1", "pods": "1"}, "OutOfhugepages-2Mi"),
        (needs(kubernetes_io__x="1"), {"pods": "1"}, "OutOfkubernetes.io/x"),
        (needs(a_b__gpu="2", ephemeral_storage="2", memory="2", cpu="2"),
         {"pods": "1", "cpu": "1", "memory": "1", "ephemeral-storage": "1", "a-b/gpu": "1"},
         "OutOfcpu"),
        (needs(a_b__gpu="2", ephemeral_storage="2", memory="2"),
         {"pods": "1", "memory": "1", "ephemeral-storage": "1", "a-b/gpu": "1"}, "OutOfmemory"),
    ],
)  # fmt: skip
def test_a_pod_has_room_on_its_node(given, allocatable, found):
    assert reason(given, node(allocatable)) == found


def test_the_other_pods_of_a_node_take_their_room():
    of = node({"cpu": "3", "memory": "8Gi", "pods": "3"})
    others = [pod("a"), pod("b")]
    assert reason(pod(), of, *others) == ""
    assert reason(needs(cpu="1001m"), of, *others) == "OutOfcpu"
    assert reason(needs(cpu="1m"), of, *others, needs()) == "OutOfpods"
    assert reason(needs(cpu="3"), of, needs(), needs()) == ""
    assert reason(needs(cpu="3001m"), of, needs(), needs(memory="1")) == "OutOfcpu"
    assert reason(needs(memory="8589934592"), of, needs(cpu="1")) == ""
    assert reason(needs(memory="8589934593"), of, needs(cpu="1")) == "OutOfmemory"
    given = needs(cpu="1500m")
    found = rejection_of(given, use_of(given), of, [use_of(each) for each in others])
    assert found is not None
    assert found.message == (
        "Node didn't have enough resource: cpu, requested: 1500, used: 2000, capacity: 3000"
    )


LABELS: Any = [
        ({"os": {"name": "linux"}}, {}, ""),
        ({"os": {"name": "windows"}}, {}, "PodOSNotSupported"),
        ({"os": {"name": "windows"}}, {"kubernetes.io/os": "windows"}, ""),
        ({"os": {"name": "linux"}}, {"kubernetes.io/os": "windows"}, "PodOSNotSupported"),
        ({"nodeSelector": {"kubernetes.io/os": "windows"}}, {"kubernetes.io/os": "linux"},
         "NodeAffinity"),
        ({"nodeSelector": {"kubernetes.io/os": "linux"}}, {"kubernetes.io/os": "linux"}, ""),
        ({"nodeSelector": {"a": "b"}}, {"a": "b", "c": "d"}, ""),
        ({"nodeSelector": {"a": "b"}}, {"a": "c"}, "NodeAffinity"),
        ({"nodeSelector": {"a": "b", "c": "d"}}, {"a": "b"}, "NodeAffinity"),
    ]  # fmt: skip


def test_a_pod_needs_its_selector_and_its_required_terms():
    terms = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "c", "operator": "Exists"}]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    given = pod(nodeSelector={"a": "b"}, affinity=affinity)
    for labels, found in (({"c": "d"}, "NodeAffinity"), ({"a": "b"}, "NodeAffinity"),
                          ({"a": "b", "c": "d"}, "")):  # fmt: skip
        assert reason(given, node(labels=labels)) == found


class Reader:
    """A node by its name."""

    def get(self, kind, name):
        assert (kind, name) == (("", "Node"), "n")
        return node({"cpu": "1", "memory": "4Gi", "pods": "2"})


@pytest.mark.parametrize(
    ("annotations", "conditions", "found"),
    [
        pytest.param({}, [], "OutOfcpu", id="a pod"),
        pytest.param({SOURCE_UID: "u"}, [], "", id="a copy with its node"),
        pytest.param({SOURCE_UID: "u"}, [{"type": "Ready", "status": "False"}], "",
                     id="with another condition"),
        pytest.param({SOURCE_UID: "u"}, [{"type": "PodScheduled", "status": "True"}], "OutOfcpu",
                     id="a copy that was bound here"),
    ],
)  # fmt: skip
def test_a_pod_that_was_admitted_elsewhere_is_not_rejected(annotations, conditions, found):
    reader: Any = Reader()
    kubelet = KubeletNode("n", Addresses(), reader, ImageBehaviors())
    raw = needs(cpu="2").raw
    metadata = {**raw["metadata"], "annotations": annotations}
    given: Any = decode({**raw, "metadata": metadata, "status": {"conditions": conditions}})
    rejection = kubelet.admit(given)
    assert ("" if rejection is None else rejection.reason) == found
    # What it uses counts for others.
    later = kubelet.admit(pod("other"))
    assert (later is None) is bool(found)


def test_images_that_are_used_stay_on_the_node():
    kubelet = KubeletNode("n1", Addresses(), None, ImageBehaviors())
    for index in range(IMAGES_MAX):
        kubelet.add_image(f"i{index}")
    assert kubelet.has_image("i0")
    kubelet.add_image("new")
    found = [name for name in ("i0", "i1", "i2", "new") if kubelet.has_image(name)]
    assert found == ["i0", "i2", "new"]


def test_an_event_of_a_kubelet_is_about_its_pod():
    kubelet = KubeletNode("n1", Addresses(), None, ImageBehaviors())
    about = pod()
    assert kubelet.event_of(about, "Normal", "Reason", "note", "spec") == RecordEvent(
        "", "Pod", about.key, about.uid, "Normal", "Reason", "note", "kubelet", host="n1",
        field_path="spec",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "labels", "found"),
    LABELS,
)
def test_a_pod_is_for_the_labels_of_its_node(spec, labels, found):
    assert reason(pod(**spec), node(labels=labels)) == found


@pytest.mark.parametrize(
    ("system", "labels", "found"),
    [
        ("linux", {}, ""),
        ("windows", {}, "PodOSSelectorNodeLabelDoesNotMatch"),
        ("windows", {"kubernetes.io/os": "windows"}, ""),
        ("linux", {"kubernetes.io/os": "windows"}, "PodOSSelectorNodeLabelDoesNotMatch"),
    ],
)
def test_a_label_of_a_pod_has_the_system_of_its_node(system, labels, found):
    """Upstream: predicate.go, rejectPodAdmissionBasedOnOSSelector"""
    given = decode({**pod().raw, "metadata": {"name": "p", "labels": {"kubernetes.io/os": system}}})
    assert reason(given, node(labels=labels)) == found


def test_a_pod_that_requests_nothing_of_a_resource_has_room_where_none_is_left():
    full = node({"cpu": "1", "memory": "8Gi", "pods": "9"})
    assert reason(needs(cpu="0"), full, pod("a"), pod("b")) == ""


@pytest.mark.parametrize(
    ("operator", "values", "found"), [("In", ["b"], ""), ("NotIn", ["b"], "NodeAffinity")]
)
@pytest.mark.parametrize("kind", ["required", "preferred"])
def test_required_terms_decide(operator, values, found, kind):
    term = {"matchExpressions": [{"key": "a", "operator": operator, "values": values}]}
    affinity = {
        "required": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}
        },
        "preferred": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": term}]
        },
    }[kind]
    given = pod(affinity={"nodeAffinity": affinity})
    assert reason(given, node(labels={"a": "b"})) == (found if kind == "required" else "")


@pytest.mark.parametrize(
    ("own", "other", "conflicts"),
    [
        (port(80), port(80), True),
        (port(1), port(1), True),
        (port(80), port(81), False),
        (port(80), port(80, protocol="UDP"), False),
        (port(80, protocol="TCP"), port(80), True),
        (port(80, "10.0.0.1"), port(80), True),
        (port(80), port(80, "10.0.0.1"), True),
        (port(80, "10.0.0.1"), port(80, "10.0.0.1"), True),
        (port(80, "10.0.0.1"), port(80, "10.0.0.2"), False),
        (port(80, "0.0.0.0"), port(80, "10.0.0.2"), True),
        ({"containerPort": 80}, {"containerPort": 80}, False),
    ],
)
def test_a_port_of_a_node_has_one_pod(own, other, conflicts):
    found = reason(pod(ports=[own]), None, pod("o", ports=[other]))
    assert found == ("NodePorts" if conflicts else "")


def test_ports_of_sidecars_count_and_those_of_init_containers_do_not():
    container = {"name": "i", "image": "i", "ports": [port(80)]}
    sidecar = {**container, "restartPolicy": "Always"}
    for init, found in ((container, ""), (sidecar, "NodePorts")):
        assert reason(pod(initContainers=[init]), None, pod("o", ports=[port(80)])) == found


def taint(effect, key="k"):
    return {"key": key, "value": "v", "effect": effect}


@pytest.mark.parametrize(
    ("taints", "tolerations", "found"),
    [
        ([], [], ""),
        ([taint("NoExecute")], [], "TaintToleration"),
        ([taint("NoSchedule"), taint("PreferNoSchedule")], [], ""),
        ([taint("NoSchedule"), taint("NoExecute")], [], "TaintToleration"),
        ([taint("NoExecute")], [{"key": "k", "operator": "Exists"}], ""),
        ([taint("NoExecute")], [{"key": "k", "operator": "Equal", "value": "w"}],
         "TaintToleration"),
        ([taint("NoExecute"), taint("NoExecute", "l")], [{"key": "k", "operator": "Exists"}],
         "TaintToleration"),
    ],
)  # fmt: skip
def test_only_taints_that_end_pods_matter(taints, tolerations, found):
    assert reason(pod(tolerations=tolerations), node(taints=taints)) == found


def test_the_first_of_several_reasons_is_that_of_resources():
    of = node({"cpu": "0", "pods": "1"}, taints=[taint("NoExecute")])
    given = pod(nodeSelector={"a": "b"}, ports=[port(80)])
    assert reason(given, of, pod("o", ports=[port(80)])) == "OutOfpods"
    assert reason(given, node(taints=[taint("NoExecute")])) == "NodeAffinity"
    given = pod(ports=[port(80)])
    of = node(taints=[taint("NoExecute")])
    assert reason(given, of, pod("o", ports=[port(80)])) == "NodePorts"
