import json

import pytest
from hypothesis import given, strategies as st

from podwright.apimachinery.objects import InputError, Namespace, encode
from podwright.apimachinery.schema import decode
from podwright.cluster.api.tests.writable import WritableStore
from podwright.simulation.files.manifests import load_bytes
from podwright.simulation.files.snapshot import (
    DEFAULT_CONFIGURATION,
    is_in_every_cluster,
    missing_namespaces,
    readable_configuration,
    write_snapshot,
)
from podwright.testing import make_node, make_pod

KEYS = [
    "pods", "nodes", "pvs", "pvcs", "storageClasses", "priorityClasses", "schedulerConfig",
    "namespaces",
]  # fmt: skip


def an_object(kind, name, api_version="v1", **parts):
    namespace = {"namespace": "a"} if kind in ("Pod", "PersistentVolumeClaim") else {}
    document = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name} | namespace}
    return decode(document | parts, source="test")


def a_priority_class(name, value=1):
    return an_object("PriorityClass", name, "scheduling.k8s.io/v1", value=value)


def test_an_empty_snapshot_has_eight_keys_in_order():
    assert json.loads(write_snapshot([])) == {
        key: DEFAULT_CONFIGURATION if key == "schedulerConfig" else [] for key in KEYS
    }
    assert list(json.loads(write_snapshot([]))) == KEYS
    assert json.loads(write_snapshot([], configuration=None))["schedulerConfig"] is None


def test_objects_lose_only_kind_and_api_version():
    pod = an_object("Pod", "p", spec={"containers": [{"name": "c"}], "unheard": {"of": [1]}})
    (written,) = json.loads(write_snapshot([pod]))["pods"]
    assert written == {
        "metadata": {"name": "p", "namespace": "a"},
        "spec": {"containers": [{"name": "c"}], "unheard": {"of": [1]}},
    }


@pytest.mark.parametrize(
    ("obj", "key"),
    [
        pytest.param(a_priority_class("system-node-critical"), "priorityClasses", id="a class"),
        pytest.param(an_object("Namespace", "default"), "namespaces", id="default"),
        pytest.param(an_object("Namespace", "kube-system"), "namespaces", id="kube-system"),
    ],
)
def test_objects_of_every_cluster_are_excluded(obj, key):
    assert json.loads(write_snapshot([obj]))[key] == []


def test_kinds_that_a_snapshot_does_not_have_are_skipped():
    others = [
        an_object("Service", "s", metadata={"name": "s", "namespace": "a"}),
        an_object("PodGroup", "g", "scheduling.k8s.io/v1alpha2"),
        an_object("Pod", "not-a-pod", "example.com/v1"),
    ]
    assert write_snapshot(others) == write_snapshot([])


def test_a_store_survives_a_round_trip_through_a_snapshot():
    store = WritableStore()
    for obj in (make_node("n1"), make_pod("web"), a_priority_class("high")):
        store.create(obj, 0)
    kept = [obj for kind in store.kinds() for obj in store.list(kind).objects]
    again = load_bytes([("s", write_snapshot(kept))]).objects
    assert {obj.key: encode(obj) for obj in again} == {obj.key: encode(obj) for obj in kept}


V1 = "kubescheduler.config.k8s.io/v1"
READ_AS = f"it is read as {V1}"


@pytest.mark.parametrize(
    ("exported", "notes"),
    [
        ({"apiVersion": V1, "kind": "KubeSchedulerConfiguration"}, []),
        (
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1beta2",
                "kind": "KubeSchedulerConfiguration",
            },
            [f"its version is kubescheduler.config.k8s.io/v1beta2; {READ_AS}"],
        ),
        ({"apiVersion": V1}, [f"it has no apiVersion and kind; {READ_AS}"]),
        ({}, [f"it has no apiVersion and kind; {READ_AS}"]),
    ],
)
def test_a_configuration_of_another_version_is_read_with_a_note(exported, notes):
    document, found = readable_configuration(exported)
    assert list(found) == notes
    assert (document["apiVersion"], document["kind"]) == (V1, "KubeSchedulerConfiguration")


def test_missing_namespaces_are_found():
    objects = [make_pod("p", namespace="b"), make_pod("q", namespace="a"), make_pod("r")]
    assert [one.name for one in missing_namespaces(objects)] == ["a", "b"]
    known = an_object("Namespace", "a")
    assert [one.name for one in missing_namespaces([*objects, known])] == ["b"]
    assert all(isinstance(one, Namespace) for one in missing_namespaces(objects))


def test_an_invalid_configuration_is_rejected_when_it_is_read():
    broken = write_snapshot([], configuration={"profiles": []}).replace(b'{"profiles":[]}', b"7")
    with pytest.raises(InputError, match="schedulerConfig: Invalid value: 7"):
        load_bytes([("s", broken)])


