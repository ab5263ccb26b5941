"""Pods with equal requests share their keys, however they were created."""

import gc
from sys import getrefcount

import msgspec
import pytest

from podwright.apimachinery.objects import decode_pod
from podwright.scheduler.columns.affinity.selectors import SelectorCounters
from podwright.scheduler.columns.nodes import NodeColumns
from podwright.scheduler.columns.pod_keys import PodKeysCache


def cache() -> PodKeysCache:
    nodes = NodeColumns()
    return PodKeysCache(nodes, SelectorCounters(nodes))


def pod(
    name="a", node="", namespace="default", labels=None, cpu="1", port=0, status=None, volume=None
):
    container: dict[str, object] = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    if port:
        container |= {"ports": [{"containerPort": port, "hostPort": port}]}
    return decode_pod(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "labels": {"app": "web"} if labels is None else labels,
            },
            "spec": {
                "containers": [container],
                "nodeName": node,
                "volumes": [volume] if volume else [],
            },
            "status": status or {},
        }
    )


def test_pods_of_one_template_share_keys_without_sharing_objects():
    keys = cache()
    first, second = pod("a", "n1"), pod("b", "n2")
    assert first.spec is not second.spec
    assert keys.of(first) is keys.of(second)
    assert keys.of(first) is keys.of(pod("c"))


def token(name):
    return {"name": name, "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}


def test_pods_with_volumes_of_other_names_share_keys():
    keys = cache()
    first = keys.of(pod(volume=token("token-1")))
    assert keys.of(pod("b", volume=token("token-2"))) is first
    assert keys.of(pod("c")) is first


ALLOCATED = {"allocatedResources": {"cpu": "2"}}


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(pod(cpu="2"), id="another request"),
        pytest.param(pod(port=80), id="a host port"),
        pytest.param(pod(labels={"app": "db"}), id="another label"),
        pytest.param(pod(labels={}), id="no label"),
        pytest.param(pod(namespace="shop"), id="another namespace"),
        pytest.param(
            pod(volume={"name": "data", "persistentVolumeClaim": {"claimName": "data"}}),
            id="a volume of a claim",
        ),
        pytest.param(pod(status=ALLOCATED), id="a status with allocated resources"),
    ],
)
def test_pods_that_differ_in_a_relevant_field_do_not_share_keys(other):
    keys, alone = cache(), cache()
    first = keys.of(pod())
    found, expected = keys.of(other), alone.of(other)
    assert found is not first
    assert found.requests.tolist() == expected.requests.tolist()
    assert found.ports == expected.ports
    assert found.has_volumes == expected.has_volumes
    # And not with those that come after either.
    assert keys.of(pod("later")) is not found


def test_dropped_keys_are_rebuilt():
    keys, like = cache(), pod()
    first = keys.of(like)
    relabeled = keys.with_labels_of(pod(labels={"app": "db"}), first)
    assert keys.with_labels_of(pod(labels={"app": "db"}), first) is relabeled
    keys.forget()
    assert keys.of(like) is not first
    assert keys.of(pod()) is not first
    assert keys.with_labels_of(pod(labels={"app": "db"}), first) is not relabeled


def test_a_pod_whose_status_changes_has_keys_of_its_own():
    keys = cache()
    before = pod()
    status = pod(status=ALLOCATED).status
    assert keys.of(before) is not keys.of(msgspec.structs.replace(before, status=status))


def running(name="main", cpu="2", conditions=()):
    """Return the status of a pod whose kubelet reports the resources of a container."""
    report = {"name": name, "resources": {"requests": {"cpu": cpu}}}
    return {"containerStatuses": [report], "conditions": list(conditions)}


@pytest.mark.parametrize(
    ("first", "second", "amounts"),
    [
        pytest.param({}, running(), [1_000, 2_000], id="it starts"),
        pytest.param(running(), {}, [2_000, 1_000], id="it is as it was written"),
        pytest.param(running(), running(), [2_000, 2_000], id="it stays"),
        pytest.param(running(), running(cpu="3"), [2_000, 3_000], id="it is resized"),
        pytest.param({}, {"phase": "Running"}, [1_000, 1_000], id="its phase says nothing"),
        pytest.param(
            running(), running() | {"phase": "Running"}, [2_000, 2_000], id="nor does it then"
        ),
    ],
)
def test_versions_of_a_pod_with_one_spec_have_the_requests_of_their_status(first, second, amounts):
    keys, before = cache(), pod()
    statuses = [pod(status=status).status for status in (first, second, first)]
    found = [keys.of(msgspec.structs.replace(before, status=status)) for status in statuses]
    assert [each.requests[0] for each in found] == [*amounts, amounts[0]]
    assert (found[0] is found[1]) == (amounts[0] == amounts[1])


INFEASIBLE = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}


def test_pods_with_equal_actual_resources_share_keys_beside_pods_without():
    keys = cache()
    first, bound = pod("a", "n1", status=running()), pod("b", "n2")
    found, without = keys.of(first), keys.of(bound)
    assert found is not without
    assert keys.of(pod("c", "n3", status=running())) is found
    assert keys.of(pod("d", "n4")) is without
    ready = running(conditions=[{"type": "Ready", "status": "True"}])
    assert keys.of(msgspec.structs.replace(first, status=pod(status=ready).status)) is found


