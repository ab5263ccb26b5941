"""Admission completes pods."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import Document, KubernetesObject, Pod
from podwright.apimachinery.schema import decode
from podwright.cluster.api.resource_storage import ResourceStorage
from podwright.cluster.api.stages.draft_admission import Admission
from podwright.cluster.store import ObjectStore
from podwright.testing import make_pod


def a_class(value: int) -> KubernetesObject:
    return decode(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "usual"},
            "value": value,
            "globalDefault": True,
        }
    )


def priority_of(admission: Admission, pod: Pod) -> int:
    admitted = admission.complete_recorded(pod)
    assert isinstance(admitted, Pod)
    return admitted.priority


def test_a_pod_gets_the_current_default_priority_at_each_creation():
    store = ObjectStore()
    storage, admission, pod = ResourceStorage(store), Admission(store), make_pod("web")
    given = [priority_of(admission, pod)]
    for value in (5, 7):
        if value == 5:
            storage.create(a_class(value), 0)
        else:
            storage.update(a_class(value))
        given += [priority_of(admission, pod), priority_of(admission, pod)]
    storage.delete(store.require(("scheduling.k8s.io", "PriorityClass"), "usual"), 0)
    assert [*given, priority_of(admission, pod)] == [0, 5, 5, 7, 7, 0]


@pytest.mark.parametrize(
    "status",
    [
        pytest.param(None, id="no status"),
        pytest.param({"phase": None}, id="null"),
        pytest.param({"phase": "", "qosClass": "Guaranteed"}, id="an empty text"),
        pytest.param({"phase": None, "conditions": None}, id="nulls"),
        pytest.param({"conditions": [{"type": "PodScheduled", "status": "False"}]}, id="others"),
    ],
)
def test_a_pod_without_a_phase_is_pending_in_its_document_too(status: Document | None):
    pod = decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "web"},
            "spec": {"containers": [{"name": "main", "image": "app"}]},
            "status": status,
        }
    )
    assert isinstance(pod, Pod)
    admitted = Admission(ObjectStore()).complete_recorded(pod)
    assert isinstance(admitted, Pod)
    assert (admitted.status.phase, admitted.raw["status"]["phase"]) == ("Pending", "Pending")
    assert admitted.status.conditions == pod.status.conditions
    assert admitted.raw["status"]["qosClass"] == (status or {}).get("qosClass", "BestEffort")
