"""Pods in blocks of a log: they come back as they were, and little of them is written."""

from __future__ import annotations

import copy

import msgspec
import pytest
from hypothesis import given, strategies as st

from podwright.apimachinery.objects import ObjectMeta, Pod, decode_pod, with_fields, with_node_name
from podwright.apimachinery.objects.pods.pod import PodSpec, PodStatus
from podwright.apimachinery.schema import decode
from podwright.scheduler.machine import ObjectPut
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.log_format import ENCODER, EventBlock, Objects, decoder_of
from podwright.simulation.recording.log.log_objects import decode_objects, encode_objects
from podwright.testing import make_node, make_pod


def put_and_read(folder, *objects):
    with DecisionLog.create(folder) as log:
        for obj in objects:
            log.append(0, ObjectPut(obj), [])
    entries = DecisionLog.open(folder).entries()
    return [entry.event.obj for entry in entries if isinstance(entry.event, ObjectPut)]


def test_two_references_to_an_object_are_read_as_one_object(tmp_path):
    node, pod = make_node("n1"), make_pod("web")
    objects = [node, pod, make_node("n1"), node, pod]
    first_node, first, other, again_node, again = put_and_read(tmp_path, *objects)
    assert (first_node, first) == (node, pod)
    assert (again_node, again) == (first_node, first)
    assert again is first
    assert again_node is first_node
    assert other is not first_node


def test_an_older_version_of_a_pod_is_read_as_an_equal_pod(tmp_path):
    pod = make_pod("web")
    old, other, again = put_and_read(tmp_path, pod, make_pod("web"), pod)
    assert old == other == again
    assert again is not old


def bound(pod, node="n1", version="7", **changes):
    new = with_fields(with_node_name(pod, node), "metadata", resource_version=version)
    return msgspec.structs.replace(new, **changes)


def without_version(pod, raw):
    """Return a pod with a version that a document does not have."""
    metadata = msgspec.structs.replace(pod.metadata, resource_version="8")
    return msgspec.structs.replace(pod, metadata=metadata, raw=raw)


STATUSES, SPECS, METADATA = (
    {"statuses", "raw_statuses"},
    {"specs", "raw_specs"},
    {"raw_metadata"},
)


@pytest.mark.parametrize(
    ("later", "written"),
    [
        pytest.param(bound, set(), id="bound"),
        pytest.param(lambda pod: bound(pod, node=""), set(), id="a new version, nothing else"),
        pytest.param(lambda pod: bound(decode(pod.raw)), set(), id="equal, but nothing is shared"),
        pytest.param(
            lambda pod: bound(with_fields(pod, "status", phase="Running")), STATUSES, id="status"
        ),
        pytest.param(lambda pod: bound(with_fields(pod, "spec", priority=5)), SPECS, id="spec"),
        pytest.param(
            lambda pod: with_fields(bound(pod), "metadata", labels={"a": "b"}, uid="v"),
            METADATA,
            id="a pod of the same name",
        ),
        pytest.param(
            lambda pod: with_fields(
                bound(pod), "metadata", labels={"a": "b"}, resource_version="8"
            ),
            METADATA,
            id="labels",
        ),
        pytest.param(
            lambda pod: without_version(with_node_name(pod, "n1"), pod.raw),
            {"metadata", "raw_metadata"},
            id="a node and a version that its document does not have",
        ),
        pytest.param(
            lambda pod: bound(pod, raw={"x": 1}), {"metadata", "outlines"}, id="another document"
        ),
        pytest.param(lambda pod: bound(pod, raw={}), {"metadata", "outlines"}, id="no document"),
        pytest.param(
            lambda pod: bound(pod, raw=bound(pod).raw | {"status": None}),
            {"outlines"},
            id="null status",
        ),
        pytest.param(
            lambda pod: bound(pod, raw=bound(pod).raw | {"status": {}}),
            {"outlines", "raw_statuses"},
            id="an empty status in its document",
        ),
    ],
)
def test_a_new_version_of_a_pod_is_written_as_its_changes(tmp_path, later, written):
    pod = make_pod("web", cpu="1", labels={"app": "web"})
    pod = with_fields(pod, "metadata", uid="u", resource_version="6")
    new = later(pod)
    assert put_and_read(tmp_path, make_node("n1"), pod, new)[1:] == [pod, new]
    alone, both = parts_written(tmp_path / "alone", pod), parts_written(tmp_path / "both", pod, new)
    if new.status.phase:
        assert both.pop("outlines") == alone.pop("outlines") + 1, "it has a status now"
    assert {name for name in both if both[name] > alone[name]} == written


PARTS = (
    "metadata", "specs", "statuses", "outlines", "raw_metadata", "raw_specs", "raw_statuses",
)  # fmt: skip