names = st.from_regex(r"[a-z][a-z0-9]{0,6}", fullmatch=True)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
kinds = st.sampled_from([
    ("Pod", "v1"),
    ("Node", "v1"),
    ("PersistentVolume", "v1"),
    ("PersistentVolumeClaim", "v1"),
    ("StorageClass", "storage.k8s.io/v1"),
    ("PriorityClass", "scheduling.k8s.io/v1"),
    ("Namespace", "v1"),
])  # fmt: skip


@st.composite
def clusters(draw):
    chosen = draw(st.lists(st.tuples(kinds, names, plain), max_size=12))
    unique = {(kind, name): extra for kind, name, extra in chosen}
    return [
        an_object(kind, name, version, **{"x-unread": extra})
        for ((kind, version), name), extra in unique.items()
        if not (kind == "Namespace" and name == "default")
    ]


@given(clusters(), st.none() | st.just(DEFAULT_CONFIGURATION))
def test_a_written_snapshot_can_be_read(objects, configuration):
    written = write_snapshot(objects, configuration=configuration)
    read = load_bytes([("s", written)])
    by_kind = sorted(read.objects, key=lambda obj: obj.kind)
    assert list(map(encode, by_kind)) == [
        encode(obj) for obj in sorted(objects, key=lambda obj: obj.kind)
    ]
    found = read.configuration
    assert (found.document if found else None) == configuration
    assert write_snapshot(read.objects, configuration=configuration) == written


def enabled(*names):
    return {"enabled": [{"name": name, "weight": 2} for name in names]}


def test_plugins_and_fields_that_are_gone_are_removed_with_a_note():
    exported = {
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "healthzBindAddress": "x", "parallelism": 8,
        "profiles": [
            {"schedulerName": "a", "plugins": {
                "score": enabled("SelectorSpread", "NodeAffinity", "NodeLabel"),
                "filter": enabled("NodeName"), "preScore": {"enabled": []},
                "reserve": {"disabled": [{"name": "*"}]},
            }},
            {"schedulerName": "b", "weight": 7},
            {"schedulerName": "c", "plugins": {"filter": enabled("NodeLabel"),
                                               "score": enabled("ImageLocality")}},
        ],
    }  # fmt: skip
    before = json.loads(json.dumps(exported))
    document, notes = readable_configuration(exported)
    assert exported == before
    assert document == {
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "parallelism": 8,
        "profiles": [
            {"schedulerName": "a", "plugins": {
                "score": enabled("NodeAffinity"), "filter": enabled("NodeName"),
                "preScore": {"enabled": []}, "reserve": {"disabled": [{"name": "*"}]},
            }},
            {"schedulerName": "b"},
            {"schedulerName": "c", "plugins": {"filter": enabled(),
                                               "score": enabled("ImageLocality")}},
        ],
    }  # fmt: skip
    assert notes == (
        "plugins that Kubernetes has removed are ignored: SelectorSpread, NodeLabel",
        "fields that kubescheduler.config.k8s.io/v1 does not have are ignored: "
        "healthzBindAddress, profiles[1].weight",
    )


def test_what_is_wrong_otherwise_stays_to_be_reported():
    exported = {
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "parallelism": -1, "profiles": [7, {"schedulerName": "a", "plugins": 3}],
    }  # fmt: skip
    assert readable_configuration(exported) == (exported, ())


def test_namespaces_of_what_a_snapshot_has_are_missing():
    pod, claim = an_object("Pod", "p"), an_object("PersistentVolumeClaim", "c")
    assert [each.name for each in missing_namespaces([pod, claim])] == ["a"]
    service = decode({"apiVersion": "v1", "kind": "Service", "metadata": {
        "name": "s", "namespace": "b"}}, source="test")  # fmt: skip
    default = make_pod("p")
    assert missing_namespaces([service, default, make_node("n")]) == []
    assert missing_namespaces([pod, Namespace(metadata=pod.metadata.__class__(name="a"))]) == []


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("PriorityClass", "system-cluster-critical", True),
        ("PriorityClass", "systems", False),
        ("PriorityClass", "default", False),
        ("PriorityClass", "kube-x", False),
        ("Namespace", "default", True),
        ("Namespace", "kube-public", True),
        ("Namespace", "kubernetes", False),
        ("Namespace", "system-x", False),
        ("Node", "default", False),
        ("Pod", "kube-proxy", False),
    ],
)
def test_what_exists_in_every_cluster(kind, name, expected):
    assert is_in_every_cluster(kind, name) is expected


@pytest.mark.parametrize(
    "name",
    [
        "NodeLabel", "NodePreferAvoidPods", "NodeResourcesLeastAllocated",
        "NodeResourcesMostAllocated", "RequestedToCapacityRatio", "SelectorSpread",
        "ServiceAffinity",
    ],
)  # fmt: skip
def test_plugins_of_earlier_versions_are_removed(name):
    exported = {
        "apiVersion": V1, "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"score": enabled(name)}}],
    }  # fmt: skip
    document, notes = readable_configuration(exported)
    assert document["profiles"] == [{"plugins": {"score": enabled()}}]
    assert notes == (f"plugins that Kubernetes has removed are ignored: {name}",)