@pytest.mark.parametrize(
    ("status", "milli_cpu"),
    [
        pytest.param(running(cpu="3"), 3_000, id="other resources"),
        pytest.param(running("other"), 1_000, id="resources of an unknown container"),
        pytest.param(running() | {"allocatedResources": {"cpu": "2"}}, 2_000, id="of the pod"),
        pytest.param(running(cpu="500m", conditions=[INFEASIBLE]), 500, id="an infeasible resize"),
    ],
)
def test_pods_with_different_actual_resources_do_not_share_keys(status, milli_cpu):
    keys = cache()
    first = keys.of(pod(status=running()))
    assert first.requests[0] == 2_000
    found = keys.of(pod("b", status=status))
    assert found is not first
    assert found.requests[0] == milli_cpu


def test_a_resize_that_becomes_infeasible_changes_the_keys():
    keys = cache()
    before = pod(status=running(cpu="500m"))
    assert keys.of(before).requests[0] == 1_000
    status = pod(status=running(cpu="500m", conditions=[INFEASIBLE])).status
    assert keys.of(msgspec.structs.replace(before, status=status)).requests[0] == 500


def test_pods_with_shared_other_labels_share_keys_in_their_namespace():
    keys = cache()
    like = keys.of(pod())
    labels = {"app": "web", "zone": "a"}
    first = keys.with_labels_of(pod("a", labels=labels), like)
    assert first is not like
    assert keys.with_labels_of(pod("b", labels=labels), like) is first
    assert keys.with_labels_of(pod("c", labels=dict(labels)), like) is first
    assert keys.with_labels_of(pod("a", namespace="other", labels=labels), like) is not first
    shared = pod("d", labels=labels).metadata
    versions = [
        msgspec.structs.replace(pod(), metadata=msgspec.structs.replace(shared, namespace=name))
        for name in ("default", "other", "third", "default")
    ]
    assert len({id(each.metadata.labels) for each in versions}) == 1
    found = [keys.with_labels_of(each, like) for each in versions]
    assert found[0] is found[3] is first
    assert len({each.class_id for each in found}) == 3
    assert keys.with_labels_of(versions[0], found[1]) is not first, "keys of another pod"


def test_nothing_is_kept_for_a_pod_with_a_label_that_no_other_has():
    keys = cache()
    first = pod()
    like = keys.of(first)
    metadata = msgspec.structs.replace(first.metadata, labels={"app": "web", "index": "1"})
    found = keys.of(msgspec.structs.replace(first, metadata=metadata))
    assert found.requests is like.requests
    assert found.class_id != like.class_id
    assert not [each for each in gc.get_referrers(found) if isinstance(each, tuple | dict)]


@pytest.mark.parametrize(
    ("status", "is_kept"),
    [
        pytest.param({"phase": "Running", "podIP": "10.0.0.1"}, False, id="a status"),
        pytest.param(running(), True, id="one with resources that count"),
    ],
)
def test_only_a_status_that_is_compared_is_kept_and_no_document(status, is_kept):
    keys, first = cache(), pod(status=status)
    before = getrefcount(first.raw), getrefcount(first.status)
    keys.of(first)
    after = getrefcount(first.raw), getrefcount(first.status)
    grown = [now > then for now, then in zip(after, before, strict=True)]
    assert grown == [False, is_kept]


def test_the_oldest_pods_of_many_are_dropped_together(monkeypatch):
    module = "podwright.scheduler.columns.pod_keys"
    monkeypatch.setattr(f"{module}._MOST_REMEMBERED", 20)
    monkeypatch.setattr(f"{module}._DROPPED_TOGETHER", 5)
    keys = cache()
    pods = [pod(cpu=f"{number}m", labels={"app": str(number)}) for number in range(60)]
    counts = []
    for number, each in enumerate(pods):
        assert keys.of(each).requests[0] == number
        counts.append((len(keys._known), len(keys._last)))
    assert counts[:20] == [(n, n) for n in range(1, 21)]
    assert counts[20:] == [(n, n) for n in range(16, 21)] * 8
    left = {id(each.spec) for each in pods[40:]}
    assert set(keys._known) == left, "the newest stay"


@pytest.mark.parametrize("most", [1, 3, 30])
def test_so_many_relabeled_keys_are_kept(most, monkeypatch):
    monkeypatch.setattr("podwright.scheduler.columns.pod_keys._MOST_RELABELED", most)
    keys = cache()
    like = keys.of(pod())
    versions = [pod(labels={"app": "web", "zone": str(number % 5)}) for number in range(10)]
    for _ in range(2):
        found = [keys.with_labels_of(each, like) for each in versions]
        assert [each.class_id for each in found] == [1, 2, 3, 4, 5] * 2
        assert all(each.requests is like.requests for each in found)
        assert len(keys._relabeled) <= most
        assert len(keys._relabeled_alike) <= most
        assert keys.with_labels_of(versions[-1], like) is found[-1], "the last one is kept"