def parts_written(folder, *objects):
    """Write objects, and tell how many there are of each part."""
    put_and_read(folder, *objects)
    with DecisionLog.open(folder) as log:
        found = log._read(log._frames[1], EventBlock, part=1).objects.pods
    return {name: len(getattr(found, name)) for name in PARTS}


@pytest.mark.parametrize("node", ["n2", ""], ids=["to another node", "off its node"])
def test_a_node_of_a_pod_may_change(tmp_path, node):
    pod = bound(make_pod("web"))
    moved = bound(pod, node=node, version="8")
    assert put_and_read(tmp_path, pod, moved) == [pod, moved]


def test_the_order_of_fields_in_a_document_is_kept(tmp_path):
    metadata = {"resourceVersion": "1", "name": "web", "uid": "u", "managedFields": []}
    document = {
        "kind": "Pod",
        "status": {"phase": "Pending"},
        "spec": {"nodeName": "n1", "containers": []},
        "metadata": metadata,
        "apiVersion": "v1",
    }
    pod = decode(document)
    later = decode(document | {"metadata": metadata | {"resourceVersion": "2"}})
    found = put_and_read(tmp_path, pod, later)
    assert found == [pod, later]
    assert [repr(obj.raw) for obj in found] == [repr(obj.raw) for obj in (pod, later)]


NODE_LAST = {"containers": [], "nodeName": ""}
NODE_FIRST = {"nodeName": "", "containers": []}


@pytest.mark.parametrize("spec", [NODE_LAST, NODE_FIRST], ids=["at the end", "before the others"])
def test_pods_of_one_template_on_different_nodes_share_its_parts(tmp_path, spec):
    """So do their addresses, which belong to one pod only, as the node does."""
    pods = [
        decode(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": name,
                    "uid": name,
                    "resourceVersion": name,
                    "labels": {"app": "web"},
                },
                "spec": spec | {"nodeName": f"node-of-{name}"},
                "status": {"phase": "Running", "hostIP": f"1.1.1.{name}", "podIP": f"2.2.2.{name}"},
            }
        )
        for name in "123"
    ]
    found = put_and_read(tmp_path, *pods)
    assert found == pods
    assert [repr(pod.raw) for pod in found] == [repr(pod.raw) for pod in pods]
    labels = {id(pod.metadata.labels) for pod in found}
    assert len(labels) == 1, "what is read once is shared"
    assert parts_written(tmp_path / "all", *pods) == parts_written(tmp_path / "one", pods[0])


def blocks(pods):
    """Return the bytes of the blocks of a log of pods."""
    with DecisionLog.create(None, block_events=3) as log:
        for pod in pods:
            log.append(0, ObjectPut(pod), [])
        log.flush()
        return [log._medium.read(frame) for frame in log._frames[1:]]


def with_raw(pod, **changes):
    return msgspec.structs.replace(pod, raw=pod.raw | changes)


@pytest.mark.parametrize(
    "template",
    [
        pytest.param(make_pod("web", cpu="1", labels={"app": "web"}), id="a document"),
        pytest.param(msgspec.structs.replace(make_pod("web"), raw={}), id="no document"),
        pytest.param(with_fields(make_pod("web"), "metadata", resource_version="1"), id="its own"),
        pytest.param(with_node_name(make_pod("web"), "n0"), id="a node"),
        pytest.param(with_raw(make_pod("web"), metadata=None), id="no metadata"),
        pytest.param(
            with_raw(make_pod("web"), spec={"nodeName": ""}), id="no node in its document"
        ),
        pytest.param(with_fields(make_pod("web"), "status", phase="Pending"), id="a status"),
    ],
)
def test_pods_with_shared_and_with_equal_parts_are_written_alike(template):
    def at(pod, version, **changes):
        metadata = msgspec.structs.replace(pod.metadata, resource_version=version, **changes)
        return msgspec.structs.replace(pod, metadata=metadata)

    twins = [at(template, version, uid=version) for version in "1234"]
    bound_twins = [with_node_name(pod, "n1") for pod in twins]
    later = [at(pod, f"{number}7") for number, pod in enumerate(bound_twins)]
    pods = [template, *twins, *bound_twins[:2], *later, *[with_node_name(p, "n2") for p in later]]
    assert blocks(pods) == blocks(copy.deepcopy(pod) for pod in pods)


TEXT = st.sampled_from(["", "a", "n1"])
SECTION = st.dictionaries(
    st.sampled_from(["name", "uid", "nodeName", "resourceVersion", "x"]), TEXT | st.just({"x": 1})
)
DOCUMENT = st.dictionaries(
    st.sampled_from(["metadata", "spec", "status", "kind"]), SECTION | TEXT | st.none()
)
PODS = st.builds(
    lambda version, label, node, phase, document: Pod(
        metadata=ObjectMeta(
            name="a", uid="a", resource_version=version, labels={"x": label} if label else {}
        ),
        spec=PodSpec(node_name=node),
        status=PodStatus(phase=phase),
        raw=document,
    ),
    TEXT,
    TEXT,
    TEXT,
    st.sampled_from(["", "Running"]),
    DOCUMENT,
)
DECODED = st.builds(
    lambda version, label, node, address: decode_pod(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "a", "uid": "a", "labels": {"x": label}, "resourceVersion": version
            },
            "spec": {"nodeName": node, "schedulerName": "x"},
            "status": {"phase": "Running", "hostIP": "1.1.1.1", "podIP": address},
        }
    ),
    TEXT, TEXT, TEXT, TEXT | st.just("1.2.3.4"),
)  # fmt: skip
STEPS = st.lists(
    st.builds(
        lambda part, pod: (part, pod),
        st.sampled_from(["all", *Pod.__struct_fields__]),
        PODS | DECODED,
    )
)


@pytest.mark.property
@given(steps=STEPS)
def test_random_changes_of_a_pod_are_read_back_and_written_alike(steps):
    pods = [with_fields(make_pod("a"), "metadata", uid="a")]
    for part, other in steps:
        changes = {} if part == "all" else {part: getattr(other, part)}
        pods.append(msgspec.structs.replace(pods[-1], **changes) if changes else other)
    with DecisionLog.create(None, block_events=3) as log, DecisionLog.create() as again:
        for pod in pods:
            log.append(0, ObjectPut(pod), [])
        found = [entry.event.obj for entry in log.entries() if isinstance(entry.event, ObjectPut)]
        assert found == pods
        for obj in found:
            again.append(0, ObjectPut(obj), [])
        again.block_events = 3
        again.flush()
        assert [again._medium.read(frame) for frame in again._frames[1:]] == [
            log._medium.read(frame) for frame in log._frames[1:]
        ]
    copied = encode_objects(dict(enumerate(pods)))
    encoded = ENCODER.encode(copied)
    assert dict(decode_objects(decoder_of(Objects).decode(encoded), {})) == dict(enumerate(pods))


def test_pods_that_share_a_status_with_addresses_have_them_each(tmp_path):
    status = {"phase": "Running", "podIP": "10.0.0.1", "hostIP": "10.0.0.2"}
    pod = decode(
        make_pod("a", node="n").raw | {"apiVersion": "v1", "kind": "Pod", "status": status}
    )
    pod = msgspec.structs.replace(pod, raw=pod.raw | {"metadata": {"labels": {}}})
    twins = [msgspec.structs.replace(pod, metadata=make_pod(name).metadata) for name in "bc"]
    changed = make_pod("d").raw | {"apiVersion": "v1", "kind": "Pod"}
    later = decode(changed | {"status": status | {"podIP": "10.0.0.3"}})
    assert put_and_read(tmp_path, pod, *twins, later) == [pod, *twins, later]


def test_shared_parts_are_written_once_and_shared_when_read(tmp_path):
    pod = make_pod("a")
    twins = [msgspec.structs.replace(pod, metadata=make_pod(name).metadata) for name in "bc"]
    found = put_and_read(tmp_path, pod, *twins)
    assert found == [pod, *twins]
    first, second, third = found
    assert isinstance(first, Pod)
    assert isinstance(second, Pod)
    assert first.spec is second.spec
    assert first.raw["spec"] is second.raw["spec"]
    assert second.raw is third.raw, "which is the document of neither"


def test_equal_changes_of_different_pods_keep_what_they_do_not_change(tmp_path):
    pods = [make_pod("a", cpu="1"), make_pod("b", cpu="2")]
    section = {"name": "c"}
    later = [
        msgspec.structs.replace(
            pod,
            metadata=msgspec.structs.replace(pod.metadata, labels={"of": pod.name}),
            raw=pod.raw | {"metadata": section},
        )
        for pod in pods
    ]
    assert put_and_read(tmp_path, *pods, *later) == [*pods, *later]


def test_a_bound_version_with_another_status_keeps_it(tmp_path):
    pod = make_pod("web")
    running = bound(pod, status=msgspec.structs.replace(pod.status, phase="Running"))
    waiting = without_version(pod, pod.raw)
    found = put_and_read(tmp_path, pod, running, waiting)
    assert [each.status.phase for each in found] == [pod.status.phase, "Running", pod.status.phase]
    assert found == [pod, running, waiting]
    # The status alone.
    started = msgspec.structs.replace(waiting, status=running.status)
    assert put_and_read(tmp_path / "alone", pod, started)[1] == started
